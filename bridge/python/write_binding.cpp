// SPDX-License-Identifier: BSD-3-Clause
//
// write_binding.cpp - lets Python write the stream of a rank, for what was measured by others:
// the same headers and checksums as in the measured program, and step bodies from the same rows.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <vector>

#include "stream/append.hpp"

namespace py = pybind11;
using perfield::EntryType;

namespace {

template <class Row>
using Rows = py::array_t<Row, py::array::c_style>;

// Rows of a step's tables, one after another behind its fixed part.
class Body {
 public:
  explicit Body(const perfield::StepBody& fixed) { add(&fixed, sizeof fixed); }
  template <class Row, class Number>
  Number add(const Rows<Row>& rows) {
    const auto number = static_cast<uint64_t>(rows.size());
    if (number > std::numeric_limits<Number>::max())
      throw std::length_error("a step has " + std::to_string(number) +
                              " rows in one table; it has room for " +
                              std::to_string(std::numeric_limits<Number>::max()));
    add(rows.data(), number * sizeof(Row));
    return static_cast<Number>(number);
  }
  perfield::StepBody* fixed() { return reinterpret_cast<perfield::StepBody*>(bytes_.data()); }
  std::vector<unsigned char>& bytes() { return bytes_; }

 private:
  void add(const void* at, size_t bytes) {
    const auto* from = static_cast<const unsigned char*>(at);
    bytes_.insert(bytes_.end(), from, from + bytes);
  }
  std::vector<unsigned char> bytes_;
};

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
    Body body(*fixed.data());
    const auto n_regions = body.add<perfield::RegionRow, uint32_t>(regions);
    const auto n_messages = body.add<perfield::MessageRow, uint32_t>(messages);
    const auto n_waits = body.add<perfield::WaitRow, uint16_t>(waits);
    const auto n_calls = body.add<perfield::CallRow, uint16_t>(calls);
    const auto n_inside = body.add<perfield::InsideRow, uint32_t>(inside);
    body.fixed()->n_regions = n_regions;
    body.fixed()->n_messages = n_messages;
    body.fixed()->n_waits = n_waits;
    body.fixed()->n_calls = n_calls;
    body.fixed()->n_inside = n_inside;
    const iovec whole = {body.bytes().data(), body.bytes().size()};
    if (unsigned char* at = out_.begin(EntryType::step, index, whole.iov_len)) {
      std::memcpy(at, whole.iov_base, whole.iov_len);
      out_.end(whole.iov_len);
    } else {
      out_.write_parts(EntryType::step, index, &whole, 1);
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
