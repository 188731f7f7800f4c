// SPDX-License-Identifier: BSD-3-Clause
//
// unseen.hpp - finds I/O that passes by the functions of the C library, so that a warning says
// that it is not counted: files mapped into memory, io_uring, and the kernel's asynchronous I/O.
#pragma once

namespace perfield::io {

// Looks at the 1st, 2nd, 4th, 8th, ... closing of a step: often enough for what lasts, and free.
// Warns once. Keeps errno.
void look_for_unseen() noexcept;

}  // namespace perfield::io
