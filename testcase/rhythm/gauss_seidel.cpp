// SPDX-License-Identifier: BSD-3-Clause
//
// Symmetric successive over-relaxation (SSOR) of a problem in which a row depends on itself and on
// the row before it, as in a flow that carries heat from row to row:
// 4 u[j][i] - u[j][i-1] - u[j][i+1] - 2 u[j-1][i] = f[j][i]. Each step relaxes the rows one after
// the other, each forwards and backwards. It is bound by the latency of the core, not by memory.
//
// Ranks own rows. A rank waits for the last row of the rank before it, of the same step, so it is a
// step behind: ranks that are all busy form a wavefront. With --lagged it takes that row from the
// step before, as jacobi does; then all ranks start together. Where no message comes from there,
// the row holds the exact solution.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "program.hpp"

namespace {

constexpr double kRelaxation = 1.2;

double exact(double row, double i) { return 1 + 0.5 * std::sin(0.1 * row) * std::cos(0.1 * i); }

class GaussSeidel : public rhythm::Work {
 public:
  GaussSeidel(const rhythm::Options& options, rhythm::Ranks ranks)
      : lagged_(options.lagged),
        columns_(size_t(options.columns)),
        rows_(size_t(options.size)),
        first_row_(double(rows_) * ranks.rank),
        u_((rows_ + 1) * stride()),
        f_(u_.size()) {
    for (size_t row = 0; row <= rows_; ++row)
      for (size_t i : {size_t(0), columns_ + 1}) at(u_, row, i) = exact_at(row, i);
    for (size_t i = 1; i <= columns_; ++i) at(u_, 0, i) = ranks.rank ? 0 : exact_at(0, i);
    for (size_t row = 1; row <= rows_; ++row)
      for (size_t i = 1; i <= columns_; ++i)
        at(f_, row, i) = 4 * exact_at(row, i) - exact_at(row, i - 1) - exact_at(row, i + 1) -
                         2 * exact_at(row - 1, i);
    first_residual_ = residual();
  }

  bool receives_first() const override { return !lagged_; }

  void work(int) override {
    for (size_t row = 1; row <= rows_; ++row) {
      for (size_t i = 1; i <= columns_; ++i) relax(row, i);
      for (size_t i = columns_; i >= 1; --i) relax(row, i);
    }
  }

  size_t numbers() const override { return columns_; }

  void before_sending(rhythm::Exchange& exchange) override {
    if (double* into = exchange.to(1)) std::copy_n(&at(u_, rows_, 1), columns_, into);
  }

  void after_receiving(const rhythm::Exchange& exchange, int) override {
    if (const double* from = exchange.from(-1))
      std::copy_n(from, columns_, &at(u_, 0, 1));
    else
      for (size_t i = 1; i <= columns_; ++i) at(u_, 0, i) = exact_at(0, i);
  }

  rhythm::Result result(int) override {
    double sums[2] = {first_residual_, residual()};
    MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    char text[120];
    std::snprintf(
        text, sizeof text, "residual fell from %.3e to %.3e, checksum %016llx", std::sqrt(sums[0]),
        std::sqrt(sums[1]),
        rhythm::checksum(&u_[stride()], rows_ * stride(), uint64_t(first_row_ + 1) * stride()));
    return {text, sums[1] < sums[0]};
  }

 private:
  size_t stride() const { return columns_ + 2; }
  double& at(std::vector<double>& grid, size_t row, size_t i) { return grid[row * stride() + i]; }
  double exact_at(size_t row, size_t i) const { return exact(first_row_ + double(row), double(i)); }

  double defect(size_t row, size_t i) {
    const double* const here = &at(u_, row, i);
    return at(f_, row, i) + here[-1] + here[1] + 2 * *(here - stride()) - 4 * *here;
  }
  void relax(size_t row, size_t i) { at(u_, row, i) += kRelaxation / 4 * defect(row, i); }

  double residual() {  // squared, of this rank
    double sum = 0;
    for (size_t row = 1; row <= rows_; ++row)
      for (size_t i = 1; i <= columns_; ++i) sum += defect(row, i) * defect(row, i);
    return sum;
  }

  const bool lagged_;
  const size_t columns_, rows_;
  const double first_row_;
  std::vector<double> u_, f_;  // row 0 is the last one of the rank before
  double first_residual_;
};

std::unique_ptr<rhythm::Work> start(const rhythm::Options& options, rhythm::Ranks ranks) {
  bool upwards = options.topology != rhythm::Topology::ring;
  for (int offset : options.send_to) upwards &= offset > 0;
  if (!options.lagged && !upwards)
    throw rhythm::Misuse(
        "each rank waits for a row of the rank before it, so in a ring or with negative offsets "
        "all ranks would wait for ever; use --topology chain with positive offsets, or --lagged");
  return std::make_unique<GaussSeidel>(options, ranks);
}

}  // namespace

int main(int argc, char** argv) {
  return rhythm::run(
      argc, argv,
      {"gauss_seidel",
       "relaxes a problem whose rows depend on the rows before them (SSOR).\n"
       "--size: rows of one rank (1000). --columns N: points of a row (1000); a message holds a\n"
       "row. A rank waits for the row before its own from the same step; --lagged takes it from\n"
       "the step before. Checked: the residual falls; the checksum is the same for any number of\n"
       "ranks that own as many rows in all (not with --lagged).",
       rhythm::sized(1000, 1000), true, start});
}
