// SPDX-License-Identifier: BSD-3-Clause
//
// Jacobi's method for Laplace's equation: each point becomes the mean of its four neighbours. It is
// bound by memory. Ranks own rows: rank 0 the first ones, and a message holds the row next to its
// receiver.
//
// Start: a wave that Jacobi's method only shrinks. sin(pi i / (columns + 1)) sin(pi j / (rows +
// 1)), with i = 1, ... and j = 1, ... inside walls of 0, shrinks in each step by exactly (cos(pi /
// (columns + 1)) + cos(pi / (rows + 1))) / 2. In a ring, rows have no walls but wrap around: sin(2
// pi j / rows). A side from which no message comes holds these values, so that they stay right for
// each --send-to.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "program.hpp"

namespace {

class Jacobi : public rhythm::Work {
 public:
  Jacobi(const rhythm::Options& options, rhythm::Ranks ranks)
      : columns_(size_t(options.columns)),
        rows_(size_t(options.size)),
        first_row_(double(rows_) * ranks.rank + 1),
        new_((rows_ + 2) * stride()),
        old_(new_.size()) {
    const double all_rows = double(rows_) * ranks.size;
    row_angle_ =
        options.topology == rhythm::Topology::ring ? 2 * M_PI / all_rows : M_PI / (all_rows + 1);
    shrinks_ = (std::cos(column_angle()) + std::cos(row_angle_)) / 2;
    for (size_t row = 0; row < rows_ + 2; ++row) set_exact(row, 0);
    new_ = old_;
  }

  void work(int) override {
    for (size_t row = 1; row <= rows_; ++row) {
      double* const to = new_.data() + row * stride();
      const double* const here = old_.data() + row * stride();
      const double* const below = here - stride();
      const double* const above = here + stride();
      for (size_t i = 1; i <= columns_; ++i)
        to[i] = (here[i - 1] + here[i + 1] + below[i] + above[i]) / 4;
    }
    old_.swap(new_);
  }

  size_t numbers() const override { return columns_; }

  void before_sending(rhythm::Exchange& exchange) override {
    put(1, exchange.to(-1));
    put(rows_, exchange.to(1));
  }

  void after_receiving(const rhythm::Exchange& exchange, int step) override {
    take(0, exchange.from(-1), step);
    take(rows_ + 1, exchange.from(1), step);
  }

  rhythm::Result result(int steps) override {
    double off = 0;
    for (size_t row = 1; row <= rows_; ++row)
      for (size_t i = 1; i <= columns_; ++i)
        off = std::max(off, std::abs(old_[row * stride() + i] - exact(row, i, steps)));
    MPI_Allreduce(MPI_IN_PLACE, &off, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    char text[120];
    std::snprintf(
        text, sizeof text, "at most %.1e off the exact solution, checksum %016llx", off,
        rhythm::checksum(&old_[stride()], rows_ * stride(), uint64_t(first_row_) * stride()));
    return {text, off <= 1e-15 * (100 + steps)};  // rounding, some of it in each step
  }

 private:
  size_t stride() const { return columns_ + 2; }
  double column_angle() const { return M_PI / double(columns_ + 1); }

  double exact(size_t row, size_t i, int step) const {
    return std::pow(shrinks_, step) * std::sin(row_angle_ * (first_row_ + double(row) - 1)) *
           std::sin(column_angle() * double(i));
  }
  void set_exact(size_t row, int step) {
    for (size_t i = 1; i <= columns_; ++i) old_[row * stride() + i] = exact(row, i, step);
  }

  void put(size_t row, double* into) const {
    if (into) std::copy_n(&old_[row * stride() + 1], columns_, into);
  }
  void take(size_t row, const double* from, int step) {
    if (from)
      std::copy_n(from, columns_, &old_[row * stride() + 1]);
    else
      set_exact(row, step);
  }

  const size_t columns_, rows_;
  const double first_row_;
  double row_angle_, shrinks_;
  std::vector<double> new_, old_;  // with walls: (rows + 2) times (columns + 2)
};

}  // namespace

int main(int argc, char** argv) {
  return rhythm::run(
      argc, argv,
      {"jacobi",
       "applies Jacobi's method to Laplace's equation on a grid divided by rows.\n"
       "--size: rows of one rank (4000). --columns N: points of a row (1000); a message holds a\n"
       "row. Checked against the exact solution. With --send-to 1,-1 the checksum is the same\n"
       "for any number of ranks that own as many rows in all.",
       rhythm::sized(4000, 1000), false, [](const rhythm::Options& options, rhythm::Ranks ranks) {
         return std::make_unique<Jacobi>(options, ranks);
       }});
}
