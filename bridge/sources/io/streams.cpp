// SPDX-License-Identifier: BSD-3-Clause
//
// streams.cpp - counts blocks of bytes and single characters of streams, and calls that close a
// stream or flush its buffer.
#include "sources/io/on_stream.hpp"

using perfield::io::descriptor_of;
using perfield::io::enter;
using perfield::io::forget;
using perfield::io::is_file;
using perfield::io::is_pending;
using perfield::io::kOneOrNone;
using perfield::io::leave;
using perfield::io::on_stream;
using perfield::io::Way;

// --- blocks -------------------------------------------------------------------------------------
#define PERFIELD_BLOCKS(way, name, Pointer)                                                   \
  PERFIELD_IN_FRONT_OF(size_t, name, Pointer data, size_t size, size_t count, FILE* stream) { \
    using Function = size_t (*)(Pointer, size_t, size_t, FILE*);                              \
    return on_stream<way>(                                                                    \
        stream, size * count,                                                                 \
        [&] { return PERFIELD_NEXT(Function, name)(data, size, count, stream); },             \
        [&](size_t items) { return items * size; });                                          \
  }
PERFIELD_BLOCKS(Way::in, fread, void*)
PERFIELD_BLOCKS(Way::in, fread_unlocked, void*)
PERFIELD_BLOCKS(Way::out, fwrite, const void*)
PERFIELD_BLOCKS(Way::out, fwrite_unlocked, const void*)

// With -D_FORTIFY_SOURCE.
#define PERFIELD_CHECKED_BLOCKS(name)                                                    \
  PERFIELD_IN_FRONT_OF(size_t, name, void* data, size_t room, size_t size, size_t count, \
                       FILE* stream) {                                                   \
    using Function = size_t (*)(void*, size_t, size_t, size_t, FILE*);                   \
    return on_stream<Way::in>(                                                           \
        stream, size * count,                                                            \
        [&] { return PERFIELD_NEXT(Function, name)(data, room, size, count, stream); },  \
        [&](size_t items) { return items * size; });                                     \
  }
PERFIELD_CHECKED_BLOCKS(__fread_chk)
PERFIELD_CHECKED_BLOCKS(__fread_unlocked_chk)

// --- single characters --------------------------------------------------------------------------
#define PERFIELD_GETS_ONE(name)                                                              \
  PERFIELD_IN_FRONT_OF(int, name, FILE* stream) {                                            \
    return on_stream<Way::in>(                                                               \
        stream, 1, [&] { return PERFIELD_NEXT(int (*)(FILE*), name)(stream); }, kOneOrNone); \
  }
PERFIELD_GETS_ONE(fgetc)
PERFIELD_GETS_ONE(getc)
PERFIELD_GETS_ONE(_IO_getc)

PERFIELD_IN_FRONT_OF(int, getchar) {
  return on_stream<Way::in>(
      stdin, 1, [] { return PERFIELD_NEXT(int (*)(), getchar)(); }, kOneOrNone);
}

#define PERFIELD_PUTS_ONE(name)                                                                 \
  PERFIELD_IN_FRONT_OF(int, name, int character, FILE* stream) {                                \
    return on_stream<Way::out>(                                                                 \
        stream, 1, [&] { return PERFIELD_NEXT(int (*)(int, FILE*), name)(character, stream); }, \
        kOneOrNone);                                                                            \
  }
PERFIELD_PUTS_ONE(fputc)
PERFIELD_PUTS_ONE(putc)
PERFIELD_PUTS_ONE(_IO_putc)

PERFIELD_IN_FRONT_OF(int, putchar, int character) {
  return on_stream<Way::out>(
      stdout, 1, [&] { return PERFIELD_NEXT(int (*)(int), putchar)(character); }, kOneOrNone);
}

// --- the end of a stream, or of what lies in its buffer -----------------------------------------
namespace {

// Flushes the stream's buffer: counts as a write whose bytes were counted before. An empty buffer
// counts nothing.
template <class Call>
__attribute__((always_inline)) inline auto emptying(FILE* stream, int descriptor, Call call) {
  const uint64_t stamp = is_pending(stream) && is_file(descriptor) ? enter<Way::out>() : 0;
  const auto result = call();
  if (stamp) leave<Way::out>(stamp, 0);
  return result;
}

}  // namespace

PERFIELD_IN_FRONT_OF(int, fflush, FILE* stream) {
  const auto next = PERFIELD_NEXT(int (*)(FILE*), fflush);
  if (!stream) return next(stream);  // all streams: which ones hold data is unknown
  return emptying(stream, descriptor_of(stream), [&] { return next(stream); });
}

PERFIELD_IN_FRONT_OF(int, fclose, FILE* stream) {
  const int descriptor = descriptor_of(stream);
  return emptying(stream, descriptor, [&] {
    forget(descriptor);
    return PERFIELD_NEXT(int (*)(FILE*), fclose)(stream);
  });
}

#define PERFIELD_OPENS_ANEW(name)                                                       \
  PERFIELD_IN_FRONT_OF(FILE*, name, const char* path, const char* mode, FILE* stream) { \
    forget(descriptor_of(stream));                                                      \
    using Function = FILE* (*)(const char*, const char*, FILE*);                        \
    return PERFIELD_NEXT(Function, name)(path, mode, stream);                           \
  }
PERFIELD_OPENS_ANEW(freopen)
PERFIELD_OPENS_ANEW(freopen64)

PERFIELD_IN_FRONT_OF(int, pclose, FILE* stream) {
  forget(descriptor_of(stream));
  return PERFIELD_NEXT(int (*)(FILE*), pclose)(stream);
}
