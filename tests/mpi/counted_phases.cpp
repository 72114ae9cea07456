// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The phases of bench/scale under MPI, with every message counted on its way into and out of MPI:
///   mpirun -n N counted_phases FILE slab|irregular
/// prints what `scale_sim --counts` prints of as many ranks. FILE is an absolute path.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <mpi.h>

#include "bench/scale/scenario.hpp"
#include "vol/mpi/mpi_comm.hpp"

namespace {

using namespace bento;

/// Of this rank, in the order in which they are gathered.
struct Counts {
  std::uint64_t sent = 0;
  std::uint64_t got = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_got = 0;
};
Counts counts;

}  // namespace

// The library's own stand behind these, with a P in front.
extern "C" int MPI_Isend(const void* buffer, int count, MPI_Datatype type, int to, int tag,
                         MPI_Comm comm, MPI_Request* request) {
  ++counts.sent;
  counts.bytes_sent += static_cast<std::uint64_t>(count);
  return PMPI_Isend(buffer, count, type, to, tag, comm, request);
}

extern "C" int MPI_Imrecv(void* buffer, int count, MPI_Datatype type, MPI_Message* message,
                          MPI_Request* request) {
  ++counts.got;
  counts.bytes_got += static_cast<std::uint64_t>(count);
  return PMPI_Imrecv(buffer, count, type, message, request);
}

namespace {

void print(int ranks, std::string_view phase, const std::vector<Counts>& all) {
  Counts sum;
  std::uint64_t most_messages = 0;
  std::uint64_t most_bytes = 0;
  for (const auto& one : all) {
    sum.sent += one.sent;
    sum.bytes_sent += one.bytes_sent;
    most_messages = std::max(most_messages, one.sent + one.got);
    most_bytes = std::max(most_bytes, one.bytes_sent + one.bytes_got);
  }
  std::printf(
      "%d ranks, %.*s: %llu %llu %llu %llu %llu %llu\n", ranks, static_cast<int>(phase.size()),
      phase.data(), static_cast<unsigned long long>(all[0].sent),
      static_cast<unsigned long long>(all[0].bytes_sent),
      static_cast<unsigned long long>(most_messages), static_cast<unsigned long long>(most_bytes),
      static_cast<unsigned long long>(sum.sent), static_cast<unsigned long long>(sum.bytes_sent));
}

int run(const std::string& path, bool irregular) {
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm ours = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &ours);
  auto taken = vol::MpiCommunicator::take(ours, 60, "box.h5");
  if (!taken) return 1;
  scale::Scenario scenario;
  scenario.path = path;
  scenario.irregular = irregular;
  const std::vector<std::byte> skeleton = scale::plain_skeleton(scenario.datasets);
  scenario.skeleton = skeleton;
  scale::RankState state{std::shared_ptr<Communicator>(std::move(*taken)), &open_posix_file, {}};
  for (const auto& phase : scale::phases()) {
    PMPI_Barrier(MPI_COMM_WORLD);
    counts = {};
    const Status done = phase.run(scenario, state);
    const Counts mine = counts;
    if (!done) {
      std::fprintf(stderr, "rank %d, %.*s: %s\n", rank, static_cast<int>(phase.name.size()),
                   phase.name.data(), done.error().text.c_str());
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    std::vector<Counts> all(static_cast<std::size_t>(ranks));
    PMPI_Gather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (rank == 0) print(ranks, phase.name, all);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const bool known =
      argc == 3 && (argv[2] == std::string("slab") || argv[2] == std::string("irregular"));
  if (!known) std::fprintf(stderr, "usage: counted_phases FILE slab|irregular\n");
  const int result = known ? run(argv[1], argv[2] == std::string("irregular")) : 2;
  MPI_Finalize();
  return result;
}
