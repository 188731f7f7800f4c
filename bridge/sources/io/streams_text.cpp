// SPDX-License-Identifier: BSD-3-Clause
//
// streams_text.cpp - counts lines and formatted text of streams.
#include <stdarg.h>
#include <string.h>

#include "sources/io/on_stream.hpp"

using perfield::io::kItsResult;
using perfield::io::kLine;
using perfield::io::on_stream;
using perfield::io::Way;

// --- lines --------------------------------------------------------------------------------------
#define PERFIELD_PUTS_TEXT(name)                                                        \
  PERFIELD_IN_FRONT_OF(int, name, const char* text, FILE* stream) {                     \
    const size_t length = strlen(text);                                                 \
    return on_stream<Way::out>(                                                         \
        stream, length,                                                                 \
        [&] { return PERFIELD_NEXT(int (*)(const char*, FILE*), name)(text, stream); }, \
        [&](int result) { return result == EOF ? 0 : length; });                        \
  }
PERFIELD_PUTS_TEXT(fputs)
PERFIELD_PUTS_TEXT(fputs_unlocked)

PERFIELD_IN_FRONT_OF(int, puts, const char* text) {
  const size_t length = strlen(text) + 1;
  return on_stream<Way::out>(
      stdout, length, [&] { return PERFIELD_NEXT(int (*)(const char*), puts)(text); },
      [&](int result) { return result == EOF ? 0 : length; });
}

namespace {
constexpr auto kItsLength = [](const char* line) { return line ? strlen(line) : 0; };
}

#define PERFIELD_GETS_LINE(name)                                                               \
  PERFIELD_IN_FRONT_OF(char*, name, char* line, int room, FILE* stream) {                      \
    return on_stream<Way::in>(                                                                 \
        stream, kLine,                                                                         \
        [&] { return PERFIELD_NEXT(char* (*)(char*, int, FILE*), name)(line, room, stream); }, \
        kItsLength);                                                                           \
  }
PERFIELD_GETS_LINE(fgets)
PERFIELD_GETS_LINE(fgets_unlocked)

// With -D_FORTIFY_SOURCE.
#define PERFIELD_GETS_CHECKED_LINE(name)                                                        \
  PERFIELD_IN_FRONT_OF(char*, name, char* line, size_t size, int room, FILE* stream) {          \
    using Function = char* (*)(char*, size_t, int, FILE*);                                      \
    return on_stream<Way::in>(                                                                  \
        stream, kLine, [&] { return PERFIELD_NEXT(Function, name)(line, size, room, stream); }, \
        kItsLength);                                                                            \
  }
PERFIELD_GETS_CHECKED_LINE(__fgets_chk)
PERFIELD_GETS_CHECKED_LINE(__fgets_unlocked_chk)

PERFIELD_IN_FRONT_OF(ssize_t, getline, char** line, size_t* room, FILE* stream) {
  using Function = ssize_t (*)(char**, size_t*, FILE*);
  return on_stream<Way::in>(
      stream, kLine, [&] { return PERFIELD_NEXT(Function, getline)(line, room, stream); },
      kItsResult);
}

// Optimising compilers call this one for getline.
#define PERFIELD_GETS_PART(name)                                                               \
  PERFIELD_IN_FRONT_OF(ssize_t, name, char** line, size_t* room, int end, FILE* stream) {      \
    using Function = ssize_t (*)(char**, size_t*, int, FILE*);                                 \
    return on_stream<Way::in>(                                                                 \
        stream, kLine, [&] { return PERFIELD_NEXT(Function, name)(line, room, end, stream); }, \
        kItsResult);                                                                           \
  }
PERFIELD_GETS_PART(getdelim)
PERFIELD_GETS_PART(__getdelim)

