// SPDX-License-Identifier: BSD-3-Clause
//
// descriptors.cpp - counts reads and writes on descriptors, also those of the run-time libraries of
// Fortran, C++ and Python. Functions that reuse a descriptor's number are wrapped only to forget
// what kind of file it was.
#include <sys/uio.h>

#include "sources/io/counting.hpp"

using perfield::io::forget;
using perfield::io::on_descriptor;
using perfield::io::Way;

// Functions of a descriptor and two, three or four further parameters of these types.
#define PERFIELD_MOVES_2(way, name, A, B)                                          \
  PERFIELD_IN_FRONT_OF(ssize_t, name, int fd, A a, B b) {                          \
    return on_descriptor<way>(                                                     \
        fd, [&] { return PERFIELD_NEXT(ssize_t(*)(int, A, B), name)(fd, a, b); }); \
  }
#define PERFIELD_MOVES_3(way, name, A, B, C)                                             \
  PERFIELD_IN_FRONT_OF(ssize_t, name, int fd, A a, B b, C c) {                           \
    return on_descriptor<way>(                                                           \
        fd, [&] { return PERFIELD_NEXT(ssize_t(*)(int, A, B, C), name)(fd, a, b, c); }); \
  }
#define PERFIELD_MOVES_4(way, name, A, B, C, D)                                                \
  PERFIELD_IN_FRONT_OF(ssize_t, name, int fd, A a, B b, C c, D d) {                            \
    return on_descriptor<way>(                                                                 \
        fd, [&] { return PERFIELD_NEXT(ssize_t(*)(int, A, B, C, D), name)(fd, a, b, c, d); }); \
  }

PERFIELD_MOVES_2(Way::in, read, void*, size_t)
PERFIELD_MOVES_2(Way::out, write, const void*, size_t)
PERFIELD_MOVES_2(Way::in, readv, const iovec*, int)
PERFIELD_MOVES_2(Way::out, writev, const iovec*, int)
PERFIELD_MOVES_3(Way::in, pread, void*, size_t, off_t)
PERFIELD_MOVES_3(Way::in, pread64, void*, size_t, off64_t)
PERFIELD_MOVES_3(Way::out, pwrite, const void*, size_t, off_t)
PERFIELD_MOVES_3(Way::out, pwrite64, const void*, size_t, off64_t)
PERFIELD_MOVES_3(Way::in, preadv, const iovec*, int, off_t)
PERFIELD_MOVES_3(Way::in, preadv64, const iovec*, int, off64_t)
PERFIELD_MOVES_3(Way::out, pwritev, const iovec*, int, off_t)
PERFIELD_MOVES_3(Way::out, pwritev64, const iovec*, int, off64_t)
PERFIELD_MOVES_4(Way::in, preadv2, const iovec*, int, off_t, int)
PERFIELD_MOVES_4(Way::in, preadv64v2, const iovec*, int, off64_t, int)
PERFIELD_MOVES_4(Way::out, pwritev2, const iovec*, int, off_t, int)
PERFIELD_MOVES_4(Way::out, pwritev64v2, const iovec*, int, off64_t, int)

// Compilers call these instead with -D_FORTIFY_SOURCE; the last parameter is the buffer's size.
PERFIELD_MOVES_3(Way::in, __read_chk, void*, size_t, size_t)
PERFIELD_MOVES_4(Way::in, __pread_chk, void*, size_t, off_t, size_t)
PERFIELD_MOVES_4(Way::in, __pread64_chk, void*, size_t, off64_t, size_t)

// Waits for the disk: counts as a write without bytes.
#define PERFIELD_WAITS(name)                                                                   \
  PERFIELD_IN_FRONT_OF(int, name, int fd) {                                                    \
    return on_descriptor<Way::out>(fd, [&] { return PERFIELD_NEXT(int (*)(int), name)(fd); }); \
  }
PERFIELD_WAITS(fsync)
PERFIELD_WAITS(fdatasync)

PERFIELD_IN_FRONT_OF(int, close, int fd) {
  forget(fd);
  return PERFIELD_NEXT(int (*)(int), close)(fd);
}

PERFIELD_IN_FRONT_OF(int, dup2, int from, int to) {
  forget(to);
  return PERFIELD_NEXT(int (*)(int, int), dup2)(from, to);
}

PERFIELD_IN_FRONT_OF(int, dup3, int from, int to, int flags) {
  forget(to);
  return PERFIELD_NEXT(int (*)(int, int, int), dup3)(from, to, flags);
}
