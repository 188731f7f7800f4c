// SPDX-License-Identifier: BSD-3-Clause
//
// record_share.cpp - see record_share.hpp.
#include "session/record_share.hpp"

#include <algorithm>

#include "session/warnings.hpp"

namespace perfield {
namespace {

constexpr uint64_t kEnd = SpanOfEntries::kEndBytes;

uint64_t difference(uint64_t all, uint64_t part) noexcept { return all - std::min(all, part); }

// What mesh and fields may take; the rest is for the steps.
uint64_t three_quarters(uint64_t bytes) noexcept { return bytes / 4 * 3; }

}  // namespace

void RecordShare::divide(int rank, int size) noexcept {
  rank_ = rank;
  size_ = std::max(size, 1);
  bytes_ = uint64_t(config_.record_limit) / uint64_t(size_);
}

uint64_t RecordShare::left(const Taken& taken) const noexcept {
  return difference(bytes_, taken.by_stream + taken.by_mesh);
}

uint64_t RecordShare::left_before_end(const Taken& taken) const noexcept {
  return difference(left(taken), kEnd);
}

bool RecordShare::may_take(uint64_t bytes, const Taken& taken, const char* topic,
                           const std::string& what, const std::string& then) const {
  const uint64_t room = std::min(difference(three_quarters(bytes_), taken.by_mesh),
                                 three_quarters(left_before_end(taken)));
  if (bytes <= room) return true;
  const uint64_t all = taken.by_stream + taken.by_mesh + bytes + kEnd;
  warn_once_per_node(topic, what + " of rank " + std::to_string(rank_) + " would take " +
                                std::to_string(bytes) + " bytes, but " + in_words() +
                                " has room for " + std::to_string(room) + "; " + then +
                                "; set record_limit to more than " +
                                std::to_string(all / 3 * 4 * uint64_t(size_)));
  return false;
}

std::string RecordShare::in_words() const {
  const std::string all = std::to_string(config_.record_limit) + " bytes";
  if (size_ == 1) return "record_limit (" + all + ")";
  return "the share of rank " + std::to_string(rank_) + " in record_limit (" +
         std::to_string(bytes_) + " of " + all + ", for " + std::to_string(size_) + " ranks)";
}

void RecordShare::warn_of(const SpanOfEntries& spans, uint64_t step) noexcept {
  if (spans.cause() != SpanOfEntries::Cause::limit) return;
  const bool is_end = spans.is_full() && !warned_of_end_;
  if (!is_end && (warned_of_spans_ || !spans.is_longer())) return;
  (is_end ? warned_of_end_ : warned_of_spans_) = true;
  try {
    const std::string many = std::to_string(spans.steps());
    const std::string from = " from step " + std::to_string(step) + " on, ";
    if (is_end)
      warn_once_per_node("limit-full",
                         in_words() + " is used up:" + from +
                             "all steps share one entry, which is written when the program ends; "
                             "raise record_limit");
    else
      warn_once_per_node("limit",
                         "the run directory nears record_limit:" + from +
                             (config_.measure_every > 1 ? "one step in " + many + " is measured"
                                                        : many + " steps share an entry") +
                             " on rank " + std::to_string(rank_) +
                             ", and later ever more; raise record_limit (now " +
                             std::to_string(config_.record_limit) + " bytes) to keep more frames");
  } catch (...) {
    // no memory for a sentence
  }
}

}  // namespace perfield
