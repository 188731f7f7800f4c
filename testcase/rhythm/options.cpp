// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>

namespace rhythm {

const char* const kHelp = R"(
A step works, then exchanges messages with the partners. Nothing else couples the ranks: no
barrier, no collective.

what a step does
  --steps N             steps (100)
  --size N              size of one rank's work, in the unit named above
  --sleep SECONDS       sleep this long in each step instead of working, so that many ranks can
                        share a core. The run's data says so: region `timed_sleep`, not `work`
  --unequal F           with --sleep: the last rank works 1 + F times as long as rank 0, those
                        between in proportion. With --topology none the ranks drift apart

who sends to whom
  --topology KIND       chain (the ends have no partner), ring, or none (no messages); (chain)
  --send-to OFFSETS     rank i sends to i + each offset: 1 is one-directional, 1,-1 is
                        bidirectional, 1,-1,-2 and others reach farther (1)
  --bytes N             size of a message, at least 16 (what the program needs). MPI
                        sends a short message eagerly: the sender goes on. For a long one sender
                        and receiver meet (rendezvous). README.md says from which size on
  --waits               wait for each message by its own MPI_Wait, not for all by one MPI_Waitall

what disturbs
  --delay RANK STEP PERIODS
                        this rank sleeps for so many periods before its work in this step (steps
                        count from 1); may be given several times. Region `injected_delay`. A
                        period is SECONDS with --sleep, else the median of the rank's steps so
                        far, so STEP must then be at least 4
  --noise F             each step takes longer by F periods on average, at random
                        (exponentially distributed, independent of other ranks and steps). It
                        lengthens `timed_sleep`; beside real work, it is `injected_noise`
  --seed N              another number, other noise (1)
)";

namespace {

constexpr long kSmallestMessage = 16;  // the sender's rank and step
constexpr int kFirstKnownPeriod = 4;   // the first step with a median of three before it

class Words {
 public:
  Words(int argc, char** argv) : words_(argv + 1, argv + argc) {}
  bool empty() const { return at_ == words_.size(); }
  std::string next(const std::string& option, const char* what) {
    if (empty()) throw Misuse(option + " needs " + what + ", but the command ends there");
    return words_[at_++];
  }
  std::string next() { return words_[at_++]; }

 private:
  std::vector<std::string> words_;
  size_t at_ = 0;
};

long integer(const std::string& word, const std::string& option) {
  char* end;
  const long value = std::strtol(word.c_str(), &end, 10);
  if (word.empty() || *end) throw Misuse(option + " needs a whole number, not '" + word + "'");
  return value;
}

double real(const std::string& word, const std::string& option) {
  char* end;
  const double value = std::strtod(word.c_str(), &end);
  if (word.empty() || *end) throw Misuse(option + " needs a number, not '" + word + "'");
  return value;
}

std::vector<int> offsets(const std::string& word, const std::string& option) {
  std::vector<int> found;
  for (size_t at = 0; at <= word.size();) {
    const size_t comma = std::min(word.find(',', at), word.size());
    found.push_back(int(integer(word.substr(at, comma - at), option)));
    if (!found.back()) throw Misuse(option + " 0 would make each rank send to itself; leave 0 out");
    at = comma + 1;
  }
  return found;
}

Topology topology(const std::string& word) {
  static const std::map<std::string, Topology> known = {
      {"chain", Topology::chain}, {"ring", Topology::ring}, {"none", Topology::none}};
  const auto found = known.find(word);
  if (found == known.end())
    throw Misuse("--topology '" + word + "' is unknown; choose chain, ring or none");
  return found->second;
}

void check_delay(const Delay& delay, const Options& options, int n_ranks) {
  if (delay.rank < 0 || delay.rank >= n_ranks)
    throw Misuse("--delay names rank " + std::to_string(delay.rank) + ", but the ranks are 0 to " +
                 std::to_string(n_ranks - 1));
  const int first = options.sleep_s > 0 ? 1 : kFirstKnownPeriod;
  if (delay.step < first || delay.step > options.steps)
    throw Misuse("--delay names step " + std::to_string(delay.step) + ", but must name one of " +
                 std::to_string(first) + " to " + std::to_string(options.steps) +
                 (first > 1 ? " (the steps before it show how long a period is)" : ""));
  if (!(delay.periods > 0)) throw Misuse("--delay needs more than 0 periods");
}

void check(const Options& options, int n_ranks) {
  if (options.steps < 1) throw Misuse("--steps must be at least 1");
  if (options.bytes && options.bytes < kSmallestMessage)
    throw Misuse("--bytes must be at least 16: a message holds its sender's rank and step");
  if (!(options.noise >= 0)) throw Misuse("--noise must not be negative");
  if (!(options.unequal >= 0)) throw Misuse("--unequal must not be negative");
  if (options.unequal > 0 && !(options.sleep_s > 0))
    throw Misuse("--unequal needs --sleep SECONDS: real work is the same on all ranks");
  for (const Delay& delay : options.delays) check_delay(delay, options, n_ranks);
  bool reaches = options.topology == Topology::none || n_ranks == 1;
  for (int offset : options.send_to)
    reaches |=
        options.topology == Topology::ring ? offset % n_ranks != 0 : std::abs(offset) < n_ranks;
  if (!reaches)
    throw Misuse("--send-to reaches no other rank of " + std::to_string(n_ranks) +
                 "; use smaller offsets, more ranks, or --topology none");
}

}  // namespace

