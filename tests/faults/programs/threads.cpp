// SPDX-License-Identifier: BSD-3-Clause
//
// threads.cpp - threads that enter and leave a region and count calls and messages while the main
// thread closes steps. Usage: threads N_THREADS N_ROUNDS; a round has five events.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#define PERFIELD_BUILDING_LIBRARY
#include "perfield.h"
#include "recorder/source.h"

static std::atomic<int> running{0};

static void work(int number, long rounds) {
  const perfield_region region = perfield_region_define("work", nullptr, 0);
  for (long round = 0; round < rounds; ++round) {
    if (round % 100 == 0) std::this_thread::yield();
    perfield_region_begin(region);
    const perfield_entered call = perfield_call_enter(PERFIELD_CALL_isend, nullptr, nullptr);
    perfield_message(PERFIELD_CALL_isend, number % 8, 10);
    perfield_message(PERFIELD_CALL_recv, number % 4, 20);
    perfield_call_exit(PERFIELD_CALL_isend, call.stamp, 0);
    perfield_region_end(region);
  }
  --running;
}

int main(int, char** words) {
  const int n_threads = atoi(words[1]);
  const long rounds = atol(words[2]);
  perfield_initialize();
  running = n_threads;
  std::vector<std::thread> threads;
  for (int n = 0; n < n_threads; ++n) threads.emplace_back(work, n, rounds);
  for (int step = 0; running; ++step) {
    usleep(200);
    perfield_step(step, 0.0);
  }
  for (std::thread& thread : threads) thread.join();
  perfield_finalize();
  puts("the answer is 42");
  return 7;
}
