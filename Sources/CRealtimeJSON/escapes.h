#ifndef REALTIME_JSON_ESCAPES_H
#define REALTIME_JSON_ESCAPES_H

#include <stdint.h>

/// Returns the character for the letter after a backslash; 0 if there is none, and for `u`.
static inline uint8_t meaning_of_escape(uint8_t letter) {
    static const uint8_t meanings[256] = {
        ['"'] = '"', ['\\'] = '\\', ['/'] = '/', ['b'] = '\b', ['f'] = '\f', ['n'] = '\n', ['r'] = '\r', ['t'] = '\t',
    };
    return meanings[letter];
}

/// Returns the UTF-16 code unit of four hexadecimal digits; -1 if there are not four such digits.
static inline int32_t code_unit(const uint8_t *digits, const uint8_t *end) {
    if (end - digits < 4) return -1;
    int32_t value = 0;
    for (int i = 0; i < 4; i++) {
        uint8_t digit = digits[i], letter = digit | 0x20;
        if ((uint8_t)(digit - '0') <= 9) {
            value = value << 4 | (digit - '0');
        } else if (letter >= 'a' && letter <= 'f') {
            value = value << 4 | (letter - 'a' + 10);
        } else {
            return -1;
        }
    }
    return value;
}

static inline uint8_t *write_scalar(uint32_t scalar, uint8_t *output) {
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

#endif
