// SPDX-License-Identifier: BSD-3-Clause
//
// input.cpp - one table of keys serves the input file and the command line.
#include "input.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <variant>

namespace {

using Sentences = std::vector<std::string>;

using Target = std::variant<bool*, int*, double*, std::string*, std::array<int, 3>*,
                            std::array<double, 3>*, std::array<double, 6>*>;

struct Key {
  std::string name;
  Target target;
  std::string implied;  // the option's value if it is given without one
};

std::vector<Key> keys_of(Input& input) {
  return {{"print_log", &input.print_log, "1"},
          {"multiple_minds", &input.multiple_minds, ""},
          {"base_minds_dim", &input.base_minds_dim, ""},
          {"multiple_points", &input.multiple_points, ""},
          {"base_points_dim", &input.base_points_dim, ""},
          {"max_num_time_steps", &input.max_num_time_steps, ""},
          {"dt", &input.dt, ""},
          {"check_convergence", &input.check_convergence, "1"},
          {"precision_T", &input.precision_T, ""},
          {"thermal_diffusivity", &input.thermal_diffusivity, ""},
          {"internal_T", &input.internal_T, ""},
          {"d_dim", &input.d_dim, ""},
          {"boundary_conditions", &input.boundary_conditions, ""},
          {"exchange", &input.exchange, ""},
          {"hot_spot", &input.hot_spot, "20"},
          {"print_hot_spot", &input.print_hot_spot, "1"},
          {"verify", &input.verify, "1"}};
}

template <class T>
void read(std::istream& text, T& value) {
  text >> value;
}
template <class T, size_t n>
void read(std::istream& text, std::array<T, n>& values) {
  for (T& value : values) text >> value;
}

template <class T>
std::string expected(const T&) {
  if (std::is_same_v<T, bool>) return "0 or 1";
  if (std::is_same_v<T, int>) return "an integer";
  return std::is_same_v<T, double> ? "a number" : "a word";
}
template <class T, size_t n>
std::string expected(const std::array<T, n>&) {
  return std::to_string(n) + (std::is_same_v<T, int> ? " integers" : " numbers");
}

// Sets one key. where: the place of the key, for messages.
void set(Input& input, const std::string& name, const std::string& value, const std::string& where,
         Sentences& wrong) {
  for (Key& key : keys_of(input)) {
    if (key.name != name) continue;
    std::visit(
        [&](auto* target) {
          std::istringstream text(value);
          read(text, *target);
          std::string rest;
          if (text.fail() || text >> rest)
            wrong.push_back(where + ": " + name + " is '" + value + "'; it takes " +
                            expected(*target));
        },
        key.target);
    return;
  }
  std::string known;
  for (const Key& key : keys_of(input)) known += " " + key.name;
  wrong.push_back(where + ": unknown key '" + name + "'; the keys are" + known);
}

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t\r");
  return first == std::string::npos
             ? ""
             : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

void read_file(const std::string& path, Input& input, Sentences& wrong) {
  std::ifstream file(path);
  if (!file) wrong.push_back(path + " cannot be read; give the path of an input file");
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    const std::string where = path + ":" + std::to_string(++number);
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const size_t equals = line.find('=');
    if (equals == std::string::npos)
      wrong.push_back(where + ": '" + line + "' does not have the form key = value");
    else
      set(input, trimmed(line.substr(0, equals)), trimmed(line.substr(equals + 1)), where, wrong);
  }
}

// --minds 2 2 1 is multiple_minds = 1 with base_minds_dim = 2 2 1; --points likewise.
void read_options(int argc, char** argv, int at, Input& input, Sentences& wrong) {
  while (at < argc) {
    const std::string option = argv[at++];
    std::string name = option.substr(std::min<size_t>(2, option.size())), value;
    std::replace(name.begin(), name.end(), '-', '_');
    for (; at < argc && std::string(argv[at]).rfind("--", 0) != 0; ++at)
      value += (value.empty() ? "" : " ") + std::string(argv[at]);
    if (name == "steps") name = "max_num_time_steps";
    if (name == "minds" || name == "points") {
      set(input, "multiple_" + name, "1", option, wrong);
      name = "base_" + name + "_dim";
    }
    for (const Key& key : keys_of(input))
      if (key.name == name && value.empty()) value = key.implied;
    set(input, name, value, option, wrong);
  }
}

std::string triple(const std::array<int, 3>& n) {
  return std::to_string(n[0]) + " x " + std::to_string(n[1]) + " x " + std::to_string(n[2]);
}

// Four digits, rounded down.
std::string rounded_down(double value) {
  const double scale = std::pow(10, 3 - std::floor(std::log10(value)));
  std::ostringstream text;
  text << std::floor(value * scale) / scale;
  return text.str();
}

Sentences check(const Input& input, int n_ranks) {
  Sentences wrong;
  const auto minds = input.minds(), points = input.points();
  for (int d = 0; d < 3; ++d) {
    if (minds[d] < 1 || points[d] < 1 || !(input.d_dim[d] > 0))
      wrong.push_back(
          "ranks (multiple_minds, base_minds_dim), points (multiple_points, "
          "base_points_dim) and distances (d_dim) must be positive along x, y and z");
    else if (points[d] % minds[d] != 0)
      wrong.push_back(std::to_string(points[d]) + " points along " + "xyz"[d] +
                      " do not divide among " + std::to_string(minds[d]) +
                      " ranks; change multiple_points or base_points_dim (--points) to a multiple "
                      "of it, or multiple_minds or base_minds_dim (--minds)");
    if (!wrong.empty()) return wrong;
  }
  const int asked = minds[0] * minds[1] * minds[2];
  if (asked != n_ranks)
    wrong.push_back("the input asks for " + triple(minds) + " = " + std::to_string(asked) +
                    " ranks, but " + std::to_string(n_ranks) + " were started; start with -n " +
                    std::to_string(asked) +
                    ", or change multiple_minds or base_minds_dim (--minds)");
  if (!(input.dt > 0) || !(input.thermal_diffusivity > 0))
    wrong.push_back("dt and thermal_diffusivity must be positive");
  else if (input.dt > input.largest_stable_dt())
    wrong.push_back("dt = " + std::to_string(input.dt) +
                    " s is unstable for this d_dim and thermal_diffusivity; use at most dt = " +
                    rounded_down(input.largest_stable_dt()));
  if (input.exchange != "put" && input.exchange != "isend" && input.exchange != "sendrecv")
    wrong.push_back("unknown exchange '" + input.exchange + "'; use put, isend or sendrecv");
  if (input.max_num_time_steps < 0 || input.hot_spot < 0)
    wrong.push_back("max_num_time_steps and hot_spot must not be negative");
  return wrong;
}

std::array<int, 3> times(int factor, std::array<int, 3> numbers) {
  for (int& number : numbers) number *= factor;
  return numbers;
}

}  // namespace

std::array<int, 3> Input::minds() const { return times(multiple_minds, base_minds_dim); }
std::array<int, 3> Input::points() const { return times(multiple_points, base_points_dim); }

double Input::largest_stable_dt() const {
  double sum = 0;
  for (double d : d_dim) sum += 1 / (d * d);
  return 1 / (2 * thermal_diffusivity * sum);
}

std::vector<std::string> read_input(int argc, char** argv, int n_ranks, Input& input) {
  Sentences wrong;
  const bool has_file = argc > 1 && std::string(argv[1]).rfind("--", 0) != 0;
  if (has_file) read_file(argv[1], input, wrong);
  read_options(argc, argv, has_file ? 2 : 1, input, wrong);
  return wrong.empty() ? check(input, n_ranks) : wrong;
}
