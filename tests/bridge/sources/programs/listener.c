/* SPDX-License-Identifier: BSD-3-Clause
 *
 * listener.c - is compiled into a program (with -rdynamic) and hears what the MPI wrappers say the
 * recorder, since its functions come before those of libperfield. Writes a line for each to
 * heard.<process id>, and passes it on:
 *   world RANK
 *   send CALL PEER BYTES BEGUN CHANNEL NUMBER SERIAL
 *   sent CALL PEER SERIAL WAIT_BEGIN WAIT_END
 *   arrived PEER FLAGS BYTES POSTED WAIT_BEGIN WAIT_END CHANNEL NUMBER
 *   collective CALL NAME NUMBER FLAGS OUT IN BEGUN WAIT_BEGIN WAIT_END
 *   synchronised CALL PEER FLAGS ENTERED LEFT CHANNEL NUMBER
 *   communicator NAME SIZE RANK LABEL, with "made " before the label if it was not used yet
 *   case NAME, which ends with this line: the program called end_case(NAME), which also ends a step
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

typedef struct {
  uint32_t channel, number;
} MessageId;
typedef struct {
  int32_t peer;
  uint32_t flags;
  uint64_t bytes, posted, wait_begin, wait_end;
  MessageId id;
} Received;
typedef struct {
  uint16_t call;
  uint32_t communicator, number, flags;
  uint64_t bytes_out, bytes_in, begun, wait_begin, wait_end;
} Collective;
typedef struct {
  uint32_t name;
  int32_t size, my_rank;
  const char* label;
  int32_t is_used, n_dims;
  const int32_t *dims, *periodic;
} Communicator;
typedef struct {
  uint16_t call;
  int32_t peer;
  uint32_t flags;
  MessageId id;
  uint64_t entered, left;
} Synchronisation;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
enum { kTokens = 1 << 16 };
static uint32_t serial = 0, tokens[kTokens];

static __thread int inside = 0; /* libperfield calls its own functions by their names, too */

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define LL(value) ((unsigned long long)(value))

static FILE* heard(void) {
  static FILE* file = NULL;
  char name[64];
  snprintf(name, sizeof name, "heard.%d", (int)getpid());
  if (!file) file = fopen(name, "w");
  return file;
}

#define TELL(...)                \
  pthread_mutex_lock(&lock);     \
  fprintf(heard(), __VA_ARGS__); \
  fflush(heard());               \
  pthread_mutex_unlock(&lock)

void perfield_source_start(int rank, int size, const char* mpi) {
  TELL("world %d\n", rank);
  NEXT(perfield_source_start)(rank, size, mpi);
}

uint32_t perfield_msg_send(uint16_t call, int32_t peer, uint64_t bytes, uint64_t begun,
                           MessageId id) {
  const uint32_t token = NEXT(perfield_msg_send)(call, peer, bytes, begun, id);
  if (inside) return token;
  const uint32_t own = __atomic_add_fetch(&serial, 1, __ATOMIC_RELAXED);
  tokens[own % kTokens] = token;
  TELL("send %d %d %llu %llu %u %u %u\n", call, peer, LL(bytes), LL(begun), id.channel, id.number,
       own);
  return own;
}

uint64_t perfield_msg_send_complete(uint16_t call, int32_t peer, uint32_t logged, uint64_t begin,
                                    uint64_t end) {
  if (inside) return NEXT(perfield_msg_send_complete)(call, peer, logged, begin, end);
  end = NEXT(perfield_msg_send_complete)(call, peer, tokens[logged % kTokens], begin, end);
  TELL("sent %d %d %u %llu %llu\n", call, peer, logged, LL(begin), LL(end));
  return end;
}

uint64_t perfield_msg_send_blocking(uint16_t call, int32_t peer, uint64_t bytes, uint64_t begun,
                                    uint64_t end, MessageId id) {
  inside = 1;
  end = NEXT(perfield_msg_send_blocking)(call, peer, bytes, begun, end, id);
  inside = 0;
  const uint32_t own = __atomic_add_fetch(&serial, 1, __ATOMIC_RELAXED);
  TELL("send %d %d %llu %llu %u %u %u\nsent %d %d %u %llu %llu\n", call, peer, LL(bytes), LL(begun),
       id.channel, id.number, own, call, peer, own, LL(begun), LL(end));
  return end;
}

uint64_t perfield_msg_recv_complete(const Received* a) {
  const uint64_t end = NEXT(perfield_msg_recv_complete)(a);
  TELL("arrived %d %u %llu %llu %llu %llu %u %u\n", a->peer, a->flags, LL(a->bytes), LL(a->posted),
       LL(a->wait_begin), LL(end), a->id.channel, a->id.number);
  return end;
}

uint64_t perfield_collective_done(const Collective* c) {
  const uint64_t end = NEXT(perfield_collective_done)(c);
  TELL("collective %d %u %u %u %llu %llu %llu %llu %llu\n", c->call, c->communicator, c->number,
       c->flags, LL(c->bytes_out), LL(c->bytes_in), LL(c->begun), LL(c->wait_begin), LL(end));
  return end;
}

uint64_t perfield_synchronised(const Synchronisation* s) {
  const uint64_t left = NEXT(perfield_synchronised)(s);
  TELL("synchronised %d %d %u %llu %llu %u %u\n", s->call, s->peer, s->flags, LL(s->entered),
       LL(left), s->id.channel, s->id.number);
  return left;
}

void perfield_source_communicator(const Communicator* c) {
  NEXT(perfield_source_communicator)(c);
  TELL("communicator %u %d %d %s%s\n", c->name, c->size, c->my_rank, c->is_used ? "" : "made ",
       c->label);
}

void end_case(const char* name) {
  static int64_t step = 0;
  void (*end_step)(int64_t, double) =
      (void (*)(int64_t, double))dlsym(RTLD_DEFAULT, "perfield_step");
  TELL("case %s\n", name);
  if (end_step) end_step(step, 0.0);
  ++step;
}