Options read_options(int argc, char** argv, int n_ranks, const Options& defaults, bool can_lag) {
  Options options = defaults;
  bool sized = false;
  Words words(argc, argv);
  while (!words.empty()) {
    const std::string option = words.next();
    const auto number = [&] { return integer(words.next(option, "a whole number"), option); };
    const auto value = [&] { return real(words.next(option, "a number"), option); };
    if (option == "--steps") {
      options.steps = int(number());
    } else if (option == "--size") {
      if ((options.size = number()) < 1) throw Misuse("--size must be at least 1");
      sized = true;
    } else if (option == "--columns" && defaults.columns) {
      if ((options.columns = number()) < 1) throw Misuse("--columns must be at least 1");
    } else if (option == "--lagged" && can_lag) {
      options.lagged = true;
    } else if (option == "--topology") {
      options.topology = topology(words.next(option, "chain, ring or none"));
    } else if (option == "--send-to") {
      options.send_to = offsets(words.next(option, "offsets, like 1,-1"), option);
    } else if (option == "--bytes") {
      if ((options.bytes = number()) < 1) throw Misuse("--bytes must be at least 16");
    } else if (option == "--waits") {
      options.wait_for_each = true;
    } else if (option == "--delay") {
      const int rank = int(integer(words.next(option, "RANK STEP PERIODS"), option));
      const int step = int(integer(words.next(option, "STEP PERIODS, too"), option));
      options.delays.push_back({rank, step, real(words.next(option, "PERIODS, too"), option)});
    } else if (option == "--noise") {
      options.noise = value();
    } else if (option == "--seed") {
      options.seed = uint64_t(number());
    } else if (option == "--sleep") {
      if (!((options.sleep_s = value()) > 0)) throw Misuse("--sleep needs more than 0 seconds");
    } else if (option == "--unequal") {
      options.unequal = value();
    } else if (option == "--help" || option == "-h") {
      options.help = true;
      return options;
    } else {
      throw Misuse("'" + option + "' is not an option; --help lists them");
    }
  }
  check(options, n_ranks);
  if (options.sleep_s > 0) {
    if (sized) throw Misuse("--size means nothing with --sleep; leave one of them out");
    options.size = 1;  // the arrays of work that is not done
  }
  return options;
}

}  // namespace rhythm
