#ifndef ALLOCATION_COUNT_H
#define ALLOCATION_COUNT_H

#include <stdint.h>

/// Gives the number of allocations and their bytes since the start of the process. The library counts only if it is loaded
/// before the C library (`LD_PRELOAD`), on Linux with glibc only.
void allocation_count(uint64_t *allocations, uint64_t *bytes);

#endif
