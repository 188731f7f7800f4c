// SPDX-License-Identifier: BSD-3-Clause
//
// openfoam.hpp - a fake of the part of libOpenFOAM.so that perfield replaces. LABEL: the type of
// its labels, int or long.
#pragma once

#include <string>

namespace Foam {

using label = LABEL;

class word : public std::string {
  using std::string::string;

 public:
  word(const std::string& text) : std::string(text) {}
};

void work(double ms);

template <class Type>
class dimensioned {
 public:
  word name;
};

class TimeState : public dimensioned<double> {
 public:
  virtual ~TimeState() = default;
};

class clock {
 public:
  virtual ~clock() = default;
};

// As in OpenFOAM, run() first executes the function objects of the time just computed.
class Time : public clock, public TimeState {
 public:
  virtual bool run() const;
  virtual Time& operator++();

  int index = 0, last = 8;
  int function_objects_every = 4;  // they take 30 ms
};

class primitiveMesh {
 public:
  primitiveMesh();
  primitiveMesh(label points, label internal_faces, label faces, label cells);
  virtual ~primitiveMesh();
  void reset(label points, label internal_faces, label faces, label cells);

 private:
  label sizes_[4] = {};
};

template <class Type>
class Field {};

// As large and as hard to copy as those of OpenFOAM.
struct solverPerformance {
  double residual[4];
  int iterations;
  ~solverPerformance() { iterations = -1; }
};

class GAMGSolver {
 public:
  virtual ~GAMGSolver() = default;
  virtual solverPerformance solve(Field<double>& x, const Field<double>& b,
                                  unsigned char component) const;
};

class interfaceProperties {
 public:
  void correct();  // 2 ms; throws if asked to
  void calculateK();

  bool throws = false;
};

}  // namespace Foam
