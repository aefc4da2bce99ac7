#ifndef ALLOCATION_COUNT_H
#define ALLOCATION_COUNT_H

#include <stdint.h>

/// What the process has allocated since its start. Loaded before the C library (`LD_PRELOAD`), this library counts; Linux
/// with glibc only.
void allocation_count(uint64_t *allocations, uint64_t *bytes);

#endif
