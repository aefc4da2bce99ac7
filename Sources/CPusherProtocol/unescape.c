#include "CPusherProtocol.h"

#include <string.h>

#include "packing.h"

// Sixty-four bytes are looked at together. Each mask has a bit for each byte, the first byte's is the lowest.
enum { BLOCK = 64 };

#if defined(__x86_64__)

#include <immintrin.h>

#define VARIANT __attribute__((target("ssse3,popcnt")))
#define HAS_VARIANT 1

typedef __m128i vector;

bool pusher_can_unescape(void) { return __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("popcnt"); }

VARIANT static inline vector load(const uint8_t *bytes) { return _mm_loadu_si128((const __m128i *)bytes); }

VARIANT static inline uint64_t mask(const vector v[4]) {
    uint64_t bits = 0;
    for (int i = 0; i < 4; i++) bits |= (uint64_t)(uint32_t)_mm_movemask_epi8(v[i]) << (16 * i);
    return bits;
}

VARIANT static inline vector equal(vector v, uint8_t byte) { return _mm_cmpeq_epi8(v, _mm_set1_epi8((char)byte)); }

VARIANT static inline vector at_most(vector v, uint8_t byte) {
    return _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8((char)byte)), v);
}

/// Only the highest bit of each byte counts.
VARIANT static inline vector beyond_ascii(vector v) { return v; }

/// Writes the bytes whose bits are set, without the others; sixteen bytes are stored.
VARIANT static inline uint8_t *pack(vector v, unsigned kept, uint8_t *output) {
    unsigned low = kept & 0xFF, high = kept >> 8 & 0xFF;
    __m128i order = _mm_loadl_epi64((const __m128i *)&pusher_packing[low]);
    _mm_storel_epi64((__m128i *)output, _mm_shuffle_epi8(v, order));
    output += __builtin_popcount(low);
    order = _mm_loadl_epi64((const __m128i *)&pusher_packing[high]);
    _mm_storel_epi64((__m128i *)output, _mm_shuffle_epi8(_mm_srli_si128(v, 8), order));
    return output + __builtin_popcount(high);
}

#elif defined(__aarch64__)

#include <arm_neon.h>

#define VARIANT
#define HAS_VARIANT 1

typedef uint8x16_t vector;

bool pusher_can_unescape(void) { return true; }

static inline vector load(const uint8_t *bytes) { return vld1q_u8(bytes); }

static inline uint64_t mask(const vector v[4]) {
    const vector bits = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    vector pairs = vpaddq_u8(vandq_u8(v[0], bits), vandq_u8(v[1], bits));
    vector others = vpaddq_u8(vandq_u8(v[2], bits), vandq_u8(v[3], bits));
    vector sums = vpaddq_u8(pairs, others);
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(sums, sums)), 0);
}

static inline vector equal(vector v, uint8_t byte) { return vceqq_u8(v, vdupq_n_u8(byte)); }

static inline vector at_most(vector v, uint8_t byte) { return vcleq_u8(v, vdupq_n_u8(byte)); }

static inline vector beyond_ascii(vector v) { return vcltzq_s8(vreinterpretq_s8_u8(v)); }

/// Writes the bytes whose bits are set, without the others; sixteen bytes are stored.
static inline uint8_t *pack(vector v, unsigned kept, uint8_t *output) {
    unsigned low = kept & 0xFF, high = kept >> 8 & 0xFF;
    vst1_u8(output, vtbl1_u8(vget_low_u8(v), vcreate_u8(pusher_packing[low])));
    output += __builtin_popcount(low);
    vst1_u8(output, vtbl1_u8(vget_high_u8(v), vcreate_u8(pusher_packing[high])));
    return output + __builtin_popcount(high);
}

#else

bool pusher_can_unescape(void) { return false; }

pusher_unescaped pusher_unescape(const uint8_t *bytes, size_t count, uint8_t *output) {
    (void)bytes;
    (void)count;
    (void)output;
    return (pusher_unescaped){-1, 0, false};
}

#endif

#if defined(HAS_VARIANT)

/// The UTF-16 code unit of four hexadecimal digits; -1 if one is not a digit.
static int32_t code_unit(const uint8_t *digits, const uint8_t *end) {
    if (end - digits < 4) return -1;
    int32_t value = 0;
    for (int i = 0; i < 4; i++) {
        uint8_t digit = digits[i], letter = digit | 0x20;
        if (digit >= '0' && digit <= '9') {
            value = value << 4 | (digit - '0');
        } else if (letter >= 'a' && letter <= 'f') {
            value = value << 4 | (letter - 'a' + 10);
        } else {
            return -1;
        }
    }
    return value;
}

static uint8_t *write_scalar(uint32_t scalar, uint8_t *output) {
    if (scalar < 0x80) {
        *output++ = (uint8_t)scalar;
    } else if (scalar < 0x800) {
        *output++ = (uint8_t)(0xC0 | scalar >> 6);
        *output++ = (uint8_t)(0x80 | (scalar & 0x3F));
    } else if (scalar < 0x10000) {
        *output++ = (uint8_t)(0xE0 | scalar >> 12);
        *output++ = (uint8_t)(0x80 | (scalar >> 6 & 0x3F));
        *output++ = (uint8_t)(0x80 | (scalar & 0x3F));
    } else {
        *output++ = (uint8_t)(0xF0 | scalar >> 18);
        *output++ = (uint8_t)(0x80 | (scalar >> 12 & 0x3F));
        *output++ = (uint8_t)(0x80 | (scalar >> 6 & 0x3F));
        *output++ = (uint8_t)(0x80 | (scalar & 0x3F));
    }
    return output;
}

