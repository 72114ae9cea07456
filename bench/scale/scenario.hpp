// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What a rank of a parallel program does with one container, phase by phase, over whichever
/// communicator and files it is given: the simulation runs it on fibers, a test runs it under MPI
/// and compares what was sent.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/comm/communicator.hpp"
#include "core/container/container.hpp"

namespace bento::scale {

struct Scenario {
  std::string path;
  ContainerOptions options;
  unsigned datasets = 2;
  std::uint64_t elements = 1024;  ///< of 8 bytes, of each rank and dataset; irregular: at most
  bool irregular = false;  ///< boxes of chance size and owner in two dimensions; else equal slabs
  ViewBuilder view;        ///< of the close; empty: none
  std::span<const std::byte> skeleton;                ///< rank 0's at the first commit
  std::span<const std::array<std::byte, 16>> tokens;  ///< of the datasets in it
};

struct RankState {
  std::shared_ptr<Communicator> comm;
  FileOpener opener;
  std::unique_ptr<Container> container;
};

struct Phase {
  std::string_view name;
  Status (*run)(const Scenario& scenario, RankState& rank);
};
/// In the order in which they must run.
std::span<const Phase> phases();

/// Bytes that stand for an HDF5 file without data, where nobody reads them as one.
std::vector<std::byte> plain_skeleton(unsigned datasets);

/// What rank `rank` of `ranks` writes of a dataset.
Box box_of(const Scenario& scenario, unsigned dataset, std::uint64_t rank, std::uint64_t ranks);

}  // namespace bento::scale
