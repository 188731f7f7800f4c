// SPDX-License-Identifier: BSD-3-Clause
//
// library.cpp - see openfoam.hpp.
#include <time.h>

#include <atomic>
#include <cstdio>

#include "openfoam.hpp"

namespace {
constexpr long long kSecondNs = 1000000000;
std::atomic<long long> clock_ns{kSecondNs};
}  // namespace

// A clock that perfield reads, too: only work() makes time pass.
extern "C" int clock_gettime(clockid_t, timespec* t) noexcept {
  t->tv_sec = clock_ns / kSecondNs;
  t->tv_nsec = clock_ns % kSecondNs;
  return 0;
}

namespace Foam {

void work(double ms) { clock_ns += static_cast<long long>(ms * 1e6); }

bool Time::run() const {
  if (index && index % function_objects_every == 0) work(30);
  return index < last;
}

Time& Time::operator++() {
  name = std::to_string(++index * 0.5);
  return *this;
}

primitiveMesh::primitiveMesh() = default;
primitiveMesh::primitiveMesh(label points, label internal_faces, label faces, label cells)
    : sizes_{points, internal_faces, faces, cells} {}
primitiveMesh::~primitiveMesh() { sizes_[0] = -1; }
void primitiveMesh::reset(label points, label internal_faces, label faces, label cells) {
  const label sizes[4] = {points, internal_faces, faces, cells};
  for (int i = 0; i < 4; ++i) sizes_[i] = sizes[i];
}

solverPerformance GAMGSolver::solve(Field<double>& x, const Field<double>& b,
                                    unsigned char component) const {
  work(1);
  return {{1, 2, 3, double(component)}, static_cast<const void*>(&x) == &b ? 7 : 8};
}

void interfaceProperties::correct() {
  work(1);
  calculateK();
}

void interfaceProperties::calculateK() {
  work(1);
  if (throws) throw 1;
}

}  // namespace Foam
