// SPDX-License-Identifier: BSD-3-Clause
//
// PISOLVER: the integral of 4 / (1 + x^2) from 0 to 1, which is pi, by the midpoint rule. It is
// bound by the divider of each core: ranks on other cores do not slow it down.
#include <cmath>
#include <cstdio>

#include "program.hpp"

namespace {

class PiSolver : public rhythm::Work {
 public:
  PiSolver(const rhythm::Options& options, rhythm::Ranks ranks)
      : first_(double(options.size) * ranks.rank),
        intervals_(options.size),
        width_(1 / (double(options.size) * ranks.size)) {}

  void work(int) override {
    double sum = 0;
    for (long i = 0; i < intervals_; ++i) {
      const double x = (first_ + double(i) + 0.5) * width_;
      sum += 4 / (1 + x * x);
    }
    total_ += sum * width_;
  }

  rhythm::Result result(int steps) override {
    double sum = 0;
    MPI_Allreduce(&total_, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    const double pi = sum / steps, off = std::abs(pi - M_PI);
    // The midpoint rule is off by width^2 / 24 times the difference of the derivatives at the ends,
    // which is 2, and terms of higher order; the rest is rounding.
    const double bound = 1.01 * width_ * width_ / 12 + 1e-12;
    char text[100];
    std::snprintf(text, sizeof text, "pi is %.12f, off by %.1e", pi, off);
    return {text, off <= bound};
  }

 private:
  const double first_;
  const long intervals_;
  const double width_;
  double total_ = 0;  // of all steps
};

}  // namespace

int main(int argc, char** argv) {
  return rhythm::run(
      argc, argv,
      {"pisolver",
       "integrates 4 / (1 + x^2) from 0 to 1 by the midpoint rule.\n"
       "--size: intervals of one rank (5000000). Checked against pi.",
       rhythm::sized(5000000), false, [](const rhythm::Options& options, rhythm::Ranks ranks) {
         return std::make_unique<PiSolver>(options, ranks);
       }});
}
