/* SPDX-License-Identifier: BSD-3-Clause
 *
 * one_case.c - a single case of calls.h: CASE, on the ranks in the order of the argument. */
#include "calls.h"

int main(int argc, char** argv) {
  begin(argc, argv);
  CASE("");
  end();
  return 0;
}
