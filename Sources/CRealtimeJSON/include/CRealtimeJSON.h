#ifndef CREALTIMEJSON_H
#define CREALTIMEJSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/// The number of zero bytes that must follow the text, so that vectors can be read without checks.
enum { REALTIME_JSON_PADDING = 64 };

/// The largest text, in bytes. The tape has 28 bits for a length.
enum { REALTIME_JSON_MAXIMUM_SIZE = (1 << 28) - 64 };

/// The largest depth of nested arrays and objects. Foundation's JSONDecoder has the same limit.
enum { REALTIME_JSON_MAXIMUM_DEPTH = 512 };

/// The kind of a value on the tape.
typedef enum {
    REALTIME_JSON_NULL,
    REALTIME_JSON_FALSE,
    REALTIME_JSON_TRUE,
    /// A number of digits and signs only.
    REALTIME_JSON_INTEGER,
    /// A number with a point or an exponent.
    REALTIME_JSON_NUMBER,
    /// A string of ASCII characters only, without escapes and control characters.
    REALTIME_JSON_ASCII,
    /// A string without escapes and control characters, whose UTF-8 is not checked.
    REALTIME_JSON_TEXT,
    /// A string with escapes or control characters, whose UTF-8 is not checked.
    REALTIME_JSON_ESCAPED,
    REALTIME_JSON_OBJECT,
    REALTIME_JSON_ARRAY,
} realtime_json_kind;

// The tape is a list of words of 64 bits.
//
// - A scalar is one word: kind (bits 0 to 3), length in bytes (bits 4 to 31), offset in the text (bits 32 to 63). The
//   offset and the length of a string do not include the quotation marks.
// - An array is two words, and then its elements. First word: kind, number of elements (bits 4 to 31), index of the word
//   after the array (bits 32 to 63). Second word: the offset of the opening bracket in the text (bits 0 to 31), and the
//   offset after the closing bracket (bits 32 to 63).
// - An object is five words, and then its members, each of which is the word of the key and then the value. The first two
//   words are like an array's. The third word has the flags below. The reader keeps the type of the app's keys in the
//   fourth and fifth word.
enum { REALTIME_JSON_ARRAY_HEADER = 2, REALTIME_JSON_OBJECT_HEADER = 5 };

/// The flags of an object.
enum {
    /// All keys are ASCII without escapes. Such keys are equal if and only if their bytes are equal.
    REALTIME_JSON_PLAIN_KEYS = 1,
    /// No two keys are equal. The reader sets this flag, or the next one.
    REALTIME_JSON_UNIQUE_KEYS = 2,
    /// Two keys may be equal.
    REALTIME_JSON_REPEATED_KEYS = 4,
};

typedef struct {
    uint64_t *words;
    /// In words.
    size_t capacity;
} realtime_json_tape;

typedef enum {
    REALTIME_JSON_VALID,
    REALTIME_JSON_MALFORMED,
    REALTIME_JSON_TOO_DEEP,
    REALTIME_JSON_NO_MEMORY,
} realtime_json_status;

typedef struct {
    realtime_json_status status;
    /// The offset of the first byte that is wrong.
    size_t offset;
} realtime_json_result;

/// Writes the tape of a JSON text of at most `REALTIME_JSON_MAXIMUM_SIZE` bytes, which `REALTIME_JSON_PADDING` zero bytes
/// must follow. The function may replace the tape's memory, with `realloc`.
///
/// The function accepts what Foundation's JSONDecoder accepts: a comma before the end of an array or object, and numbers
/// and escapes that nobody has read yet.
realtime_json_result realtime_json_scan(const uint8_t *bytes, size_t count, realtime_json_tape *tape);

/// The same, but the function accepts only texts of RFC 8259. It checks numbers and escapes too, but not UTF-8.
///
/// - `depth`: The largest depth, at most `REALTIME_JSON_MAXIMUM_DEPTH`.
realtime_json_result realtime_json_scan_strictly(
    const uint8_t *bytes, size_t count, unsigned depth, realtime_json_tape *tape
);

