// SPDX-License-Identifier: BSD-3-Clause
//
// toml.cpp - a recursive-descent reader of the TOML subset. One Reader walks the text once. A rule
// that fails leaves one sentence in `problem_`; the caller continues on the next line.
#include "configuration/toml.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <utility>

#include "platform/quoted.hpp"
#include "platform/utf8.hpp"

namespace perfield {
namespace {

class Reader {
 public:
  Reader(const std::string& text, std::string file_name)
      : text_(text), file_name_(std::move(file_name)) {
    if (text_.compare(0, 3, "\xEF\xBB\xBF") == 0) at_ = 3;
  }

  TomlFile read() {
    while (skip_empty_lines(), at_ < text_.size()) {
      const int line = line_;
      problem_.clear();
      const bool good = peek() == '[' ? read_table() : read_entry();
      if (!good || !read_line_end()) {
        file_.errors.push_back(legible(file_name_ + ":" + std::to_string(line) + ": " + problem_));
        if (file_.errors.size() == kMostErrors) {
          file_.errors.push_back(file_name_ + ": too many errors; the rest was not read. " +
                                 "Is this a configuration of perfield? (`perfield " +
                                 "config` prints one)");
          break;
        }
        while (at_ < text_.size() && peek() != '\n') ++at_;
      }
    }
    return std::move(file_);
  }

 private:
  static constexpr size_t kMostErrors = 10, kLongestRest = 60;

  char peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool fail(const std::string& sentence) {
    if (problem_.empty()) problem_ = sentence;
    return false;
  }
  void skip_blanks() {
    while (peek() == ' ' || peek() == '\t' || peek() == '\r') ++at_;
    if (peek() == '#')
      while (at_ < text_.size() && peek() != '\n') ++at_;
  }
  void skip_empty_lines() {
    for (skip_blanks(); peek() == '\n'; skip_blanks()) ++at_, ++line_;
  }
  bool read_line_end() {
    skip_blanks();
    if (at_ >= text_.size() || peek() == '\n') return true;
    return fail("found '" + rest_of_line() + "' after the value; expected the end of the line");
  }
  // For messages: short.
  std::string rest_of_line() const {
    const size_t end = std::min(text_.find_first_of("\r\n", at_), text_.size());
    size_t at = at_;
    while (at < end && at - at_ < kLongestRest)
      at += static_cast<size_t>(std::max(utf8_length(text_, at), 1));
    return text_.substr(at_, at - at_) + (at < end ? "..." : "");
  }

  bool read_table() {
    if (peek(1) == '[') return fail("lists of tables, [[name]], are not supported");
    ++at_;
    skip_blanks();
    std::string name;
    if (!read_key(&name)) return false;
    if (peek() != ']') return fail("the name of a table needs a closing ']': [" + name + "]");
    ++at_;
    table_ = name + ".";
    return true;
  }

  bool read_entry() {
    TomlEntry entry;
    entry.line = line_;
    if (!read_key(&entry.key)) return false;
    if (peek() != '=') return fail("found '" + entry.key + "' without '='; expected key = value");
    ++at_;
    skip_blanks();
    if (!read_value(&entry.value)) return false;
    entry.key = table_ + entry.key;
    file_.entries.push_back(std::move(entry));
    return true;
  }

  // Names joined by dots, and trailing blanks.
  bool read_key(std::string* key) {
    for (;;) {
      std::string part;
      if (peek() == '"' || peek() == '\'') {
        if (!read_text(&part)) return false;
      } else {
        while (std::isalnum(static_cast<unsigned char>(peek())) || peek() == '_' || peek() == '-')
          part += text_[at_++];
        if (part.empty()) return fail("found '" + rest_of_line() + "'; expected key = value");
      }
      *key += part;
      skip_blanks();
      if (peek() != '.') return true;
      *key += '.';
      ++at_;
      skip_blanks();
    }
  }

  bool read_value(TomlValue* value) {
    if (peek() == '[') return read_list(value);
    if (peek() == '{') return fail("tables in one line, { ... }, are not supported");
    return read_scalar(value);
  }

  bool read_scalar(TomlValue* value) {
    if (peek() == '"' || peek() == '\'') {
      value->kind = TomlValue::Kind::text;
      return read_text(&value->spelling);
    }
    std::string word;
    while (at_ < text_.size() && !std::isspace(static_cast<unsigned char>(peek())) &&
           peek() != ',' && peek() != ']' && peek() != '#')
      word += text_[at_++];
    if (word.empty()) return fail("found no value after '='; expected key = value");
    if (read_bare_word(word, value)) return true;
    return fail("found " + word + "; expected true, false, a number, a list in brackets or a " +
                "text in quotes: " + quoted(word));
  }

