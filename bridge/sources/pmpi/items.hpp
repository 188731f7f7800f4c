// SPDX-License-Identifier: BSD-3-Clause
//
// items.hpp - memory for the requests and statuses of one call.
#pragma once

#include <cstdlib>

namespace perfield::pmpi {

// n items for the duration of one call: on the stack or, if there are many, from malloc (nullptr
// without memory). Uninitialised.
template <typename T>
class Items {
 public:
  explicit Items(int n) noexcept
      : items_(reinterpret_cast<T*>(n <= kFew ? few_ : malloc(n * sizeof(T)))) {}
  ~Items() {
    if (!on_stack()) free(items_);
  }
  Items(const Items&) = delete;
  Items& operator=(const Items&) = delete;
  T* get() noexcept { return items_; }

 private:
  static constexpr int kFew = 64;
  bool on_stack() const noexcept { return static_cast<const void*>(items_) == few_; }
  alignas(T) unsigned char few_[kFew * sizeof(T)];
  T* items_;
};

}  // namespace perfield::pmpi
