/* A stand-in for Score-P: loads a substrate plugin as Score-P does, and plays events to it.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * host NAME [version=3] [callbacks=53] < script. Lines of the script:
 *   region H NAME [SYMBOL]   defines a region        context C H   ... a calling context of it
 *   metric H NAME [TYPE=0]   a metric of whole numbers, or (type 2) real ones
 *   metrics M ...        whose values come with begins and ends of regions, in this order
 *   init_mpp             rank and size from RANK and SIZE of the environment
 *   enter H [VALUES], exit H [VALUES], enter_context C, exit_context C
 *   off, on              recording                    work MS
 *   backwards            the last rank sends 8 bytes to the one before it, on a communicator whose
 *                        ranks count backwards (-DWITH_MPI)
 *   timer NAME           clock of the stamps: raw (at first), tsc, gettimeofday, none (all 0)
 *   device_enter H, device_exit H                     events of a device, not of this thread
 *   arm                  perfield_pipeline_next from one place
 *   send, isend, receive, ... NUMBERS   an event of `other_events` with these arguments
 *   device_send, ... NUMBERS            the same of a device
 *   empty_events         from here on no begin or end reaches the plugin
 *   fork                 a child does what is left of the script, too, and says how it ended
 *   repeat N H           enters and leaves H N times  threads T N H  on T threads at once
 *   threads T N H S      ... while this one enters and leaves S, a hundred times
 * Built with -DWITH_MPI it is an MPI program, whose MPI_Init is at init_mpp; each rank then sends
 * one message to the next. Says on stdout what the plugin handed over, and the nanoseconds of
 * CPU time per pair of `repeat`. */
#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __x86_64__
#include <x86intrin.h>
#endif
#ifdef WITH_MPI
#include <mpi.h>
#endif
#include "plugin_info.h"

enum { REGIONS = 200000, EVENTS = 83, MOST_CALLBACKS = 80, LONGEST = 20000 };

static char *names[REGIONS], *symbols[REGIONS];
static uint32_t regions_of_contexts[1000];
static function* events[2];
static int mode = 0;

static int number(const char* variable, int otherwise) {
  return getenv(variable) ? atoi(getenv(variable)) : otherwise;
}
static int get_rank(void) { return number("RANK", 0); }
static int get_size(void) { return number("SIZE", 1); }
static uint32_t region_of(uint32_t context) { return regions_of_contexts[context]; }
static const char* name_of(uint32_t region) { return names[region]; }
static const char* symbol_of(uint32_t region) { return symbols[region]; }
static const char* file_of(uint32_t region) {
  (void)region;
  return "solver.f90";
}
static uint32_t metrics[4];
static int n_metrics;
static int types_of_metrics[REGIONS];
static int type_of_metric(uint32_t metric) { return types_of_metrics[metric]; }
static uint8_t size_of_set(uint32_t set) { return set ? n_metrics : 0; }
static const uint32_t* metrics_of_set(uint32_t set) { return set ? metrics : NULL; }
/* Of all metrics alike: they grow, are read at each event, for the thread, on CPUs. */
static int zero(uint32_t handle) {
  (void)handle;
  return 0;
}
static int one(uint32_t handle) {
  (void)handle;
  return 1;
}
static uint32_t line_of(uint32_t region) { return region; }
static int location_type(const void* location) { return location == &mode; }
static void not_to_be_called(void) { abort(); }
static void empty_event(void) {}

static uint64_t read_ns(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static char timer[32] = "raw";
static uint64_t ticks(void) {
  if (!strcmp(timer, "none")) return 0;
#ifdef __x86_64__
  if (!strcmp(timer, "tsc")) return __rdtsc();
#endif
  if (!strcmp(timer, "gettimeofday")) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec * 1000000ull + t.tv_nsec / 1000;
  }
  return read_ns(CLOCK_MONOTONIC_RAW);
}

static __thread char location; /* each thread's own */

static void event_at(void* where, int event, uint32_t region, uint64_t stamp, uint64_t* values) {
  function found = events[mode][event];
  if (found) ((void (*)(void*, uint64_t, uint32_t, uint64_t*))found)(where, stamp, region, values);
}

static void region_event(int event, uint32_t region, uint64_t stamp, uint64_t* values) {
  event_at(&location, event, region, stamp, values);
}

static void context_event(int event, uint32_t context) {
  typedef void (*context_function)(void*, uint64_t, uint32_t, uint32_t, uint32_t, uint64_t*);
  function found = events[mode][event];
  if (found) ((context_function)found)(&location, ticks(), context, 0, 1, NULL);
}

/* Events without a region, all of whose arguments are numbers: whole registers or places on the
 * stack each, whatever their width. Collectives: communicator, root, type, bytes sent, received.
 * Operations on files: handle, mode (0 read, 1 write), then as in Score-P. */