// MARK: Values

/// Returns the number of bytes of the unescaped string, or -1 if the string is malformed. `output` must have space for
/// `count` bytes. The function does not check the UTF-8 of the input.
///
/// - `replaces`: Whether half of a surrogate pair becomes U+FFFD. Otherwise, it makes the string malformed.
ptrdiff_t realtime_json_unescape(const uint8_t *bytes, size_t count, bool replaces, uint8_t *output);

/// The number of bytes after the result that `realtime_json_unescape_until_quote` may overwrite with arbitrary values.
enum { REALTIME_JSON_UNESCAPE_SLACK = 64 };

typedef struct {
    /// The number of bytes of the result; -1 if the string is malformed or incomplete.
    ptrdiff_t written;
    /// The index of the closing quotation mark in the input.
    size_t end;
    /// Whether the result contains only ASCII characters.
    bool is_ascii;
} realtime_json_unescaped;

/// Whether this processor can unescape blocks of bytes at once.
bool realtime_json_unescapes_in_blocks(void);

/// Writes the text of a JSON string, without its escapes, in one pass.
///
/// `bytes` begin after the opening quotation mark of the string, and may continue after its end. They must be valid
/// UTF-8. The result is valid UTF-8 too, because half of a surrogate pair becomes U+FFFD. `output` must have space for
/// `count` + `REALTIME_JSON_UNESCAPE_SLACK` bytes.
///
/// - `in_blocks`: Only if `realtime_json_unescapes_in_blocks` returns true.
realtime_json_unescaped realtime_json_unescape_until_quote(
    const uint8_t *bytes, size_t count, bool in_blocks, uint8_t *output
);

/// Returns whether the bytes are valid UTF-8.
bool realtime_json_is_utf8(const uint8_t *bytes, size_t count);

/// Returns the first byte, or the end, that makes the bytes no number of JSON's grammar; NULL if they are a number.
const uint8_t *realtime_json_wrong_in_number(const uint8_t *bytes, const uint8_t *end);

static inline bool realtime_json_is_number(const uint8_t *bytes, size_t count) {
    return realtime_json_wrong_in_number(bytes, bytes + count) == NULL;
}

/// Reads a number of at most 19 significant digits whose value a double represents after at most one rounding. Returns
/// false if another function has to read the number, which may be malformed.
bool realtime_json_read_double(const uint8_t *bytes, size_t count, double *result);

/// Reads a valid number that is followed by a byte that cannot be part of a number.
double realtime_json_strtod(const uint8_t *bytes);
float realtime_json_strtof(const uint8_t *bytes);

/// Reads an integer of at most 18 digits. Returns false if another function has to read the number.
static inline bool realtime_json_read_integer(const uint8_t *bytes, size_t count, int64_t *result) {
    const uint8_t *end = bytes + count;
    bool is_negative = *bytes == '-';
    bytes += is_negative;
    ptrdiff_t digits = end - bytes;
    if (digits <= 0 || digits > 18 || (*bytes == '0' && digits > 1)) return false;
    int64_t value = 0;
    for (; bytes < end; bytes++) {
        unsigned digit = (unsigned)*bytes - '0';
        if (digit > 9) return false;
        value = value * 10 + (int64_t)digit;
    }
    *result = is_negative ? -value : value;
    return true;
}

// MARK: Members of objects

/// The name of one of the app's keys. All bytes are ASCII.
typedef struct {
    /// NULL if the name is not known yet.
    const uint8_t *bytes;
    /// SIZE_MAX if comparing bytes is not enough for this name.
    size_t count;
    /// The first eight bytes, and a mask of those that belong to the name.
    uint64_t head, mask;
} realtime_json_name;

