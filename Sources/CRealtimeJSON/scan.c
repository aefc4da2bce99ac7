#include <stdlib.h>

#include "CRealtimeJSON.h"
#include "vectors.h"

const char *realtime_json_instructions(void) { return INSTRUCTIONS; }

INLINE uint64_t word(realtime_json_kind kind, size_t length, size_t offset) {
    return (uint64_t)kind | (uint64_t)length << 4 | (uint64_t)offset << 32;
}

INLINE bool is_literal(const uint8_t *p, const char *literal) { return memcmp(p, literal, 4) == 0; }

// MARK: Strings

INLINE bool is_hexadecimal(uint8_t byte) { return is_digit(byte) || (uint8_t)((byte | 0x20) - 'a') <= 5; }

/// Returns the position of the first byte that is wrong in the escape, or NULL if the escape is valid.
static const uint8_t *wrong_escape(const uint8_t *p) {
    // The zeros after the text are no part of an escape, so the function does not read beyond them.
    switch (p[1]) {
    case '"': case '\\': case '/': case 'b': case 'f': case 'n': case 'r': case 't': return NULL;
    case 'u':
        for (int i = 2; i < 6; i++) {
            if (!is_hexadecimal(p[i])) return p;
        }
        return NULL;
    default: return p;
    }
}

/// Finds the end of a string with an escape or a control character. `p` is at the first of them. Returns the position of
/// the closing quotation mark; NULL if there is none, and then sets `wrong`.
static const uint8_t *end_of_escaped(const uint8_t *p, const uint8_t *end, bool is_strict, const uint8_t **wrong) {
    while (p < end) {
        vector v = load(p);
        vector stopping = either(equal(v, '"'), equal(v, '\\'));
        if (is_strict) stopping = either(stopping, at_most(v, 0x1F));
        vector_mask stops = mask(stopping);
        if (stops == 0) {
            p += 16;
            continue;
        }
        p += first(stops);
        if (p >= end) break;
        if (*p == '"') return p;
        if (is_strict) {
            *wrong = *p == '\\' ? wrong_escape(p) : p;
            if (*wrong != NULL) return NULL;
        }
        *wrong = p;
        if (end - p < 2) return NULL;
        if (p[1] != 'u') {
            p += 2;
            continue;
        }
        // The reader checks the digits. But a quotation mark here is an error even if nobody reads the string.
        if (end - p < 6 || p[2] == '"' || p[3] == '"' || p[4] == '"' || p[5] == '"') return NULL;
        p += 6;
    }
    *wrong = end;
    return NULL;
}

/// Finds the end of the string that begins at `p`, after its opening quotation mark. Returns the position of the closing
/// quotation mark; NULL if there is none, and then sets `wrong`.
INLINE const uint8_t *end_of_string(
    const uint8_t *p, const uint8_t *end, realtime_json_kind *kind, bool is_strict, const uint8_t **wrong
) {
    vector_mask others = 0;
    for (;;) {
        vector v = load(p);
        vector_mask stops = mask(either(equal(v, '"'), either(equal(v, '\\'), at_most(v, 0x1F))));
        // The zeros after the text are control characters, so the loop ends.
        if (stops != 0) {
            others |= before(beyond_ascii(v), stops);
            p += first(stops);
            break;
        }
        others |= beyond_ascii(v);
        p += 16;
    }
    if (__builtin_expect(*p == '"', 1)) {
        *kind = others ? REALTIME_JSON_TEXT : REALTIME_JSON_ASCII;
        return p;
    }
    *kind = REALTIME_JSON_ESCAPED;
    return end_of_escaped(p, end, is_strict, wrong);
}

// MARK: Numbers

/// Finds the end of a number, which is the end of the bytes that may be part of a number.
INLINE const uint8_t *end_of_number(const uint8_t *p, realtime_json_kind *kind) {
    *kind = REALTIME_JSON_INTEGER;
    for (;;) {
        vector v = load(p);
        vector digits = either(at_most(minus(v, '0'), 9), equal(v, '-'));
        vector others = either(either(equal(v, '.'), equal(v, '+')), equal(with_bits(v, 0x20), 'e'));
        vector_mask stops = ~mask(either(digits, others)) & ALL_BYTES;
        vector_mask marked = mask(others);
        // The zeros after the text are no part of a number, so the loop ends.
        if (stops != 0) {
            if (before(marked, stops)) *kind = REALTIME_JSON_NUMBER;
            return p + first(stops);
        }
        if (marked) *kind = REALTIME_JSON_NUMBER;
        p += 16;
    }
}

// MARK: The scanner

static const uint8_t *skip_some_space(const uint8_t *p) {
    const uint64_t spaces = (uint64_t)1 << ' ' | (uint64_t)1 << '\t' | (uint64_t)1 << '\n' | (uint64_t)1 << '\r';
    while (*p <= ' ' && (spaces >> *p & 1)) p++;
    return p;
}

INLINE const uint8_t *skip_space(const uint8_t *p) {
    return __builtin_expect(*p > ' ', 1) ? p : skip_some_space(p);
}

static bool grow(realtime_json_tape *tape) {
    size_t capacity = tape->capacity * 2 + 64;
    uint64_t *words = realloc(tape->words, capacity * sizeof(uint64_t));
    if (words == NULL) return false;
    tape->words = words;
    tape->capacity = capacity;
    return true;
}

