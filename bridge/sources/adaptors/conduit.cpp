// SPDX-License-Identifier: BSD-3-Clause
//
// conduit.cpp - see conduit.hpp.
#include "sources/adaptors/conduit.hpp"

#include <dlfcn.h>

#include <cmath>
#include <cstdio>
#include <cstring>

#include "recorder/source.h"
#include "sources/next.hpp"

namespace perfield::adaptors {
namespace {

template <class T>
T read(const unsigned char* from) noexcept {
  T number;
  memcpy(&number, from, sizeof number);
  return number;
}

int64_t bytes_of(int type) noexcept {
  switch (type) {
    case kInt8:
    case kUint8:
      return 1;
    case kInt16:
    case kUint16:
      return 2;
    case kInt32:
    case kUint32:
    case kFloat32:
      return 4;
    case kInt64:
    case kUint64:
    case kFloat64:
      return 8;
    default:
      return 0;
  }
}

}  // namespace

double Numbers::real(int64_t at) const noexcept {
  const unsigned char* from = data + at * stride;
  return type == kFloat64   ? read<double>(from)
         : type == kFloat32 ? double(read<float>(from))
                            : double(whole(at));
}

int64_t Numbers::whole(int64_t at) const noexcept {
  const unsigned char* from = data + at * stride;
  switch (type) {
    case kInt8:
      return read<int8_t>(from);
    case kInt16:
      return read<int16_t>(from);
    case kInt32:
      return read<int32_t>(from);
    case kInt64:
      return read<int64_t>(from);
    case kUint8:
      return read<uint8_t>(from);
    case kUint16:
      return read<uint16_t>(from);
    case kUint32:
      return read<uint32_t>(from);
    case kUint64:
      return int64_t(read<uint64_t>(from));
    default: {
      const double number = real(at);
      return std::isfinite(number) && std::fabs(number) < 9e18 ? int64_t(number) : 0;
    }
  }
}

const Conduit* Conduit::found(Conduit* conduit, int* state, void* near, const char* prefix,
                              const char* of) noexcept {
  if (!*state) *state = conduit->find_all(near, prefix) ? 1 : 2;  // 1: usable, 2: not
  if (*state == 1 || !perfield_source_is_started()) return *state == 1 ? conduit : nullptr;
  char sentence[256];
  snprintf(sentence, sizeof sentence,
           "perfield does not know the Conduit of this program's %s, so everything is passed on "
           "as it is: no fields are added, and the mesh is not kept",
           of);
  perfield_warn_once_per_node("adaptor-conduit", sentence);
  return nullptr;
}

const Conduit* Conduit::of_catalyst(void* near) noexcept {
  static Conduit conduit;
  static int state = 0;
  return found(&conduit, &state, near, "catalyst_conduit_", "Catalyst");
}

const Conduit* Conduit::of_ascent(void* near) noexcept {
  static Conduit conduit;
  static int state = 0;
  return found(&conduit, &state, near, "conduit_", "Ascent");
}

bool Conduit::find_all(void* near, const char* prefix) noexcept {
  void* const library = library_of(near);
  bool all = true;
  const auto find = [&](auto* to, const char* name) {
    char symbol[128];
    snprintf(symbol, sizeof symbol, "%s%s", prefix, name);
    void* function = library ? dlsym(library, symbol) : nullptr;
    if (!function) function = dlsym(RTLD_DEFAULT, symbol);  // the program holds it itself
    memcpy(to, &function, sizeof function);
    all = all && function;
  };
  find(&create_, "node_create");
  find(&destroy_, "node_destroy");
  find(&has_path_, "node_has_path");
  find(&fetch_, "node_fetch");
  find(&number_of_children_, "node_number_of_children");
  find(&child_, "node_child");
  find(&name_, "node_name");
  find(&dtype_, "node_dtype");
  find(&text_, "node_as_char8_str");
  find(&element_, "node_element_ptr");
  find(&set_external_, "node_set_external_node");
  find(&set_text_, "node_set_path_char8_str");
  find(&set_numbers_, "node_set_path_external_float64_ptr");
  find(&type_id_, "datatype_id");
  find(&elements_, "datatype_number_of_elements");
  find(&stride_, "datatype_stride");
  find(&is_native_, "datatype_endianness_matches_machine");
  if (library) dlclose(library);
  return all;
}

conduit_node* Conduit::at(const conduit_node* node, const char* path) const noexcept {
  return has(node, path) ? fetch_(const_cast<conduit_node*>(node), path) : nullptr;
}

int Conduit::type(const conduit_node* node) const noexcept {
  return node ? int(type_id_(dtype_(node))) : 0;
}

int64_t Conduit::children(const conduit_node* node) const noexcept {
  const int kind = type(node);
  return kind == kObject || kind == kList ? number_of_children_(const_cast<conduit_node*>(node))
                                          : 0;
}

const char* Conduit::text(const conduit_node* node) const noexcept {
  return type(node) == kText ? text_(const_cast<conduit_node*>(node)) : nullptr;
}

Numbers Conduit::numbers(const conduit_node* node) const noexcept {
  Numbers numbers;
  if (!node) return numbers;
  const conduit_datatype* const facts = dtype_(node);
  numbers.type = int(type_id_(facts));
  if (!bytes_of(numbers.type) || !is_native_(facts)) return numbers;
  const int64_t n = elements_(facts);
  if (n <= 0) return numbers;
  numbers.data = static_cast<const unsigned char*>(element_(const_cast<conduit_node*>(node), 0));
  numbers.stride = stride_(facts);
  if (numbers.data) numbers.n = n;
  return numbers;
}

double Conduit::number_at(const conduit_node* node, const char* path,
                          double otherwise) const noexcept {
  const Numbers found = numbers_at(node, path);
  return found.n ? found.real(0) : otherwise;
}

conduit_node* Conduit::copy(const conduit_node* node) const noexcept {
  conduit_node* const made = create_();
  if (made) set_external_(made, const_cast<conduit_node*>(node));
  return made;
}

}  // namespace perfield::adaptors
