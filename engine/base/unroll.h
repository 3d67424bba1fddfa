/* unroll.h: for loops of a few steps whose count the compiler knows, written out in full. */
#ifndef BERTD_BASE_UNROLL_H
#define BERTD_BASE_UNROLL_H

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

#endif
