// SPDX-License-Identifier: BSD-3-Clause
//
// rank_log.cpp - see rank_log.hpp.
#include "session/rank_log.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <new>

#include "platform/clock.hpp"
#include "platform/guarded.hpp"
#include "platform/quietly.hpp"
#include "recorder/source.h"
#include "session/warnings.hpp"

namespace perfield {
namespace {

constexpr uint64_t kAllSteps = 10;  // have a line; then those whose number is a power of two

std::string in_ms(uint64_t ns) {
  char text[32];
  snprintf(text, sizeof text, "%.6g ms", double(ns) * 1e-6);
  return text;
}

bool has_line(uint64_t index) { return index < kAllSteps || (index & (index - 1)) == 0; }

}  // namespace

RankLog& rank_log() noexcept {
  alignas(RankLog) static char memory[sizeof(RankLog)];
  static RankLog* log = new (memory) RankLog;
  return *log;
}

void RankLog::open(const std::string& run_path, int rank) noexcept {
  try {
    const std::string folder = run_path + "/log";
    const GuardedParent parent(folder.c_str());
    if (parent.found())
      mkdirat(parent.descriptor(), parent.name(), parent.owners_alone() ? 0700 : 0777);
    since_ns_ = uint64_t(realtime_ns());
    path_ = folder + "/rank-" + std::to_string(rank) + ".log";
    open_.store(true, std::memory_order_release);
  } catch (...) {  // no memory
  }
}

void RankLog::line(const std::string& text) noexcept {
  if (!is_open()) return;
  perfield_own_begin();
  HeldBack size_limit(SIGXFSZ);
  int trouble = 0;
  try {
    char time[32];
    snprintf(time, sizeof time, "%12.6f  ", double(uint64_t(realtime_ns()) - since_ns_) * 1e-9);
    const std::string whole = time + text + "\n";
    const int fd = open_guarded(path_, O_WRONLY | O_CREAT | O_APPEND);
    if (fd < 0 || write(fd, whole.data(), whole.size()) < 0) trouble = errno;
    if (fd >= 0) ::close(fd);
  } catch (...) {  // no memory for a line
  }
  perfield_own_end();
  if (!trouble) return;
  try {
    close();  // before the warning, which would write a line
    warn_once_per_node("log", "the log " + path_ + " cannot be written (" + strerror(trouble) +
                                  "); the measurement continues without it");
  } catch (...) {
  }
}

void RankLog::configuration(const std::vector<ConfigOrigin>& keys) noexcept {
  if (!is_open()) return;
  try {
    for (const ConfigOrigin& key : keys)
      line("setting    " + key.key + " = " + key.value + "  (" + key.origin + ")");
  } catch (...) {
  }
}

void RankLog::entry(uint64_t index, const StepBody& body) noexcept {
  if (!is_open()) return;
  const bool is_window = body.kind == uint16_t(StepKind::window);
  const bool is_step = is_window || body.kind == uint16_t(StepKind::step);
  const bool new_mesh = body.mesh_version != mesh_version_;
  const uint64_t lost = body.overflowed + body.faults;
  mesh_version_ = body.mesh_version;
  if (is_step && !new_mesh && !lost && !has_line(index)) return;
  try {
    std::string text = is_step ? (is_window ? "window " : "step ") + std::to_string(index)
                       : body.kind == uint16_t(StepKind::setup) ? std::string("setup")
                                                                : std::string("teardown");
    text += " closed after " + in_ms(body.measured_ns) + " measured";
    if (is_step) text += ", label " + std::to_string(body.label);
    if (is_step && !std::isnan(body.time)) {
      char time[40];
      snprintf(time, sizeof time, ", time %.9g", body.time);
      text += time;
    }
    if (body.span > 1) text += ", " + std::to_string(body.span) + " steps in one entry";
    if (body.flags & kStepNotMeasured) text += ", not measured";
    line(text);
    if (new_mesh) line("mesh       version " + std::to_string(body.mesh_version) + " from here on");
    if (body.overflowed)
      line("peers      " + std::to_string(body.overflowed) +
           " messages beyond the table of peers, counted as `other peers`");
    if (body.faults)
      line("faults     " + std::to_string(body.faults) + " events that could not be right");
  } catch (...) {  // no memory for a line
  }
}

}  // namespace perfield