// --- formatted text: all of a kind end at the form that takes a list of arguments ---------------
namespace {

using Print = int (*)(FILE*, const char*, va_list);
using CheckedPrint = int (*)(FILE*, int, const char*, va_list);
using Scan = int (*)(FILE*, const char*, va_list);

__attribute__((always_inline)) inline int print(FILE* stream, const char* format, va_list values) {
  return on_stream<Way::out>(
      stream, kLine, [&] { return PERFIELD_NEXT(Print, vfprintf)(stream, format, values); },
      kItsResult);
}

__attribute__((always_inline)) inline int checked_print(FILE* stream, int flag, const char* format,
                                                        va_list values) {
  return on_stream<Way::out>(
      stream, kLine,
      [&] { return PERFIELD_NEXT(CheckedPrint, __vfprintf_chk)(stream, flag, format, values); },
      kItsResult);
}

// The bytes scanned are those by which the position in the buffer moved. The buffer may have been
// refilled meanwhile (once, unless one call scans more than a buffer holds).
__attribute__((always_inline)) inline int scan(Scan next, FILE* stream, const char* format,
                                               va_list values) {
  const char* const place = stream->_IO_read_ptr;
  const char* const end = stream->_IO_read_end;
  return on_stream<Way::in>(
      stream, kLine, [&] { return next(stream, format, values); },
      [&](int) {
        const char* const now = stream->_IO_read_ptr;
        const bool filled = now < place || stream->_IO_read_end != end;
        const auto bytes = filled ? (end - place) + (now - stream->_IO_read_base) : now - place;
        return bytes > 0 ? static_cast<uint64_t>(bytes) : 0;
      });
}

}  // namespace

// call: uses `values`.
#define PERFIELD_WITH_VALUES(call) \
  va_list values;                  \
  va_start(values, format);        \
  const int result = call;         \
  va_end(values);                  \
  return result

PERFIELD_IN_FRONT_OF(int, vfprintf, FILE* stream, const char* format, va_list values) {
  return print(stream, format, values);
}
PERFIELD_IN_FRONT_OF(int, vprintf, const char* format, va_list values) {
  return print(stdout, format, values);
}
PERFIELD_IN_FRONT_OF(int, fprintf, FILE* stream, const char* format, ...) {
  PERFIELD_WITH_VALUES(print(stream, format, values));
}
PERFIELD_IN_FRONT_OF(int, printf, const char* format, ...) {
  PERFIELD_WITH_VALUES(print(stdout, format, values));
}

PERFIELD_IN_FRONT_OF(int, __vfprintf_chk, FILE* stream, int flag, const char* format,
                     va_list values) {
  return checked_print(stream, flag, format, values);
}
PERFIELD_IN_FRONT_OF(int, __vprintf_chk, int flag, const char* format, va_list values) {
  return checked_print(stdout, flag, format, values);
}
PERFIELD_IN_FRONT_OF(int, __fprintf_chk, FILE* stream, int flag, const char* format, ...) {
  PERFIELD_WITH_VALUES(checked_print(stream, flag, format, values));
}
PERFIELD_IN_FRONT_OF(int, __printf_chk, int flag, const char* format, ...) {
  PERFIELD_WITH_VALUES(checked_print(stdout, flag, format, values));
}

// The program's compiler and C standard decide which of the three it calls.
#define PERFIELD_SCANS(prefix)                                                                   \
  PERFIELD_IN_FRONT_OF(int, prefix##vfscanf, FILE* stream, const char* format, va_list values) { \
    return scan(PERFIELD_NEXT(Scan, prefix##vfscanf), stream, format, values);                   \
  }                                                                                              \
  PERFIELD_IN_FRONT_OF(int, prefix##vscanf, const char* format, va_list values) {                \
    return scan(PERFIELD_NEXT(Scan, prefix##vfscanf), stdin, format, values);                    \
  }                                                                                              \
  PERFIELD_IN_FRONT_OF(int, prefix##fscanf, FILE* stream, const char* format, ...) {             \
    PERFIELD_WITH_VALUES(scan(PERFIELD_NEXT(Scan, prefix##vfscanf), stream, format, values));    \
  }                                                                                              \
  PERFIELD_IN_FRONT_OF(int, prefix##scanf, const char* format, ...) {                            \
    PERFIELD_WITH_VALUES(scan(PERFIELD_NEXT(Scan, prefix##vfscanf), stdin, format, values));     \
  }
PERFIELD_SCANS()
PERFIELD_SCANS(__isoc99_)
PERFIELD_SCANS(__isoc23_)
