// SPDX-License-Identifier: BSD-3-Clause
//
// regimes_binding.cpp - the hidden Markov model of timings for Python. Calls read the caller's
// arrays while other threads of Python run, so that blocks of rows can be classified side by side.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "regimes/hidden_markov.hpp"

namespace py = pybind11;

namespace {

using Numbers = py::array_t<double, py::array::c_style | py::array::forcecast>;

std::vector<double> list_of(const Numbers& numbers) {
  return {numbers.data(), numbers.data() + numbers.size()};
}

perfield::Series series_of(const Numbers& values) {
  if (values.ndim() != 2)
    throw std::invalid_argument("values have " + std::to_string(values.ndim()) +
                                " dimensions; expected (n_ranks, n_steps)");
  return {values.data(), size_t(values.shape(0)), size_t(values.shape(1))};
}

template <typename T>
py::array_t<T> like(const Numbers& values) {
  return py::array_t<T>(std::vector<py::ssize_t>{values.shape(0), values.shape(1)});
}

perfield::HiddenMarkov made(bool is_log, double dof, const Numbers& location, const Numbers& scale,
                            const Numbers& start, const Numbers& transition) {
  perfield::HiddenMarkov model{
      is_log, dof, list_of(location), list_of(scale), list_of(start), list_of(transition)};
  check(model);
  return model;
}

py::tuple fit(const perfield::HiddenMarkov& first, const Numbers& values, int max_iterations,
              double tolerance, double min_scale, bool has_memory) {
  const perfield::Series series = series_of(values);
  perfield::FitResult result;
  {
    py::gil_scoped_release released;  // values outlives the call
    result = perfield::fit(first, series, {max_iterations, tolerance, min_scale, has_memory});
  }
  return py::make_tuple(std::move(result.model), result.log_likelihood, result.n_iterations,
                        result.has_converged);
}

double log_likelihood(const perfield::HiddenMarkov& model, const Numbers& values) {
  const perfield::Series series = series_of(values);
  py::gil_scoped_release released;  // values outlives the call
  return perfield::log_likelihood(model, series);
}

py::array_t<int8_t> decode(const perfield::HiddenMarkov& model, const Numbers& values) {
  const perfield::Series series = series_of(values);
  py::array_t<int8_t> states = like<int8_t>(values);
  int8_t* out = states.mutable_data();
  {
    py::gil_scoped_release released;  // values outlives the call
    perfield::decode(model, series, out);
  }
  return states;
}

py::tuple classify(const perfield::HiddenMarkov& model, const Numbers& values,
                   const std::vector<int8_t>& regime_of) {
  const perfield::Series series = series_of(values);
  py::array_t<int8_t> regimes = like<int8_t>(values);
  py::array_t<float> probabilities = like<float>(values);
  int8_t* regime = regimes.mutable_data();
  float* probability = probabilities.mutable_data();
  {
    py::gil_scoped_release released;  // values outlives the call
    perfield::classify(model, series, regime_of, regime, probability);
  }
  return py::make_tuple(regimes, probabilities);
}

py::array_t<double> filter(const perfield::HiddenMarkov& model, const Numbers& values,
                           const Numbers& before) {
  if (values.ndim() != 1 || before.ndim() != 2 || before.shape(0) != values.shape(0) ||
      size_t(before.shape(1)) != model.n_states())
    throw std::invalid_argument("values need one number per rank, and before one row of " +
                                std::to_string(model.n_states()) + " probabilities per rank");
  py::array_t<double> after(std::vector<py::ssize_t>{before.shape(0), before.shape(1)},
                            before.data());
  perfield::filter(model, values.data(), size_t(values.shape(0)), after.mutable_data());
  return after;
}

}  // namespace

void bind_regimes(py::module_& module) {
  using perfield::HiddenMarkov;
  const auto numbers = [](const std::vector<double>& list) {
    return py::array_t<double>(py::ssize_t(list.size()), list.data());
  };
  py::class_<HiddenMarkov>(module, "HiddenMarkov",
                           "A hidden Markov model of one number per step; hidden_markov.hpp says "
                           "what each call does.\n\n"
                           "Values are (n_ranks, n_steps); one that is not finite or not above 0 "
                           "is unknown and splits its "
                           "sequence.")
      .def(py::init(&made), py::arg("is_log"), py::arg("dof"), py::arg("location"),
           py::arg("scale"), py::arg("start"), py::arg("transition"),
           "is_log : states are of the logarithm. dof : of Student's t, 0 for Gaussian.")
      .def_property_readonly(
          "location", [=](const HiddenMarkov& m) { return numbers(m.location); },
          "The centre of each state's density (n_states); of the logarithms if is_log.")
      .def_property_readonly(
          "scale", [=](const HiddenMarkov& m) { return numbers(m.scale); },
          "The width of each state's density (n_states), in the units of location.")
      .def_property_readonly(
          "start", [=](const HiddenMarkov& m) { return numbers(m.start); },
          "The probability of each state in the first step (n_states).")
      .def_property_readonly(
          "transition",
          [=](const HiddenMarkov& m) {
            const auto n = py::ssize_t(m.n_states());
            return py::array_t<double>(std::vector<py::ssize_t>{n, n}, m.transition.data());
          },
          "The probability of state j after state i (n_states, n_states).")
      .def("fit", &fit, py::arg("values"), py::arg("max_iterations"), py::arg("tolerance"),
           py::arg("min_scale"), py::arg("has_memory") = true,
           "(model, log-likelihood, iterations, whether it converged) of expectation and "
           "maximisation "
           "from this model.")
      .def("log_likelihood", &log_likelihood, py::arg("values"),
           "The log-likelihood of the values.")
      .def("decode", &decode, py::arg("values"),
           "The most likely path of states, int8 like the values; -1 where unknown.")
      .def("classify", &classify, py::arg("values"), py::arg("regime_of"),
           "(regime of the most likely path, its posterior probability); -1 and NaN where "
           "unknown.\n\n"
           "regime_of : the regime of each state.")
      .def("filter", &filter, py::arg("values"), py::arg("before"),
           "Probabilities (n_ranks, n_states) after one more value per rank, from those before "
           "it.\n\n"
           "A row of NaN begins anew.");
}
