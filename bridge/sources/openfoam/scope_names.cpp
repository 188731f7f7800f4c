// SPDX-License-Identifier: BSD-3-Clause
//
// scope_names.cpp - see scope_names.hpp.
#include "sources/openfoam/scope_names.hpp"

#include <cxxabi.h>
#include <regex.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace perfield::openfoam {

namespace {

struct Rule {
  const char* region;
  Returns returns;
  const char *scope, *functions, *rest;
};

constexpr Rule kRules[] = {
#define PERFIELD_SCOPE(region, returns, scope, functions, rest) \
  {region, Returns::returns, scope, functions, rest},
#include "sources/openfoam/scopes.def"
#undef PERFIELD_SCOPE
};
constexpr size_t kSize = sizeof kRules / sizeof *kRules;

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
bool is_letter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Whether a list "this|that" has the word.
bool is_among(const char* list, const char* word, size_t length) noexcept {
  for (const char* at = list;; ++at) {
    const char* const end = at + strcspn(at, "|");
    if (size_t(end - at) == length && !memcmp(at, word, length)) return true;
    if (!*end) return false;
    at = end;
  }
}

// Whether the scope needs a name that the symbol does not hold.
bool lacks_scope(const char* symbol, const char* scope) noexcept {
  char name[64];
  size_t length = 0;
  while (is_letter(scope[length]) && length + 1 < sizeof name) ++length;
  if (scope[length] != ':') return false;  // more than a plain name
  memcpy(name, scope, length);
  name[length] = '\0';
  return !strstr(symbol, name);
}

// Which first letters functions of that length have; spares nearly all names a look at the rules.
struct Beginnings {
  static constexpr size_t kLongest = 32;
  bool known[kLongest][128] = {};

  constexpr Beginnings() noexcept {
    for (const Rule& rule : kRules)
      for (const char* at = rule.functions; *at;) {
        size_t length = 0;
        while (at[length] && at[length] != '|') ++length;
        known[length][uint8_t(*at)] = true;
        at += length + (at[length] == '|');
      }
  }
};
constexpr Beginnings kBeginnings;

// The rules that may fit a symbol, by the names inside it, which look like 6fvmDdt.
struct Candidates {
  bool is[kSize] = {};
  bool any = false;

  explicit Candidates(const char* symbol) noexcept {
    for (const char* at = symbol; *at;) {
      if (!is_digit(*at)) {
        ++at;
        continue;
      }
      size_t length = 0;
      for (; is_digit(*at); ++at)
        if (length < Beginnings::kLongest) length = length * 10 + size_t(*at - '0');
      if (length >= Beginnings::kLongest || !is_letter(*at)) continue;
      if (kBeginnings.known[length][uint8_t(*at)] && strnlen(at, length) == length)
        add_rules(symbol, at, length);
    }
  }

 private:
  void add_rules(const char* symbol, const char* function, size_t length) noexcept {
    for (size_t i = 0; i < kSize; ++i)
      if (is_among(kRules[i].functions, function, length) && !lacks_scope(symbol, kRules[i].scope))
        any = is[i] = true;
  }
};

// The parts of a readable name that a rule found.
struct Match {
  regmatch_t whole, scope, function;
};

bool matches(size_t i, const char* name, Match* match) noexcept {
  static struct {
    regex_t compiled;
    bool is_known, is_right;
  } patterns[kSize];
  auto& pattern = patterns[i];
  const Rule& rule = kRules[i];
  const auto groups = [](const char* text) {
    size_t n = 0;
    for (char before = 0; *text; before = *text++) n += *text == '(' && before != '\\';
    return n;
  };
  if (!pattern.is_known) {
    char text[512];
    snprintf(text, sizeof text, "^(void )?Foam::(%s)(%s)%s$", rule.scope, rule.functions,
             rule.rest);
    pattern.is_right = !regcomp(&pattern.compiled, text, REG_EXTENDED);
    pattern.is_known = true;
  }
  regmatch_t found[12];
  if (!pattern.is_right || regexec(&pattern.compiled, name, 12, found, 0)) return false;
  *match = {found[0], found[2], found[3 + groups(rule.scope)]};
  return true;
}

// Whether a replacement passes on all arguments: 16 words with `this` and the place of a returned
// object.
bool takes_few(const char* name) noexcept {
  int depth = 0, commas = 0;
  char outer = 0;  // the bracket around all others
  for (; *name; ++name) {
    if (*name == '<' || *name == '(') {
      if (!depth++) outer = *name;
    } else if (*name == '>' || *name == ')') {
      --depth;
    } else {
      commas += depth == 1 && outer == '(' && *name == ',';
    }
  }
  return commas + 1 + 2 <= 16;
}

// The region's name, with {scope} and {function} filled in.
char* fill(const char* region, const char* name, const Match& match) noexcept {
  char text[256];
  size_t length = 0;
  const auto add = [&](const char* from, size_t n) {
    for (; n && length + 1 < sizeof text; --n) text[length++] = *from++;
  };
  while (*region) {
    const bool is_scope = !strncmp(region, "{scope}", 7);
    const bool is_function = !strncmp(region, "{function}", 10);
    const regmatch_t& part = is_scope ? match.scope : match.function;
    if (is_scope || is_function) {
      add(name + part.rm_so, size_t(part.rm_eo - part.rm_so));
      region += is_scope ? 7 : 10;
    } else {
      add(region++, 1);
    }
  }
  return strndup(text, length);
}

}  // namespace

ScopeName find_scope_name(const char* symbol) noexcept {
  ScopeName found{nullptr, Returns::WORD};
  if (strncmp(symbol, "_ZN4Foam", 8) != 0 && strncmp(symbol, "_ZNK4Foam", 9) != 0) return found;
  const Candidates candidates(symbol + 4);
  if (!candidates.any) return found;
  int status = 0;
  char* const name = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
  Match match;
  for (size_t i = 0; name && i < kSize && !found.region; ++i)
    if (candidates.is[i] && matches(i, name, &match) && takes_few(name))
      found = {fill(kRules[i].region, name, match), kRules[i].returns};
  free(name);
  return found;
}

}  // namespace perfield::openfoam
