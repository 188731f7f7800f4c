// SPDX-License-Identifier: BSD-3-Clause
//
// hidden_markov.hpp - a hidden Markov model with one number per step: fit, most likely path,
// posterior. Rabiner, "A tutorial on hidden Markov models", Proc. IEEE 77 (1989), with his scaling
// (section V A). Runs in Python only, on any thread; allocates, and throws std::invalid_argument
// for a model that cannot be. Values are rows of steps. A value that is not finite, or not above 0,
// is unknown: it ends one sequence, and the next known value begins another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace perfield {

constexpr size_t kMostStates = 8;

struct HiddenMarkov {
  bool is_log = false;  // the states are distributions of the logarithm
  double dof = 0;       // degrees of freedom of Student's t; 0: Gaussian
  std::vector<double> location, scale, start;
  std::vector<double> transition;  // row-major; rows are the states that are left

  size_t n_states() const { return location.size(); }
};

// Rows of steps that the caller owns.
struct Series {
  const double* values = nullptr;
  size_t n_rows = 0, n_steps = 0;
};

struct FitOptions {
  int max_iterations = 300;
  double tolerance = 1;    // ends when the log-likelihood of all values grows by less
  double min_scale = 0;    // no state gets narrower
  bool has_memory = true;  // false: a mixture; all rows of the transition matrix are the start
};

struct FitResult {
  HiddenMarkov model;
  double log_likelihood = 0;  // of the model before its last change, of the values themselves
  int n_iterations = 0;
  bool has_converged = false;
};

// Throws std::invalid_argument unless sizes agree and there are 1 to kMostStates states.
void check(const HiddenMarkov& model);

// Expectation and maximisation from a first model. The dof stays.
FitResult fit(const HiddenMarkov& first, const Series& series, const FitOptions& options);

// The log-likelihood of the values.
double log_likelihood(const HiddenMarkov& model, const Series& series);

// The most likely path of states (Viterbi); -1 where the value is unknown. states: like the values.
void decode(const HiddenMarkov& model, const Series& series, int8_t* states);

// The regime of the most likely path, and the posterior probability of that regime; -1 and NaN
// where the value is unknown. regime_of: the regime of each state.
void classify(const HiddenMarkov& model, const Series& series, const std::vector<int8_t>& regime_of,
              int8_t* regimes, float* probabilities);

// Forward filtering by one step of n_rows sequences. probabilities (n_rows, n_states): of the
// states after the step before, NaN where a sequence is to begin; becomes that after this step, NaN
// where the value is unknown.
void filter(const HiddenMarkov& model, const double* values, size_t n_rows, double* probabilities);

}  // namespace perfield
