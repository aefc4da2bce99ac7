#define _GNU_SOURCE
#include "reference.h"

#include <string.h>

static const char data_key[] = "\"data\":\"";

/// The highest bit of the first byte that is the character, and perhaps of some later bytes.
static inline uint64_t matches(uint64_t word, uint8_t character) {
    const uint64_t ones = 0x0101010101010101;
    uint64_t difference = word ^ ones * character;
    return (difference - ones) & ~difference & ones << 7;
}

/// Copies the text up to the end, eight bytes at a time, without the backslashes of escapes. The output must have space
/// for whole words.
static size_t unescape(const uint8_t *text, const uint8_t *end, uint8_t *output) {
    uint8_t *start = output;
    while (text + 8 <= end) {
        uint64_t word;
        memcpy(&word, text, 8);
        memcpy(output, &word, 8);
        uint64_t hits = matches(word, '\\');
        if (!hits) {
            text += 8;
            output += 8;
            continue;
        }
        size_t clean = (size_t)__builtin_ctzll(hits) / 8;
        output += clean;
        text += clean;
        if (text + 1 < end) *output++ = text[1];
        text += 2;
    }
    while (text < end) {
        if (*text == '\\' && ++text == end) break;
        *output++ = *text++;
    }
    return (size_t)(output - start);
}

size_t reference_read_frames(const uint8_t *buffer, size_t count, uint8_t *scratch, reference_counts *counts) {
    size_t offset = 0;
    while (count - offset >= 10) {
        const uint8_t *frame = buffer + offset;
        size_t header = 2;
        size_t length = frame[1] & 0x7F;
        if (length == 126) {
            header = 4;
            length = (size_t)frame[2] << 8 | frame[3];
        } else if (length == 127) {
            header = 10;
            length = 0;
            for (int index = 2; index < 10; index++) length = length << 8 | frame[index];
        }
        if (count - offset < header + length) break;
        const uint8_t *payload = frame + header;
        const uint8_t *key = memmem(payload, length, data_key, sizeof data_key - 1);
        if (key) {
            // The data is the last member, so two characters follow it.
            counts->bytes += unescape(key + sizeof data_key - 1, payload + length - 2, scratch);
        }
        counts->frames++;
        offset += header + length;
    }
    return offset;
}
