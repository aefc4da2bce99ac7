#define _GNU_SOURCE
#include <locale.h>
#include <stdlib.h>
#if defined(__APPLE__)
#include <xlocale.h>
#endif

#include "CRealtimeJSON.h"
#include "escapes.h"
#include "vectors.h"

// MARK: Strings

ptrdiff_t realtime_json_unescape(const uint8_t *bytes, size_t count, bool replaces, uint8_t *output) {
    const uint8_t *p = bytes, *end = bytes + count;
    uint8_t *to = output;
    while (p < end) {
        // The output is never longer than the input, so there is space for 16 bytes if 16 bytes of input are left.
        if (end - p >= 16) {
            vector v = load(p);
            vector_mask stops = mask(either(equal(v, '\\'), at_most(v, 0x1F)));
            memcpy(to, p, 16);
            if (stops == 0) {
                p += 16;
                to += 16;
                continue;
            }
            p += first(stops);
            to += first(stops);
        } else if (*p != '\\' && *p > 0x1F) {
            *to++ = *p++;
            continue;
        }
        if (*p != '\\' || end - p < 2) return -1;
        uint8_t meaning = meaning_of_escape(p[1]);
        if (meaning != 0) {
            *to++ = meaning;
            p += 2;
            continue;
        }
        int32_t high = p[1] == 'u' ? code_unit(p + 2, end) : -1;
        if (high < 0) return -1;
        p += 6;
        uint32_t scalar = (uint32_t)high;
        if (high >= 0xD800 && high < 0xE000) {
            int32_t low = -1;
            if (high < 0xDC00 && end - p >= 6 && p[0] == '\\' && p[1] == 'u') low = code_unit(p + 2, end);
            if (low >= 0xDC00 && low < 0xE000) {
                scalar = 0x10000 + (((uint32_t)high - 0xD800) << 10) + ((uint32_t)low - 0xDC00);
                p += 6;
            } else if (replaces) {
                scalar = 0xFFFD;
            } else {
                return -1;
            }
        }
        to = write_scalar(scalar, to);
    }
    return to - output;
}

bool realtime_json_is_utf8(const uint8_t *bytes, size_t count) {
    const uint8_t *p = bytes, *end = bytes + count;
    while (p < end) {
        if (end - p >= 16 && beyond_ascii(load(p)) == 0) {
            p += 16;
            continue;
        }
        uint8_t byte = *p;
        if (byte < 0x80) {
            p++;
            continue;
        }
        unsigned length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
        if (byte < 0xC2 || byte > 0xF4 || end - p < (ptrdiff_t)length) return false;
        for (unsigned i = 1; i < length; i++) {
            if ((p[i] & 0xC0) != 0x80) return false;
        }
        // Overlong forms, surrogates, and scalars above U+10FFFF.
        if (byte == 0xE0 && p[1] < 0xA0) return false;
        if (byte == 0xED && p[1] > 0x9F) return false;
        if (byte == 0xF0 && p[1] < 0x90) return false;
        if (byte == 0xF4 && p[1] > 0x8F) return false;
        p += length;
    }
    return true;
}

// MARK: Numbers

const uint8_t *realtime_json_wrong_in_number(const uint8_t *bytes, const uint8_t *end) {
    const uint8_t *p = bytes;
#define AT_DIGIT (p < end && is_digit(*p))
    if (p < end && *p == '-') p++;
    if (!AT_DIGIT) return p;
    if (*p == '0') {
        p++;
    } else {
        while (AT_DIGIT) p++;
    }
    if (p < end && *p == '.') {
        p++;
        if (!AT_DIGIT) return p;
        while (AT_DIGIT) p++;
    }
    if (p < end && (*p | 0x20) == 'e') {
        p++;
        if (p < end && (*p == '-' || *p == '+')) p++;
        if (!AT_DIGIT) return p;
        while (AT_DIGIT) p++;
    }
    return p == end ? NULL : p;
#undef AT_DIGIT
}

bool realtime_json_read_double(const uint8_t *bytes, size_t count, double *result) {
    static const double powers[] = {
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
        1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
    };
    const uint8_t *p = bytes, *end = bytes + count;
    bool is_negative = count > 0 && *p == '-';
    p += is_negative;
    if (p == end || (*p == '0' && end - p > 1 && is_digit(p[1]))) return false;
    uint64_t mantissa = 0;
    int exponent = 0;
    const uint8_t *start = p;
    while (p < end && is_digit(*p)) mantissa = mantissa * 10 + (uint64_t)(*p++ - '0');
    ptrdiff_t digits = p - start;
    if (digits == 0) return false;
    if (p < end && *p == '.') {
        start = ++p;
        while (p < end && is_digit(*p)) mantissa = mantissa * 10 + (uint64_t)(*p++ - '0');
        if (p == start) return false;
        digits += p - start;
        if (digits > 19) return false;
        exponent = -(int)(p - start);
    }
    // The mantissa of more digits may have overflowed.
    if (digits > 19) return false;
    if (p < end && (*p | 0x20) == 'e') {
        p++;
        bool is_small = p < end && *p == '-';
        if (p < end && (*p == '-' || *p == '+')) p++;
        int value = 0;
        start = p;
        while (p < end && is_digit(*p) && value < 10000) value = value * 10 + (*p++ - '0');
        if (p == start) return false;
        exponent += is_small ? -value : value;
    }
    if (p != end) return false;
    // Both operands are exact, so the result is rounded only once.
    if (mantissa > (uint64_t)1 << 53 || exponent < -22 || exponent > 22) return false;
    double value = (double)mantissa;
    value = exponent < 0 ? value / powers[-exponent] : value * powers[exponent];
    *result = is_negative ? -value : value;
    return true;
}

/// The decimal point of the current locale may be a comma.
static locale_t c_locale(void) {
    static locale_t locale;
    locale_t known = __atomic_load_n(&locale, __ATOMIC_ACQUIRE);
    if (known != NULL) return known;
    locale_t made = newlocale(LC_ALL_MASK, "C", NULL);
    if (!__atomic_compare_exchange_n(&locale, &known, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        freelocale(made);
        return known;
    }
    return made;
}

double realtime_json_strtod(const uint8_t *bytes) { return strtod_l((const char *)bytes, NULL, c_locale()); }
float realtime_json_strtof(const uint8_t *bytes) { return strtof_l((const char *)bytes, NULL, c_locale()); }
