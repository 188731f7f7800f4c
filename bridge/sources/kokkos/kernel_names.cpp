// SPDX-License-Identifier: BSD-3-Clause
//
// kernel_names.cpp - see kernel_names.hpp.
#define PERFIELD_BUILDING_LIBRARY  // links to libperfield.so
#include "sources/kokkos/kernel_names.hpp"

#include <cxxabi.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "include/perfield.h"
#include "recorder/source.h"

namespace perfield::kokkos {
namespace {

// --- names that are types -----------------------------------------------------------------------
void erase(char* text, const char* what) {
  const size_t length = strlen(what);
  for (char* at = text; (at = strstr(at, what));) memmove(at, at + length, strlen(at + length) + 1);
}

// Removes brackets and the text inside them. Of "{lambda()#1}" only the braces go; the text inside
// stays.
void without_brackets(char* text) {
  int depth = 0;
  char* to = text;
  for (const char* at = text; *at; ++at) {
    if (*at == '<' || *at == '(') ++depth;
    if (depth == 0 && *at != '{' && *at != '}') *to++ = *at;
    if ((*at == '>' || *at == ')') && depth > 0) --depth;
  }
  *to = '\0';
}

// A mangled class name begins with a length, or with the letters of a nested, local or standard
// name. Anything else may be a label (i: int).
char* readable_type(const char* name) {
  if (!strchr("123456789NZ", *name) && strncmp(name, "St", 2) != 0) return nullptr;
  int status = 0;
  char* text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  if (!text) return nullptr;
  erase(text, "(anonymous namespace)::");
  without_brackets(text);
  erase(text, " const");
  return text;
}

// Newer versions of Kokkos pass types as the compiler prints them. GCC's lambda
// "main(int, char**)::<lambda(int)>" becomes "main::lambda(int)", Clang's
// "(lambda at cases/main.cpp:3:7)" becomes "lambda at main.cpp:3:7".
char* readable_lambda(const char* name) {
  char* text = nullptr;
  if (strncmp(name, "(lambda at ", 11) == 0) {
    const char* slash = strrchr(name, '/');
    const char* file = slash ? slash + 1 : name + 11;
    return asprintf(&text, "lambda at %.*s", int(strcspn(file, ")")), file) < 0 ? nullptr : text;
  }
  const char* lambda = strstr(name, "<lambda(");
  char* scope = lambda ? strndup(name, size_t(lambda - name)) : nullptr;
  if (!scope) return nullptr;
  erase(scope, "{anonymous}::");
  without_brackets(scope);
  const int length = int(strlen(++lambda));
  const int printed =
      asprintf(&text, "%s%.*s", scope, lambda[length - 1] == '>' ? length - 1 : length, lambda);
  free(scope);
  return printed < 0 ? nullptr : text;
}

char* readable_part(const char* part) {
  char* type = readable_type(part);
  return type ? type : strdup(part);
}

// The region's name: labels stay; types lose their template arguments and parameters
// ("main::lambda#1", "Solver::Flux"), with the work tag behind "/". The caller frees the text;
// nullptr: no memory.
char* readable(const char* name) noexcept {
  char* whole = readable_lambda(name);
  if (!whole) whole = readable_type(name);
  const char* tag = whole ? nullptr : strchr(name, '/');
  if (!tag) return whole ? whole : strdup(name);
  // The types of a functor and its work tag, or a label that contains a slash.
  char* functor = strndup(name, size_t(tag - name));
  char* first = functor ? readable_part(functor) : nullptr;
  char* second = readable_part(tag + 1);
  char* both = nullptr;
  if (!first || !second || asprintf(&both, "%s/%s", first, second) < 0) both = nullptr;
  free(functor);
  free(first);
  free(second);
  return both;
}

// --- the table of names seen --------------------------------------------------------------------
struct Known {
  std::atomic<uint64_t> hash;  // 0: free
  std::atomic<perfield_region> region;
};
constexpr uint32_t kMost = 1 << 13;
constexpr uint32_t kFarthest = 64;  // slots to try for one name
Known table[kMost];                 // only touched pages take memory

// Hashes eight characters at a time, since names of types have hundreds.
uint64_t hash_of(const char* name, size_t length) noexcept {
  constexpr uint64_t kFactor = 0x9E3779B97F4A7C15u;
  uint64_t hash = length * kFactor;
  for (; length; name += 8, length -= length < 8 ? length : 8) {
    uint64_t part = 0;
    memcpy(&part, name, length < 8 ? length : 8);
    hash = (hash ^ part) * kFactor;
    hash ^= hash >> 29;
  }
  return hash ? hash : 1;
}

// The slot of a name; a new name takes a free one. nullptr if the table is full.
Known* place_of(uint64_t hash) noexcept {
  for (uint32_t n = 0; n < kFarthest; ++n) {
    Known& known = table[(hash + n) % kMost];
    uint64_t found = known.hash.load(std::memory_order_acquire);
    if (found == 0 && known.hash.compare_exchange_strong(found, hash, std::memory_order_acq_rel))
      return &known;
    if (found == hash) return &known;
  }
  return nullptr;
}

}  // namespace

perfield_region region_of(const char* name) noexcept {
  if (!name) name = "";
  Known* known = place_of(hash_of(name, strlen(name)));
  if (!known) return perfield_region_define(name, nullptr, 0);
  perfield_region region = known->region.load(std::memory_order_acquire);
  if (region) return region;
  char* text = readable(name);
  region = perfield_source_function_entered(text ? text : name);
  free(text);
  known->region.store(region, std::memory_order_release);
  return region;
}

}  // namespace perfield::kokkos
