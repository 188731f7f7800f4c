// SPDX-License-Identifier: BSD-3-Clause
//
// sampling.cpp - libperfield_sampling.so: where the threads of the program are, so many times in a
// second of their CPU time (`sample`). The kernel looks and keeps it; when steps close, and where
// none closes for long, it is handed on, at most every kTakeEvery_ns; sooner at first, when
// programs start their threads. Names are found when the run is read.
#include <errno.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "recorder/source.h"
#include "sources/now.hpp"
#include "sources/sampling/made_code.hpp"
#include "sources/sampling/modules.hpp"
#include "sources/sampling/rings.hpp"

namespace {

using namespace perfield::sampling;

constexpr const char* kSource = "sampling";
constexpr uint64_t kTakeFirst_ns = 1'000'000, kTakeEvery_ns = 500'000'000;
constexpr size_t kMostWords = 4096;  // of an entry, as in format/samples.hpp
constexpr size_t words_of_sample(const uint64_t* words) { return 3 + uint32_t(words[1]); }
constexpr uint64_t kLongestPeriod_ns = 100'000'000'000;
// The period is a little shorter than asked for, so that it has no common measure with the steps.
constexpr double kOutOfStep = 0.98766;

uint64_t period_ns = 0;  // 0: nothing is sampled
std::atomic<uint64_t> n_lost{0};

int paranoia() noexcept {
  FILE* file = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
  int level = -2;
  if (!file || fscanf(file, "%d", &level) != 1) level = -2;
  if (file) fclose(file);
  return level;
}

void warn_of_refusal(int error) noexcept {
  char sentence[400];
  const int level = paranoia();
  if ((error == EACCES || error == EPERM) && level > 2)
    snprintf(
        sentence, sizeof sentence,
        "functions are not sampled: the kernel's setting kernel.perf_event_paranoid is %d here; "
        "with 2 or less a user may sample his own programs (sysctl kernel.perf_event_paranoid=2)",
        level);
  else if (error == EACCES || error == EPERM || error == ENOSYS)
    snprintf(sentence, sizeof sentence,
             "functions are not sampled: perf_event_open is forbidden here (%s), by a container's "
             "seccomp profile or a security module; allow this call there",
             strerror(error));
  else
    snprintf(sentence, sizeof sentence, "functions are not sampled: perf_event_open fails (%s)",
             strerror(error));
  perfield_warn_once_per_node(kSource, sentence);
}

void take_longer_periods() noexcept {
  if (period_ns >= kLongestPeriod_ns) return;
  period_ns *= 2;
  set_period(period_ns);
}

// Drops every second sample. Returns how many words are left.
size_t keep_half(uint64_t* words, size_t n) noexcept {
  size_t kept = 0, n_words = 0;
  bool keeps = true;
  for (size_t k = 0; k < n; k += n_words, keeps = !keeps) {
    n_words = words_of_sample(words + k);
    if (!keeps) continue;
    memmove(words + kept, words + k, n_words * sizeof *words);
    kept += n_words;
  }
  return kept;
}

// Writes the samples, or as many of them as there is room for, each of which then counts more.
perfield_samples_answer write(uint64_t* words, size_t n, uint64_t each_ns,
                              uint64_t n_lost_now) noexcept {
  for (uint64_t stands_for = 1;; stands_for *= 2) {
    const perfield_samples taken{words, n, stands_for * each_ns, n_lost_now};
    const perfield_samples_answer answer = perfield_source_samples(&taken);
    if (answer != PERFIELD_SAMPLES_REFUSED) return stands_for > 1 ? PERFIELD_SAMPLES_FEWER : answer;
    const size_t left = keep_half(words, n);
    if (left == n) {  // a single sample, or none
      n_lost.fetch_add(n > 0 ? stands_for : 0, std::memory_order_relaxed);
      return answer;
    }
    n = left;
  }
}

// Returns whether half as many would be enough.
bool hand_in(bool is_sparse) noexcept {
  static uint64_t words[kMostWords];
  bool is_much = false;
  for (size_t n = kMostWords; n + kMostWordsOfSample > kMostWords;) {
    n = take(is_sparse, words, kMostWords);
    const uint64_t n_lost_now = lost();
    n_lost.fetch_add(n_lost_now, std::memory_order_relaxed);
    if (!n && !n_lost_now) break;
    const uint64_t each_ns = is_sparse ? kSparser * period_ns : period_ns;
    is_much = write(words, n, each_ns, n_lost_now) != PERFIELD_SAMPLES_WRITTEN || is_much;
  }
  return is_much;
}

void hand_in_all() noexcept {
  const bool any_sparse = choose_rings();
  bool is_much = hand_in(false);
  if (any_sparse) is_much = hand_in(true) || is_much;
  // As many may come until the next time.
  if (any_sparse || is_much) take_longer_periods();
}

void follow() noexcept {
  static bool is_warned = false;
  int error = 0;
  follow_threads(period_ns, &error);
  if (is_warned || !unfollowed()) return;
  is_warned = true;
  char sentence[200];
  snprintf(sentence, sizeof sentence,
           "not all threads of this program are sampled (%s): a thread takes two descriptors and "
           "0.2 MB of "
           "locked memory (ulimit -n, kernel.perf_event_mlock_kb)",
           strerror(error));
  perfield_warn_once_per_node("sampling-threads", sentence);
}

void hand_in_when_due() {
  static uint64_t taken_ns = 0, pause_ns = kTakeFirst_ns;
  if (!period_ns) return;
  const uint64_t now = perfield::now_ns();
  if (now - taken_ns < pause_ns && !perfield_source_is_ending()) return;
  taken_ns = now;
  pause_ns = std::min(2 * pause_ns, kTakeEvery_ns);
  perfield_own_begin();
  record_new_modules();
  record_made_functions();
  hand_in_all();
  follow();
  perfield_own_end();
}

void start() {
  char rate[32];
  perfield_source_setting("sample", rate, sizeof rate);
  const long wanted = strtol(rate, nullptr, 10);
  if (wanted <= 0) return;
  period_ns = uint64_t(1e9 / double(wanted) * kOutOfStep);
  if (period_ns < 100'000) period_ns = 100'000;
  int error = 0;
  if (follow_threads(period_ns, &error)) return perfield_source_between_closes(hand_in_when_due);
  warn_of_refusal(error);
  period_ns = 0;
}

__attribute__((constructor)) void announce() {
  perfield_source_present(kSource);
  perfield_source_on_start(start);
  perfield_source_before_close(hand_in_when_due);
  perfield_source_counts_dropped(
      "samples",
      "samples of functions found no room; later ones were taken less often, and each counts more",
      &n_lost);
}

}  // namespace
