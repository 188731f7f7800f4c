// SPDX-License-Identifier: BSD-3-Clause
//
// STREAM Triad: a = b + s c. It is bound by memory: two loads, one store and two operations per
// element, so ranks that share a memory bus slow each other down.
//
// After each step a and b change places, so that the numbers show how many steps ran:
// b = 1 + steps s c. All of these are short binary fractions, hence exact.
#include "program.hpp"

namespace {

constexpr double kFactor = 0.5;

double c_at(size_t i) { return double(i % 7); }

class StreamTriad : public rhythm::Work {
 public:
  explicit StreamTriad(const rhythm::Options& options)
      : a_(size_t(options.size), 0), b_(a_.size(), 1), c_(a_.size()) {
    for (size_t i = 0; i < c_.size(); ++i) c_[i] = c_at(i);
  }

  void work(int) override {
    double* const a = a_.data();
    const double* const b = b_.data();
    const double* const c = c_.data();
    const size_t n = a_.size();
    for (size_t i = 0; i < n; ++i) a[i] = b[i] + kFactor * c[i];
    a_.swap(b_);
  }

  rhythm::Result result(int steps) override {
    long wrong = 0;
    for (size_t i = 0; i < b_.size(); ++i) wrong += b_[i] != 1 + steps * kFactor * c_at(i);
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    return {std::to_string(wrong) + " elements differ from 1 + steps s c", wrong == 0};
  }

 private:
  std::vector<double> a_, b_, c_;
};

}  // namespace

int main(int argc, char** argv) {
  return rhythm::run(
      argc, argv,
      {"stream_triad",
       "computes a = b + s c, then lets a and b change places.\n"
       "--size: elements of each array of one rank (5000000). Checked against\n"
       "1 + steps s c, exactly.",
       rhythm::sized(5000000), false, [](const rhythm::Options& options, rhythm::Ranks) {
         return std::make_unique<StreamTriad>(options);
       }});
}
