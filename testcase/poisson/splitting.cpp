// SPDX-License-Identifier: BSD-3-Clause
#include "splitting.hpp"

#include <algorithm>
#include <stdexcept>

namespace poisson {

namespace {

constexpr int kPolls = 64;              // of a MatVec by default: about 1 % of its time
constexpr double kSmallestPart = 0.02;  // of the inner elements, in E1 and in E2

int polls_apart(const SplittingOptions& options, int n_inner) {
  return options.poll_every > 0 ? options.poll_every : std::max(1, n_inner / kPolls);
}

class Fixed : public Splitting {
 public:
  Fixed(const SplittingOptions& options, bool polls) : options_(options), polls_(polls) {}
  Parts next(int n_inner) const override {
    return {int(options_.alpha * n_inner), polls_ ? polls_apart(options_, n_inner) : 0, false};
  }
  void learn(int, int, double, double) override {}
  double alpha() const override { return options_.alpha; }

 private:
  const SplittingOptions options_;
  const bool polls_;
};

// Algorithm 3: where only one wait is longer than eps, its part grows by wait / eps. The paper has
// neither a bound for one step nor one for alpha. Without the first, one late message moves all
// elements to one side; without the second, alpha never leaves 0 or 1 again.
class Dynamic : public Splitting {
 public:
  explicit Dynamic(const SplittingOptions& options) : options_(options), alpha_(options.alpha) {}
  Parts next(int n_inner) const override { return {int(alpha_ * n_inner), 0, false}; }
  double alpha() const override { return alpha_; }
  void learn(int, int n_inner, double wait_in_s, double wait_out_s) override {
    const double eps = options_.eps_s;
    double factor = 1;
    if (wait_in_s > eps && wait_out_s < eps)
      factor = std::min(wait_in_s / eps, options_.cap);
    else if (wait_in_s < eps && wait_out_s > eps)
      factor = std::max(eps / wait_out_s, 1 / options_.cap);
    else
      return;
    if (n_inner == 0) return;
    const double least = std::min(0.5, std::max(1.0 / n_inner, kSmallestPart));
    const double now = std::clamp(alpha_, least, 1 - least);
    const double ratio = factor * now / (1 - now);
    alpha_ = options_.theta * ratio / (1 + ratio) + (1 - options_.theta) * now;
    alpha_ = std::clamp(alpha_, least, 1 - least);
  }

 private:
  const SplittingOptions options_;
  double alpha_;
};

class Test : public Splitting {
 public:
  explicit Test(const SplittingOptions& options) : options_(options), alpha_(options.alpha) {}
  Parts next(int n_inner) const override { return {n_inner, polls_apart(options_, n_inner), true}; }
  void learn(int n_first, int n_inner, double, double) override {
    if (n_inner > 0) alpha_ = double(n_first) / n_inner;
  }
  double alpha() const override { return alpha_; }

 private:
  const SplittingOptions options_;
  double alpha_;
};

}  // namespace

std::unique_ptr<Splitting> make_splitting(const SplittingOptions& options) {
  if (options.method == "fixed") return std::make_unique<Fixed>(options, false);
  if (options.method == "polled") return std::make_unique<Fixed>(options, true);
  if (options.method == "dynamic") return std::make_unique<Dynamic>(options);
  if (options.method == "test") return std::make_unique<Test>(options);
  throw std::invalid_argument("'" + options.method + "' is no splitting method");
}

}  // namespace poisson
