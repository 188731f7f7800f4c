// SPDX-License-Identifier: BSD-3-Clause
#include "solve.hpp"

#include <petscksp.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "multigrid.hpp"
#include "octree.hpp"
#include "products.hpp"

namespace poisson {

namespace {

constexpr double kNoWait = 0.05;  // of the time of the inner elements
constexpr double kShortestWaitS = 1e-6;
constexpr std::int64_t kMostInMatrix = 10000;  // nodes: 800 MB

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string quoted(const std::string& text) {
  std::string all = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') all += '\\';
    all += c == '\n' ? ' ' : c;
  }
  return all + '"';
}

template <class Numbers>
std::string listed(const Numbers& numbers) {
  std::ostringstream text;
  for (const auto& one : numbers) text << (text.tellp() ? ", " : "") << one;
  return "[" + text.str() + "]";
}

std::string times(const std::array<int, 3>& n) {
  return std::to_string(n[0]) + " x " + std::to_string(n[1]) + " x " + std::to_string(n[2]);
}

constexpr std::pair<Phase, const char*> kPhases[] = {{kPreSmoothing, "before a correction"},
                                                     {kResidual, "residual"},
                                                     {kPostSmoothing, "after a correction"},
                                                     {kEnergyProduct, "energy product"}};

std::string times_of(const Record::Mean& mean) {
  char text[160];
  std::snprintf(text, sizeof text,
                "T_in %.4g us (waits %.4g), T_out %.4g us (waits %.4g), alpha %.3g\n",
                mean.t_in * 1e6, mean.w_in * 1e6, mean.t_out * 1e6, mean.w_out * 1e6, mean.alpha);
  return text;
}

// Ends the solve when the record is full, and else as PETSc does.
struct Ending {
  const Record* record;
  void* petsc;
};

PetscErrorCode has_ended(KSP ksp, PetscInt iteration, PetscReal norm, KSPConvergedReason* reason,
                         void* context) {
  const auto* ending = static_cast<const Ending*>(context);
  PetscFunctionBeginUser;
  PetscCall(KSPConvergedDefault(ksp, iteration, norm, reason, ending->petsc));
  if (*reason == KSP_CONVERGED_ITERATING && ending->record->full()) *reason = KSP_CONVERGED_ITS;
  PetscFunctionReturn(0);
}

PetscErrorCode forget_ending(void* context) {
  auto* ending = static_cast<Ending*>(context);
  PetscFunctionBeginUser;
  PetscCall(KSPConvergedDefaultDestroy(ending->petsc));
  delete ending;
  PetscFunctionReturn(0);
}

PetscErrorCode iteration_ended(KSP, PetscInt iteration, PetscReal, void* show) {
  PetscFunctionBeginUser;
  if (iteration > 0) static_cast<Show*>(show)->iteration();
  PetscFunctionReturn(0);
}

int levels_of(const Options& options, const Box& box) {
  const int most = most_levels(box, false);
  if (options.levels > most)
    throw Misuse("--levels " + std::to_string(options.levels) + " is too many: " +
                 times(box.elements) + " elements make at most " + std::to_string(most) +
                 "; they must halve along each axis, with a multiple of 2 left along x");
  return options.levels > 0 ? options.levels : most_levels(box, true);
}

PetscErrorCode copy_to(Vec vector, const std::vector<double>& from, int n) {
  PetscScalar* to;
  PetscFunctionBeginUser;
  PetscCall(VecGetArrayWrite(vector, &to));
  std::copy_n(from.begin(), n, to);
  PetscCall(VecRestoreArrayWrite(vector, &to));
  PetscFunctionReturn(0);
}

}  // namespace

// What PETSc keeps between the solves.
struct Solver::PetscParts {
  std::unique_ptr<Product> product;
  std::unique_ptr<Multigrid> multigrid;
  KSP ksp = nullptr;
  Vec b = nullptr, x = nullptr;

