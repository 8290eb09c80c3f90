/* Sanitizers: which of them a file is compiled with, 1 or 0. gcc says so by macros, clang by
 * features. Used where memory is handed out, and by tests that look at memory. */
#ifndef LOCKSTEP_COMMON_BASE_SANITIZERS_H
#define LOCKSTEP_COMMON_BASE_SANITIZERS_H

#if defined(__has_feature)
#define LS_HAS_FEATURE(feature) __has_feature(feature)
#else
#define LS_HAS_FEATURE(feature) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || LS_HAS_FEATURE(address_sanitizer)
#define LS_HAS_ADDRESS_SANITIZER 1
#else
#define LS_HAS_ADDRESS_SANITIZER 0
#endif

#if defined(__SANITIZE_THREAD__) || LS_HAS_FEATURE(thread_sanitizer)
#define LS_HAS_THREAD_SANITIZER 1
#else
#define LS_HAS_THREAD_SANITIZER 0
#endif

/* The heap is the sanitizer's. */
#define LS_IS_SANITIZED                                                                            \
    (LS_HAS_ADDRESS_SANITIZER || LS_HAS_THREAD_SANITIZER || LS_HAS_FEATURE(memory_sanitizer))

#endif
