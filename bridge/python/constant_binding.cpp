// SPDX-License-Identifier: BSD-3-Clause
//
// constant_binding.cpp - gives Python perfield_constant.hpp: numbers that NumPy sees as an array.
#include <pybind11/pybind11.h>

#include "include/perfield_constant.hpp"

namespace py = pybind11;

namespace {

class Constant {
 public:
  Constant(double value, size_t n) : numbers_(perfield::constant_numbers(value, n)), n_(n) {
    if (!numbers_) throw std::bad_alloc();
  }
  ~Constant() { perfield::release_constant(numbers_); }
  Constant(const Constant&) = delete;
  Constant& operator=(const Constant&) = delete;
  size_t size() const noexcept { return n_; }
  py::buffer_info buffer() { return py::buffer_info(numbers_, static_cast<py::ssize_t>(n_)); }

 private:
  double* numbers_;
  size_t n_;
};

}  // namespace

void bind_constant(py::module_& module) {
  py::class_<Constant>(module, "Constant", py::buffer_protocol(),
                       "n times one number, at a small share of the memory, as a buffer.")
      .def(py::init<double, size_t>(), py::arg("value"), py::arg("n"))
      .def("__len__", &Constant::size)
      .def_buffer(&Constant::buffer);
}
