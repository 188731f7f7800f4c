// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "element.hpp"
#include "octree.hpp"
#include "uniform.hpp"

namespace poisson {

const char* const kHelp =
    R"(poisson: solves -div(kappa grad u) = f in a box of cubes, and records each product of the matrix
with a vector (MatVec). kappa jumps in the middle. The exact solution is known.

mesh
  --elements X Y Z      elements along each axis of the whole box (32 32 32)
  --elements-per-rank X Y Z
                        instead: of each rank's block. The paper's 18,720 are 26 24 30
  --ranks X Y Z         blocks along each axis (as few shared faces as possible)
  --octree COARSEST FINEST
                        instead: the unit cube, in elements with edges from 2^-COARSEST to
                        2^-FINEST, the smallest ones where kappa jumps; hanging nodes between them
  --order K             of the elements, 1 to 8 (1)
  --jump F              kappa is 1 in the lower half along x, F in the upper half (1000)

how a rank hides messages behind its inner elements
  --method NAME         fixed: alpha of them stay before the mirror elements.
                        dynamic: alpha follows the waits (Algorithm 3 of the paper).
                        test: MPI_Testall says when the input is there; E1 ends then.
                        polled: as fixed, with the calls of test: what polls alone change.
                        gather-scatter: the vectors of the solver hold the ghosts, too, so that
                        both messages follow the mirror elements (fixed)
  --alpha A             share of the inner elements in E1, 0 to 1; the first one of dynamic (0.5)
  --eps SECONDS         dynamic: a shorter wait is none (5 % of the time that the inner elements
                        need on the slowest rank, for each level)
  --theta T             dynamic: weight of a new alpha (0.1)
  --cap C               dynamic: the most by which E1/E2 grows or shrinks at once (2)
  --poll-every M        test, polled: elements between two calls (a 64th of the inner ones)

solver
  --solver NAME         cg, or pipelined: PETSc's pipelined conjugate gradients (cg)
  --preconditioner NAME none, jacobi, or multigrid: geometric, Chebyshev-Jacobi smoothing, PETSc's
                        GAMG on the coarsest level (none)
  --levels N            of multigrid: elements halve along each axis (as many as possible, as
                        long as all ranks have about as many)
  --smoothing N         of multigrid: Chebyshev steps before and after each correction (2)
  --rtol R              the residual's norm at the end, relative to the first one (1e-8)
  --max-iterations N    (10000)
                        The environment variable PETSC_OPTIONS holds PETSc's own options

what is written
  --output DIRECTORY    matvec.<rank>.npy and study.json
  --matvecs N           solve again, from 0, until N MatVecs of the finest level are recorded;
                        later ones are not (one solve)
  --steps KIND          a step of perfield is a matvec (of the finest level), or an iteration
                        (matvec)
  --injected TEXT       says in study.json that TEXT injected latencies (the trace, if there is
                        one, of `perfield lab inject`)
  --matrix FILE         writes the matrix, column by column, as a NumPy file instead of solving:
                        for small meshes
)";

namespace {

class Words {
 public:
  Words(int argc, char** argv) : words_(argv + 1, argv + argc) {}
  bool empty() const { return at_ == words_.size(); }
  std::string next() { return words_[at_++]; }
  std::string text(const std::string& option) {
    if (empty()) throw Misuse(option + " needs a value, but the command ends there");
    return next();
  }
  long integer(const std::string& option, long least, long most = INT_MAX) {
    const std::string word = text(option);
    char* end;
    const long value = std::strtol(word.c_str(), &end, 10);
    if (word.empty() || *end) throw Misuse(option + " needs a whole number, not '" + word + "'");
    if (value < least)
      throw Misuse(option + " must be at least " + std::to_string(least) + ", not " + word);
    if (value > most)
      throw Misuse(option + " must be at most " + std::to_string(most) + ", not " + word);
    return value;
  }
  double real(const std::string& option) {
    const std::string word = text(option);
    char* end;
    const double value = std::strtod(word.c_str(), &end);
    if (word.empty() || *end || !std::isfinite(value))
      throw Misuse(option + " needs a number, not '" + word + "'");
    return value;
  }
  std::array<int, 3> three(const std::string& option) {
    std::array<int, 3> found;
    for (int& one : found) one = int(integer(option, 1));
    return found;
  }
  std::string choice(const std::string& option, const std::vector<std::string>& choices) {
    const std::string word = text(option);
    if (std::find(choices.begin(), choices.end(), word) != choices.end()) return word;
    std::string all;
    for (const std::string& one : choices)
      all += (all.empty() ? "" : &one == &choices.back() ? " or " : ", ") + one;
    throw Misuse(option + " is " + all + ", not '" + word + "'");
  }

