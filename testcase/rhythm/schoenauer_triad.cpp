// SPDX-License-Identifier: BSD-3-Clause
//
// Slow Schoenauer Triad: the vector triad a = b + c d of W. Schoenauer, with cos(c / d) in place of
// c d. Cosine and division cost so much that memory becomes the bottleneck only when more cores
// share it than for STREAM Triad.
//
// After each step a and b change places, so that b = 1 + steps cos(c / d).
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "program.hpp"

namespace {

// cos(c / d) for c / d = 0, 1, 2, 3, ... times pi / 3.
constexpr double kCosines[] = {1, 0.5, -0.5, -1, -0.5, 0.5};

class SchoenauerTriad : public rhythm::Work {
 public:
  explicit SchoenauerTriad(const rhythm::Options& options)
      : a_(size_t(options.size), 0), b_(a_.size(), 1), c_(a_.size()), d_(a_.size()) {
    for (size_t i = 0; i < a_.size(); ++i) {
      d_[i] = 1 + double(i % 4);
      c_[i] = double(i % 6) * M_PI / 3 * d_[i];
    }
  }

  void work(int) override {
    double* const a = a_.data();
    const double* const b = b_.data();
    const double* const c = c_.data();
    const double* const d = d_.data();
    const size_t n = a_.size();
    for (size_t i = 0; i < n; ++i) a[i] = b[i] + std::cos(c[i] / d[i]);
    a_.swap(b_);
  }

  rhythm::Result result(int steps) override {
    double off = 0;
    for (size_t i = 0; i < b_.size(); ++i)
      off = std::max(off, std::abs(b_[i] - (1 + steps * kCosines[i % 6])));
    MPI_Allreduce(MPI_IN_PLACE, &off, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    char text[100];
    std::snprintf(text, sizeof text, "at most %.1e off 1 + steps cos(c / d)", off);
    return {text, off <= 1e-14 * steps * steps};  // each sum rounds by up to steps * 1e-16
  }

 private:
  std::vector<double> a_, b_, c_, d_;
};

}  // namespace

int main(int argc, char** argv) {
  return rhythm::run(
      argc, argv,
      {"schoenauer_triad",
       "computes a = b + cos(c / d), then lets a and b change places.\n"
       "--size: elements of each array of one rank (1000000). Checked against\n"
       "1 + steps cos(c / d), where c / d are multiples of 60 degrees.",
       rhythm::sized(1000000), false, [](const rhythm::Options& options, rhythm::Ranks) {
         return std::make_unique<SchoenauerTriad>(options);
       }});
}
