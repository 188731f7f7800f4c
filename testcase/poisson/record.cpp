// SPDX-License-Identifier: BSD-3-Clause
#include "record.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace poisson {

namespace {

constexpr std::int64_t kReserved = 1 << 16;

double clock_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The members of MatVec in their order, without gaps between them.
constexpr char kFields[] =
    "('matvec', '<i8'), ('level', '<i4'), ('phase', '<i4'), ('t_start', '<f8'), ('t_in', '<f8'), "
    "('t_out', '<f8'), ('w_in', '<f8'), ('w_out', '<f8'), ('t_mirror', '<f8'), ('alpha', '<f8'), "
    "('n_inner1', '<i4'), ('n_inner2', '<i4'), ('n_mirror', '<i4'), ('n_polls', '<i4'), "
    "('n_partners', '<i4'), ('solve', '<i4')";
static_assert(sizeof(MatVec) == 8 + 2 * 4 + 7 * 8 + 6 * 4);

}  // namespace

// Format 1.0, padded so that the numbers begin at a multiple of 64 bytes.
std::string numpy_header(const std::string& type, const std::string& shape) {
  std::string text = "{'descr': " + type + ", 'fortran_order': False, 'shape': " + shape + ", }";
  text.append(63 - (10 + text.size()) % 64, ' ').push_back('\n');
  std::string whole("\x93NUMPY\x01\x00", 8);
  whole.push_back(char(text.size() & 255));
  whole.push_back(char(text.size() >> 8));
  return whole + text;
}

Record::Record(std::int64_t most) : most_(most) { all_.reserve(size_t(std::min(most, kReserved))); }

void Record::start() { start_s_ = clock_s(); }

double Record::now_s() const { return clock_s() - start_s_; }

void Record::add(MatVec one) {
  if (full()) return;
  one.matvec = std::int64_t(all_.size());
  one.solve = solve_;
  all_.push_back(one);
  if (one.level == 0) ++n_finest_;
}

Record::Mean Record::mean(int level, int phase) const {
  Mean mean;
  for (const MatVec& one : all_) {
    if (one.level != level || (phase >= 0 && one.phase != phase)) continue;
    ++mean.n;
    mean.t_in += one.t_in;
    mean.t_out += one.t_out;
    mean.w_in += one.w_in;
    mean.w_out += one.w_out;
    mean.alpha += one.alpha;
  }
  for (double* value : {&mean.t_in, &mean.t_out, &mean.w_in, &mean.w_out, &mean.alpha})
    *value /= std::max(mean.n, 1);
  return mean;
}

bool Record::write(const std::string& path) const {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (!file) return false;
  const std::string head =
      numpy_header("[" + std::string(kFields) + "]", "(" + std::to_string(all_.size()) + ",)");
  const bool written = std::fwrite(head.data(), 1, head.size(), file) == head.size() &&
                       std::fwrite(all_.data(), sizeof(MatVec), all_.size(), file) == all_.size();
  return std::fclose(file) == 0 && written;
}

}  // namespace poisson
