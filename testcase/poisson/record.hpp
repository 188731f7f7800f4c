// SPDX-License-Identifier: BSD-3-Clause
//
// record.hpp - what happened in each MatVec of this rank: kept in memory, written at the end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace poisson {

enum Phase : std::int32_t {  // where a MatVec is in a preconditioned iteration
  kNone = 0,
  kPreSmoothing = 1,
  kPostSmoothing = 2,
  kEnergyProduct = 3,
  kResidual = 4
};

struct MatVec {
  std::int64_t matvec;  // counted from 0 over all levels and phases
  std::int32_t level;   // 0: the finest
  std::int32_t phase;
  double t_start;   // s since this rank left the barrier before the first solve; E1 begins
  double t_in;      // s from there to the end of the wait for input
  double t_out;     // s from the start of E2 to the end of the wait for output
  double w_in;      // s in the wait for input alone
  double w_out;     // s in the wait for output alone
  double t_mirror;  // s between t_in and t_out: the mirror elements, and sending the output
  double alpha;     // share of the inner elements in E1: as set, or as inferred (test)
  std::int32_t n_inner1, n_inner2, n_mirror;  // elements of E1, E2 and M
  std::int32_t n_polls;                       // calls of MPI_Testall
  std::int32_t n_partners;
  std::int32_t solve;  // counted from 0
};

// The first bytes of a NumPy file, as Python writes type and shape: "'<f8'", "(3, 3)".
std::string numpy_header(const std::string& type, const std::string& shape);

class Record {
 public:
  // Keeps `most` MatVecs of the finest level and all between them; then no more.
  explicit Record(std::int64_t most);
  void start();  // t_start counts from here
  void next_solve() { ++solve_; }
  double now_s() const;
  // Fills in matvec and solve.
  void add(MatVec one);
  bool full() const { return n_finest_ >= most_; }
  std::int64_t n_finest() const { return n_finest_; }
  const std::vector<MatVec>& all() const { return all_; }
  // Means of all recorded MatVecs of a level, and of one phase or (-1) of all; 0 without any.
  struct Mean {
    int n = 0;
    double t_in = 0, t_out = 0, w_in = 0, w_out = 0, alpha = 0;  // s
  };
  Mean mean(int level, int phase = -1) const;
  // Writes a NumPy file: a structured array whose fields are those of MatVec. Returns whether it
  // could.
  bool write(const std::string& path) const;

 private:
  const std::int64_t most_;
  std::int64_t n_finest_ = 0;
  std::int32_t solve_ = -1;
  double start_s_ = 0;
  std::vector<MatVec> all_;
};

}  // namespace poisson