  PetscErrorCode make(Solver& solver) {
    const Options& options = solver.options_;
    Level& finest = *solver.levels_[0];
    const bool multilevel = options.preconditioner == "multigrid";
    product = std::make_unique<Product>(finest.product, solver.splitting_of(0), solver.record_,
                                        solver.show_.get(), 0, multilevel ? kEnergyProduct : kNone);
    PetscFunctionBeginUser;
    PetscCall(MatCreateVecs(product->shell(), &x, &b));
    PetscCall(copy_to(b, solver.load_, finest.mesh.n_owned));
    PetscCall(KSPCreate(solver.comm_, &ksp));
    PetscCall(KSPSetType(ksp, options.solver == "pipelined" ? KSPPIPECG : KSPCG));
    PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
    PetscCall(KSPSetOperators(ksp, product->shell(), product->shell()));
    PetscCall(
        KSPSetTolerances(ksp, options.rtol, PETSC_DEFAULT, PETSC_DEFAULT, options.max_iterations));
    auto* ending = new Ending{&solver.record_, nullptr};
    PetscCall(KSPConvergedDefaultCreate(&ending->petsc));
    PetscCall(KSPSetConvergenceTest(ksp, has_ended, ending, forget_ending));
    PetscCall(KSPMonitorSet(ksp, iteration_ended, solver.show_.get(), nullptr));
    PC pc;
    PetscCall(KSPGetPC(ksp, &pc));
    if (multilevel) {
      multigrid = std::make_unique<Multigrid>(
          solver.levels_, [&solver](size_t level) { return solver.splitting_of(level); },
          solver.record_, solver.show_.get());
      PetscCall(multigrid->set_up(pc, options.smoothing));
    } else {
      PetscCall(PCSetType(pc, options.preconditioner == "jacobi" ? PCJACOBI : PCNONE));
    }
    PetscCall(KSPSetFromOptions(ksp));
    PetscFunctionReturn(0);
  }

  ~PetscParts() {
    KSPDestroy(&ksp);
    VecDestroy(&b);
    VecDestroy(&x);
  }
};

Solver::Solver(const Options& options, const Box& box, MPI_Comm comm)
    : options_(options),
      box_(box),
      comm_(comm),
      problem_(box.length(), options.jump),
      record_(options.matvecs ? options.matvecs : std::numeric_limits<std::int64_t>::max()) {
  MPI_Comm_rank(comm, &rank_);
  MPI_Comm_size(comm, &n_ranks_);
  const int n_levels = options.preconditioner == "multigrid" ? levels_of(options, box) : 1;
  if (is_octree()) {
    const auto [coarsest, finest] = options.octree;
    auto mesh = octree_mesh({coarsest, finest, box.order}, problem_.kappa, comm);
    levels_.push_back(std::make_unique<Level>(UniformMesh{std::move(mesh), box, {}}, comm));
  } else {
    Box one = box;
    one.grain = 1 << (n_levels - 1);
    for (int level = 0; level < n_levels; ++level) {
      levels_.push_back(std::make_unique<Level>(uniform_mesh(one, problem_.kappa, comm), comm));
      for (int& n : one.elements) n /= 2;
      one.grain /= 2;
    }
  }
  const Mesh& mesh = levels_[0]->mesh;
  const auto hangs = [](std::uint32_t code) { return code != 0; };
  n_elements_ = {mesh.n_elements, std::count_if(mesh.hanging.begin(), mesh.hanging.end(), hangs)};
  MPI_Allreduce(MPI_IN_PLACE, n_elements_.data(), 2, MPI_INT64_T, MPI_SUM, comm);
  set_eps();
  load_ = levels_[0]->product.load(problem_.load);
}

Solver::~Solver() = default;

void Solver::set_eps() {
  for (auto& level : levels_) {
    level->eps_s = options_.splitting.eps_s;
    if (level->eps_s > 0) continue;
    level->eps_s = std::max(kNoWait * level->product.inner_time_s(), kShortestWaitS);
    MPI_Allreduce(MPI_IN_PLACE, &level->eps_s, 1, MPI_DOUBLE, MPI_MAX, comm_);
  }
}

std::unique_ptr<Splitting> Solver::splitting_of(size_t level) const {
  SplittingOptions options = options_.splitting;
  if (options_.gather_scatter) options.method = "fixed";
  options.eps_s = levels_[level]->eps_s;
  return make_splitting(options);
}

void Solver::run() {
  show_ = std::make_unique<Show>(levels_[0]->mesh, options_.steps == "matvec");
  MPI_Barrier(comm_);
  record_.start();
  const auto start = std::chrono::steady_clock::now();
  do {
    const std::int64_t before = record_.n_finest();
    record_.next_solve();
    const Solved solved = solve_once();
    if (n_solves_++ == 0) {
      first_ = solved;
      error_ = levels_[0]->product.error(problem_.exact, u_.data());
    }
    if (record_.n_finest() == before) break;  // there is nothing to solve
  } while (options_.matvecs > 0 && !record_.full());
  seconds_ = seconds_since(start);
}

