// SPDX-License-Identifier: BSD-3-Clause
#include "operator.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

namespace poisson {

namespace {

std::vector<int> nodes_of_mirrors(const Mesh& mesh) {
  const size_t per_element = mesh.n_elements ? mesh.nodes.size() / size_t(mesh.n_elements) : 0;
  std::vector<int> nodes(mesh.nodes.begin() + long(size_t(mesh.first_mirror) * per_element),
                         mesh.nodes.end());
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

}  // namespace

Operator::Operator(const Mesh& mesh, const Kernel& kernel, MPI_Comm comm)
    : mesh_(mesh),
      kernel_(kernel),
      comm_(comm),
      exchange_(mesh, comm),
      mirror_nodes_(nodes_of_mirrors(mesh)),
      input_(size_t(mesh.n_owned + mesh.n_ghosts)),
      mirror_(size_t(mesh.n_owned + mesh.n_ghosts)) {}

// E1: returns how many elements it has.
int Operator::inner_elements(const Parts& parts, double* y, MatVec& one) {
  const int every = parts.poll_every > 0 ? parts.poll_every : std::max(parts.n_first, 1);
  bool arrived = false;
  int done = 0;
  while (done < parts.n_first) {
    const int next = std::min(parts.n_first, done + every);
    kernel_.apply(done, next, input_.data(), y);
    done = next;
    if (parts.poll_every == 0 || arrived) continue;
    ++one.n_polls;
    arrived = exchange_.input_arrived();
    if (arrived && parts.ends_on_arrival) break;
  }
  return done;
}

void Operator::finish_fixed(const double* x, double* y, int n) const {
  for (int node = 0; node < n; ++node)
    if (mesh_.fixed[size_t(node)]) y[node] = x[node];
}

// The inner elements add to y in their order, whatever the splitting. The mirror elements add to an
// array of their own, which joins y at the end: so the order of additions is always the same.
void Operator::apply(const double* x, double* y, Splitting& splitting, const Record& record,
                     MatVec& one) {
  const int n_inner = mesh_.first_mirror;
  const Parts parts = splitting.next(n_inner);
  one.alpha = splitting.alpha();
  one.n_polls = 0;
  for (int node = 0; node < mesh_.n_owned; ++node) {
    input_[size_t(node)] = mesh_.fixed[size_t(node)] ? 0 : x[node];
    y[node] = 0;
  }
  for (int node : mirror_nodes_) mirror_[size_t(node)] = 0;
  exchange_.start_input(input_.data());
  exchange_.expect_output();

  const double start = record.now_s();
  {
    perfield::Region measured(first_);
    one.n_inner1 = inner_elements(parts, y, one);
  }
  const double first_done = record.now_s();
  {
    perfield::Region measured(wait_in_);
    exchange_.wait_input();
  }
  const double input_here = record.now_s();
  {
    perfield::Region measured(mirror_region_);
    exchange_.take_input(input_.data());
    kernel_.apply(n_inner, mesh_.n_elements, input_.data(), mirror_.data());
    exchange_.start_output(mirror_.data());
  }
  const double mirror_done = record.now_s();
  {
    perfield::Region measured(second_);
    kernel_.apply(one.n_inner1, n_inner, input_.data(), y);
  }
  const double second_done = record.now_s();
  {
    perfield::Region measured(wait_out_);
    exchange_.wait_output();
  }
  const double end = record.now_s();
  for (int node : mirror_nodes_)
    if (node < mesh_.n_owned) y[node] += mirror_[size_t(node)];
  exchange_.add_output(y);
  finish_fixed(x, y, mesh_.n_owned);

  one.t_start = start;
  one.t_in = input_here - start;
  one.w_in = input_here - first_done;
  one.t_mirror = mirror_done - input_here;
  one.t_out = end - mirror_done;
  one.w_out = end - second_done;
  one.n_inner2 = n_inner - one.n_inner1;
  one.n_mirror = mesh_.n_elements - n_inner;
  one.n_partners = exchange_.n_partners();
  splitting.learn(one.n_inner1, n_inner, one.w_in, one.w_out);
  if (parts.ends_on_arrival) one.alpha = splitting.alpha();
}

void Operator::gather_scatter(const double* x, double* y, Splitting& splitting,
                              const Record& record, MatVec& one) {
  const int n_local = mesh_.n_owned + mesh_.n_ghosts, n_inner = mesh_.first_mirror;
  one.alpha = splitting.alpha();
  one.n_polls = 0;
  one.n_inner1 = splitting.next(n_inner).n_first;
  for (int node = 0; node < n_local; ++node) {
    input_[size_t(node)] = mesh_.fixed[size_t(node)] ? 0 : x[node];
    y[node] = 0;
  }
  for (int node : mirror_nodes_) mirror_[size_t(node)] = 0;
  exchange_.expect_output();

  const double begin = record.now_s();
  {
    perfield::Region measured(mirror_region_);
    kernel_.apply(n_inner, mesh_.n_elements, input_.data(), mirror_.data());
    exchange_.start_output(mirror_.data());
  }
  const double start = record.now_s();
  {
    perfield::Region measured(first_);
    kernel_.apply(0, one.n_inner1, input_.data(), y);
  }
  const double first_done = record.now_s();
  {
    perfield::Region measured(wait_out_);
    exchange_.wait_output();
  }
  const double output_here = record.now_s();
  exchange_.add_output(mirror_.data());  // inner elements add nothing to nodes that are shared
  exchange_.start_input(mirror_.data());
  const double second_start = record.now_s();
  {
    perfield::Region measured(second_);
    kernel_.apply(one.n_inner1, n_inner, input_.data(), y);
  }
  const double second_done = record.now_s();
  {
    perfield::Region measured(wait_in_);
    exchange_.wait_input();
  }
  const double end = record.now_s();
  exchange_.wait_output();  // the sums that were sent
  exchange_.take_input(mirror_.data());
  for (int node : mirror_nodes_) y[node] += mirror_[size_t(node)];
  finish_fixed(x, y, n_local);

  one.t_start = start;
  one.t_out = output_here - start;
  one.w_out = output_here - first_done;
  one.t_in = end - second_start;
  one.w_in = end - second_done;
  one.t_mirror = (start - begin) + (second_start - output_here);
  one.n_inner2 = n_inner - one.n_inner1;
  one.n_mirror = mesh_.n_elements - n_inner;
  one.n_partners = exchange_.n_partners();
}

std::vector<double> Operator::diagonal() {
  std::vector<double> all(input_.size());
  kernel_.add_diagonal(all.data());
  exchange_.sum_to_owners(all.data());
  exchange_.update_ghosts(all.data());
  for (size_t node = 0; node < all.size(); ++node)
    if (mesh_.fixed[node]) all[node] = 1;
  return all;
}

std::vector<double> Operator::load(const Function& f) {
  std::vector<double> all(input_.size());
  kernel_.add_load(f, all.data());
  exchange_.sum_to_owners(all.data());
  exchange_.update_ghosts(all.data());
  for (size_t node = 0; node < all.size(); ++node)
    if (mesh_.fixed[node]) all[node] = 0;
  return all;
}

double Operator::error(const Function& exact, const double* u) {
  std::vector<double> all(u, u + mesh_.n_owned);
  all.resize(input_.size());
  exchange_.update_ghosts(all.data());
  double squared = kernel_.squared_error(exact, all.data());
  MPI_Allreduce(MPI_IN_PLACE, &squared, 1, MPI_DOUBLE, MPI_SUM, comm_);
  return std::sqrt(squared);
}

double Operator::inner_time_s() {
  constexpr int kTimes = 5;
  double shortest = std::numeric_limits<double>::infinity();
  for (int time = 0; time < kTimes; ++time) {
    const auto start = std::chrono::steady_clock::now();
    kernel_.apply(0, mesh_.first_mirror, input_.data(), mirror_.data());
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    shortest = std::min(shortest, taken.count());
  }
  return shortest;
}

}  // namespace poisson
