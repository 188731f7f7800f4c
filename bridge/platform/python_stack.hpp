// SPDX-License-Identifier: BSD-3-Clause
//
// python_stack.hpp - which lines of a Python script call now. Python 3.11 and later keep no C frame
// per Python function, and MPI is called without the interpreter's lock, so that its functions may
// not be asked. But its records of the thread's own frames do not change while the thread is in an
// MPI call. Their layout depends on the version: it is checked once, and not used if anything is
// unlike what is expected. Never throws or allocates.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

namespace perfield {

// One frame of a script.
struct PythonLine {
  uint64_t identity = 0;  // hash of the file's name, the function's first line and the instruction
  int line = 0;
  char function[64] = "", file[384] = "";  // UTF-8, cut where they are longer; "?" if not readable
};

class PythonStack {
 public:
  static constexpr int kMostFrames = 16;  // innermost first

  // Looks for an interpreter in this process. Takes the dynamic loader's lock.
  void find() noexcept;
  // Whether an address is in the interpreter itself.
  bool is_inside(uintptr_t address) const noexcept { return address - begin_ < end_ - begin_; }
  // Whether it has read any frames, and they were as expected.
  bool is_readable() const noexcept {
    return is_checked_.load(std::memory_order_acquire) && layout();
  }
  // A hash of the thread's frames, the same for calls from the same lines; 0: none is readable.
  uint64_t chain() noexcept {
    if (__builtin_expect(!layout(), 1)) return 0;
    return hash_of_chain();
  }
  // Reads frames, of which chain() has just returned a hash. nullptr: none is left.
  const char* innermost() const noexcept;
  const char* caller(const char* frame) const noexcept {
    return load<const char*>(frame + layout()->previous);
  }
  // Returns whether it is a frame of a script, and not of the interpreter's own.
  bool read(const char* frame, PythonLine* line) const noexcept;

 private:
  struct Layout {                    // offsets in bytes
    int minor;                       // Python 3.minor
    uint16_t thread_frame, current;  // kHere: the thread has the frame itself
    uint16_t code, previous, instruction;
    uint16_t code_bytes;  // 0: the frame has a number of the instruction, of `unit` bytes
    uint8_t unit;
    uint16_t file, name, first_line, text;
  };
  static constexpr uint16_t kHere = 0xFFFF;
  static const Layout kLayouts[];

  template <class T>
  static T load(const char* from) noexcept {
    T value;
    memcpy(&value, from, sizeof value);
    return value;
  }
  const Layout* layout() const noexcept { return layout_.load(std::memory_order_relaxed); }
  uint64_t hash_of_chain() noexcept;
  void check() noexcept;
  bool is_as_expected(const char* frame) const noexcept;
  bool copy_text(const char* text, char* to, int size) const noexcept;

  std::atomic<const Layout*> layout_{nullptr};
  std::atomic<bool> is_checked_{false};
  uintptr_t begin_ = 0, end_ = 0;  // the interpreter's code
  void* (*this_thread_)() = nullptr;
  int (*line_of_)(void*, int) = nullptr;
  const void *code_type_ = nullptr, *text_type_ = nullptr;
};

}  // namespace perfield
