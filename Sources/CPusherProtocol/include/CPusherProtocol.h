#ifndef CPUSHERPROTOCOL_H
#define CPUSHERPROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// `pusher_unescape` may write so many bytes behind the result. Their values mean nothing.
enum { PUSHER_UNESCAPE_SLACK = 64 };

typedef struct {
    /// How many bytes were written; -1 if the string is malformed, or does not end.
    ptrdiff_t written;
    /// Where the closing quotation mark is.
    size_t end;
    /// Whether all that was written is ASCII.
    bool is_ascii;
} pusher_unescaped;

/// Whether this processor can run `pusher_unescape`.
bool pusher_can_unescape(void);

/// Writes the text of a JSON string, without its escapes.
///
/// `bytes` begin behind the string's opening quotation mark, and may go on after its end. They are valid UTF-8, and so is
/// what is written: half of a surrogate pair becomes U+FFFD. `output` has at least `count` bytes and the slack.
pusher_unescaped pusher_unescape(const uint8_t *bytes, size_t count, uint8_t *output);

#endif
