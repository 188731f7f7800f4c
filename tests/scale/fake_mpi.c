/* SPDX-License-Identifier: BSD-3-Clause
 *
 * fake_mpi.c - a fake MPI: one process that believes to be rank FAKE_MPI_RANK of FAKE_MPI_SIZE.
 * Nothing is sent: a receive finds what its arguments ask for, and collectives return at once.
 * It has the binary interface of MPICH, whose mpi.h it is compiled with:
 *   gcc -O2 -shared -fPIC -I<folder of MPICH's mpi.h> fake_mpi.c -Wl,-soname,libmpich.so.12 \
 *     -o libmpich.so.12
 * Its groups search like those of Open MPI: rank by rank. fake_mpi_compared counts such looks.
 * MPI_Comm_split takes all other ranks to pass the same color, and the key 0, or, if the key of
 * this rank is negative, keys that reverse the order. MPI_Cart_create with `reorder` does the same.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* MPI_X is another name of PMPI_X, so that wrappers may precede it. */
#define ALSO(name) extern __typeof__(P##name) name __attribute__((weak, alias("P" #name)))

enum { kMost = 4096, kKeys = 16, kRequests = 1 << 16, kNewHandle = 0x10 };

typedef struct Ranks {
  int n, users, world[];
} Ranks;
typedef struct {
  Ranks* ranks;
  int topology, has[kKeys];
  void* attribute[kKeys];
} Comm;
typedef struct {
  int used, source, tag, is_receive;
  MPI_Count bytes;
} Request;

unsigned long fake_mpi_compared = 0;

static int initialized, finalized, me, size, n_keys, next_request;
static Comm comms[kMost];
static Ranks* groups[kMost];
static Request requests[kRequests];
static struct {
  MPI_Comm_copy_attr_function* copy;
  MPI_Comm_delete_attr_function* forget;
  void* extra;
} keys[kKeys];

static int from_environment(const char* name, int otherwise) {
  const char* text = getenv(name);
  return text ? atoi(text) : otherwise;
}

static Ranks* new_ranks(int n) {
  Ranks* ranks = malloc(sizeof *ranks + n * sizeof(int));
  ranks->n = n;
  ranks->users = 1;
  for (int i = 0; i < n; ++i) ranks->world[i] = i;
  return ranks;
}
static void let_go(Ranks* ranks) {
  if (--ranks->users == 0) free(ranks);
}

static int comm_index(MPI_Comm comm) {
  return comm == MPI_COMM_WORLD ? 0 : comm == MPI_COMM_SELF ? 1 : comm & 0xffff;
}
static Comm* of(MPI_Comm comm) { return &comms[comm_index(comm)]; }
static MPI_Comm new_comm(Ranks* ranks) {
  int i = kNewHandle;
  while (i < kMost - 1 && comms[i].ranks) ++i;
  if (comms[i].ranks) return MPI_COMM_NULL;
  comms[i] = (Comm){.ranks = ranks, .topology = MPI_UNDEFINED};
  return (MPI_Comm)(0x84000000 | i);
}
static Ranks* ranks_of(MPI_Group group) { return groups[group & 0xffff]; }
static MPI_Group new_group(Ranks* ranks) {
  int i = kNewHandle;
  while (i < kMost - 1 && groups[i]) ++i;
  if (groups[i]) return MPI_GROUP_NULL;
  groups[i] = ranks;
  return (MPI_Group)(0x88000000 | i);
}
static int position(const Ranks* ranks, int world) {
  for (int i = 0; i < ranks->n; ++i) {
    ++fake_mpi_compared;
    if (ranks->world[i] == world) return i;
  }
  return MPI_UNDEFINED;
}

