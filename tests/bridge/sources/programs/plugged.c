/* SPDX-License-Identifier: BSD-3-Clause
 *
 * plugged - a library that programs/shares.c opens.
 */
static volatile double sink;

void plugged(long n) {
  double x = 0;
  for (long i = 0; i < n; i++) x += (double)i * .5;
  sink = x;
}