INLINE realtime_json_result scan(
    const uint8_t *bytes, size_t count, unsigned maximum_depth, bool is_strict, realtime_json_tape *tape
) {
    const uint8_t *p = bytes, *end = bytes + count;
    // The containers around the innermost one.
    struct {
        uint32_t start, count;
    } outer[REALTIME_JSON_MAXIMUM_DEPTH];
    unsigned depth = 0;
    size_t container = 0;
    uint32_t members = 0;
    bool in_object = false;
    size_t at = 0;
    uint64_t *words = tape->words;
    size_t capacity = tape->capacity;
    realtime_json_kind kind;
    const uint8_t *start, *wrong;

#define FAIL(why, place) return (realtime_json_result){why, (size_t)((place) - bytes)}
    // Between two checks, the scanner writes at most six words: a key and the header of an object.
#define RESERVE()                                                   \
    if (__builtin_expect(at + 8 > capacity, 0)) {                   \
        if (!grow(tape)) FAIL(REALTIME_JSON_NO_MEMORY, p);          \
        words = tape->words;                                        \
        capacity = tape->capacity;                                  \
    }
#define OPEN(header_kind, header)                                   \
    if (depth >= maximum_depth) FAIL(REALTIME_JSON_TOO_DEEP, p);    \
    outer[depth].start = (uint32_t)container;                       \
    outer[depth].count = members;                                   \
    depth++;                                                        \
    container = at;                                                 \
    members = 0;                                                    \
    words[at] = header_kind;                                        \
    words[at + 1] = (uint64_t)(p - bytes);                          \
    at += header;                                                   \
    p = skip_space(p + 1)

value:
    RESERVE();
    p = skip_space(p);
    switch (*p) {
    case '"':
        start = p + 1;
        p = end_of_string(start, end, &kind, is_strict, &wrong);
        if (p == NULL) FAIL(REALTIME_JSON_MALFORMED, wrong);
        words[at++] = word(kind, (size_t)(p - start), (size_t)(start - bytes));
        p++;
        break;
    case '-': case '0': case '1': case '2': case '3': case '4': case '5': case '6': case '7': case '8': case '9':
        start = p;
        p = end_of_number(p, &kind);
        if (is_strict && (wrong = realtime_json_wrong_in_number(start, p)) != NULL) FAIL(REALTIME_JSON_MALFORMED, wrong);
        words[at++] = word(kind, (size_t)(p - start), (size_t)(start - bytes));
        break;
    case 't':
        if (!is_literal(p, "true")) FAIL(REALTIME_JSON_MALFORMED, p);
        words[at++] = word(REALTIME_JSON_TRUE, 4, (size_t)(p - bytes));
        p += 4;
        break;
    case 'f':
        if (!is_literal(p + 1, "alse")) FAIL(REALTIME_JSON_MALFORMED, p);
        words[at++] = word(REALTIME_JSON_FALSE, 5, (size_t)(p - bytes));
        p += 5;
        break;
    case 'n':
        if (!is_literal(p, "null")) FAIL(REALTIME_JSON_MALFORMED, p);
        words[at++] = word(REALTIME_JSON_NULL, 4, (size_t)(p - bytes));
        p += 4;
        break;
    case '{': {
        OPEN(REALTIME_JSON_OBJECT, REALTIME_JSON_OBJECT_HEADER);
        words[container + 2] = REALTIME_JSON_PLAIN_KEYS;
        words[container + 3] = 0;
        words[container + 4] = 0;
        in_object = true;
        if (*p == '}') goto end_of_container;
        goto key;
    }
    case '[': {
        OPEN(REALTIME_JSON_ARRAY, REALTIME_JSON_ARRAY_HEADER);
        in_object = false;
        if (*p == ']') goto end_of_container;
        goto value;
    }
    default: FAIL(REALTIME_JSON_MALFORMED, p);
    }

after_value:
    p = skip_space(p);
    if (depth == 0) {
        if (p != end) FAIL(REALTIME_JSON_MALFORMED, p);
        return (realtime_json_result){REALTIME_JSON_VALID, count};
    }
    members++;
    if (*p == ',') {
        p = skip_space(p + 1);
        if (in_object) {
            if (is_strict || *p != '}') goto key;
        } else if (is_strict || *p != ']') {
            goto value;
        }
        goto end_of_container;
    }
    if (*p == (in_object ? '}' : ']')) goto end_of_container;
    FAIL(REALTIME_JSON_MALFORMED, p);

key:
    if (*p != '"') FAIL(REALTIME_JSON_MALFORMED, p);
    RESERVE();
    start = p + 1;
    p = end_of_string(start, end, &kind, is_strict, &wrong);
    if (p == NULL) FAIL(REALTIME_JSON_MALFORMED, wrong);
    words[at++] = word(kind, (size_t)(p - start), (size_t)(start - bytes));
    if (__builtin_expect(kind != REALTIME_JSON_ASCII, 0)) words[container + 2] = 0;
    p++;
    if (*p != ':') {
        p = skip_space(p);
        if (*p != ':') FAIL(REALTIME_JSON_MALFORMED, p);
    }
    p++;
    goto value;

end_of_container:
    p++;
    words[container] |= (uint64_t)members << 4 | (uint64_t)at << 32;
    words[container + 1] |= (uint64_t)(p - bytes) << 32;
    depth--;
    container = outer[depth].start;
    members = outer[depth].count;
    in_object = depth > 0 && (words[container] & 0xF) == REALTIME_JSON_OBJECT;
    goto after_value;
#undef OPEN
#undef RESERVE
#undef FAIL
}

realtime_json_result realtime_json_scan(const uint8_t *bytes, size_t count, realtime_json_tape *tape) {
    return scan(bytes, count, REALTIME_JSON_MAXIMUM_DEPTH, false, tape);
}

realtime_json_result realtime_json_scan_strictly(
    const uint8_t *bytes, size_t count, unsigned depth, realtime_json_tape *tape
) {
    if (depth > REALTIME_JSON_MAXIMUM_DEPTH) depth = REALTIME_JSON_MAXIMUM_DEPTH;
    return scan(bytes, count, depth, true, tape);
}
