// SPDX-License-Identifier: BSD-3-Clause
//
// function_races.cpp - 64 threads that open, call and close libraries whose functions call the
// hooks, with a recorder that only counts. For test_function_races.py.
#include <dlfcn.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kThreads = 64, kTurns = 10, kCalls = 20;

// Of the regions "one" and "helper", by their numbers.
std::atomic<long> entered[3], left[3];

int number_of(const char* name) {
  return !std::strcmp(name, "one") ? 1 : !std::strcmp(name, "helper") ? 2 : 0;
}

// Two threads for each library, which is loaded while either has it open.
void work(int number) {
  const std::string file = "./lib" + std::to_string(number / 2) + ".so";
  for (int turn = 0; turn < kTurns; ++turn) {
    void* library = dlopen(file.c_str(), RTLD_NOW);
    const auto one = reinterpret_cast<void (*)()>(dlsym(library, "one"));
    for (int i = 0; i < kCalls; ++i) one();
    dlclose(library);
  }
}

}  // namespace

// --- functions of libperfield.so ----------------------------------------------------------------
extern "C" {
int perfield_source_follows_functions() noexcept { return 1; }
char* perfield_source_function(const char* symbol) noexcept {
  return number_of(symbol) ? strdup(symbol) : nullptr;
}
uint32_t perfield_source_function_entered(const char* name) noexcept { return number_of(name); }
void perfield_source_present(const char*) noexcept {}
void perfield_warn_once_per_node(const char*, const char*) noexcept {}
void perfield_region_begin(uint32_t region) { ++entered[region]; }
void perfield_region_end(uint32_t region) { ++left[region]; }
}

int main() {
  std::vector<std::thread> team;
  for (int i = 0; i < kThreads; ++i) team.emplace_back(work, i);
  for (std::thread& member : team) member.join();
  const long calls = long(kThreads) * kTurns * kCalls;
  bool right = entered[0] == 0;
  for (int region : {1, 2}) {
    right = right && entered[region] == calls && left[region] == calls;
    std::printf("%ld of %ld\n", entered[region].load(), calls);
  }
  std::printf("%s\n", right ? "right" : "wrong");
}
