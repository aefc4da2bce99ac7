#include <stdlib.h>

#include "CRealtimeJSON.h"
#include "vectors.h"

INLINE size_t length_of(uint64_t word) { return (uint32_t)word >> 4; }
INLINE const uint8_t *start_of(const uint8_t *bytes, uint64_t word) { return bytes + (word >> 32); }

/// Returns the index of the key after the member at the index of a key.
INLINE size_t next_key(const uint64_t *words, size_t key) { return realtime_json_after_value(words, key + 1); }

INLINE size_t first_key(size_t object) { return object + REALTIME_JSON_OBJECT_HEADER; }

// MARK: Searching

size_t realtime_json_find_key(
    const uint8_t *bytes, const uint64_t *words, realtime_json_place *place, const realtime_json_name *name
) {
    size_t searched = place->searched, found = 0;
    for (size_t key = place->cursor; key < place->end && found == 0; key = next_key(words, key), searched++) {
        if (realtime_json_is_named(bytes, words[key], name)) found = key;
    }
    for (size_t key = first_key(place->object); key < place->cursor && found == 0; key = next_key(words, key), searched++) {
        if (realtime_json_is_named(bytes, words[key], name)) found = key;
    }
    place->searched = searched;
    return found;
}

INLINE uint8_t lowercase(uint8_t byte) { return (uint8_t)(byte - 'A') < 26 ? byte | 0x20 : byte; }

static bool is_similar(const uint8_t *a, size_t a_count, const uint8_t *b, size_t b_count) {
    const uint8_t *a_end = a + a_count, *b_end = b + b_count;
    for (;;) {
        while (a < a_end && *a == '_') a++;
        while (b < b_end && *b == '_') b++;
        if (a == a_end || b == b_end) return a == a_end && b == b_end;
        if (lowercase(*a++) != lowercase(*b++)) return false;
    }
}

size_t realtime_json_find_similar_key(
    const uint8_t *bytes, const uint64_t *words, size_t object, size_t from, const uint8_t *name, size_t count
) {
    size_t end = (size_t)(words[object] >> 32);
    for (size_t key = from; key < end; key = next_key(words, key)) {
        if (is_similar(start_of(bytes, words[key]), length_of(words[key]), name, count)) return key;
    }
    return 0;
}

// MARK: Equal keys

/// Returns a number that is equal for equal keys.
INLINE uint64_t fingerprint(const uint8_t *bytes, uint64_t key) {
    size_t length = length_of(key);
    const uint8_t *start = start_of(bytes, key);
    uint64_t head = 0, tail;
    if (length < 8) {
        memcpy(&head, start, length);
        return head ^ (uint64_t)length << 56;
    }
    memcpy(&head, start, 8);
    memcpy(&tail, start + length - 8, 8);
    return (head * 0x9E3779B97F4A7C15) ^ (tail * 0xC2B2AE3D27D4EB4F) ^ (uint64_t)length << 48;
}

/// Returns a number that is equal for keys that differ only in cases and underscores.
static uint64_t similarity(const uint8_t *bytes, uint64_t key) {
    const uint8_t *p = start_of(bytes, key), *end = p + length_of(key);
    uint64_t hash = 0xCBF29CE484222325;
    for (; p < end; p++) {
        if (*p != '_') hash = (hash ^ lowercase(*p)) * 0x100000001B3;
    }
    return hash;
}

/// The method for many keys. The table is large enough for few collisions.
__attribute__((noinline)) static bool has_many_unique_keys(
    const uint8_t *bytes, const uint64_t *words, size_t object, size_t count, bool similar
) {
    size_t size = 64;
    while (size < count * 2) size *= 2;
    uint64_t *table = calloc(size, sizeof(uint64_t));
    if (table == NULL) return false;
    size_t collisions = 0;
    bool is_unique = true;
    for (size_t key = first_key(object), n = 0; n < count && is_unique; n++, key = next_key(words, key)) {
        uint64_t print = similar ? similarity(bytes, words[key]) : fingerprint(bytes, words[key]);
        // Zero is an empty slot.
        if (print == 0) print = 1;
        size_t slot = (size_t)(print * 0xD6E8FEB86659FD93 >> 20) & (size - 1);
        while (table[slot] != 0) {
            // An attacker can choose keys that collide, so the number of steps has a limit.
            if (table[slot] == print || ++collisions > count * 4) {
                is_unique = false;
                break;
            }
            slot = (slot + 1) & (size - 1);
        }
        table[slot] = print;
    }
    free(table);
    return is_unique;
}

bool realtime_json_has_unique_keys(const uint8_t *bytes, const uint64_t *words, size_t object, bool similar) {
    size_t count = length_of(words[object]);
    if (count > 16) return has_many_unique_keys(bytes, words, object, count, similar);
    uint64_t prints[16];
    for (size_t key = first_key(object), n = 0; n < count; n++, key = next_key(words, key)) {
        prints[n] = similar ? similarity(bytes, words[key]) : fingerprint(bytes, words[key]);
        for (size_t m = 0; m < n; m++) {
            if (prints[m] == prints[n]) return false;
        }
    }
    return true;
}
