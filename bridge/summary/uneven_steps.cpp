// SPDX-License-Identifier: BSD-3-Clause
//
// uneven_steps.cpp - see uneven_steps.hpp.
#include "summary/uneven_steps.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "configuration/groups.hpp"
#include "summary/text.hpp"

namespace perfield {
namespace {

constexpr size_t kMostClasses = 4;  // for a proposal
constexpr size_t kMostNamed = 3;

uint64_t index_of(uint64_t key) { return key & kIndexOfKey; }
uint64_t group_of_key(uint64_t key) { return key >> kGroupOfKey; }

// Ranks that have not ended count as last seen. Only numbers far apart mean something.
bool far_apart(uint64_t least, uint64_t most) {
  return least == 0 ? most >= 2 : most > 2 * least + 10;
}

// Removes the rows of steps to which ranks gave different numbers, or of which some are missing.
void drop_disagreeing(Totals* steps) {
  using Given =
      std::pair<int64_t, uint32_t>;  // an entry is lost where ranks add up different steps
  const bool all_measured = steps->n_unmeasured == 0;
  std::unordered_map<uint64_t, Given> given;
  std::unordered_map<uint64_t, bool> differs;
  for (const RankStep& row : steps->rank_steps) {
    const Given mine{row.label, all_measured ? row.span : 0};
    if (given.emplace(row.step, mine).first->second != mine) differs[row.step] = true;
  }
  if (differs.empty()) return;
  const auto drop = [&differs](auto* rows) {
    rows->erase(std::remove_if(rows->begin(), rows->end(),
                               [&](const auto& row) { return differs.count(row.step) > 0; }),
                rows->end());
  };
  drop(&steps->rank_steps);
  drop(&steps->region_steps);
  drop(&steps->waited_steps);
}

}  // namespace

UnevenSteps::UnevenSteps(RunTotals* run) {
  if (run->steps_by_clock) return;
  const std::map<std::string, uint64_t> groups = run->groups;
  for (const auto& [name, number] : groups) {
    look_at(run, name, number, groups.size() == 1);
    if (!classes_.empty()) break;
  }
  drop_disagreeing(&run->steps);
}

void UnevenSteps::look_at(RunTotals* run, const std::string& name, uint64_t group, bool is_only) {
  Classes classes;
  bool all_ended = true;
  for (const auto& [rank, its_group] : run->group) {
    if (its_group != group) continue;
    const auto ended = run->closed_at_end.find(rank);
    const auto seen = run->closed.find(rank);
    all_ended &= ended != run->closed_at_end.end();
    const uint64_t closed = ended != run->closed_at_end.end() ? ended->second
                            : seen != run->closed.end()       ? seen->second
                                                              : 0;
    classes[closed].push_back(rank);
  }
  if (classes.empty()) return;
  const uint64_t most = classes.rbegin()->first, least = classes.begin()->first;
  // Two classes meet in the steps that the second largest has closed.
  const uint64_t shared = all_ended && classes.size() > 1 ? std::next(classes.rbegin())->first : 0;
  look_at_numbers(run->steps, group, shared);
  const bool has_all = run->bytes_read >= run->stream_bytes;
  const bool differ = all_ended ? classes.size() > 1 : has_all && far_apart(least, most);
  if (!differ && !n_disagreeing_) return;
  is_final_ = all_ended;
  classes_ = std::move(classes);
  if (!is_only) group_ = name;
  if (is_doubtful_) separate(run, group);
}

// shared: the number of steps in which ranks meet that closed different numbers in all.
void UnevenSteps::look_at_numbers(const Totals& steps, uint64_t group, uint64_t shared) {
  for (const auto& [key, numbers] : steps.numbers) {
    if (group_of_key(key) != group) continue;
    ++n_steps_;
    is_doubtful_ |= index_of(key) < shared && numbers.n_ranks > 1 && !numbers.are_the_same();
    if (numbers.other_rank < 0) continue;
    if (!n_disagreeing_++ || index_of(key) < first_disagreeing_) {
      first_disagreeing_ = index_of(key);
      first_numbers_ = numbers;
    }
  }
}

// Makes a group of each class.
void UnevenSteps::separate(RunTotals* run, uint64_t group) const {
  std::unordered_map<int32_t, uint64_t> group_of_rank;
  uint64_t next = run->groups.size();
  for (auto of_class = classes_.rbegin(); of_class != classes_.rend(); ++of_class, ++next)
    for (const int32_t rank : of_class->second) group_of_rank[rank] = next;
  const auto move = [&](uint64_t* key, int32_t rank) {
    const auto to = group_of_rank.find(rank);
    if (group_of_key(*key) == group && to != group_of_rank.end())
      *key = index_of(*key) | to->second << kGroupOfKey;
  };
  for (RankStep& row : run->steps.rank_steps) move(&row.step, row.rank);
  for (RegionStep& row : run->steps.region_steps) move(&row.step, row.rank);
  for (WaitedStep& row : run->steps.waited_steps) move(&row.step, row.rank);
}

// "ranks 0-5 closed 100 steps, ranks 6-7 closed none"
std::string UnevenSteps::in_words() const {
  std::string text = is_final_ ? "" : "so far ";
  if (!group_.empty()) text = "of " + text_of_name(group_) + ", " + text;
  size_t n = 0;
  for (auto of_class = classes_.rbegin(); of_class != classes_.rend(); ++of_class, ++n) {
    if (n == kMostNamed) return text + ", ...";
    const uint64_t closed = of_class->first;
    text += (n ? ", " : "") + text_of_ranks(of_class->second) + " closed " +
            (closed == 0 ? "none"
             : n         ? text_of_count(closed)
                         : plural(closed, "step"));
  }
  return text;
}

std::string UnevenSteps::line(bool compares) const {
  if (classes_.empty()) return "";
  if (classes_.size() == 1 || (n_disagreeing_ && !is_final_)) {
    const StepNumbers& first = first_numbers_;
    return perfield::line(
        "uneven", "ranks closed different steps in " + text_of_count(n_disagreeing_) + " of " +
                      plural(n_steps_, "frame") + ", first in frame " +
                      text_of_count(first_disagreeing_) + ": rank " + std::to_string(first.rank) +
                      " number " + std::to_string(first.label) + ", rank " +
                      std::to_string(first.other_rank) + " number " +
                      std::to_string(first.other_label));
  }
  if (is_doubtful_)
    return perfield::line("uneven", in_words() + ": frames may join different steps" +
                                        (compares ? "" : ", so no imbalance is reported"));
  const bool some_closed_none = classes_.begin()->first == 0;
  if (!is_final_ || some_closed_none)
    return perfield::line("uneven",
                          in_words() + (some_closed_none ? ": no frame shows these" : ""));
  return "";
}

std::string UnevenSteps::advice_line() const {
  constexpr size_t kLongest = 60;
  const bool is_reported = is_doubtful_ || (!classes_.empty() && classes_.begin()->first == 0);
  if (!is_final_ || classes_.size() < 2 || !is_reported) return "";
  size_t n_ranks = 0;
  std::vector<const std::vector<int32_t>*> by_size;
  for (const auto& [closed, ranks] : classes_) {
    n_ranks += ranks.size();
    by_size.push_back(&ranks);
  }
  const bool are_classes =
      classes_.size() <= kMostClasses && (classes_.size() < n_ranks || n_ranks == 2);
  if (!are_classes) return perfield::line("advice", "let every rank close each step");
  std::stable_sort(by_size.begin(), by_size.end(),
                   [](auto* a, auto* b) { return a->size() > b->size(); });
  std::string groups;
  for (size_t n = 1; n < by_size.size(); ++n)
    groups +=
        (n > 1 ? " group" : "group") + std::to_string(n + 1) + "=" + list_of_ranks(*by_size[n]);
  const std::string who = by_size.size() == 2 ? text_of_ranks(*by_size[1]) : "they";
  const std::string setting = groups.size() <= kLongest
                                  ? "PERFIELD_GROUP=\"" + groups + "\""
                                  : "PERFIELD_GROUP (`perfield setup config`)";
  return perfield::line(
      "advice", "if " + who + (who.compare(0, 5, "rank ") == 0 ? " does" : " do") +
                    " other work, set " + setting + "; else let every rank close each step");
}

std::string UnevenSteps::end_of_steps_line() const {
  if (!is_final_ || classes_.size() < 2 || is_doubtful_ || classes_.begin()->first == 0) return "";
  std::string text;
  size_t n = 0;
  for (auto of_class = std::next(classes_.rbegin()); of_class != classes_.rend(); ++of_class, ++n) {
    if (n == kMostNamed) return text + ", ...";
    text += (n ? ", " : "; ") + text_of_ranks(of_class->second) + " closed " +
            text_of_count(of_class->first);
  }
  return text;
}

}  // namespace perfield
