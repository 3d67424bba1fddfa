/* float_format.h: a float32 as the shortest decimal that reads back to it. */
#ifndef BERTD_FLOAT_FORMAT_H
#define BERTD_FLOAT_FORMAT_H

#include <stddef.h>

enum { FLOAT_FORMAT_BYTES = 24 };

/* Writes a finite value as a JSON number with NUL and returns its bytes without it: as few
 * significant digits as strtof() needs to give the same bits, of those the nearest to the value;
 * plain between 1e-4 and 1e16 ("0.25", "3.0"), else with an exponent ("1e-07"). */
size_t float_format(char out[FLOAT_FORMAT_BYTES], float value);

#endif
