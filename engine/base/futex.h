/* futex.h: sleeping until a number in memory changes, without a lock (Linux, one process). For the
 * few places where a mutex with its condition is too slow: between the threads of a team. */
#ifndef BERTD_BASE_FUTEX_H
#define BERTD_BASE_FUTEX_H

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Sleeps unless the word has another value already. May also wake for no reason. */
static inline void futex_wait(atomic_uint *word, uint32_t value) {
    (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

/* Wakes all that sleep on the word. It must have been changed before. */
static inline void futex_wake(atomic_uint *word) {
    (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* Between two looks at a word that is about to change. */
static inline void futex_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
