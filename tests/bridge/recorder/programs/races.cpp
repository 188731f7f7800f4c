// SPDX-License-Identifier: BSD-3-Clause
//
// races.cpp - threads that define, enter and leave regions, count messages, arm, pause and end,
// while others close steps and fork. For test_races.py.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#define PERFIELD_BUILDING_LIBRARY
#include "perfield.h"
#include "recorder/source.h"

namespace {

std::atomic<bool> done{false};

std::string numbered(const char* start, int number) { return start + std::to_string(number); }

void count_messages(int i) {
  const void *caller = __builtin_return_address(0), *frame = __builtin_frame_address(0);
  const auto [entered, after] = perfield_call_enter(PERFIELD_CALL_isend, caller, frame);
  if (after) perfield_call_after(after);
  if (!entered) return;
  perfield_message(PERFIELD_CALL_isend, i % 50, uint64_t(i));
  perfield_message(PERFIELD_CALL_recv, i % 3, 10);
  const perfield_msg_recv received{i % 70, PERFIELD_RECV_BLOCKING, 10, 0, entered, 0, {0, 0}};
  perfield_msg_recv_complete(&received);
  perfield_call_exit(PERFIELD_CALL_isend, entered, 0);
}

void work(int number) {
  const perfield_region region = perfield_region_define("work", __FILE__, __LINE__);
  perfield_region_begin(region);
  for (int i = 0; !done || i < 200; ++i) {
    const std::string name = numbered("region ", (i * 7 + number) % 100);
    perfield_begin("inner");
    perfield_begin(name.c_str());
    count_messages(i);
    if (i % 5 == 0) {
      perfield_region_begin_on(region, i % 4);
      perfield_region_end(region);
    }
    if (i % 97 == 0) perfield_pipeline_next();
    perfield_end(name.c_str());
    perfield_end("inner");
    if (i % 1000 == 999) {
      perfield_pause();
      perfield_resume();
    }
  }
  perfield_region_end(region);
}

void define_early() {
  for (int i = 0; i < 300; ++i) {
    const std::string name = numbered("early ", i);
    perfield_region_define(name.c_str(), "", 0);
    perfield_begin(name.c_str());
    perfield_end(name.c_str());
  }
}

void fork_and_go_on() {
  const pid_t child = fork();
  if (child == 0) {
    perfield_step(-1, 0);
    perfield_initialize();
    perfield_finalize();
    _exit(0);
  }
  waitpid(child, nullptr, 0);
}

}  // namespace

int main() {
  std::thread early(define_early);  // while the tables are made
  perfield_initialize();
  early.join();
  std::vector<std::thread> threads;
  for (int n = 0; n < 4; ++n) threads.emplace_back(work, n);
  for (int step = 0; step < 300; ++step) {
    std::thread brief([step] {
      perfield_begin("brief");
      perfield_step(step, step);
      perfield_end("brief");
    });
    perfield_measuring();
    perfield_begin("main");
    perfield_end("main");
    brief.join();
    if (step % 100 == 0) fork_and_go_on();
  }
  std::thread([] { perfield_finalize(); }).join();
  done = true;
  for (std::thread& thread : threads) thread.join();
  std::puts("done");
}
