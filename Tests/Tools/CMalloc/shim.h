// The C library's report about its heap. Swift's module for the C library lacks this header.
#if defined(__GLIBC__) || defined(__linux__)
#include <malloc.h>
#endif
