// SPDX-License-Identifier: BSD-3-Clause
//
// write_binding.cpp - lets Python write the stream of a rank, for what was measured by others:
// the same headers and checksums as in the measured program, and step bodies from the same rows.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <string>

#include "format/append.hpp"

namespace py = pybind11;
using perfield::EntryType;

namespace {

template <class Row>
using Rows = py::array_t<Row, py::array::c_style>;

// One of a step's tables; how many rows it has is noted in `number`, of the step's fixed part.
template <class Row, class Number>
iovec table(const Rows<Row>& rows, Number* number) {
  const auto found = static_cast<uint64_t>(rows.size());
  if (found > std::numeric_limits<Number>::max())
    throw std::length_error("a step has " + std::to_string(found) +
                            " rows in one table; it has room for " +
                            std::to_string(std::numeric_limits<Number>::max()));
  *number = static_cast<Number>(found);
  return {const_cast<Row*>(rows.data()), found * sizeof(Row)};
}

class StreamWriter {
 public:
  StreamWriter(const std::string& path, uint64_t run_id, int32_t rank) {
    out_.open(path, run_id, rank, kBufferBytes);
    check();
  }
  ~StreamWriter() { out_.close(); }
  StreamWriter(const StreamWriter&) = delete;
  StreamWriter& operator=(const StreamWriter&) = delete;

  void json(uint16_t type, uint64_t index, const std::string& text) {
    out_.json(static_cast<EntryType>(type), index, text);
    check();
  }

  void step(uint64_t index, const Rows<perfield::StepBody>& fixed,
            const Rows<perfield::RegionRow>& regions, const Rows<perfield::MessageRow>& messages,
            const Rows<perfield::WaitRow>& waits, const Rows<perfield::CallRow>& calls,
            const Rows<perfield::InsideRow>& inside) {
    if (fixed.size() != 1) throw std::length_error("a step has one fixed part");
    perfield::StepBody step = *fixed.data();
    const iovec parts[] = {{&step, sizeof step},
                           table(regions, &step.n_regions),
                           table(messages, &step.n_messages),
                           table(waits, &step.n_waits),
                           table(calls, &step.n_calls),
                           table(inside, &step.n_inside)};
    size_t bytes = 0;
    for (const iovec& part : parts) bytes += part.iov_len;
    if (unsigned char* at = out_.begin(EntryType::step, index, bytes)) {
      for (const iovec& part : parts) {
        std::memcpy(at, part.iov_base, part.iov_len);
        at += part.iov_len;
      }
      out_.end(bytes);
    } else {
      out_.write_parts(EntryType::step, index, parts, int(std::size(parts)));
    }
    check();
  }

  void close() {
    out_.flush();
    check();
    out_.close();
  }

 private:
  static constexpr size_t kBufferBytes = 1 << 20;
  void check() const {
    if (!out_.failed()) return;
    errno = out_.error();
    PyErr_SetFromErrnoWithFilename(PyExc_OSError, out_.path().c_str());
    throw py::error_already_set();
  }
  perfield::Appender out_;
};

}  // namespace

void bind_writing(py::module_& module) {
  py::class_<StreamWriter>(module, "StreamWriter",
                           "One rank's end of a stream file. Raises OSError where writing fails.")
      .def(py::init<std::string, uint64_t, int32_t>(), py::arg("path"), py::arg("run_id"),
           py::arg("rank"))
      .def("json", &StreamWriter::json, py::arg("type"), py::arg("index"), py::arg("text"),
           "Adds an entry of that number of type, whose body is JSON.")
      .def("step", &StreamWriter::step, py::arg("index"), py::arg("fixed"), py::arg("regions"),
           py::arg("messages"), py::arg("waits"), py::arg("calls"), py::arg("inside"),
           "Adds a step: its fixed part (one row) and tables, as read_steps gives them.\n\n"
           "The numbers of rows in the fixed part are filled in.")
      .def("close", &StreamWriter::close,
           "Writes what is gathered; nothing can be added any more.");
}