static inline realtime_json_name realtime_json_make_name(const uint8_t *bytes, size_t count) {
    realtime_json_name name = {bytes, count, 0, count < 8 ? ((uint64_t)1 << 8 * count) - 1 : ~(uint64_t)0};
    memcpy(&name.head, bytes, count < 8 ? count : 8);
    // The mask covers the first bytes in memory.
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    if (count < 8) name.mask = count == 0 ? 0 : ~(uint64_t)0 << (64 - 8 * count);
#endif
    return name;
}

/// The place of a reader among an object's members.
///
/// Usually, an app reads the members once and in the order of the text. As long as this is so, the reader only compares
/// each name with the next key.
typedef struct {
    /// The index of the object, and the index after it.
    size_t object, end;
    /// The index of the key after the member that was read last.
    size_t cursor;
    /// One bit for each of the app's keys. A set bit means that the next key may not be the first one of that name.
    uint64_t asked;
    /// The bits that reading sets in `asked`: none if all keys of the object are known to be different.
    uint64_t asking;
    /// The number of keys that searches in this object have compared.
    size_t searched;
} realtime_json_place;

static inline bool realtime_json_is_named(const uint8_t *bytes, uint64_t key, const realtime_json_name *name) {
    if ((uint32_t)key >> 4 != name->count) return false;
    const uint8_t *start = bytes + (key >> 32);
    uint64_t head;
    // The text has padding.
    memcpy(&head, start, 8);
    if (((head ^ name->head) & name->mask) != 0) return false;
    return name->count <= 8 || memcmp(start + 8, name->bytes + 8, name->count - 8) == 0;
}

static inline size_t realtime_json_after_value(const uint64_t *words, size_t index) {
    uint64_t value = words[index];
    return (value & 0xF) < REALTIME_JSON_OBJECT ? index + 1 : (size_t)(value >> 32);
}

/// Returns the index of the value of the next member if the member has the name; otherwise 0.
///
/// - `id`: The bit of the key, less than 64.
/// - `is_read`: Whether the caller reads the value now. Otherwise, the place does not change.
static inline size_t realtime_json_next_member(
    const uint8_t *bytes, const uint64_t *words, realtime_json_place *place, const realtime_json_name *name, unsigned id,
    bool is_read
) {
    size_t key = place->cursor;
    if (key >= place->end || (place->asked >> id & 1) || !realtime_json_is_named(bytes, words[key], name)) return 0;
    if (is_read) {
        place->asked |= place->asking & (uint64_t)1 << id;
        place->cursor = realtime_json_after_value(words, key + 1);
    }
    return key + 1;
}

/// Returns the index of a key with the name, or 0. The search begins at the cursor, and counts the keys.
size_t realtime_json_find_key(
    const uint8_t *bytes, const uint64_t *words, realtime_json_place *place, const realtime_json_name *name
);

/// Returns the index of the first key, from an index, that may become the name when a key strategy changes letters' cases
/// and removes underscores; 0 if there is none. All keys must be ASCII.
size_t realtime_json_find_similar_key(
    const uint8_t *bytes, const uint64_t *words, size_t object, size_t from, const uint8_t *name, size_t count
);

/// Returns whether the object certainly has no two equal keys. `REALTIME_JSON_PLAIN_KEYS` must be set.
///
/// - `is_similar`: Whether keys also count as equal that differ only in their letters' cases and underscores.
bool realtime_json_has_unique_keys(const uint8_t *bytes, const uint64_t *words, size_t object, bool is_similar);

// MARK: Memory

/// Returns the object that the thread keeps, and stops keeping it. NULL if there is none.
void *realtime_json_take_object(void);

/// Makes the thread keep an object. Returns the object that it kept before, or the new object if it cannot keep it.
///
/// - `release`: The function that releases the object when the thread ends. It is the same function for all objects.
void *realtime_json_keep_object(void *object, void (*release)(void *));

/// Locks the list of the process, and returns its content. NULL at first.
void *realtime_json_lock_list(void);

/// Replaces the content of the list, and unlocks it.
void realtime_json_unlock_list(void *list);

/// The name of the instructions that the scanner uses.
const char *realtime_json_instructions(void);

#endif
