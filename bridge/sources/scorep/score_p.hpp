// SPDX-License-Identifier: BSD-3-Clause
//
// score_p.hpp - calls Score-P's callbacks by their place in its struct. Filled once, when Score-P
// loads the plugin. If this Score-P lacks a callback, the caller's default value is returned.
#pragma once

#include <algorithm>
#include <cstring>

#include "sources/scorep/substrate_interface.hpp"

namespace perfield::scorep {

inline constexpr const char* kSource = "scorep";

inline Callback callbacks[kCallbacks];

// A newer Score-P may have more callbacks than this file knows, an older one fewer.
inline void take_callbacks(const Callback* given, size_t bytes) noexcept {
  memset(callbacks, 0, sizeof callbacks);
  memcpy(callbacks, given, std::min(bytes, sizeof callbacks));
}

template <class Result, class... Arguments>
Result ask(CallbackPlace place, Result otherwise, Arguments... arguments) noexcept {
  const auto callback = reinterpret_cast<Result (*)(Arguments...)>(callbacks[place]);
  return callback ? callback(arguments...) : otherwise;
}

}  // namespace perfield::scorep
