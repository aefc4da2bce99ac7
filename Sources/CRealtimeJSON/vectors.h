#ifndef REALTIME_JSON_VECTORS_H
#define REALTIME_JSON_VECTORS_H

#include <stdint.h>
#include <string.h>

// Vectors of 16 bytes. A mask has `MASK_BITS` bits for each byte. The lowest bits are for the first byte.
//
// All processors with these instruction sets have the instructions, so there is no choice at run time. With
// REALTIME_JSON_PLAIN, the tests run the code for other processors.

#define INLINE static inline __attribute__((always_inline))

#if defined(__x86_64__) && !defined(REALTIME_JSON_PLAIN)

#include <emmintrin.h>

#define INSTRUCTIONS "SSE2"
typedef __m128i vector;
typedef uint32_t vector_mask;
enum { MASK_BITS = 1 };
#define ALL_BYTES 0xFFFFu

INLINE vector load(const uint8_t *bytes) { return _mm_loadu_si128((const __m128i *)bytes); }
INLINE vector equal(vector v, uint8_t byte) { return _mm_cmpeq_epi8(v, _mm_set1_epi8((char)byte)); }
INLINE vector at_most(vector v, uint8_t byte) { return _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8((char)byte)), v); }
INLINE vector minus(vector v, uint8_t byte) { return _mm_sub_epi8(v, _mm_set1_epi8((char)byte)); }
INLINE vector either(vector a, vector b) { return _mm_or_si128(a, b); }
INLINE vector with_bits(vector v, uint8_t bits) { return _mm_or_si128(v, _mm_set1_epi8((char)bits)); }
INLINE vector_mask mask(vector v) { return (vector_mask)_mm_movemask_epi8(v); }
INLINE vector_mask beyond_ascii(vector v) { return (vector_mask)_mm_movemask_epi8(v); }

#elif defined(__aarch64__) && !defined(REALTIME_JSON_PLAIN)

#include <arm_neon.h>

#define INSTRUCTIONS "NEON"
typedef uint8x16_t vector;
typedef uint64_t vector_mask;
enum { MASK_BITS = 4 };
#define ALL_BYTES (~(uint64_t)0)

INLINE vector load(const uint8_t *bytes) { return vld1q_u8(bytes); }
INLINE vector equal(vector v, uint8_t byte) { return vceqq_u8(v, vdupq_n_u8(byte)); }
INLINE vector at_most(vector v, uint8_t byte) { return vcleq_u8(v, vdupq_n_u8(byte)); }
INLINE vector minus(vector v, uint8_t byte) { return vsubq_u8(v, vdupq_n_u8(byte)); }
INLINE vector either(vector a, vector b) { return vorrq_u8(a, b); }
INLINE vector with_bits(vector v, uint8_t bits) { return vorrq_u8(v, vdupq_n_u8(bits)); }
INLINE vector_mask mask(vector v) {
    return vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(v), 4)), 0);
}
INLINE vector_mask beyond_ascii(vector v) { return mask(vcltzq_s8(vreinterpretq_s8_u8(v))); }

#else

#define INSTRUCTIONS "plain C"
typedef struct {
    uint8_t bytes[16];
} vector;
typedef uint32_t vector_mask;
enum { MASK_BITS = 1 };
#define ALL_BYTES 0xFFFFu

#define FOR_EACH_BYTE(expression)                                 \
    for (int i = 0; i < 16; i++) v.bytes[i] = (uint8_t)(expression); \
    return v

INLINE vector load(const uint8_t *bytes) {
    vector v;
    memcpy(v.bytes, bytes, 16);
    return v;
}
INLINE vector equal(vector v, uint8_t byte) { FOR_EACH_BYTE(v.bytes[i] == byte ? 0xFF : 0); }
INLINE vector at_most(vector v, uint8_t byte) { FOR_EACH_BYTE(v.bytes[i] <= byte ? 0xFF : 0); }
INLINE vector minus(vector v, uint8_t byte) { FOR_EACH_BYTE(v.bytes[i] - byte); }
INLINE vector either(vector v, vector other) { FOR_EACH_BYTE(v.bytes[i] | other.bytes[i]); }
INLINE vector with_bits(vector v, uint8_t bits) { FOR_EACH_BYTE(v.bytes[i] | bits); }
INLINE vector_mask mask(vector v) {
    vector_mask bits = 0;
    for (int i = 0; i < 16; i++) bits |= (vector_mask)(v.bytes[i] >> 7) << i;
    return bits;
}
INLINE vector_mask beyond_ascii(vector v) { return mask(v); }

#endif

/// Returns the index of the first byte in the mask, which must not be empty.
INLINE unsigned first(vector_mask m) { return (unsigned)__builtin_ctzll((unsigned long long)m) / MASK_BITS; }

/// Returns the part of the mask before the first byte of `stops`, which must not be empty.
INLINE vector_mask before(vector_mask m, vector_mask stops) { return m & ((stops & (~stops + 1)) - 1); }

INLINE int is_digit(uint8_t byte) { return (uint8_t)(byte - '0') <= 9; }

#endif