 private:
  std::vector<std::string> words_;
  size_t at_ = 0;
};

void check(const Options& options, int n_ranks) {
  const auto& [x, y, z] = options.ranks;
  if (long(x) * y * z != n_ranks)
    throw Misuse("--ranks asks for " + std::to_string(x) + " x " + std::to_string(y) + " x " +
                 std::to_string(z) + " blocks, but there are " + std::to_string(n_ranks) +
                 " ranks; the product must be that number");
  if (!(options.splitting.alpha >= 0 && options.splitting.alpha <= 1))
    throw Misuse("--alpha is a share of the inner elements and must lie between 0 and 1");
  if (!(options.splitting.theta >= 0 && options.splitting.theta <= 1))
    throw Misuse("--theta is a weight and must lie between 0 and 1");
  if (!(options.splitting.cap >= 1)) throw Misuse("--cap must be at least 1");
  const auto [coarsest, finest] = options.octree;
  if (finest < coarsest || finest > finest_level)
    throw Misuse("--octree " + std::to_string(coarsest) + " " + std::to_string(finest) +
                 " is not possible: the finest level is from the coarsest one to " +
                 std::to_string(finest_level));
  if (options.order > highest_order)
    throw Misuse("--order is from 1 to " + std::to_string(highest_order) + ", not " +
                 std::to_string(options.order));
  if ((coarsest >= 0 || options.order > 1) && options.preconditioner == "multigrid")
    throw Misuse(
        "--preconditioner multigrid knows boxes of order 1 only: leave out --octree and --order, "
        "or choose --preconditioner jacobi");
  if (!(options.jump > 0)) throw Misuse("--jump must be more than 0: kappa is positive");
  if (!(options.rtol > 0)) throw Misuse("--rtol must be more than 0");
  if (options.gather_scatter && options.solver == "pipelined")
    throw Misuse(
        "--method gather-scatter has a solver of its own, without --solver pipelined: "
        "PETSc's vectors hold no ghosts");
  if (options.gather_scatter && options.preconditioner == "multigrid")
    throw Misuse(
        "--method gather-scatter has a solver of its own, without multigrid: choose "
        "--preconditioner none or jacobi");
  if (options.levels > 0 && options.preconditioner != "multigrid")
    throw Misuse("--levels needs --preconditioner multigrid");
}

}  // namespace

Options read_options(int argc, char** argv, int n_ranks) {
  Options options;
  bool elements = false;
  Words words(argc, argv);
  while (!words.empty()) {
    const std::string option = words.next();
    if (option == "--elements") {
      options.elements = words.three(option);
      elements = true;
    } else if (option == "--elements-per-rank") {
      options.elements_per_rank = words.three(option);
    } else if (option == "--ranks") {
      options.ranks = words.three(option);
    } else if (option == "--octree") {
      for (int& level : options.octree) level = int(words.integer(option, 0));
    } else if (option == "--order") {
      options.order = int(words.integer(option, 1));
    } else if (option == "--jump") {
      options.jump = words.real(option);
    } else if (option == "--method") {
      options.splitting.method =
          words.choice(option, {"fixed", "dynamic", "test", "polled", "gather-scatter"});
      options.gather_scatter = options.splitting.method == "gather-scatter";
    } else if (option == "--alpha") {
      options.splitting.alpha = words.real(option);
    } else if (option == "--eps") {
      options.splitting.eps_s = words.real(option);
      if (!(options.splitting.eps_s > 0)) throw Misuse("--eps must be more than 0 seconds");
    } else if (option == "--theta") {
      options.splitting.theta = words.real(option);
    } else if (option == "--cap") {
      options.splitting.cap = words.real(option);
    } else if (option == "--poll-every") {
      options.splitting.poll_every = int(words.integer(option, 1));
    } else if (option == "--solver") {
      options.solver = words.choice(option, {"cg", "pipelined"});
    } else if (option == "--preconditioner") {
      options.preconditioner = words.choice(option, {"none", "jacobi", "multigrid"});
    } else if (option == "--levels") {
      options.levels = int(words.integer(option, 1));
    } else if (option == "--smoothing") {
      options.smoothing = int(words.integer(option, 1));
    } else if (option == "--rtol") {
      options.rtol = words.real(option);
    } else if (option == "--max-iterations") {
      options.max_iterations = int(words.integer(option, 1));
    } else if (option == "--matvecs") {
      options.matvecs = words.integer(option, 1, LONG_MAX);
    } else if (option == "--output") {
      options.output = words.text(option);
    } else if (option == "--matrix") {
      options.matrix = words.text(option);
    } else if (option == "--steps") {
      options.steps = words.choice(option, {"matvec", "iteration"});
    } else if (option == "--injected") {
      options.injected = words.text(option);
    } else if (option == "--help" || option == "-h") {
      options.help = true;
      return options;
    } else {
      throw Misuse("'" + option + "' is not an option; --help lists them");
    }
  }
  const char* trace = std::getenv("PERFIELD_INJECT");
  if (options.injected.empty() && trace && *trace)
    options.injected = std::string("perfield lab inject, trace ") + trace;
  const bool per_rank = options.elements_per_rank[0] > 0, octree = options.octree[0] >= 0;
  if (octree && (per_rank || elements || options.ranks[0] > 0))
    throw Misuse(
        "--octree is a mesh of its own: leave out --elements, --elements-per-rank and --ranks");
  if (octree) options.ranks = {n_ranks, 1, 1};  // along the curve
  if (per_rank && elements)
    throw Misuse("--elements and --elements-per-rank say the same twice; leave one of them out");
  if (options.ranks[0] == 0)
    options.ranks =
        divided(n_ranks, per_rank ? std::array<int, 3>{options.elements_per_rank[0] * n_ranks,
                                                       options.elements_per_rank[1] * n_ranks,
                                                       options.elements_per_rank[2] * n_ranks}
                                  : options.elements);
  if (per_rank)
    for (size_t axis = 0; axis < 3; ++axis)
      options.elements[axis] = options.elements_per_rank[axis] * options.ranks[axis];
  check(options, n_ranks);
  return options;
}

}  // namespace poisson
