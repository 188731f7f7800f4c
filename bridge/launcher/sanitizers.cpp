// SPDX-License-Identifier: BSD-3-Clause
//
// sanitizers.cpp - see sanitizers.hpp.
#include "launcher/sanitizers.hpp"

#include <cstdlib>

namespace perfield {

bool is_sanitizer(const std::string& library) {
  const std::string name = library.substr(library.rfind('/') + 1);
  for (const std::string kind : {"asan", "hwasan", "lsan", "tsan"})
    for (const std::string& start :  // Clang adds the processor: libclang_rt.asan-x86_64.so
         {"lib" + kind + ".so", "libclang_rt." + kind + ".so", "libclang_rt." + kind + "-"})
      if (name.rfind(start, 0) == 0) return true;
  return false;
}

std::pair<std::string, std::string> sanitizer_variable() {
  const char* before = std::getenv("ASAN_OPTIONS");
  std::string options = before ? before : "";
  if (options.find("verify_asan_link_order") == std::string::npos)
    options += std::string(options.empty() ? "" : ":") + "verify_asan_link_order=0";
  return {"ASAN_OPTIONS", options};
}

}  // namespace perfield
