/* SPDX-License-Identifier: BSD-3-Clause
 *
 * files.c - every way of writing and reading a file with MPI, the n-th with n integers. Reads of
 * four integers past the file's end get none. */
#include "calls.h"

static int data[64];
static MPI_Request request;
static MPI_Status status;

int files(const char* what) {
  MPI_File file;
  MPI_File_open(comm, "data", MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file);
  MPI_File_set_size(file, 0);
  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  const MPI_Offset at = 64 * rank;

  MPI_File_seek(file, at, MPI_SEEK_SET);
  MPI_File_write(file, data, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_write_at(file, at, data, 2, MPI_INT, &status);
  MPI_File_iwrite(file, data, 3, MPI_INT, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_File_iwrite_at(file, at, data, 4, MPI_INT, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_File_write_shared(file, data, 5, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_write_all(file, data, 6, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_write_at_all(file, at, data, 7, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_write_ordered(file, data, 8, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_write_at_all_begin(file, at, data, 9, MPI_INT);
  MPI_File_write_at_all_end(file, data, &status);
  MPI_File_iwrite_at_all(file, at, data, 10, MPI_INT, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_File_sync(file);
  MPI_Barrier(comm);

  MPI_File_seek(file, at, MPI_SEEK_SET);
  MPI_File_read(file, data, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_read_at(file, at, data, 2, MPI_INT, &status);
  MPI_File_iread_at(file, at, data, 3, MPI_INT, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_File_read_at(file, 1 << 20, data, 4, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_read_at_all(file, at, data, 5, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_read_at_all_begin(file, at, data, 6, MPI_INT);
  MPI_File_read_at_all_end(file, data, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  return 0;
}