static const struct {
  const char* word;
  int event;
} other_events[] = {{"begin_flush", 2},
                    {"end_flush", 3},
                    {"send", 11},
                    {"receive", 12},
                    {"end_collective", 14},
                    {"isend", 19},
                    {"ireceive", 20},
                    {"put", 31},
                    {"get", 32},
                    {"atomic", 33},
                    {"begin_io", 71},
                    {"issue_io", 72},
                    {"complete_io", 74},
                    {"end_icollective", 80}};

/* Whether the line is such an event. */
static int other_event(const char* word, const char* line) {
  long long n[6] = {0};
  sscanf(line, "%*s %lli %lli %lli %lli %lli %lli", n, n + 1, n + 2, n + 3, n + 4, n + 5);
  const int of_device = strncmp(word, "device_", 7) == 0;
  void* where = of_device ? (void*)&mode : (void*)&location;
  if (of_device) word += 7;
  for (size_t i = 0; i < sizeof other_events / sizeof *other_events; ++i) {
    if (strcmp(word, other_events[i].word) != 0) continue;
    function found = events[mode][other_events[i].event];
    typedef void (*event_function)(void*, uint64_t, long long, long long, long long, long long,
                                   long long, long long);
    if (found) ((event_function)found)(where, ticks(), n[0], n[1], n[2], n[3], n[4], n[5]);
    return 1;
  }
  return 0;
}

struct repeated {
  long count;
  uint32_t region;
};

static void* repeat(void* argument) {
  struct repeated* of = argument;
  const uint64_t stamp = ticks(); /* the same for all: so the plugin's time is not lost in ours */
  for (long i = 0; i < of->count; ++i) {
    region_event(4, of->region, stamp, NULL);
    region_event(5, of->region, stamp, NULL);
  }
  return NULL;
}

/* The values of metrics behind a region's number; NULL if there are none. */
static uint64_t* values_in(const char* line) {
  static uint64_t values[4];
  const int n = sscanf(line, "%*s %*d %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, values,
                       values + 1, values + 2, values + 3);
  return n > 0 ? values : NULL;
}

