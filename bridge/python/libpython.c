// SPDX-License-Identifier: BSD-3-Clause
//
// libpython.c - an empty library that bears the name of a Python's own when wheels are built for
// it: see find_python.cmake. It is never installed.