/* --- start and end ---------------------------------------------------------------------------- */
int PMPI_Init(int* argc, char*** argv) {
  (void)argc, (void)argv;
  me = from_environment("FAKE_MPI_RANK", 0);
  size = from_environment("FAKE_MPI_SIZE", 1);
  comms[0] = (Comm){.ranks = new_ranks(size), .topology = MPI_UNDEFINED};
  comms[1] = (Comm){.ranks = new_ranks(1), .topology = MPI_UNDEFINED};
  comms[1].ranks->world[0] = me;
  return initialized = 1, MPI_SUCCESS;
}
int PMPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  *provided = required < MPI_THREAD_SERIALIZED ? required : MPI_THREAD_SERIALIZED;
  return PMPI_Init(argc, argv);
}
int PMPI_Query_thread(int* provided) { return *provided = MPI_THREAD_SINGLE, MPI_SUCCESS; }
int PMPI_Initialized(int* flag) { return *flag = initialized, MPI_SUCCESS; }
int PMPI_Finalized(int* flag) { return *flag = finalized, MPI_SUCCESS; }
int PMPI_Finalize(void) { return finalized = 1, MPI_SUCCESS; }
int PMPI_Abort(MPI_Comm comm, int code) {
  (void)comm;
  exit(code);
}
int PMPI_Pcontrol(const int level, ...) { return (void)level, MPI_SUCCESS; }
int PMPI_Get_library_version(char* text, int* length) {
  *length = snprintf(text, MPI_MAX_LIBRARY_VERSION_STRING, "MPICH Version:\t4.0.2 (fake)");
  return MPI_SUCCESS;
}
int PMPI_Get_processor_name(char* name, int* length) {
  *length = snprintf(name, MPI_MAX_PROCESSOR_NAME, "fake");
  return MPI_SUCCESS;
}
double PMPI_Wtime(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
ALSO(MPI_Init);
ALSO(MPI_Init_thread);
ALSO(MPI_Query_thread);
ALSO(MPI_Initialized);
ALSO(MPI_Finalized);
ALSO(MPI_Finalize);
ALSO(MPI_Abort);
ALSO(MPI_Pcontrol);
ALSO(MPI_Wtime);
ALSO(MPI_Get_library_version);
ALSO(MPI_Get_processor_name);

/* --- attributes */
int PMPI_Comm_create_keyval(MPI_Comm_copy_attr_function* copy,
                            MPI_Comm_delete_attr_function* forget, int* key, void* extra) {
  keys[n_keys].copy = copy;
  keys[n_keys].forget = forget;
  keys[n_keys].extra = extra;
  return *key = n_keys++, MPI_SUCCESS;
}
int PMPI_Comm_set_attr(MPI_Comm comm, int key, void* value) {
  of(comm)->attribute[key] = value;
  return of(comm)->has[key] = 1, MPI_SUCCESS;
}
int PMPI_Comm_get_attr(MPI_Comm comm, int key, void* value, int* flag) {
  *flag = of(comm)->has[key];
  if (*flag) *(void**)value = of(comm)->attribute[key];
  return MPI_SUCCESS;
}
int PMPI_Comm_get_errhandler(MPI_Comm comm, MPI_Errhandler* handler) {
  (void)comm;
  return *handler = MPI_ERRORS_ARE_FATAL, MPI_SUCCESS;
}
int PMPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler) {
  (void)comm, (void)handler;
  return MPI_SUCCESS;
}
ALSO(MPI_Comm_create_keyval);
ALSO(MPI_Comm_set_attr);
ALSO(MPI_Comm_get_attr);
ALSO(MPI_Comm_get_errhandler);
ALSO(MPI_Comm_set_errhandler);

