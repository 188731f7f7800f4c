/* SPDX-License-Identifier: BSD-3-Clause
 *
 * spin.h - SPIN(n): a loop that takes equally long in each function, for samples.
 */
enum { kUnit = 400000 };
static volatile double sink;

#define SPIN(n)                                         \
  do {                                                  \
    double x = 0;                                       \
    for (long i = 0; i < (n); i++) x += (double)i * .5; \
    sink = x;                                           \
  } while (0)
