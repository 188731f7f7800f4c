// SPDX-License-Identifier: BSD-3-Clause
//
// unmatched.cpp - see unmatched.hpp. The three warnings of missing_in_words are those of the
// dissertation's plug-in (section 5.2.1.1).
#include "summary/unmatched.hpp"

#include <algorithm>

#include "configuration/names.hpp"
#include "format/decode_json.hpp"
#include "summary/text.hpp"

namespace perfield {
namespace {

constexpr size_t kRoom = 124;  // characters of a line's text

bool all_ended(const RunTotals& run) {
  const uint64_t ranks = std::max<uint64_t>(uint64_t(run.size), run.group.size());
  return run.seen.n_ended > 0 && run.seen.n_ended >= ranks;
}

bool is_glob(const std::string& entry) { return entry.find_first_of("*?[") != std::string::npos; }

// As many names as fit beside `text`, at least one, and how many are left.
std::string names_beside(const std::string& text, const std::vector<std::string>& names) {
  std::string all;
  for (size_t n = 0; n < names.size(); ++n) {
    const std::string name = text_of_name(names[n]);
    if (n > 0 && text.size() + all.size() + name.size() + 14 > kRoom)
      return all + " and " + text_of_count(names.size() - n) + " more";
    all += (all.empty() ? "" : ", ") + name;
  }
  return all;
}

}  // namespace

void SelectionSeen::add(const std::string& end_entry) {
  if (json_value(end_entry, "regions_entered").empty()) return;  // of an imported trace
  ++n_ended;
  n_entered += uint64_t(json_integer(end_entry, "regions_entered", 0));
  n_messages += uint64_t(json_integer(end_entry, "messages_seen", 0));
  for (const std::string& entry : json_texts(end_entry, "regions_unmatched")) ++unmatched[entry];
  for (const std::string& entry : json_texts(end_entry, "regions_not_entered"))
    not_entered.insert(entry);
  for (const std::string& name : json_texts(end_entry, "regions_known")) known.insert(name);
  python_without_perfield |= json_value(end_entry, "python_without_perfield") == "true";
}

std::string unmatched_line(const RunTotals& run) {
  if (!all_ended(run)) return "";
  const SelectionSeen& seen = run.seen;
  std::vector<std::string> wrong, idle, nearest(seen.known.begin(), seen.known.end());
  for (const auto& [entry, ranks] : seen.unmatched)
    if (ranks == seen.n_ended) (seen.not_entered.count(entry) ? idle : wrong).push_back(entry);
  if (wrong.empty() && idle.empty()) return "";
  if (wrong.empty())
    return line("regions", "never entered: " + names_beside("never entered: ", idle));
  const auto distance = [&](const std::string& name) {
    size_t fewest = name.size();
    for (const std::string& entry : wrong) fewest = std::min(fewest, edits_between(entry, name));
    return fewest;
  };
  std::stable_sort(nearest.begin(), nearest.end(),
                   [&](const auto& a, const auto& b) { return distance(a) < distance(b); });
  std::string text = is_glob(wrong.front()) ? "no region matches " : "no region is called ";
  text += names_beside(text + "; known: a name", wrong);
  if (!nearest.empty()) {
    text += "; known: ";
    return line("regions", text + names_beside(text, nearest));
  }
  return line("regions", text + (seen.python_without_perfield
                                     ? "; this Python has no perfield, which would find functions"
                                     : "; the program has no other regions"));
}

std::vector<std::string> missing_in_words(const RunTotals& run) {
  if (!all_ended(run)) return {};
  const SelectionSeen& seen = run.seen;
  std::vector<std::string> missing;
  if (!seen.regions && !seen.messages && !seen.n_entered) {
    missing.push_back("regions and messages are both switched off");
    return missing;
  }
  const bool is_named = !unmatched_line(run).empty();
  if (!seen.n_entered && !is_named && !seen.regions)
    missing.push_back("no region was armed and entered");
  const bool sees_mpi = run.size > 1 && run.n_blind() < run.blind.size();
  if (seen.messages && !seen.n_messages && sees_mpi)
    missing.push_back("no message was seen (collective operations are not messages)");
  return missing;
}

}  // namespace perfield
