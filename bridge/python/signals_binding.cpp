// SPDX-License-Identifier: BSD-3-Clause
//
// signals_binding.cpp - signals of this process as bytes of a pipe, each with whether the kernel
// sent it, which Python's own handlers do not say. A handler may run on any thread, such as one of
// NumPy's, so nothing needs to be blocked. No state but that of the one set of caught signals.
#include <fcntl.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

namespace py = pybind11;

namespace {

volatile sig_atomic_t write_end = -1;
std::vector<std::pair<int, struct sigaction>> replaced;

void report(int number, siginfo_t* about, void*) {
  const int before = errno;
  const unsigned char event[2] = {static_cast<unsigned char>(number), about->si_code == SI_KERNEL};
  if (write_end >= 0 && write(write_end, event, sizeof event) < 0) {
    // Nobody reads any more, and the pipe is full.
  }
  errno = before;
}

void release_signals() {
  for (const auto& [number, action] : replaced) sigaction(number, &action, nullptr);
  replaced.clear();
  write_end = -1;
}

void catch_signals(const std::vector<int>& numbers, int fd) {
  release_signals();
  fcntl(fd, F_SETFL, O_NONBLOCK);
  write_end = fd;
  struct sigaction action {
  }, before{};
  action.sa_sigaction = report;
  action.sa_flags = SA_SIGINFO;
  sigfillset(&action.sa_mask);
  for (const int number : numbers)
    if (sigaction(number, &action, &before) == 0) replaced.emplace_back(number, before);
}

}  // namespace

void bind_signals(py::module_& module) {
  module.def(
      "catch_signals", &catch_signals, py::arg("numbers"), py::arg("fd"),
      "Writes two bytes to fd for each of these signals that this process gets: its number,\n"
      "and 1 if the kernel sent it, as for a key of the terminal.");
  module.def("release_signals", &release_signals,
             "Gives the signals of catch_signals back to whoever had them before.");
}
