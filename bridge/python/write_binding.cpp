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

// The parts of a step's body: its fixed part, and a header and rows for each table that has any.
class StepParts {
 public:
  explicit StepParts(const perfield::StepBody& fixed) : fixed_(fixed) {
    fixed_.n_tables = 0;
    parts_[n_parts_++] = {&fixed_, sizeof fixed_};
  }
  template <class Row>
  StepParts& add(perfield::StepTable table, const Rows<Row>& rows) {
    const auto number = static_cast<uint64_t>(rows.size());
    if (!number) return *this;
    if (number > std::numeric_limits<uint32_t>::max())
      throw std::length_error("a step has " + std::to_string(number) +
                              " rows in one table; it has room for " +
                              std::to_string(std::numeric_limits<uint32_t>::max()));
    perfield::TableHeader& header = headers_[fixed_.n_tables++];
    header = {uint16_t(table), sizeof(Row), uint32_t(number)};
    parts_[n_parts_++] = {&header, sizeof header};
    parts_[n_parts_++] = {const_cast<Row*>(rows.data()), number * sizeof(Row)};
    return *this;
  }
  const iovec* begin() const { return parts_; }
  const iovec* end() const { return parts_ + n_parts_; }

 private:
  static constexpr int kTables = 5;
  perfield::StepBody fixed_;
  perfield::TableHeader headers_[kTables];
  iovec parts_[1 + 2 * kTables];
  int n_parts_ = 0;
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
            const Rows<perfield::QuantityRow>& quantities) {
    if (fixed.size() != 1) throw std::length_error("a step has one fixed part");
    using perfield::StepTable;
    StepParts parts(*fixed.data());
    parts.add(StepTable::regions, regions)
        .add(StepTable::messages, messages)
        .add(StepTable::waits, waits)
        .add(StepTable::calls, calls)
        .add(StepTable::quantities, quantities);
    size_t bytes = 0;
    for (const iovec& part : parts) bytes += part.iov_len;
    if (unsigned char* at = out_.begin(EntryType::step, index, bytes)) {
      for (const iovec& part : parts) {
        std::memcpy(at, part.iov_base, part.iov_len);
        at += part.iov_len;
      }
      out_.end(bytes);
    } else {
      out_.write_parts(EntryType::step, index, parts.begin(), int(parts.end() - parts.begin()));
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
           py::arg("messages"), py::arg("waits"), py::arg("calls"), py::arg("quantities"),
           "Adds a step: its fixed part (one row) and tables, as read_steps gives them.\n\n"
           "The numbers of rows in the fixed part are filled in.")
      .def("close", &StreamWriter::close,
           "Writes what is gathered; nothing can be added any more.");
}