/* --- groups */
int PMPI_Comm_group(MPI_Comm comm, MPI_Group* group) {
  Ranks* ranks = new_ranks(of(comm)->ranks->n);
  memcpy(ranks->world, of(comm)->ranks->world, ranks->n * sizeof(int));
  return *group = new_group(ranks), MPI_SUCCESS;
}
int PMPI_Comm_remote_group(MPI_Comm comm, MPI_Group* group) { return PMPI_Comm_group(comm, group); }
int PMPI_Group_size(MPI_Group group, int* n) { return *n = ranks_of(group)->n, MPI_SUCCESS; }
int PMPI_Group_incl(MPI_Group group, int n, const int ranks[], MPI_Group* made) {
  Ranks* chosen = new_ranks(n);
  for (int i = 0; i < n; ++i) chosen->world[i] = ranks_of(group)->world[ranks[i]];
  return *made = new_group(chosen), MPI_SUCCESS;
}
int PMPI_Group_free(MPI_Group* group) {
  let_go(ranks_of(*group));
  groups[*group & 0xffff] = NULL;
  return *group = MPI_GROUP_NULL, MPI_SUCCESS;
}
int PMPI_Group_translate_ranks(MPI_Group from, int n, const int ranks[], MPI_Group to,
                               int found[]) {
  for (int i = 0; i < n; ++i)
    found[i] = ranks[i] == MPI_PROC_NULL ? MPI_PROC_NULL
                                         : position(ranks_of(to), ranks_of(from)->world[ranks[i]]);
  return MPI_SUCCESS;
}
int PMPI_Group_compare(MPI_Group one, MPI_Group other, int* result) {
  const Ranks *a = ranks_of(one), *b = ranks_of(other);
  *result = a->n == b->n ? MPI_IDENT : MPI_UNEQUAL;
  for (int i = 0; i < a->n && *result != MPI_UNEQUAL; ++i) {
    const int at = position(b, a->world[i]);
    if (at != i) *result = at == MPI_UNDEFINED ? MPI_UNEQUAL : MPI_SIMILAR;
  }
  return MPI_SUCCESS;
}
ALSO(MPI_Comm_group);
ALSO(MPI_Comm_remote_group);
ALSO(MPI_Group_size);
ALSO(MPI_Group_incl);
ALSO(MPI_Group_free);
ALSO(MPI_Group_translate_ranks);
ALSO(MPI_Group_compare);

/* --- communicators */
int PMPI_Comm_size(MPI_Comm comm, int* n) { return *n = of(comm)->ranks->n, MPI_SUCCESS; }
int PMPI_Comm_rank(MPI_Comm comm, int* rank) {
  const unsigned long before = fake_mpi_compared;
  *rank = position(of(comm)->ranks, me);
  return fake_mpi_compared = before, MPI_SUCCESS;
}
int PMPI_Comm_test_inter(MPI_Comm comm, int* flag) { return (void)comm, *flag = 0, MPI_SUCCESS; }
int PMPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) {
  of(comm)->ranks->users++;
  *made = new_comm(of(comm)->ranks);
  for (int key = 0; key < n_keys; ++key)
    if (of(comm)->has[key] && keys[key].copy)
      keys[key].copy(comm, key, keys[key].extra, of(comm)->attribute[key],
                     &of(*made)->attribute[key], &of(*made)->has[key]);
  return MPI_SUCCESS;
}
static int in_order(MPI_Comm comm, int reversed, MPI_Comm* made) {
  const Ranks* old = of(comm)->ranks;
  Ranks* ranks = new_ranks(old->n);
  for (int i = 0; i < old->n; ++i) ranks->world[i] = old->world[reversed ? old->n - 1 - i : i];
  return *made = new_comm(ranks), MPI_SUCCESS;
}
int PMPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* made) {
  if (color == MPI_UNDEFINED) return *made = MPI_COMM_NULL, MPI_SUCCESS;
  return in_order(comm, key < 0, made);
}
int PMPI_Cart_create(MPI_Comm comm, int n, const int dims[], const int periods[], int reorder,
                     MPI_Comm* made) {
  (void)n, (void)dims, (void)periods;
  return in_order(comm, reorder, made);
}
int PMPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* made) {
  (void)comm;
  Ranks* ranks = new_ranks(ranks_of(group)->n);
  memcpy(ranks->world, ranks_of(group)->world, ranks->n * sizeof(int));
  return *made = new_comm(ranks), MPI_SUCCESS;
}
int PMPI_Comm_free(MPI_Comm* comm) {
  for (int key = 0; key < n_keys; ++key)
    if (of(*comm)->has[key] && keys[key].forget)
      keys[key].forget(*comm, key, of(*comm)->attribute[key], keys[key].extra);
  let_go(of(*comm)->ranks);
  *of(*comm) = (Comm){0};
  return *comm = MPI_COMM_NULL, MPI_SUCCESS;
}
ALSO(MPI_Comm_size);
ALSO(MPI_Comm_rank);
ALSO(MPI_Comm_test_inter);
ALSO(MPI_Comm_dup);
ALSO(MPI_Comm_split);
ALSO(MPI_Cart_create);
ALSO(MPI_Comm_create);
ALSO(MPI_Comm_free);