Solved Solver::solve_once() {
  Level& finest = *levels_[0];
  if (!options_.gather_scatter) return solve_with_petsc();
  if (!consistent_splitting_) {
    consistent_splitting_ = splitting_of(0);
    diagonal_ = options_.preconditioner == "jacobi" ? finest.product.diagonal()
                                                    : std::vector<double>(load_.size(), 1.0);
  }
  return consistent_cg(finest.product, *consistent_splitting_, record_, *show_, diagonal_, load_,
                       options_.rtol, options_.max_iterations, u_);
}

Solved Solver::solve_with_petsc() {
  Solved solved;
  const auto solve = [&]() -> PetscErrorCode {
    KSPConvergedReason reason;
    PetscInt iterations;
    PetscReal residual;
    const PetscScalar* from;
    PetscFunctionBeginUser;
    if (!petsc_) {
      petsc_ = std::make_unique<PetscParts>();
      PetscCall(petsc_->make(*this));
    }
    PetscCall(KSPSolve(petsc_->ksp, petsc_->b, petsc_->x));
    PetscCall(KSPGetConvergedReason(petsc_->ksp, &reason));
    PetscCall(KSPGetIterationNumber(petsc_->ksp, &iterations));
    PetscCall(KSPGetResidualNorm(petsc_->ksp, &residual));
    PetscCall(VecGetArrayRead(petsc_->x, &from));
    u_.assign(from, from + levels_[0]->mesh.n_owned);
    PetscCall(VecRestoreArrayRead(petsc_->x, &from));
    solved.iterations = int(iterations);
    solved.residual = residual;
    solved.converged = reason > 0 && reason != KSP_CONVERGED_ITS;
    solved.reason = solved.converged              ? "the residual is small enough"
                    : reason == KSP_CONVERGED_ITS ? "enough MatVecs are recorded"
                    : reason == KSP_DIVERGED_ITS  ? "it reached --max-iterations"
                                                  : KSPConvergedReasons[reason];
    PetscFunctionReturn(0);
  };
  PetscCallAbort(comm_, solve());
  return solved;
}

void Solver::write_matrix(const std::string& path) {
  Level& finest = *levels_[0];
  const UniformMesh& mesh = finest.mesh;
  if (mesh.all_nodes > kMostInMatrix)
    throw Misuse("--matrix would write " + std::to_string(mesh.all_nodes) +
                 " columns, but is for at most " + std::to_string(kMostInMatrix) +
                 "; take fewer elements");
  const auto splitting = splitting_of(0);
  const size_t all = size_t(mesh.all_nodes), n_local = load_.size();
  int mine = mesh.n_owned;
  std::vector<int> counts(static_cast<size_t>(n_ranks_)), begins(counts.size());
  MPI_Gather(&mine, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, comm_);
  for (size_t r = 1; r < counts.size(); ++r) begins[r] = begins[r - 1] + counts[r - 1];
  std::ofstream file;
  if (rank_ == 0) {
    file.open(path, std::ios::binary);
    const std::string shape = std::to_string(all);
    const std::string head = numpy_header("'<f8'", "(" + shape + ", " + shape + ")");
    file.write(head.data(), std::streamsize(head.size()));
  }
  std::vector<double> x(n_local), y(n_local), column(rank_ == 0 ? all : 0);
  MatVec one{};
  for (std::int64_t node = 0; node < mesh.all_nodes; ++node) {
    std::fill(x.begin(), x.end(), 0);
    const std::int64_t local = node - mesh.first_node;
    if (local >= 0 && local < mesh.n_owned) x[size_t(local)] = 1;
    if (options_.gather_scatter) {
      finest.product.exchange().update_ghosts(x.data());
      finest.product.gather_scatter(x.data(), y.data(), *splitting, record_, one);
    } else {
      finest.product.apply(x.data(), y.data(), *splitting, record_, one);
    }
    MPI_Gatherv(y.data(), mine, MPI_DOUBLE, column.data(), counts.data(), begins.data(), MPI_DOUBLE,
                0, comm_);
    if (rank_ == 0)
      file.write(reinterpret_cast<const char*>(column.data()), std::streamsize(8 * all));
  }
  int failed = rank_ == 0 && !file.flush();
  MPI_Bcast(&failed, 1, MPI_INT, 0, comm_);
  if (failed) throw Misuse("--matrix cannot write to " + path);
}

