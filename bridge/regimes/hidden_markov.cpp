// SPDX-License-Identifier: BSD-3-Clause
#include "regimes/hidden_markov.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

namespace perfield {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr double kLogTwoPi = 1.8378770664093453;

bool is_known(double value) { return value > 0 && std::isfinite(value); }

// The densities of all states, prepared: constants of each state.
template <int N>
struct States {
  explicit States(const HiddenMarkov& model) : dof(model.dof) {
    for (int state = 0; state < N; ++state) {
      location[state] = model.location[state];
      inverse[state] = 1 / model.scale[state];
      log_factor[state] = -std::log(model.scale[state]);
      log_factor[state] +=
          dof > 0 ? std::lgamma((dof + 1) / 2) - std::lgamma(dof / 2) - 0.5 * std::log(dof * M_PI)
                  : -0.5 * kLogTwoPi;
      factor[state] = std::exp(log_factor[state]);
      start[state] = model.start[state];
      for (int next = 0; next < N; ++next)
        transition[state][next] = model.transition[state * N + next];
    }
  }

  double dof;
  double location[N], inverse[N], log_factor[N], factor[N], start[N], transition[N][N];
};

// What one sequence needs; grows to the longest one. Arrays of states are one column per state.
template <int N>
struct Workspace {
  explicit Workspace(size_t n) : y(n), offset(n), scaling(n), came_from(n * N) {
    for (int state = 0; state < N; ++state) {
      density[state].resize(n);
      forward[state].resize(n);
    }
  }
  std::vector<double> y;           // the values or their logarithms
  std::vector<double> density[N];  // of each state, over exp(offset)
  std::vector<double> offset;      // 0 for Student's t, which does not underflow
  std::vector<double> forward[N];  // scaled
  std::vector<double> scaling;
  std::vector<uint8_t> came_from;
};

// Calls what(begin, end) for each sequence of a row, after its values became y.
template <int N, typename What>
void for_sequences(const HiddenMarkov& model, const double* row, size_t n_steps, Workspace<N>& work,
                   What&& what) {
  size_t begin = 0;
  while (begin < n_steps) {
    while (begin < n_steps && !is_known(row[begin])) ++begin;
    size_t end = begin;
    for (; end < n_steps && is_known(row[end]); ++end)
      work.y[end - begin] = model.is_log ? std::log(row[end]) : row[end];
    if (end > begin) what(begin, end);
    begin = end;
  }
}

template <int N>
void log_densities(const States<N>& states, Workspace<N>& work, size_t n) {
  const double* y = work.y.data();
  for (int state = 0; state < N; ++state) {
    double* out = work.density[state].data();
    const double location = states.location[state], inverse = states.inverse[state];
    const double factor = states.log_factor[state];
    if (states.dof > 0) {
      const double power = -(states.dof + 1) / 2, over = 1 / states.dof;
      for (size_t k = 0; k < n; ++k) {
        const double z = (y[k] - location) * inverse;
        out[k] = factor + power * std::log(1 + z * z * over);
      }
    } else {
      for (size_t k = 0; k < n; ++k) {
        const double z = (y[k] - location) * inverse;
        out[k] = factor - 0.5 * z * z;
      }
    }
  }
}

template <int N>
void densities(const States<N>& states, Workspace<N>& work, size_t n) {
  if (states.dof == 2) {  // the default, without logarithms
    std::fill_n(work.offset.begin(), n, 0.0);
    const double* y = work.y.data();
    for (int state = 0; state < N; ++state) {
      double* out = work.density[state].data();
      const double location = states.location[state], inverse = states.inverse[state];
      const double factor = states.factor[state];
      for (size_t k = 0; k < n; ++k) {
        const double z = (y[k] - location) * inverse, q = 1 + 0.5 * z * z;
        out[k] = factor / (q * std::sqrt(q));
      }
    }
    return;
  }
  log_densities(states, work, n);
  for (size_t k = 0; k < n; ++k) {
    double most = work.density[0][k];
    for (int state = 1; state < N; ++state) most = std::max(most, work.density[state][k]);
    work.offset[k] = most;
    for (int state = 0; state < N; ++state)
      work.density[state][k] = std::exp(work.density[state][k] - most);
  }
}

// Fills forward and scaling, and returns the log-likelihood.
template <int N>
double forward_pass(const States<N>& states, Workspace<N>& work, size_t n) {
  double before[N], likelihood = 0, product = 1;
  for (size_t k = 0; k < n; ++k) {
    double now[N], sum = 0;
    for (int state = 0; state < N; ++state) {
      double reached = 0;
      if (k == 0) {
        reached = states.start[state];
      } else {
        for (int other = 0; other < N; ++other)
          reached += before[other] * states.transition[other][state];
      }
      now[state] = reached * work.density[state][k];
      sum += now[state];
    }
    // No state that can be reached explains the value: all start anew.
    const bool is_possible = sum > std::numeric_limits<double>::min();
    if (!is_possible) {
      sum = std::numeric_limits<double>::min();
      std::fill_n(now, N, sum / N);
    }
    for (int state = 0; state < N; ++state) {
      before[state] = now[state] / sum;
      work.forward[state][k] = before[state];
    }
    work.scaling[k] = is_possible ? 1 / sum : 1;
    likelihood += work.offset[k];
    if (sum < 1e-100)  // its product with others could be 0
      likelihood += std::log(sum);
    else
      product *= sum;
    if (product < 1e-200 || product > 1e200) {
      likelihood += std::log(product);
      product = 1;
    }
  }
  return likelihood + std::log(product);
}

// Backward through one sequence: calls of(k, posterior) for each step, from the last; and
// between(k, weight) for each step but the last, where the chance of going from i to j after step k
// is forward[i][k] transition[i][j] weight[j].
template <int N, typename Of, typename Between>
void backward_pass(const States<N>& states, const Workspace<N>& work, size_t n, Of&& of,
                   Between&& between) {
  double backward[N], posterior[N], weight[N];
  std::fill_n(backward, N, 1.0);
  for (size_t k = n; k-- > 0;) {
    double sum = 0;
    for (int state = 0; state < N; ++state) {
      posterior[state] = work.forward[state][k] * backward[state];
      sum += posterior[state];
    }
    // The sum is 1 but for rounding, or next to 0 before all states started anew. Then the backward
    // numbers start anew, too, or what they say of all earlier steps would count for nothing.
    const bool is_possible = sum > 1e-200 && std::isfinite(sum);
    for (int state = 0; state < N; ++state) {
      posterior[state] = is_possible ? posterior[state] / sum : work.forward[state][k];
      if (!is_possible) backward[state] = 1;
    }
    of(k, posterior);
    if (k == 0) break;
    for (int state = 0; state < N; ++state)
      weight[state] = work.density[state][k] * backward[state] * work.scaling[k];
    between(k - 1, weight);
    for (int state = 0; state < N; ++state) {
      backward[state] = 0;
      for (int next = 0; next < N; ++next)
        backward[state] += states.transition[state][next] * weight[next];
    }
  }
}

// What the maximisation needs of all sequences.
template <int N>
struct Sums {
  double likelihood = 0, n_begun = 0;
  double begun[N] = {}, share[N] = {}, weight[N] = {}, off[N] = {}, off_squared[N] = {},
         moved[N][N] = {};
};

template <int N>
void expect(const States<N>& states, Workspace<N>& work, size_t n, bool is_log, Sums<N>& sums) {
  densities(states, work, n);
  sums.likelihood += forward_pass(states, work, n);
  if (is_log)
    for (size_t k = 0; k < n; ++k) sums.likelihood -= work.y[k];  // of the value, not its logarithm
  const double dof = states.dof;
  ++sums.n_begun;
  backward_pass(
      states, work, n,
      [&](size_t k, const double* posterior) {
        for (int state = 0; state < N; ++state) {
          const double off = work.y[k] - states.location[state];
          const double z = off * states.inverse[state];
          // Outliers of Student's t weigh less: its scale mixture's expected precision.
          const double weight = posterior[state] * (dof > 0 ? (dof + 1) / (dof + z * z) : 1);
          sums.share[state] += posterior[state];
          sums.weight[state] += weight;
          sums.off[state] += weight * off;
          sums.off_squared[state] += weight * off * off;
          if (k == 0) sums.begun[state] += posterior[state];
        }
      },
      [&](size_t k, const double* weight) {
        for (int state = 0; state < N; ++state)
          for (int next = 0; next < N; ++next)
            sums.moved[state][next] += work.forward[state][k] * weight[next];
      });
}

// Location and scale of Student's t by the parameter-expanded step (Liu, Rubin, Wu, Biometrika 85
// (1998)), which divides by the weights and needs fewer iterations than by the shares.
template <int N>
void maximise(const Sums<N>& sums, const FitOptions& options, HiddenMarkov& model) {
  double all = 0;
  for (int state = 0; state < N; ++state) all += sums.share[state];
  for (int state = 0; state < N; ++state) {
    if (sums.weight[state] > 0) {
      const double shift = sums.off[state] / sums.weight[state];
      const double variance = sums.off_squared[state] / sums.weight[state] - shift * shift;
      model.location[state] += shift;
      model.scale[state] = std::max(std::sqrt(std::max(variance, 0.0)), options.min_scale);
    }
    model.start[state] =
        options.has_memory ? sums.begun[state] / sums.n_begun : sums.share[state] / all;
  }
  for (int state = 0; state < N; ++state) {
    double* row = &model.transition[size_t(state) * N];
    if (!options.has_memory) {
      std::copy(model.start.begin(), model.start.end(), row);
      continue;
    }
    double left = 0;
    for (int next = 0; next < N; ++next) left += row[next] * sums.moved[state][next];
    if (left > 0)
      for (int next = 0; next < N; ++next) row[next] *= sums.moved[state][next] / left;
  }
}

template <int N>
FitResult fit_of(const HiddenMarkov& first, const Series& series, const FitOptions& options) {
  FitResult result;
  result.model = first;
  Workspace<N> work(series.n_steps);
  double before = -std::numeric_limits<double>::infinity();
  while (result.n_iterations < options.max_iterations) {
    const States<N> states(result.model);
    Sums<N> sums;
    for (size_t row = 0; row < series.n_rows; ++row)
      for_sequences(
          first, series.values + row * series.n_steps, series.n_steps, work,
          [&](size_t begin, size_t end) { expect(states, work, end - begin, first.is_log, sums); });
    if (sums.n_begun == 0) break;
    maximise(sums, options, result.model);
    ++result.n_iterations;
    result.log_likelihood = sums.likelihood;
    result.has_converged = std::abs(sums.likelihood - before) < options.tolerance;
    if (result.has_converged) break;
    before = sums.likelihood;
  }
  return result;
}

template <int N>
double log_likelihood_of(const HiddenMarkov& model, const Series& series) {
  const States<N> states(model);
  Workspace<N> work(series.n_steps);
  double likelihood = 0;
  for (size_t row = 0; row < series.n_rows; ++row)
    for_sequences(model, series.values + row * series.n_steps, series.n_steps, work,
                  [&](size_t begin, size_t end) {
                    densities(states, work, end - begin);
                    likelihood += forward_pass(states, work, end - begin);
                    if (model.is_log)
                      for (size_t k = 0; k < end - begin; ++k) likelihood -= work.y[k];
                  });
  return likelihood;
}

// Viterbi of one sequence, with the logarithms of densities in work.
template <int N>
void best_path(const States<N>& states, Workspace<N>& work, size_t n, int8_t* path) {
  double log_transition[N][N], best[N];
  for (int state = 0; state < N; ++state) {
    for (int next = 0; next < N; ++next)
      log_transition[state][next] = std::log(states.transition[state][next]);
    best[state] = std::log(states.start[state]) + work.density[state][0];
  }
  for (size_t k = 1; k < n; ++k) {
    double now[N];
    for (int state = 0; state < N; ++state) {
      double most = best[0] + log_transition[0][state];
      uint8_t from = 0;
      for (int other = 1; other < N; ++other) {
        const double candidate = best[other] + log_transition[other][state];
        from = candidate > most ? uint8_t(other) : from;
        most = candidate > most ? candidate : most;
      }
      now[state] = most + work.density[state][k];
      work.came_from[k * N + state] = from;
    }
    std::copy_n(now, N, best);
  }
  size_t state = size_t(std::max_element(best, best + N) - best);
  for (size_t k = n; k-- > 0;) {
    path[k] = int8_t(state);
    if (k) state = work.came_from[k * N + state];
  }
}

template <int N>
void decode_of(const HiddenMarkov& model, const Series& series, int8_t* all) {
  const States<N> states(model);
  Workspace<N> work(series.n_steps);
  std::fill_n(all, series.n_rows * series.n_steps, int8_t(-1));
  for (size_t row = 0; row < series.n_rows; ++row)
    for_sequences(model, series.values + row * series.n_steps, series.n_steps, work,
                  [&](size_t begin, size_t end) {
                    log_densities(states, work, end - begin);
                    best_path(states, work, end - begin, all + row * series.n_steps + begin);
                  });
}

template <int N>
void classify_of(const HiddenMarkov& model, const Series& series,
                 const std::vector<int8_t>& regime_of, int8_t* regimes, float* probabilities) {
  decode_of<N>(model, series, regimes);
  std::fill_n(probabilities, series.n_rows * series.n_steps, float(kUnknown));
  const States<N> states(model);
  Workspace<N> work(series.n_steps);
  for (size_t row = 0; row < series.n_rows; ++row)
    for_sequences(model, series.values + row * series.n_steps, series.n_steps, work,
                  [&](size_t begin, size_t end) {
                    densities(states, work, end - begin);
                    forward_pass(states, work, end - begin);
                    const size_t at = row * series.n_steps + begin;
                    backward_pass(
                        states, work, end - begin,
                        [&](size_t k, const double* posterior) {
                          const int8_t regime = regime_of[size_t(regimes[at + k])];
                          double chance = 0;
                          for (int state = 0; state < N; ++state)
                            if (regime_of[size_t(state)] == regime) chance += posterior[state];
                          regimes[at + k] = regime;
                          probabilities[at + k] = float(chance);
                        },
                        [](size_t, const double*) {});
                  });
}

template <int N>
void filter_of(const HiddenMarkov& model, const double* values, size_t n_rows,
               double* probabilities) {
  const States<N> states(model);
  Workspace<N> work(1);
  for (size_t row = 0; row < n_rows; ++row) {
    double* known = probabilities + row * N;
    if (!is_known(values[row])) {
      std::fill_n(known, N, kUnknown);
      continue;
    }
    work.y[0] = model.is_log ? std::log(values[row]) : values[row];
    densities(states, work, 1);
    double now[N], sum = 0;
    for (int state = 0; state < N; ++state) {
      double reached = 0;
      if (std::isnan(known[0]))
        reached = states.start[state];
      else
        for (int other = 0; other < N; ++other)
          reached += known[other] * states.transition[other][state];
      now[state] = reached * work.density[state][0];
      sum += now[state];
    }
    for (int state = 0; state < N; ++state) known[state] = sum > 0 ? now[state] / sum : 1.0 / N;
  }
}

// Calls what with the number of states as a constant: loops over states are then unrolled.
template <typename What>
void with_states(const HiddenMarkov& model, What&& what) {
  check(model);
  switch (model.n_states()) {
#define PERFIELD_STATES(n)                  \
  case n:                                   \
    what(std::integral_constant<int, n>{}); \
    break;
    PERFIELD_STATES(1)
    PERFIELD_STATES(2)
    PERFIELD_STATES(3)
    PERFIELD_STATES(4)
    PERFIELD_STATES(5)
    PERFIELD_STATES(6)
    PERFIELD_STATES(7)
    PERFIELD_STATES(8)
#undef PERFIELD_STATES
  }
}

}  // namespace

