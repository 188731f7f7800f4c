// SPDX-License-Identifier: BSD-3-Clause
//
// plugin.cpp - a library whose only function is a region (-finstrument-functions).
extern "C" void plugin() {
  static volatile int calls;
  calls = calls + 1;
}
