// SPDX-License-Identifier: BSD-3-Clause
//
// arguments.c - what the generated programs of argument_programs.py share: the arguments of calls,
// error handlers that count their calls, and the lines of results. C programs include it; Fortran
// calls it by names with an underscore, with handles as integers.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int handled, rank, n_skipped, skipped[4096];
static FILE *results, *progress;
static MPI_Errhandler of_comms, of_windows, of_files;

static int sent[64], received[64], compared[64], zeros[4], ones[4] = {1, 1, 1, 1}, indices[4];
static int code, flag, index, outcount;
static MPI_Count large_zeros[4], large_ones[4] = {1, 1, 1, 1};
static MPI_Aint addresses[4];
static MPI_Offset offset;
static void* base;
static MPI_Status statuses[4];
static MPI_Comm comm, cart, graph, made_comm, no_comm = MPI_COMM_NULL;
static MPI_Win win, made_win, no_win = MPI_WIN_NULL;
static MPI_File file, made_file, no_file = MPI_FILE_NULL;
static MPI_Group group, no_group = MPI_GROUP_NULL;
static MPI_Request request, made_request, requests[4], no_request = MPI_REQUEST_NULL;
static MPI_Message made_message, no_message = MPI_MESSAGE_NULL;
static MPI_Datatype garbage;  // a freed type; NULL where that would be an address
static MPI_Datatype derived;  // of 8 bytes in an extent of 1 TB

static void on_comm(MPI_Comm* given, int* error, ...) { (void)given, (void)error, ++handled; }
static void on_window(MPI_Win* given, int* error, ...) { (void)given, (void)error, ++handled; }
static void on_file(MPI_File* given, int* error, ...) { (void)given, (void)error, ++handled; }

// Whether the cases are those that MPI may refuse.
int refusing(void) { return getenv("REFUSING") != NULL; }
int refusing_(void) { return refusing(); }

// The numbers of cases to skip are the lines of the file `skip`.
void start(void) {
  char path[64];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  FILE* skip = fopen("skip", "r");
  while (skip && fscanf(skip, "%d", &skipped[n_skipped]) == 1) ++n_skipped;
  if (skip) fclose(skip);
  snprintf(path, sizeof path, "results.%d", rank);
  results = fopen(path, "w");
  snprintf(path, sizeof path, "progress.%d", rank);
  progress = fopen(path, "w");
  MPI_Comm_create_errhandler(on_comm, &of_comms);
  MPI_Win_create_errhandler(on_window, &of_windows);
  MPI_File_create_errhandler(on_file, &of_files);
  if (!refusing()) return;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, of_comms);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, of_comms);
  MPI_File_set_errhandler(MPI_FILE_NULL, of_files);
}
void start_(int* own_rank) { start(), *own_rank = rank; }

// Whether to run that case now.
int wanted(int number) {
  for (int i = 0; i < n_skipped; ++i)
    if (skipped[i] == number) return 0;
  rewind(progress);
  fprintf(progress, "%d\n", number);
  fflush(progress);
  handled = 0;
  return 1;
}
int wanted_(int* number) { return wanted(*number); }

void report(int number, int error) {
  const int found = handled;
  int class = error;
  if (error) MPI_Error_class(error, &class);
  fprintf(results, "%d %d %d\n", number, class, found);
  fflush(results);
}
void report_(int* number, int* error) { report(*number, *error); }

void renew(void) {
  static double memory[64];
  static int number;
  char path[64];
  int one = 1, zero = 0, lengths[2] = {1, 1};
  if (!cart) {
    MPI_Cart_create(MPI_COMM_SELF, 1, &one, &one, 0, &cart);
    MPI_Dist_graph_create_adjacent(MPI_COMM_SELF, 1, &zero, MPI_UNWEIGHTED, 1, &zero,
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    MPI_Datatype freed, pair, types[2] = {MPI_INT, MPI_INT};
    MPI_Aint places[2] = {0, 4};
    MPI_Type_create_struct(2, lengths, places, types, &pair);
    MPI_Type_create_resized(pair, 0, (MPI_Aint)1 << 40, &derived);
    MPI_Type_commit(&derived);
    MPI_Type_contiguous(2, MPI_INT, &freed);
    MPI_Type_commit(&freed);
#ifdef MPICH
    garbage = freed;
#endif
    MPI_Type_free(&freed);
  }
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_SELF, &win);
  MPI_Win_set_errhandler(win, of_windows);
  snprintf(path, sizeof path, "file.%d", rank);
  MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_File_set_errhandler(file, of_files);
  MPI_Comm_group(MPI_COMM_SELF, &group);
  MPI_Recv_init(&number, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, &request);
}
void renew_(int* of_comm, int* of_cart, int* of_graph, int* of_win, int* of_file, int* of_group,
            int* of_request, int* of_garbage, int* of_derived) {
  renew();
  *of_comm = MPI_Comm_c2f(comm);
  *of_cart = MPI_Comm_c2f(cart);
  *of_graph = MPI_Comm_c2f(graph);
  *of_win = MPI_Win_c2f(win);
  *of_file = MPI_File_c2f(file);
  *of_group = MPI_Group_c2f(group);
  *of_request = MPI_Request_c2f(request);
#ifdef MPICH
  *of_garbage = MPI_Type_c2f(garbage);
#else
  *of_garbage = -7777;
#endif
  *of_derived = MPI_Type_c2f(derived);
}

// Cases leave epochs and requests open, so MPI_Finalize might not return.
void finish(void) {
  rewind(progress);
  fprintf(progress, "end\n");
  fflush(progress);
  if (!refusing()) MPI_Barrier(MPI_COMM_WORLD);  // a launcher may end all ranks after the first
  _exit(0);
}
void finish_(void) { finish(); }