/* --- types and statuses: an MPI_Datatype of MPICH holds its size */
int PMPI_Type_size_x(MPI_Datatype type, MPI_Count* bytes) {
  return *bytes = (type >> 8) & 0xff, MPI_SUCCESS;
}
int PMPI_Type_get_envelope(MPI_Datatype type, int* integers, int* addresses, int* types,
                           int* combiner) {
  (void)type;
  *integers = *addresses = *types = 0;
  return *combiner = MPI_COMBINER_NAMED, MPI_SUCCESS;
}
static MPI_Count bytes_in(const MPI_Status* status) {
  return (MPI_Count)(unsigned)status->count_lo |
         (MPI_Count)((unsigned)status->count_hi_and_cancelled >> 1) << 32;
}
static void fill(MPI_Status* status, int source, int tag, MPI_Count bytes) {
  if (status == MPI_STATUS_IGNORE) return;
  status->MPI_SOURCE = source == MPI_ANY_SOURCE ? 0 : source;
  status->MPI_TAG = tag == MPI_ANY_TAG ? 0 : tag;
  status->count_lo = (int)bytes;
  status->count_hi_and_cancelled = (int)(bytes >> 32 << 1);
}
int PMPI_Status_set_elements_x(MPI_Status* status, MPI_Datatype type, MPI_Count count) {
  fill(status, status->MPI_SOURCE, status->MPI_TAG, count * ((type >> 8) & 0xff));
  return MPI_SUCCESS;
}
int PMPI_Status_set_cancelled(MPI_Status* status, int flag) {
  status->count_hi_and_cancelled = (status->count_hi_and_cancelled & ~1) | (flag != 0);
  return MPI_SUCCESS;
}
int PMPI_Get_elements_x(const MPI_Status* status, MPI_Datatype type, MPI_Count* count) {
  return *count = bytes_in(status) / ((type >> 8) & 0xff), MPI_SUCCESS;
}
int PMPI_Get_count(const MPI_Status* status, MPI_Datatype type, int* count) {
  return *count = (int)(bytes_in(status) / ((type >> 8) & 0xff)), MPI_SUCCESS;
}
int PMPI_Test_cancelled(const MPI_Status* status, int* flag) {
  return *flag = status->count_hi_and_cancelled & 1, MPI_SUCCESS;
}
ALSO(MPI_Type_size_x);
ALSO(MPI_Type_get_envelope);
ALSO(MPI_Status_set_elements_x);
ALSO(MPI_Status_set_cancelled);
ALSO(MPI_Get_elements_x);
ALSO(MPI_Get_count);
ALSO(MPI_Test_cancelled);

