// SPDX-License-Identifier: BSD-3-Clause
//
// ways_out.cpp - a program that does one unusual thing in each of ten steps: `fork` (children that
// measure, end, or run on), `exec` (children that become another program, and at the end this one
// does), `dlclose` (a library whose functions are regions goes and comes back) or `longjmp` (out of
// nested regions). Prints the answer and ends with 7. Usage: ways_out WAY LIBRARY
#include <dlfcn.h>
#include <setjmp.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "perfield.h"

extern char** environ;
static jmp_buf back;

static void wait_for(pid_t child) {
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0) exit(3);
}

static void fork_children() {
  for (int kind = 0; kind < 3; ++kind) {
    const pid_t child = fork();
    if (child == 0) {
      perfield_begin("solve");
      perfield_step(1000, 0.0);
      perfield_end("solve");
      if (kind == 0) _exit(0);
      if (kind == 1) perfield_finalize();
      exit(0);
    }
    wait_for(child);
  }
}

static void run_others() {
  const pid_t child = fork();
  if (child == 0) execlp("true", "true", nullptr);
  wait_for(child);
  pid_t spawned;
  char name[] = "true";
  char* words[] = {name, nullptr};
  if (posix_spawnp(&spawned, "true", nullptr, nullptr, words, environ)) exit(4);
  wait_for(spawned);
  if (system("true")) exit(5);
}

static void load_and_close(const char* path) {
  void* library = dlopen(path, RTLD_NOW);
  void (*const solve)() =
      library ? reinterpret_cast<void (*)()>(dlsym(library, "plugin")) : nullptr;
  if (!solve) exit(6);
  solve();
  dlclose(library);
}

static void dive(int levels) {
  perfield_begin("deep");
  if (levels == 0) longjmp(back, 1);
  if (levels > 0) dive(levels - 1);
  perfield_end("deep");
}

int main(int, char** words) {
  const std::string way = words[1];
  perfield_initialize();
  for (volatile int step = 0; step < 10; ++step) {
    perfield_begin("solve");
    if (way == "fork") fork_children();
    if (way == "exec") run_others();
    if (way == "dlclose") load_and_close(words[2]);
    if (way == "longjmp" && !setjmp(back)) dive(300);
    perfield_end("solve");
    perfield_step(step, 0.0);
  }
  puts("the answer is 42");
  fflush(stdout);
  if (way == "exec") execlp("sh", "sh", "-c", "exit 7", nullptr);
  return 7;
}
