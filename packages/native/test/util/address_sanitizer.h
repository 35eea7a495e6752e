#pragma once

// Defines SHEAF_ADDRESS_SANITIZER where it checks this build: GCC's word for it, and Clang's.
#if defined(__SANITIZE_ADDRESS__)
#define SHEAF_ADDRESS_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SHEAF_ADDRESS_SANITIZER
#endif
#endif