/* --- messages */
static MPI_Count bytes_of(int count, MPI_Datatype type) {
  return (MPI_Count)count * ((type >> 8) & 0xff);
}
static MPI_Request begin(int is_receive, int source, int tag, MPI_Count bytes) {
  int i = next_request;
  while (requests[i].used) i = (i + 1) % kRequests;
  next_request = (i + 1) % kRequests;
  requests[i] = (Request){1, source, tag, is_receive, bytes};
  return (MPI_Request)(0x98000000 | i);
}
int PMPI_Send(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  return (void)buffer, (void)count, (void)type, (void)dest, (void)tag, (void)comm, MPI_SUCCESS;
}
int PMPI_Recv(void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
              MPI_Status* status) {
  (void)buffer, (void)comm;
  return fill(status, source, tag, bytes_of(count, type)), MPI_SUCCESS;
}
int PMPI_Sendrecv(const void* out, int n_out, MPI_Datatype type_out, int dest, int tag_out,
                  void* in, int n_in, MPI_Datatype type_in, int source, int tag_in, MPI_Comm comm,
                  MPI_Status* status) {
  (void)out, (void)n_out, (void)type_out, (void)dest, (void)tag_out;
  return PMPI_Recv(in, n_in, type_in, source, tag_in, comm, status);
}
int PMPI_Isend(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
               MPI_Request* request) {
  (void)buffer, (void)comm;
  return *request = begin(0, dest, tag, bytes_of(count, type)), MPI_SUCCESS;
}
int PMPI_Irecv(void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
               MPI_Request* request) {
  (void)buffer, (void)comm;
  return *request = begin(1, source, tag, bytes_of(count, type)), MPI_SUCCESS;
}
int PMPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  const Request* r = &requests[request & 0xffff];
  if (request != MPI_REQUEST_NULL && r->is_receive) fill(status, r->source, r->tag, r->bytes);
  return *flag = 1, MPI_SUCCESS;
}
int PMPI_Wait(MPI_Request* request, MPI_Status* status) {
  int done;
  PMPI_Request_get_status(*request, &done, status);
  if (*request != MPI_REQUEST_NULL) requests[*request & 0xffff].used = 0;
  return *request = MPI_REQUEST_NULL, MPI_SUCCESS;
}
int PMPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  return *flag = 1, PMPI_Wait(request, status);
}
int PMPI_Waitall(int n, MPI_Request all[], MPI_Status statuses[]) {
  for (int i = 0; i < n; ++i)
    PMPI_Wait(&all[i], statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i]);
  return MPI_SUCCESS;
}
ALSO(MPI_Send);
ALSO(MPI_Recv);
ALSO(MPI_Sendrecv);
ALSO(MPI_Isend);
ALSO(MPI_Irecv);
ALSO(MPI_Request_get_status);
ALSO(MPI_Wait);
ALSO(MPI_Test);
ALSO(MPI_Waitall);

/* --- collectives */
int PMPI_Barrier(MPI_Comm comm) { return (void)comm, MPI_SUCCESS; }
int PMPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  return (void)buffer, (void)count, (void)type, (void)root, (void)comm, MPI_SUCCESS;
}
int PMPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm) {
  (void)op, (void)comm;
  if (in != MPI_IN_PLACE) memcpy(out, in, bytes_of(count, type));
  return MPI_SUCCESS;
}
ALSO(MPI_Barrier);
ALSO(MPI_Bcast);
ALSO(MPI_Allreduce);

/* --- what perfield's wrappers ask for, and programs of this fake have none of */
int PMPI_Topo_test(MPI_Comm comm, int* kind) { return *kind = of(comm)->topology, MPI_SUCCESS; }
#define NONE(name, parameters)                     \
  int P##name parameters { return MPI_ERR_OTHER; } \
  ALSO(name);
#pragma GCC diagnostic ignored "-Wunused-parameter"
ALSO(MPI_Topo_test);
NONE(MPI_Cart_shift, (MPI_Comm comm, int direction, int by, int* from, int* to))
NONE(MPI_Cart_get, (MPI_Comm comm, int most, int dims[], int periods[], int coordinates[]))
NONE(MPI_Cartdim_get, (MPI_Comm comm, int* n))
NONE(MPI_Dist_graph_neighbors,
     (MPI_Comm comm, int n_in, int in[], int weights_in[], int n_out, int out[], int weights_out[]))
NONE(MPI_Dist_graph_neighbors_count, (MPI_Comm comm, int* n_in, int* n_out, int* weighted))
NONE(MPI_Graph_neighbors, (MPI_Comm comm, int rank, int most, int neighbors[]))
NONE(MPI_Graph_neighbors_count, (MPI_Comm comm, int rank, int* n))
NONE(MPI_Win_create_keyval, (MPI_Win_copy_attr_function * copy,
                             MPI_Win_delete_attr_function* forget, int* key, void* extra))
NONE(MPI_Win_get_attr, (MPI_Win win, int key, void* value, int* flag))
NONE(MPI_Win_get_group, (MPI_Win win, MPI_Group* group))
NONE(MPI_Win_set_attr, (MPI_Win win, int key, void* value))
