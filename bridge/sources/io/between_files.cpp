// SPDX-License-Identifier: BSD-3-Clause
//
// between_files.cpp - counts calls that move data between two descriptors inside the kernel, each
// as a read where the one is a file and as a write where the other is; and the starts of POSIX's
// asynchronous I/O, with the bytes that they ask for.
#include <aio.h>
#include <fcntl.h>
#include <sys/sendfile.h>

#include "sources/io/counting.hpp"

using perfield::io::is_file;
using perfield::io::leave;
using perfield::io::on_descriptor;
using perfield::io::operation;
using perfield::io::Way;

namespace {

// Its time counts once.
template <class Call>
__attribute__((always_inline)) inline ssize_t between(int from, int to, Call call) {
  const bool reads = is_file(from), writes = is_file(to);
  const uint64_t stamp = writes  ? perfield::io::enter<Way::out>()
                         : reads ? perfield::io::enter<Way::in>()
                                 : 0;
  const ssize_t moved = call();
  if (!stamp) return moved;
  const uint64_t bytes = moved > 0 ? static_cast<uint64_t>(moved) : 0;
  if (!writes) return leave<Way::in>(stamp, bytes), moved;
  leave<Way::out>(stamp, bytes);
  if (reads) perfield_operation_count(operation<Way::in>(), bytes);
  return moved;
}

}  // namespace

#define PERFIELD_SENDS(name, Offset)                                                       \
  PERFIELD_IN_FRONT_OF(ssize_t, name, int out, int in, Offset* offset, size_t count) {     \
    using Function = ssize_t (*)(int, int, Offset*, size_t);                               \
    return between(in, out,                                                                \
                   [&] { return PERFIELD_NEXT(Function, name)(out, in, offset, count); }); \
  }
PERFIELD_SENDS(sendfile, off_t)
PERFIELD_SENDS(sendfile64, off64_t)

#define PERFIELD_COPIES(name)                                                                   \
  PERFIELD_IN_FRONT_OF(ssize_t, name, int in, off64_t* from, int out, off64_t* to, size_t n,    \
                       unsigned flags) {                                                        \
    using Function = ssize_t (*)(int, off64_t*, int, off64_t*, size_t, unsigned);               \
    return between(in, out,                                                                     \
                   [&] { return PERFIELD_NEXT(Function, name)(in, from, out, to, n, flags); }); \
  }
PERFIELD_COPIES(copy_file_range)
PERFIELD_COPIES(splice)

// Calls that start something asynchronous.
#define PERFIELD_STARTS(way, name, Block)                                               \
  PERFIELD_IN_FRONT_OF(int, name, Block* block) {                                       \
    const uint64_t stamp = is_file(block->aio_fildes) ? perfield::io::enter<way>() : 0; \
    const int result = PERFIELD_NEXT(int (*)(Block*), name)(block);                     \
    if (stamp) leave<way>(stamp, result == 0 ? block->aio_nbytes : 0);                  \
    return result;                                                                      \
  }
PERFIELD_STARTS(Way::in, aio_read, aiocb)
PERFIELD_STARTS(Way::in, aio_read64, aiocb64)
PERFIELD_STARTS(Way::out, aio_write, aiocb)
PERFIELD_STARTS(Way::out, aio_write64, aiocb64)

#define PERFIELD_STARTS_SEVERAL(name, Block)                                               \
  PERFIELD_IN_FRONT_OF(int, name, int mode, Block* const list[], int n, sigevent* event) { \
    using Function = int (*)(int, Block* const[], int, sigevent*);                         \
    const int result = PERFIELD_NEXT(Function, name)(mode, list, n, event);                \
    const int error = errno;                                                               \
    for (int i = 0; result == 0 && i < n; ++i) {                                           \
      if (!list[i] || !is_file(list[i]->aio_fildes)) continue;                             \
      if (list[i]->aio_lio_opcode == LIO_READ)                                             \
        perfield_operation_count(operation<Way::in>(), list[i]->aio_nbytes);               \
      if (list[i]->aio_lio_opcode == LIO_WRITE)                                            \
        perfield_operation_count(operation<Way::out>(), list[i]->aio_nbytes);              \
    }                                                                                      \
    errno = error;                                                                         \
    return result;                                                                         \
  }
PERFIELD_STARTS_SEVERAL(lio_listio, aiocb)
PERFIELD_STARTS_SEVERAL(lio_listio64, aiocb64)
