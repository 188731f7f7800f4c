// SPDX-License-Identifier: BSD-3-Clause
//
// trace.cpp - see trace.hpp.
#include "replay/trace.hpp"

#include <algorithm>

#include "format/peers.h"

namespace perfield {

int32_t TracePeers::world_rank(uint32_t comm, uint32_t place, int32_t own) const noexcept {
  const auto found = groups_.find(comm);
  if (found == groups_.end() || found->second.empty()) return kPeerUnknown;
  const Group& first = found->second.front();
  const bool in_first = found->second.size() == 2 && first &&
                        std::find(first->begin(), first->end(), own) != first->end();
  const Group& group = in_first ? found->second.back() : first;
  if (!group) return own;
  return place < group->size() ? (*group)[place] : kPeerUnknown;
}

}  // namespace perfield