static void play(char* line, struct info* plugin, void* library) {
  static char word[32], text[LONGEST];
  long a = 0, b = 0, c = 0, d = 0;
  if (sscanf(line, "%31s %ld %ld %ld %ld", word, &a, &b, &c, &d) < 1) return;
  if (!strcmp(word, "region")) {
    static char symbol[LONGEST];
    const int words = sscanf(line, "%*s %*d %19999s %19999s", text, symbol);
    names[a] = strdup(text);
    symbols[a] = strdup(words == 2 ? symbol : text);
  } else if (!strcmp(word, "context")) {
    regions_of_contexts[a] = b;
  } else if (!strcmp(word, "metric")) {
    sscanf(line, "%*s %*d %19999s %d", text, &types_of_metrics[a]);
    names[a] = strdup(text);
    if (plugin->new_definition) plugin->new_definition(a, 8);
  } else if (!strcmp(word, "metrics")) {
    n_metrics = sscanf(line, "%*s %u %u %u %u", metrics, metrics + 1, metrics + 2, metrics + 3);
    if (plugin->new_definition) plugin->new_definition(1, 13);
  } else if (!strcmp(word, "init_mpp")) {
    plugin->init_mpp(); /* Score-P does so inside MPI_Init */
#ifdef WITH_MPI
    int rank, size, got;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &got, 1, MPI_INT,
                 (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (!strcmp(word, "backwards")) {
    MPI_Comm reversed;
    double value = 0;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
    MPI_Comm_rank(reversed, &rank);
    if (rank == 0) MPI_Send(&value, 1, MPI_DOUBLE, 1, 0, reversed);
    if (rank == 1) MPI_Recv(&value, 1, MPI_DOUBLE, 0, 0, reversed, MPI_STATUS_IGNORE);
    MPI_Comm_free(&reversed);
#endif
  } else if (!strcmp(word, "enter")) {
    region_event(4, a, ticks(), values_in(line));
  } else if (!strcmp(word, "exit")) {
    region_event(5, a, ticks(), values_in(line));
  } else if (!strcmp(word, "enter_context")) {
    context_event(7, a);
  } else if (!strcmp(word, "exit_context")) {
    context_event(8, a);
  } else if (!strcmp(word, "device_enter")) {
    event_at(&mode, 4, a, ticks(), NULL);
  } else if (!strcmp(word, "device_exit")) {
    event_at(&mode, 5, a, ticks(), NULL);
  } else if (!strcmp(word, "fork")) {
    fflush(stdout);
    const pid_t child = fork();
    int status = 0;
    if (child > 0 && waitpid(child, &status, 0) == child) printf("child %d\n", status);
  } else if (!strcmp(word, "timer")) {
    sscanf(line, "%*s %31s", timer);
  } else if (!strcmp(word, "off")) {
    region_event(1, 0, ticks(), NULL);
    mode = 1;
  } else if (!strcmp(word, "on")) {
    mode = 0;
    region_event(0, 0, ticks(), NULL);
  } else if (!strcmp(word, "arm")) {
    void (*arm)(uintptr_t) = (void (*)(uintptr_t))dlsym(library, "perfield_pipeline_next_at");
    arm(77);
  } else if (!strcmp(word, "work")) {
    const uint64_t end = read_ns(CLOCK_MONOTONIC_RAW) + a * 1000000;
    while (read_ns(CLOCK_MONOTONIC_RAW) < end) continue;
  } else if (!strcmp(word, "empty_events")) {
    events[mode][4] = events[mode][5] = empty_event;
  } else if (!strcmp(word, "repeat")) {
    struct repeated of = {a, b};
    const uint64_t begin = read_ns(CLOCK_THREAD_CPUTIME_ID);
    repeat(&of);
    printf("pair_ns %.1f\n", (double)(read_ns(CLOCK_THREAD_CPUTIME_ID) - begin) / a);
  } else if (!strcmp(word, "threads")) {
    pthread_t threads[256];
    struct repeated of = {b, c};
    for (long i = 0; i < a; ++i) pthread_create(&threads[i], NULL, repeat, &of);
    for (long i = 0; d && i < 100; ++i) {
      region_event(4, d, ticks(), NULL);
      region_event(5, d, ticks(), NULL);
    }
    for (long i = 0; i < a; ++i) pthread_join(threads[i], NULL);
  } else if (!other_event(word, line)) {
    fprintf(stderr, "host: no such line: %s", line);
    exit(2);
  }
}

int main(int argc, char** argv) {
  const char* name = argc > 1 ? argv[1] : "perfield";
  const int version = argc > 2 ? atoi(argv[2]) : 3, n_callbacks = argc > 3 ? atoi(argv[3]) : 53;
  char text[LONGEST + 100];
  snprintf(text, sizeof text, "libscorep_substrate_%s.so", name);
  void* library = dlopen(text, RTLD_NOW);
  if (!library) {
    fprintf(stderr, "host: %s\n", dlerror());
    return 1;
  }
  snprintf(text, sizeof text, "SCOREP_SubstratePlugin_%s_get_info", name);
  struct info (*get_info)(void) = (struct info(*)(void))dlsym(library, text);
  if (!get_info) {
    fprintf(stderr, "host: %s\n", dlerror());
    return 1;
  }
  struct info plugin = get_info();
  if ((int)plugin.version > version) fprintf(stderr, "host: the plugin's version is newer\n");
  if (plugin.init && plugin.init()) return 1;

  function callbacks[MOST_CALLBACKS];
  for (int i = 0; i < MOST_CALLBACKS; ++i) callbacks[i] = not_to_be_called;
  callbacks[1] = (function)get_size;
  callbacks[2] = (function)get_rank;
  callbacks[14] = (function)location_type;
  callbacks[20] = (function)region_of;
  callbacks[22] = (function)type_of_metric;
  callbacks[23] = (function)name_of;
  callbacks[25] = (function)zero;
  callbacks[33] = (function)name_of;
  callbacks[34] = (function)symbol_of;
  callbacks[35] = (function)file_of;
  callbacks[36] = (function)line_of;
  callbacks[40] = (function)size_of_set;
  callbacks[41] = (function)metrics_of_set;
  callbacks[42] = callbacks[43] = (function)zero;
  callbacks[45] = (function)one;
  plugin.set_callbacks(callbacks, n_callbacks * sizeof(function));

  const uint32_t known = version == 2 ? 63 : EVENTS;
  for (int m = 0; m < 2; ++m) {
    function* given;
    uint32_t n = plugin.get_event_functions(m, &given);
    events[m] = calloc(known, sizeof(function));
    memcpy(events[m], given, (n < known ? n : known) * sizeof(function));
  }
  int n_reserved = 0;
  for (int i = 0; i < 99; ++i) n_reserved += plugin.reserved[i] != NULL;
  printf("version %" PRIu32 " reserved %d\n", plugin.version, n_reserved);

  if (plugin.assign_id) plugin.assign_id(0);
  if (plugin.create_location) plugin.create_location(&location, NULL);
  while (fgets(text, sizeof text, stdin)) play(text, &plugin, library);
#ifdef WITH_MPI
  MPI_Finalize();
#endif
  if (plugin.delete_location) plugin.delete_location(&location);
  if (plugin.pre_unify) plugin.pre_unify();
  if (plugin.write_data) plugin.write_data();
  if (plugin.finalize) plugin.finalize();
  return 0;
}
