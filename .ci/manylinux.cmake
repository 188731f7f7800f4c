# SPDX-License-Identifier: BSD-3-Clause
# Toolchain of `make wheels`: Zig's Clang with the headers and symbols of glibc 2.17, so that what it
# builds on a new Linux also runs on old ones. libc++ is linked statically, as libstdc++ is with GCC.
# PERFIELD_ZIG: its program. PERFIELD_PROCESSOR: for which processor, x86_64 or aarch64.
#
# Why not GCC in an old Debian: the oldest that Debian still serves has glibc 2.31, so no wheel would
# run on RHEL 8 (2.28), and entering another root needs root. Zig is one wheel of PyPI. Instructions that perfield
# adds, by callgrind, with Clang (with GCC 12): 110 (100) for a region, 107 (101) for a call of MPI, 438 (406) for
# MPI_Sendrecv, 762 (749) for MPI_Irecv, MPI_Send and MPI_Wait together.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR $ENV{PERFIELD_PROCESSOR})
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE NEVER)
set(zig_target -target ${CMAKE_SYSTEM_PROCESSOR}-linux-gnu.2.17)
set(CMAKE_C_COMPILER $ENV{PERFIELD_ZIG} cc ${zig_target})
set(CMAKE_CXX_COMPILER $ENV{PERFIELD_ZIG} c++ ${zig_target})
# cupti.h of this machine has the same types for all processors; the C library's headers are Zig's.
set(CMAKE_CXX_FLAGS_INIT "-idirafter /usr/include")
