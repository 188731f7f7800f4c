// SPDX-License-Identifier: BSD-3-Clause
//
// python_stack.cpp - see python_stack.hpp.
#include "platform/python_stack.hpp"

#include <dlfcn.h>
#include <link.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>

#include "platform/hash.hpp"
#include "platform/utf8.hpp"

namespace perfield {
namespace {

constexpr size_t kType = 8;         // PyObject::ob_type
constexpr size_t kTextLength = 16;  // PyASCIIObject::length, state
constexpr size_t kTextState = 32;

// Reads memory that may not be there.
template <class T>
bool try_load(const char* from, T* value) noexcept {
  iovec here{value, sizeof *value}, there{const_cast<char*>(from), sizeof *value};
  return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == ssize_t(sizeof *value);
}

// The object that a frame refers to; from Python 3.14 on, the lowest bits of such an address are
// marks.
const char* object_of(const char* reference) noexcept {
  return reinterpret_cast<const char*>(reinterpret_cast<uintptr_t>(reference) & ~uintptr_t{3});
}

bool is_of_type(const char* object, const void* type) noexcept {
  const void* found = nullptr;
  return object && try_load(object + kType, &found) && found == type;
}

template <class Function>
void find_function(const char* name, Function* function) noexcept {
  void* const symbol = dlsym(RTLD_DEFAULT, name);
  memcpy(function, &symbol, sizeof symbol);
}

}  // namespace

// Of CPython's headers: pystate.h, pycore_frame.h, code.h, unicodeobject.h.
const PythonStack::Layout PythonStack::kLayouts[] = {
    {8, 24, kHere, 32, 24, 104, 0, 1, 104, 112, 40, 48},
    {9, 24, kHere, 32, 24, 104, 0, 1, 104, 112, 40, 48},
    {10, 24, kHere, 32, 24, 96, 0, 2, 104, 112, 40, 48},
    {11, 56, 8, 32, 48, 56, 184, 0, 112, 120, 72, 48},
    {12, 56, 0, 0, 8, 56, 192, 0, 112, 120, 68, 40},
    {13, 72, kHere, 0, 8, 56, 200, 0, 112, 120, 68, 40},
    {14, 72, kHere, 0, 8, 56, 208, 0, 112, 120, 68, 40},
};

void PythonStack::find() noexcept {
  const char* (*version)() = nullptr;
  find_function("Py_GetVersion", &version);
  find_function("PyGILState_GetThisThreadState", &this_thread_);
  find_function("PyCode_Addr2Line", &line_of_);
  code_type_ = dlsym(RTLD_DEFAULT, "PyCode_Type");
  text_type_ = dlsym(RTLD_DEFAULT, "PyUnicode_Type");
  dlerror();  // that a symbol is not there is no error of the program's
  if (!version || !this_thread_ || !line_of_ || !code_type_ || !text_type_) return;
  begin_ = reinterpret_cast<uintptr_t>(version);
  dl_iterate_phdr(
      [](dl_phdr_info* object, size_t, void* data) noexcept {
        auto* self = static_cast<PythonStack*>(data);
        for (int i = 0; i < object->dlpi_phnum; ++i) {
          const ElfW(Phdr)& segment = object->dlpi_phdr[i];
          const uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
          if (segment.p_type != PT_LOAD || self->begin_ - begin >= segment.p_memsz) continue;
          self->begin_ = begin;
          self->end_ = begin + segment.p_memsz;
          return 1;
        }
        return 0;
      },
      this);
  const char* const text = version();
  const int minor = !strncmp(text, "3.", 2) ? atoi(text + 2) : 0;
  for (const Layout& layout : kLayouts)
    if (layout.minor == minor && sizeof(void*) == 8) layout_.store(&layout);
}

const char* PythonStack::innermost() const noexcept {
  if (!is_readable()) return nullptr;
  const Layout* const l = layout();
  const char* const thread = static_cast<const char*>(this_thread_());
  const char* const frame = thread ? load<const char*>(thread + l->thread_frame) : nullptr;
  return l->current == kHere || !frame ? frame : load<const char*>(frame + l->current);
}

uint64_t PythonStack::hash_of_chain() noexcept {
  if (__builtin_expect(!is_checked_.load(std::memory_order_acquire), 0)) check();
  const char* frame = innermost();
  const Layout* const l = layout();
  uint64_t hash = 0;
  for (int i = 0; frame && i < kMostFrames; ++i, frame = caller(frame)) {
    const char* const at = frame + l->instruction;
    hash = mix(hash, l->code_bytes ? load<uint64_t>(at)
                                   : load<uint64_t>(frame + l->code) + uint64_t(load<int32_t>(at)));
  }
  return hash;
}

// Until the thread has a frame, nothing is known.
void PythonStack::check() noexcept {
  const Layout* const l = layout();
  const char* const thread = l ? static_cast<const char*>(this_thread_()) : nullptr;
  if (!thread) return;
  const char* frame = nullptr;
  bool is_good = try_load(thread + l->thread_frame, &frame);
  if (is_good && frame && l->current != kHere) is_good = try_load(frame + l->current, &frame);
  if (is_good && !frame) return;
  if (!is_good || !is_as_expected(frame)) layout_.store(nullptr, std::memory_order_relaxed);
  is_checked_.store(true, std::memory_order_release);
}

bool PythonStack::is_as_expected(const char* frame) const noexcept {
  const Layout* const l = layout();
  const char *code = nullptr, *file = nullptr, *name = nullptr, *at = nullptr;
  int32_t first = 0, number = 0;
  if (!try_load(frame + l->code, &code)) return false;
  code = object_of(code);
  if (!is_of_type(code, code_type_)) return false;
  if (!try_load(code + l->file, &file) || !is_of_type(file, text_type_)) return false;
  if (!try_load(code + l->name, &name) || !is_of_type(name, text_type_)) return false;
  if (!try_load(code + l->first_line, &first) || first < 0) return false;
  if (!try_load(frame + l->instruction, &at) || !try_load(frame + l->instruction, &number))
    return false;
  constexpr ptrdiff_t longest = 1 << 26;  // bytes of a function
  const ptrdiff_t offset = l->code_bytes ? at - code - l->code_bytes : ptrdiff_t(number);
  return offset >= 0 && offset < longest;
}

bool PythonStack::read(const char* frame, PythonLine* line) const noexcept {
  const Layout* const l = layout();
  const char* const code = object_of(load<const char*>(frame + l->code));
  if (!code || load<const void*>(code + kType) != code_type_) return false;
  const char* const at = frame + l->instruction;
  const int offset = l->code_bytes ? int(load<const char*>(at) - code - l->code_bytes)
                                   : load<int32_t>(at) * l->unit;
  if (!copy_text(load<const char*>(code + l->file), line->file, sizeof line->file) ||
      line->file[0] == '<')  // <frozen importlib._bootstrap>
    return false;
  copy_text(load<const char*>(code + l->name), line->function, sizeof line->function);
  line->line = line_of_(const_cast<char*>(code), offset);
  const char* const slash = strrchr(line->file, '/');
  line->identity = mix(uint64_t(load<int32_t>(code + l->first_line)), uint64_t(offset));
  for (const char* c = slash ? slash + 1 : line->file; *c; ++c)
    line->identity = mix(line->identity, static_cast<unsigned char>(*c));
  return true;
}

// Copies a str, which has 1, 2 or 4 bytes per character, as far as there is room.
bool PythonStack::copy_text(const char* text, char* to, int size) const noexcept {
  strcpy(to, "?");
  if (!text || load<const void*>(text + kType) != text_type_) return false;
  const auto state = load<uint32_t>(text + kTextState);
  const uint32_t kind = state >> 2 & 7, compact = state >> 5 & 1, ascii = state >> 6 & 1;
  const auto length = load<int64_t>(text + kTextLength);
  if (!compact || (kind != 1 && kind != 2 && kind != 4)) return false;
  // Before its characters, a text that is not ASCII has the length and place of its UTF-8 form, and
  // until 3.11 the length of its wide one.
  const int head = layout()->text;
  const char* from = text + head + (ascii ? 0 : head == 48 ? 24 : 16);
  char *out = to, *const end = to + size - 1;
  for (int64_t i = 0; i < length; ++i, from += kind) {
    const uint32_t c = kind == 1   ? static_cast<unsigned char>(*from)
                       : kind == 2 ? load<uint16_t>(from)
                                   : load<uint32_t>(from);
    char bytes[4];
    const int n = encode_utf8(c, bytes);
    if (end - out < n) break;
    memcpy(out, bytes, size_t(n));
    out += n;
  }
  *out = '\0';
  return true;
}

}  // namespace perfield
