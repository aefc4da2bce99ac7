#ifndef PUSHER_BENCHMARK_REFERENCE_H
#define PUSHER_BENCHMARK_REFERENCE_H

#include <stddef.h>
#include <stdint.h>

/// What a loop has to remember of the bytes that it was given.
typedef struct {
    /// Of the data, once unescaped.
    uint64_t bytes;
    uint64_t frames;
} reference_counts;

/// Reads whole frames of a server from a buffer: finds the data in each envelope, and unescapes it into `scratch`, which
/// must be larger than the largest frame by eight bytes.
///
/// - Returns: How many bytes were read; the rest is the beginning of a frame.
size_t reference_read_frames(const uint8_t *buffer, size_t count, uint8_t *scratch, reference_counts *counts);

#endif
