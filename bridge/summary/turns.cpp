// SPDX-License-Identifier: BSD-3-Clause
//
// turns.cpp - see turns.hpp.
#include "summary/turns.hpp"

#include <algorithm>
#include <cmath>

namespace perfield {
namespace {

constexpr double kInTurn = 0.7;  // of the steps of its turn, in which a rank has most
constexpr size_t kNever = size_t(-1);

// The likeliest turns that end with a rank's own, scored by logarithms of likelihood ratios.
struct Path {
  double score = 0;
  size_t turn = kNever;  // the last one
};

struct Begun {
  size_t rank, step, before;  // before: the turn that it follows
};

}  // namespace

std::vector<Turn> turns_of(const Table& table) {
  const double others = double(table.n_ranks) - 1;
  if (!(others > 0)) return {};
  const double hit = std::max(std::log(kInTurn * others / (1 - kInTurn)), 0.1);
  const double change = std::log(double(table.n_steps) * others);
  std::vector<Begun> begun;
  std::vector<Path> of_rank(table.n_ranks);
  Path best;
  for (size_t step = 0; step < table.n_steps; ++step) {
    if (!(table.mean(step) > 0)) continue;
    const size_t rank = table.largest(step);
    Path& own = of_rank[rank];
    // Scores of other ranks do not change, and the best one never falls: it is enough to look for a
    // new turn where a rank has most.
    const bool is_new = best.score - change > own.score;
    if (is_new || own.turn == kNever) {
      begun.push_back({rank, is_new ? step : 0, is_new ? best.turn : kNever});
      own = {is_new ? best.score - change : 0, begun.size() - 1};
    }
    own.score += hit;
    if (best.turn == kNever || own.score > best.score) best = own;
  }
  std::vector<Turn> turns;
  size_t end = table.n_steps;
  for (size_t at = best.turn; at != kNever; at = begun[at].before) {
    turns.push_back({begun[at].rank, begun[at].step, end, 0});
    end = begun[at].step;
  }
  std::reverse(turns.begin(), turns.end());
  for (Turn& turn : turns)
    for (size_t step = turn.begin; step < turn.end; ++step)
      turn.n_most += table.mean(step) > 0 && table.largest(step) == turn.rank;
  return turns;
}

}  // namespace perfield
