/* SPDX-License-Identifier: BSD-3-Clause
 *
 * calls.h - the cases of calls.c. Each makes its calls on `comm` and returns a number of its own;
 * `what` chooses among its variants. */
#pragma once
#include "ring.h"

int collectives(const char* what);
int failed_receives(const char* what);
int files(const char* what);
int freed_requests(const char* what);
int inter_communicator(const char* what);
int neighbors(const char* what);
int odd_messages(const char* what);
int partitioned(const char* what);
int pauses(const char* what);
int receives(const char* what);
int sends(const char* what);
int windows(const char* what);
