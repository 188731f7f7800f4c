// SPDX-License-Identifier: BSD-3-Clause
//
// definitions.cpp - see definitions.hpp. Writing a text twice is harmless, so all doubt is settled
// by writing it.
#include "session/definitions.hpp"

#include <cstring>

namespace perfield {
namespace {

// Others say that a text is written when they close their next step, and ranks may be apart.
constexpr int kClosings = 4;
// Thousands of texts may wait, and steps may be short.
constexpr uint64_t kLookEvery_ns = 10'000'000;

}  // namespace

void Definitions::start(uint64_t run_id, const std::string& node, int local_size,
                        double patience_s) noexcept {
  node_.join(run_id, node, local_size);
  patience_ns_ = uint64_t((1.0 + 2.0 * patience_s) * 1e9);
}

void Definitions::add(EntryType type, uint32_t id, const std::string& text, uint64_t now_ns) {
  const uint64_t hash = hash_of_definition(text.data(), text.size());
  rows_.push_back({hash, id, uint16_t(type), 0});
  if (node_.is_written(hash)) return;
  if (!node_.claim(hash)) {
    texts_.push_back({hash, text, now_ns + patience_ns_, kClosings});
    return;
  }
  texts_.push_back({hash, text, 0, 0});
  look_ns_ = 0;
}

void Definitions::write(Appender& stream, uint64_t now_ns) {
  now_ns_ = now_ns;
  share_written(stream);
  if (!rows_.empty() && stream.rows(EntryType::defined, rows_)) rows_.clear();
  if (texts_.empty() || now_ns < look_ns_) return;
  look_ns_ = now_ns + kLookEvery_ns;
  std::vector<Text> waiting;
  for (Text& text : texts_) {
    const bool is_due = !text.due_ns || (--text.closings <= 0 && now_ns >= text.due_ns);
    if (!is_due && node_.is_written(text.hash)) continue;
    if (is_due && stream.json(EntryType::definition, text.hash, text.json)) {
      gathered_.push_back(text.hash);
      missing_ = stream.missing();
    } else {
      if (is_due) look_ns_ = 0;  // the stream had no room
      waiting.push_back(std::move(text));
    }
  }
  texts_ = std::move(waiting);
}

void Definitions::write_last(Appender& stream) {
  for (Text& text : texts_)
    if (!node_.is_written(text.hash)) text.due_ns = 0;
  look_ns_ = 0;
  write(stream, now_ns_);
}

void Definitions::share_written(const Appender& stream) noexcept {
  if (gathered_.empty() || stream.gathered() || stream.failed()) return;
  if (stream.missing() == missing_)
    for (const uint64_t hash : gathered_) node_.note_written(hash);
  gathered_.clear();
}

}  // namespace perfield
