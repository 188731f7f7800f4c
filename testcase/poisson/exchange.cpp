// SPDX-License-Identifier: BSD-3-Clause
#include "exchange.hpp"

namespace poisson {

namespace {

constexpr int kInputTag = 1, kOutputTag = 2;

template <class Nodes>
std::vector<size_t> begins(const std::vector<Neighbour>& neighbours, Nodes nodes) {
  std::vector<size_t> begin = {0};
  for (const Neighbour& neighbour : neighbours)
    begin.push_back(begin.back() + (neighbour.*nodes).size());
  return begin;
}

}  // namespace

Exchange::Exchange(const Mesh& mesh, MPI_Comm comm)
    : mesh_(mesh),
      comm_(comm),
      ghosts_begin_(begins(mesh.neighbours, &Neighbour::receive)),
      shared_begin_(begins(mesh.neighbours, &Neighbour::send)),
      ghosts_in_(ghosts_begin_.back()),
      ghosts_out_(ghosts_begin_.back()),
      shared_in_(shared_begin_.back()),
      shared_out_(shared_begin_.back()) {
  input_.reserve(mesh.neighbours.size());
  output_.reserve(3 * mesh.neighbours.size());
}

void Exchange::start_input(const double* local) {
  input_.clear();
  for (size_t n = 0; n < mesh_.neighbours.size(); ++n) {
    const Neighbour& neighbour = mesh_.neighbours[n];
    if (neighbour.receive.empty()) continue;
    input_.emplace_back();
    MPI_Irecv(&ghosts_in_[ghosts_begin_[n]], int(neighbour.receive.size()), MPI_DOUBLE,
              neighbour.rank, kInputTag, comm_, &input_.back());
  }
  for (size_t n = 0; n < mesh_.neighbours.size(); ++n) {
    const Neighbour& neighbour = mesh_.neighbours[n];
    if (neighbour.send.empty()) continue;
    double* out = &shared_out_[shared_begin_[n]];
    for (int node : neighbour.send) *out++ = local[node];
    output_.emplace_back();
    MPI_Isend(&shared_out_[shared_begin_[n]], int(neighbour.send.size()), MPI_DOUBLE,
              neighbour.rank, kInputTag, comm_, &output_.back());
  }
}

bool Exchange::input_arrived() {
  int all = 0;
  MPI_Testall(int(input_.size()), input_.data(), &all, MPI_STATUSES_IGNORE);
  return all != 0;
}

void Exchange::wait_input() { MPI_Waitall(int(input_.size()), input_.data(), MPI_STATUSES_IGNORE); }

void Exchange::take_input(double* local) const {
  const double* in = ghosts_in_.data();
  for (const Neighbour& neighbour : mesh_.neighbours)
    for (int node : neighbour.receive) local[node] = *in++;
}

void Exchange::expect_output() {
  for (size_t n = 0; n < mesh_.neighbours.size(); ++n) {
    const Neighbour& neighbour = mesh_.neighbours[n];
    if (neighbour.send.empty()) continue;
    output_.emplace_back();
    MPI_Irecv(&shared_in_[shared_begin_[n]], int(neighbour.send.size()), MPI_DOUBLE, neighbour.rank,
              kOutputTag, comm_, &output_.back());
  }
}

void Exchange::start_output(const double* local) {
  for (size_t n = 0; n < mesh_.neighbours.size(); ++n) {
    const Neighbour& neighbour = mesh_.neighbours[n];
    if (neighbour.receive.empty()) continue;
    double* out = &ghosts_out_[ghosts_begin_[n]];
    for (int node : neighbour.receive) *out++ = local[node];
    output_.emplace_back();
    MPI_Isend(&ghosts_out_[ghosts_begin_[n]], int(neighbour.receive.size()), MPI_DOUBLE,
              neighbour.rank, kOutputTag, comm_, &output_.back());
  }
}

void Exchange::wait_output() {
  MPI_Waitall(int(output_.size()), output_.data(), MPI_STATUSES_IGNORE);
  output_.clear();
}

void Exchange::add_output(double* local) const {
  const double* in = shared_in_.data();
  for (const Neighbour& neighbour : mesh_.neighbours)
    for (int node : neighbour.send) local[node] += *in++;
}

void Exchange::update_ghosts(double* local) {
  start_input(local);
  wait_input();
  take_input(local);
  wait_output();  // what was sent
}

void Exchange::sum_to_owners(double* local) {
  expect_output();
  start_output(local);
  wait_output();
  add_output(local);
}

}  // namespace poisson
