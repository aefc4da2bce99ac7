#ifndef PUSHER_BENCHMARK_REFERENCE_H
#define PUSHER_BENCHMARK_REFERENCE_H

#include <stddef.h>
#include <stdint.h>

/// The counts of a loop over frames.
typedef struct {
    /// The bytes of the data, after unescaping.
    uint64_t bytes;
    uint64_t frames;
} reference_counts;

/// Reads whole frames of a server from a buffer. Finds the data in each envelope, and unescapes the data into `scratch`.
/// `scratch` must be larger than the largest frame by eight bytes.
///
/// - Returns: The number of bytes that were read. The rest is the beginning of a frame.
size_t reference_read_frames(const uint8_t *buffer, size_t count, uint8_t *scratch, reference_counts *counts);

#endif
