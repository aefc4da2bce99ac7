#ifdef PUSHER_WITHOUT_SODIUM
#error "This build must not use libsodium: see test-without-sodium in the Makefile."
#endif
#include <sodium.h>
