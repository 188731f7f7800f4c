// SPDX-License-Identifier: BSD-3-Clause
//
// function_names.cpp - see function_names.hpp. Understands symbols of GCC and Clang: C++ of the
// common ABI, and Fortran of gfortran.
#include "configuration/function_names.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>

namespace perfield {
namespace {

bool starts_with(const std::string& text, const std::string& start) {
  return text.compare(0, start.size(), start) == 0;
}

std::string demangled(const std::string& symbol) {
  int status = 0;
  char* text = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
  const std::string found = status == 0 && text ? text : "";
  std::free(text);
  return found;
}

// Where the bracket that closes at `last` opens; npos if nowhere. Only this kind of bracket counts,
// because operators may contain an odd `<` or `>`.
size_t opened_at(const std::string& text, size_t last, char open, char close) {
  int depth = 0;
  for (size_t i = last + 1; i-- > 0;) {
    if (text[i] == close) ++depth;
    if (text[i] == open && --depth == 0) return i;
  }
  return std::string::npos;
}

// "double flow::Solver<2>::advance<int>(int) const" -> "flow::Solver<2>::advance<int>"
std::string without_arguments(const std::string& text) {
  const size_t last = text.rfind(')');
  const size_t first = last == std::string::npos ? last : opened_at(text, last, '(', ')');
  if (first == std::string::npos || first == 0) return text;
  const std::string name = text.substr(0, first);
  if (name.find("operator") != std::string::npos) return name;  // may contain any character
  int depth = 0;
  for (size_t i = name.size(); i-- > 0;) {
    if (name[i] == ')' || name[i] == '>') ++depth;
    if (name[i] == '(' || name[i] == '<') --depth;
    if (name[i] == ' ' && depth == 0) return name.substr(i + 1);  // drops a template's result type
  }
  return name;
}

// "flow::Solver<2>::advance<int>" -> "advance"
std::string last_part(const std::string& qualified) {
  std::string name = qualified;
  if (name.find("operator") != std::string::npos) return name;
  if (!name.empty() && name.back() == '>') {
    const size_t first = opened_at(name, name.size() - 1, '<', '>');
    if (first != std::string::npos && first > 0) name.resize(first);
  }
  const size_t colons = name.rfind("::");
  return colons == std::string::npos ? name : name.substr(colons + 2);
}

void add_new(const std::string& name, std::vector<std::string>* names) {
  if (!name.empty() && std::find(names->begin(), names->end(), name) == names->end())
    names->push_back(name);
}

}  // namespace

std::vector<std::string> function_names(const std::string& symbol) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) { add_new(name, &names); };
  const bool readable =
      symbol.find("::") != std::string::npos || symbol.find('(') != std::string::npos;
  const std::string whole = readable ? symbol : starts_with(symbol, "_Z") ? demangled(symbol) : "";
  // Drops the compiler's number of a function inside another one ("relax.0").
  const std::string plain = symbol.substr(0, symbol.find('.'));
  const size_t module_end = plain.find("_MOD_");
  if (!whole.empty()) {
    const std::string qualified = without_arguments(whole);
    add(last_part(qualified));
    add(qualified);
    add(whole);
  } else if (starts_with(plain, "__") && module_end != std::string::npos && module_end > 2) {
    const std::string name = plain.substr(module_end + 5);
    add(name);
    add(plain.substr(2, module_end - 2) + "::" + name);
  } else {
    if (plain.size() > 1 && plain.back() == '_') add(plain.substr(0, plain.size() - 1));
    add(plain);
  }
  add(symbol);
  return names;
}

std::vector<std::string> function_names(const std::string& name, const std::string& symbol) {
  std::vector<std::string> names = function_names(name);
  for (const std::string& other : function_names(symbol)) add_new(other, &names);
  return names;
}

std::string readable_name(const std::string& name, const std::string& symbol) {
  return symbol.empty() || symbol == name ? name : without_arguments(name);
}

}  // namespace perfield
