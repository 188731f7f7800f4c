// SPDX-License-Identifier: BSD-3-Clause
//
// splitting.hpp - how a rank divides its inner elements into E1, which hides the input messages,
// and E2, which hides the output messages. |E1| = floor(alpha n). Each method is one class; the
// operator asks it before a MatVec and reports to it what happened.
// Source: Heldman, Rudi and Bessac, ICS '25, section 2.4 and Algorithm 3.
#pragma once

#include <memory>
#include <string>

namespace poisson {

struct Parts {
  int n_first = 0;               // elements of E1, or the most of them
  int poll_every = 0;            // elements between two calls of MPI_Testall; 0: none
  bool ends_on_arrival = false;  // E1 ends as soon as a poll finds that all has arrived
};

class Splitting {
 public:
  virtual ~Splitting() = default;
  virtual Parts next(int n_inner) const = 0;
  // What the MatVec did: elements in E1 of the inner ones, seconds in each wait.
  virtual void learn(int n_first, int n_inner, double wait_in_s, double wait_out_s) = 0;
  // Share of the inner elements in E1: of the next MatVec, or (test) as inferred from the last one.
  virtual double alpha() const = 0;
};

struct SplittingOptions {
  std::string method = "fixed";  // fixed, dynamic, test, polled
  double alpha = 0.5;            // of all MatVecs (fixed, polled) or of the first one (dynamic)
  double eps_s = 0;              // a shorter wait is none (dynamic)
  double theta = 0.1;            // weight of a new alpha (dynamic)
  double cap = 2;                // the most by which E1/E2 grows or shrinks at once (dynamic)
  int poll_every = 0;            // elements; 0: a 64th of the inner ones (test, polled)
};

// fixed: alpha stays. dynamic: alpha follows the waits. test: E1 ends when the input has arrived.
// polled: as fixed, with the polls of test, to show what polls alone change.
std::unique_ptr<Splitting> make_splitting(const SplittingOptions& options);

}  // namespace poisson
