// SPDX-License-Identifier: BSD-3-Clause
//
// text.hpp - numbers as people read them, three digits and a unit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace perfield {

std::string text_of_time(double ns);        // "1.23 ms"
std::string text_of_bytes(double bytes);    // "45.6 kB", in powers of 1000
std::string text_of_count(uint64_t count);  // "48,000"
std::string text_of_share(double share);    // 0.123: "12 %", 0.0012: "0.12 %"

// "1 rank", "2 ranks"; many: where it is not the word with s
std::string plural(uint64_t count, const std::string& word, const std::string& many = "");
std::string text_of_ranks(const std::vector<int32_t>& ranks);  // "rank 3", "ranks 0-5", "96 ranks"
std::string line(const char* label, const std::string& text);  // of the summary
std::string text_of_name(const std::string& name);             // on one line, not too long

// A path for a shell: relative if it lies below the working directory, quoted where needed.
std::string text_of_path(const std::string& path);

}  // namespace perfield