  bool read_list(TomlValue* value) {
    value->kind = TomlValue::Kind::list;
    for (++at_;;) {
      skip_empty_lines();
      if (peek() == ']') return ++at_, true;
      if (at_ >= text_.size()) return fail("the list has no closing ']'");
      if (peek() == '[' || peek() == '{') return fail("a list may only hold texts or numbers");
      TomlValue item;
      if (!read_scalar(&item)) return false;
      value->items.push_back(item.spelling);
      skip_empty_lines();
      if (peek() == ',')
        ++at_;
      else if (peek() != ']')
        return fail("the list needs ',' between its values and a closing ']'");
    }
  }

  bool read_text(std::string* out) {
    const char quote = text_[at_++];
    if (peek() == quote && peek(1) == quote)
      return fail("texts of several lines are not supported");
    while (peek() != quote) {
      if (at_ >= text_.size() || peek() == '\n')
        return fail(std::string("the text has no closing ") + quote + " on its line");
      if (quote == '"' && peek() == '\\') {
        if (!read_escape(out)) return false;
      } else {
        *out += text_[at_++];
      }
    }
    ++at_;
    return true;
  }

  bool read_escape(std::string* out) {
    static const std::string kNames = "btnfre\"\\", kCharacters = "\b\t\n\f\r\033\"\\";
    const char name = peek(1);
    const size_t found = name ? kNames.find(name) : std::string::npos;
    at_ += 2;
    if (found != std::string::npos) return *out += kCharacters[found], true;
    if (name != 'u' && name != 'U')
      return fail(std::string("found \\") + name +
                  " in a text; for a backslash write \\\\ or put " + "the text in single quotes");
    uint32_t code = 0;
    for (int digits = name == 'u' ? 4 : 8; digits > 0; --digits) {
      const std::string hex = "0123456789abcdef";
      const size_t digit =
          peek() ? hex.find(static_cast<char>(std::tolower(peek()))) : std::string::npos;
      if (digit == std::string::npos) return fail("\\u needs 4 and \\U 8 hexadecimal digits");
      code = code * 16 + static_cast<uint32_t>(digit);
      ++at_;
    }
    if (!append_utf8(code, out)) return fail("the escape in the text is not a character");
    return true;
  }

  const std::string& text_;
  std::string file_name_, table_, problem_;
  size_t at_ = 0;
  int line_ = 1;
  TomlFile file_;
};

// Reads digits with single underscores between them; appends the digits, returns their number.
int read_digits(const std::string& word, size_t* at, std::string* spelling) {
  int n = 0;
  for (; *at < word.size(); ++*at) {
    const bool digit = std::isdigit(static_cast<unsigned char>(word[*at]));
    const bool gap = word[*at] == '_' && n > 0 && *at + 1 < word.size() &&
                     std::isdigit(static_cast<unsigned char>(word[*at + 1]));
    if (!digit && !gap) break;
    if (digit) *spelling += word[*at], ++n;
  }
  return n;
}

}  // namespace

TomlFile parse_toml(const std::string& text, const std::string& file_name) {
  return Reader(text, file_name).read();
}

bool read_bare_word(const std::string& word, TomlValue* value) {
  TomlValue found;
  if (word == "true" || word == "false") {
    *value = {TomlValue::Kind::boolean, word, {}};
    return true;
  }
  size_t at = 0;
  if (word[0] == '-') found.spelling = "-";
  if (word[0] == '-' || word[0] == '+') at = 1;
  if (read_digits(word, &at, &found.spelling) == 0) return false;
  found.kind = TomlValue::Kind::integer;
  if (at < word.size() && word[at] == '.') {
    found.kind = TomlValue::Kind::real;
    found.spelling += word[at++];
    if (read_digits(word, &at, &found.spelling) == 0) return false;
  }
  if (at < word.size() && (word[at] == 'e' || word[at] == 'E')) {
    found.kind = TomlValue::Kind::real;
    found.spelling += word[at++];
    if (at < word.size() && (word[at] == '-' || word[at] == '+')) found.spelling += word[at++];
    if (read_digits(word, &at, &found.spelling) == 0) return false;
  }
  if (at != word.size()) return false;
  *value = std::move(found);
  return true;
}

}  // namespace perfield