void check(const HiddenMarkov& model) {
  const size_t n = model.n_states();
  if (n == 0 || n > kMostStates)
    throw std::invalid_argument("the model has " + std::to_string(n) + " states; expected 1 to " +
                                std::to_string(kMostStates));
  if (model.scale.size() != n || model.start.size() != n || model.transition.size() != n * n)
    throw std::invalid_argument(
        "the model has " + std::to_string(n) +
        " locations, but not as many scales, starts and rows of transitions");
}

FitResult fit(const HiddenMarkov& first, const Series& series, const FitOptions& options) {
  FitResult result;
  with_states(first, [&](auto n) { result = fit_of<decltype(n)::value>(first, series, options); });
  return result;
}

double log_likelihood(const HiddenMarkov& model, const Series& series) {
  double result = 0;
  with_states(model,
              [&](auto n) { result = log_likelihood_of<decltype(n)::value>(model, series); });
  return result;
}

void decode(const HiddenMarkov& model, const Series& series, int8_t* states) {
  with_states(model, [&](auto n) { decode_of<decltype(n)::value>(model, series, states); });
}

void classify(const HiddenMarkov& model, const Series& series, const std::vector<int8_t>& regime_of,
              int8_t* regimes, float* probabilities) {
  if (regime_of.size() != model.n_states())
    throw std::invalid_argument("regime_of has " + std::to_string(regime_of.size()) +
                                " numbers; expected one per state");
  with_states(model, [&](auto n) {
    classify_of<decltype(n)::value>(model, series, regime_of, regimes, probabilities);
  });
}

void filter(const HiddenMarkov& model, const double* values, size_t n_rows, double* probabilities) {
  with_states(model,
              [&](auto n) { filter_of<decltype(n)::value>(model, values, n_rows, probabilities); });
}

}  // namespace perfield
