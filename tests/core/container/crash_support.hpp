// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A program whose container may be cut off anywhere, and a model of what it must then hold: a
/// script of operations for each step, which ranks carry out on a container and the model on plain
/// arrays. What a step leaves does not depend on the number of ranks.
#pragma once

#include <atomic>
#include <map>
#include <string>
#include <vector>

#include "core/container/container.hpp"
#include "tests/support/fault_file.hpp"
#include "tests/support/memory_file.hpp"

namespace bento::test {

enum class Act { kDeclare, kExtent, kRemove, kBarrier, kWrite };

/// One operation; all ranks carry out all but kWrite.
struct Op {
  Act act = Act::kBarrier;
  DatasetNumber dataset = 0;
  Dims extent = {};
  Box box = {};
  int rank = 0;               ///< who writes
  std::uint64_t variant = 0;  ///< of the values
};

/// What the program does in an absolute step, counted from 1.
std::vector<Op> script(std::uint64_t step, int ranks);

/// Elements of a box as the program writes them, row-major; never 0, which stands for fill.
std::vector<std::uint64_t> values_of(const Op& op, std::uint64_t step);

struct ModelDataset {
  Dims extent;
  std::vector<std::uint64_t> values;
};
using Model = std::map<DatasetNumber, ModelDataset>;

/// Everything after step `step`; 0 is an empty container.
Model model_at(std::uint64_t step);

/// Carries out one step without its commit; stops at the first error.
Status carry_out(Container& container, std::uint64_t step);
/// Carries out the writes among `ops` that belong to this rank. A failing one is added to `failed`.
void carry_out_writes(Container& container, std::uint64_t step, const std::vector<Op>& ops,
                      std::vector<Op>& failed);
/// All of the step, whatever fails.
void carry_out_all(Container& container, std::uint64_t step, std::vector<Op>& failed);

/// Compares a container, element by element, with the model and the skeleton of a step. Empty if
/// they are equal, else what is different first.
std::string difference(Container& container, std::uint64_t step);
/// Opens with `options`, compares, closes.
std::string difference(const ContainerOptions& options, std::uint64_t step);

/// What is known of a program when it is gone.
struct Life {
  std::atomic<std::uint64_t> committed = 0;  ///< last step whose commit returned on some rank
  std::atomic<std::uint64_t> attempted = 0;  ///< last step whose commit was begun
};

struct CrashSession {
  int ranks = 3;
  std::uint64_t steps = 4;
  bool closes = true;            ///< else it ends without a word after its last commit
  std::uint64_t view_pages = 0;  ///< of the native view that the close builds; 0: none
};

/// One session on thread ranks, a create if `first`. Communication breaks off on ranks that died:
/// `dead(rank)` says which. Returns the first rank's error.
Status live(const CrashSession& session, bool first,
            const std::function<ContainerOptions(int rank)>& options, Life& life,
            const std::function<bool(int rank)>& dead = {});

ContainerOptions crash_options(FileOpener opener);

MemoryFileSystem copy_of(const MemoryFileSystem& disk);

/// Faults in front of `disk`, which can lose names, too.
FaultFileSystem faults_over(const MemoryFileSystem& disk);

/// Everything that must hold of a closed container of `step`: content, streams, SION as a real
/// SIONlib wants it. Fails the running test.
void require_whole(const MemoryFileSystem& disk, std::uint64_t step);

}  // namespace bento::test
