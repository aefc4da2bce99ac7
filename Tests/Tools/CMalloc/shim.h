// What the C library tells of its heap; Swift's module for it leaves this header out.
#if defined(__GLIBC__) || defined(__linux__)
#include <malloc.h>
#endif