/// Where reading and writing have come to. `input` is NULL after something malformed.
typedef struct {
    const uint8_t *input;
    uint8_t *output;
    uint64_t beyond_ascii;
} place;

/// Writes the character of the escape that begins here.
static place unescape_one(place at, const uint8_t *end) {
    static const uint8_t meanings[256] = {
        ['"'] = '"', ['\\'] = '\\', ['/'] = '/', ['b'] = '\b', ['f'] = '\f', ['n'] = '\n', ['r'] = '\r', ['t'] = '\t',
    };
    if (end - at.input < 2) return (place){NULL, at.output, 0};
    uint8_t meaning = meanings[at.input[1]];
    if (meaning != 0) {
        *at.output++ = meaning;
        at.input += 2;
        return at;
    }
    int32_t first = at.input[1] == 'u' ? code_unit(at.input + 2, end) : -1;
    if (first < 0) return (place){NULL, at.output, 0};
    at.input += 6;
    uint32_t scalar = (uint32_t)first;
    if (first >= 0xD800 && first < 0xE000) {
        scalar = 0xFFFD;
        int32_t second = -1;
        if (first < 0xDC00 && end - at.input >= 2 && at.input[0] == '\\' && at.input[1] == 'u') {
            second = code_unit(at.input + 2, end);
        }
        if (second >= 0xDC00 && second < 0xE000) {
            scalar = 0x10000 + (((uint32_t)first - 0xD800) << 10) + ((uint32_t)second - 0xDC00);
            at.input += 6;
        }
    }
    at.beyond_ascii |= scalar >= 0x80;
    at.output = write_scalar(scalar, at.output);
    return at;
}

/// Goes on byte by byte, until the input has come to `stop` or to the string's end.
static place unescape_bytes(place at, const uint8_t *stop, const uint8_t *end) {
    while (at.input != NULL && at.input < stop) {
        uint8_t byte = *at.input;
        if (byte == '\\') {
            at = unescape_one(at, end);
        } else if (byte == '"') {
            return at;
        } else if (byte < 0x20) {
            at.input = NULL;
        } else {
            at.beyond_ascii |= byte & 0x80;
            *at.output++ = byte;
            at.input++;
        }
    }
    return at;
}

/// The bytes that a backslash escapes: every second one of a row of backslashes, and the byte behind a row of an odd number.
/// A row that begins at an odd place is added to itself, which carries a bit to its end.
static inline uint64_t escaped_by(uint64_t backslashes, uint64_t is_first_escaped) {
    const uint64_t evens = 0x5555555555555555;
    backslashes &= ~is_first_escaped;
    uint64_t following = backslashes << 1 | is_first_escaped;
    uint64_t odd_starts = backslashes & ~evens & ~following;
    return (evens ^ (odd_starts + backslashes) << 1) & following;
}

VARIANT pusher_unescaped pusher_unescape(const uint8_t *bytes, size_t count, uint8_t *output) {
    const uint8_t *end = bytes + count;
    place at = {bytes, output, 0};
    // 1 if the next byte belongs to an escape that began before it.
    uint64_t is_first_escaped = 0;
    uint8_t last[BLOCK];
    while (at.input < end) {
        const uint8_t *block = at.input;
        size_t left = (size_t)(end - at.input);
        if (left < BLOCK) {
            // The zeros are control characters: they end the block.
            memset(last, 0, BLOCK);
            memcpy(last, block, left);
            block = last;
        }
        vector v[4], quotes[4], backslashes[4], controls[4], others[4];
        for (int i = 0; i < 4; i++) {
            v[i] = load(block + 16 * i);
            quotes[i] = equal(v[i], '"');
            backslashes[i] = equal(v[i], '\\');
            controls[i] = at_most(v[i], 0x1F);
            others[i] = beyond_ascii(v[i]);
        }
        uint64_t quoted = mask(quotes), slashed = mask(backslashes);
        uint64_t escaped = escaped_by(slashed, is_first_escaped), starts = slashed & ~escaped;
        uint64_t stops = (quoted & ~escaped) | mask(controls);
        uint64_t before_stop = stops == 0 ? ~(uint64_t)0 : (stops & -stops) - 1;
        if (escaped & ~(quoted | slashed) & before_stop) {
            // An escape that does not stand for its second byte. It may reach beyond the block.
            const uint8_t *stop = left < BLOCK ? end : at.input + BLOCK;
            at.input -= is_first_escaped;
            at = unescape_bytes(at, stop, end);
            is_first_escaped = 0;
            if (at.input == NULL) break;
            if (at.input < stop) return (pusher_unescaped){at.output - output, (size_t)(at.input - bytes), at.beyond_ascii == 0};
            continue;
        }
        uint64_t kept = ~starts & before_stop;
        at.beyond_ascii |= mask(others) & before_stop;
        for (int i = 0; i < 4; i++) at.output = pack(v[i], (unsigned)(kept >> (16 * i)) & 0xFFFF, at.output);
        if (stops != 0) {
            size_t length = (size_t)__builtin_ctzll(stops);
            if (length >= left || block[length] != '"') break;
            return (pusher_unescaped){at.output - output, (size_t)(at.input - bytes) + length, at.beyond_ascii == 0};
        }
        is_first_escaped = starts >> 63;
        at.input += BLOCK;
    }
    return (pusher_unescaped){-1, 0, false};
}

#endif
