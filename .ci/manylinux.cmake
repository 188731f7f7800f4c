# SPDX-License-Identifier: BSD-3-Clause
# Toolchain of `make wheels`: Zig's Clang with the headers and symbols of glibc 2.17, so that what it
# builds on a new Linux also runs on old ones. libc++ is linked statically, as libstdc++ is with GCC.
# PERFIELD_ZIG: its program.
#
# Why not GCC in an old Debian: the oldest that Debian still serves has glibc 2.31, so no wheel would
# run on RHEL 8 (2.28), and entering another root needs root. Zig is one wheel of PyPI. Instructions that perfield
# adds, by callgrind, with Clang (with GCC 12): 110 (100) for a region, 107 (101) for a call of MPI, 438 (406) for
# MPI_Sendrecv, 762 (749) for MPI_Irecv, MPI_Send and MPI_Wait together.
set(zig_target -target ${CMAKE_HOST_SYSTEM_PROCESSOR}-linux-gnu.2.17)
set(CMAKE_C_COMPILER $ENV{PERFIELD_ZIG} cc ${zig_target})
set(CMAKE_CXX_COMPILER $ENV{PERFIELD_ZIG} c++ ${zig_target})
# Debian's pyconfig.h includes one of /usr/include/x86_64-linux-gnu; the C library's headers are Zig's.
set(CMAKE_CXX_FLAGS_INIT "-idirafter /usr/include")