void Solver::write(const std::string& directory) const {
  std::error_code ignored;
  if (rank_ == 0) std::filesystem::create_directories(directory, ignored);
  MPI_Barrier(comm_);
  int failed = !record_.write(directory + "/matvec." + std::to_string(rank_) + ".npy");
  if (rank_ == 0) {
    std::vector<double> eps;
    for (const auto& level : levels_) eps.push_back(level->eps_s);
    const SplittingOptions& splitting = options_.splitting;
    std::ofstream file(directory + "/study.json");
    file.precision(17);
    file << "{\n  \"program\": \"poisson\",\n  \"method\": " << quoted(splitting.method)
         << ",\n  \"elements\": "
         << (is_octree() ? listed(std::array{n_elements_[0]}) : listed(box_.elements))
         << ",\n  \"ranks\": " << n_ranks_ << ",\n  \"blocks\": " << listed(box_.ranks)
         << ",\n  \"order\": " << box_.order
         << ",\n  \"octree\": " << (is_octree() ? listed(options_.octree) : "null")
         << ",\n  \"jump\": " << options_.jump << ",\n  \"alpha\": " << splitting.alpha
         << ",\n  \"eps\": " << eps[0] << ",\n  \"eps_of_levels\": " << listed(eps)
         << ",\n  \"theta\": " << splitting.theta << ",\n  \"cap\": " << splitting.cap
         << ",\n  \"poll_every\": " << splitting.poll_every
         << ",\n  \"solver\": " << quoted(options_.solver)
         << ",\n  \"preconditioner\": " << quoted(options_.preconditioner)
         << ",\n  \"levels\": " << levels_.size() << ",\n  \"smoothing\": " << options_.smoothing
         << ",\n  \"rtol\": " << options_.rtol << ",\n  \"solves\": " << n_solves_
         << ",\n  \"iterations\": " << first_.iterations
         << ",\n  \"converged\": " << (first_.converged ? "true" : "false")
         << ",\n  \"error_l2\": " << error_ << ",\n  \"seconds\": " << seconds_
         << ",\n  \"matvecs\": " << record_.n_finest()
         << ",\n  \"latencies_injected\": " << (options_.injected.empty() ? "false" : "true")
         << ",\n  \"injected_by\": " << quoted(options_.injected) << "\n}\n";
    failed |= !file.flush();
  }
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, comm_);
  if (failed)
    throw Misuse("the record cannot be written to " + directory +
                 "; choose another --output, or make room on its disk");
}

std::string Solver::in_words() const {
  std::ostringstream text;
  text << "poisson: " << (is_octree() ? std::to_string(n_elements_[0]) : times(box_.elements))
       << (n_elements_[0] == 1 ? " element of order " : " elements of order ") << box_.order
       << " on " << n_ranks_ << (n_ranks_ == 1 ? " rank (" : " ranks (");
  if (is_octree())
    text << "octree levels " << options_.octree[0] << " to " << options_.octree[1] << "; "
         << n_elements_[1] << " elements have hanging nodes";
  else
    text << times(box_.ranks);
  text << "), method " << options_.splitting.method << '\n';
  text << "first solve: " << first_.iterations << " iterations (" << first_.reason << "), residual "
       << first_.residual << ", error " << error_ << " in L2\n";
  text << "MatVecs of the finest level: " << record_.n_finest() << " in " << n_solves_
       << (n_solves_ == 1 ? " solve and " : " solves and ") << seconds_ << " s\n";
  text << "rank 0, in the mean of them: " << times_of(record_.mean(0));
  for (size_t level = 0; levels_.size() > 1 && level < levels_.size(); ++level)
    for (const auto& [phase, name] : kPhases)
      if (const Record::Mean mean = record_.mean(int(level), phase); mean.n > 0)
        text << "  level " << level << ", " << name << ", " << mean.n << ": " << times_of(mean);
  if (!options_.injected.empty())
    text << "latencies were injected by " << options_.injected << '\n';
  return text.str();
}

}  // namespace poisson
