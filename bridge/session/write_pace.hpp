// SPDX-License-Identifier: BSD-3-Clause
//
// write_pace.hpp - decides when gathered entries are written, so that writing takes at most 0.5 %
// of the time: first by gathering more of them in one write, then by asking for longer spans. Knows
// no clock and no file: it is fed what each write took. Used under the session's lock.
//
// Each write is paid from a credit that grows by 0.5 % of the time, to at most 0.1 s. So a file
// system that becomes slow in the middle of a run is noticed after 0.1 s of writing, and a slow
// start is forgotten. A write that takes longer than the credit is paid back before the next one.
// Only when the entries find no room before that, a write comes early; if the last four were all
// too expensive for that rhythm, one hiccup is no excuse any more, and the spans must double. Each
// doubling needs such a write of its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace perfield {

class WritePace {
 public:
  static constexpr size_t kFirstRoom = 64 * 1024, kMostRoom = 1024 * 1024;  // bytes of entries

  // always: every entry is written at once, whatever that costs.
  void start(uint64_t now_ns, bool always) noexcept;

  enum class Next { gather, make_room, write };
  // What to do with so many bytes of entries. make_room: raise the room to kMostRoom, say by
  // has_room() what came of it, and ask again.
  Next next(uint64_t now_ns, size_t gathered) noexcept;
  void has_room(size_t bytes) noexcept {
    room_ = bytes;
    room_is_final_ = true;
  }

  // A write has taken place.
  void wrote(uint64_t begin_ns, uint64_t end_ns) noexcept;

  // What a write takes in general, once that is known, else 0; and the time between two that it
  // asks for.
  uint64_t shortest_ns() const noexcept;
  uint64_t apart_ns() const noexcept { return uint64_t(double(shortest_ns()) / kShare); }
  // Once after each write that came early although the room cannot grow.
  bool wants_longer_spans() noexcept;

 private:
  static constexpr double kShare = 0.005;                  // of the time
  static constexpr double kFirstCredit_ns = 10e6;          // a run may be short
  static constexpr double kMostCredit_ns = 100e6;          // of 20 s
  static constexpr uint64_t kMostCharge_ns = 100'000'000;  // of a hiccup: viewers wait 20 s for it
  static constexpr size_t kSampled = 4;                    // writes that show what one takes

  bool always_ = false, early_ = false, longer_ = false;
  size_t room_ = kFirstRoom;
  bool room_is_final_ = false;
  double credit_ns_ = kFirstCredit_ns;
  uint64_t credit_at_ns_ = 0;  // the credit is of this moment
  uint64_t last_end_ns_ = 0;
  uint64_t n_ = 0;  // writes
  std::array<uint64_t, kSampled> took_ns_{};
};

}  // namespace perfield
