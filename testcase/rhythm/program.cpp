// SPDX-License-Identifier: BSD-3-Clause
#include "program.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <perfield.hpp>

namespace rhythm {

namespace {

constexpr double kStartS = 0.1;  // after the barrier: the last rank has left it by then

double now_s(clockid_t clock = CLOCK_MONOTONIC) {
  timespec now;
  clock_gettime(clock, &now);
  return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}

void sleep_for(double seconds) {
  timespec left{time_t(seconds), long((seconds - double(time_t(seconds))) * 1e9)};
  while (nanosleep(&left, &left) != 0) {
  }
}

// Returns on all ranks at about the same time. After a barrier alone, ranks that share a core
// leave one after the other, and in a chain such differences stay. Nodes differ by their clocks;
// where these are far apart, the barrier must do.
void start_together() {
  MPI_Barrier(MPI_COMM_WORLD);
  double start = now_s(CLOCK_REALTIME) + kStartS;
  MPI_Bcast(&start, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  const double left = start - now_s(CLOCK_REALTIME);
  if (left > 0 && left <= kStartS) sleep_for(left);
}

// splitmix64 (Steele, Lea and Flood, 2014) of two numbers.
uint64_t hash(uint64_t x, uint64_t key) {
  x += 0x9e3779b97f4a7c15 * (key + 1);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// Exponentially distributed with mean 1; the same for equal seed, step and rank.
double random(uint64_t seed, int step, int rank) {
  const uint64_t bits = hash(hash(seed, uint64_t(step)), uint64_t(rank));
  return -std::log1p(-double(bits >> 11) * 0x1p-53);
}

class Loop {
 public:
  Loop(const Options& options, Ranks ranks, Exchange& exchange, Work& work)
      : options_(options), ranks_(ranks), exchange_(exchange), work_(work) {
    const double place = ranks.size > 1 ? double(ranks.rank) / (ranks.size - 1) : 0;
    sleep_s_ = options.sleep_s * (1 + options.unequal * place);
  }

  void step(int number) {
    const double begin = now_s();
    if (work_.receives_first()) receive(number);
    delay(number);
    if (sleeps()) {
      perfield::Region measured(timed_sleep_);
      sleep_for(sleep_s_ + noise_s(number));
    } else {
      {
        perfield::Region measured(region_of_work_);
        work_.work(number);
      }
      add_noise(number);
    }
    exchange(number);
    durations_.push_back(now_s() - begin);
    perfield_step(number, number);
  }

 private:
  void receive(int number) {
    perfield::Region measured(region_of_exchange_);
    exchange_.receive(number);
    if (!sleeps()) work_.after_receiving(exchange_, number);
  }

  void exchange(int number) {
    perfield::Region measured(region_of_exchange_);
    if (!sleeps()) work_.before_sending(exchange_);
    if (work_.receives_first()) {
      exchange_.send(number);
      return;
    }
    exchange_.all(number);
    if (!sleeps()) work_.after_receiving(exchange_, number);
  }

  bool sleeps() const { return options_.sleep_s > 0; }

  double period_s() {
    if (sleeps()) return options_.sleep_s;
    if (durations_.empty()) return 0;
    const auto middle = durations_.begin() + long(durations_.size() / 2);
    std::nth_element(durations_.begin(), middle, durations_.end());
    return *middle;
  }

  double noise_s(int number) {
    if (options_.noise == 0) return 0;
    return options_.noise * period_s() * random(options_.seed, number, ranks_.rank);
  }

  void add_noise(int number) {
    if (options_.noise == 0) return;
    perfield::Region measured(injected_noise_);
    sleep_for(noise_s(number));
  }

  void delay(int number) {
    for (const Delay& one : options_.delays) {
      if (one.rank != ranks_.rank || one.step != number) continue;
      perfield::Region measured(injected_delay_);
      sleep_for(one.periods * period_s());
    }
  }

  const Options& options_;
  const Ranks ranks_;
  Exchange& exchange_;
  Work& work_;
  double sleep_s_;
  std::vector<double> durations_;
  const perfield_region timed_sleep_ = sleeps() ? perfield::region("timed_sleep") : 0;
  const perfield_region region_of_work_ = sleeps() ? 0 : perfield::region("work");
  const perfield_region region_of_exchange_ = perfield::region("exchange");
  const perfield_region injected_noise_ = perfield::region("injected_noise");
  const perfield_region injected_delay_ = perfield::region("injected_delay");
};

// Prints on rank 0; returns whether all is right.
bool report(const Program& program, const Options& options, Ranks ranks, const Exchange& exchange,
            Work& work) {
  const long mine[2] = {exchange.received(), exchange.wrong()};
  long all[2];
  MPI_Allreduce(mine, all, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  const Result result = options.sleep_s > 0
                            ? Result{"computed nothing: its work was a timed sleep", true}
                            : work.result(options.steps);
  if (ranks.rank == 0) {
    std::printf("%s: %d steps on %d ranks; %s\n", program.name, options.steps, ranks.size,
                result.text.c_str());
    std::printf("messages: %ld arrived, %ld of them from the wrong rank or step\n", all[0], all[1]);
  }
  return result.right && all[1] == 0;
}

}  // namespace

unsigned long long checksum(const double* numbers, size_t n, uint64_t first) {
  uint64_t sum = 0;
  for (size_t i = 0; i < n; ++i) {
    uint64_t bits;
    std::memcpy(&bits, &numbers[i], sizeof bits);
    sum += hash(bits, first + i);
  }
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  return sum;
}

int run(int argc, char** argv, const Program& program) {
  MPI_Init(&argc, &argv);
  Ranks ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &ranks.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks.size);
  int status = 0;
  try {
    const Options options = read_options(argc, argv, ranks.size, program.defaults, program.can_lag);
    if (options.help) {
      if (ranks.rank == 0) std::printf("%s %s\n%s", program.name, program.about, kHelp);
    } else {
      const std::unique_ptr<Work> work = program.start(options, ranks);
      Exchange exchange(options, work->numbers(), ranks.rank, ranks.size);
      Loop loop(options, ranks, exchange, *work);
      exchange.rehearse();
      start_together();
      perfield_initialize();
      for (int number = 1; number <= options.steps; ++number) loop.step(number);
      status = report(program, options, ranks, exchange, *work) ? 0 : 1;
    }
  } catch (const Misuse& misuse) {  // on all ranks alike
    status = 2;
    if (ranks.rank == 0) std::fprintf(stderr, "%s: %s.\n", program.name, misuse.what());
  }
  MPI_Finalize();
  return status;
}

}  // namespace rhythm
