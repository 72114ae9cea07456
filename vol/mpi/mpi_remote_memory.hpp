// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// RemoteMemory over one window of MPI to which memory is attached as it comes, in one passive
/// epoch from its beginning to its end. Whether MPI answers for a rank that makes no call it does
/// not promise: core/board/remote_probe.hpp tries that.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <mpi.h>
#include <sys/types.h>

#include "core/comm/remote_memory.hpp"
#include "core/io/private_descriptor.hpp"

namespace bento::vol {

class MpiRemoteMemory final : public RemoteMemory {
 public:
  /// Processes of this machine by rank: an Open MPI that reads memory of one that has died never
  /// comes back (4.1.4, cross-memory attach).
  using Processes = std::map<std::uint32_t, pid_t>;
  /// `timeout_s` 0 waits for ever. `here`: none need be known. Collective. Errors: kUnsupported
  /// (MPI has no such windows here, or what a rank stores is not what others read).
  static Result<std::unique_ptr<RemoteMemory>> open(MPI_Comm comm, double timeout_s,
                                                    Processes here);

  Status expose(std::byte* begin, std::uint64_t bytes) override;
  Status fetch(std::span<const RemotePart> parts) override;
  Status put(std::uint32_t rank, std::uint64_t address, std::span<const std::byte> bytes) override;
  [[nodiscard]] Status settled() const override;
  void close() override;

 private:
  MpiRemoteMemory(MPI_Win window, double timeout_s, Processes here)
      : window_(window), timeout_s_(timeout_s), here_(std::move(here)) {}

  Status usable() const;
  [[nodiscard]] Status alive(std::uint32_t rank, std::uint64_t address) const;
  Status begin(const RemotePart& part, std::byte* into);
  Status finish(std::uint32_t first_rank, bool and_others);
  tl::unexpected<Error> broken(std::string why);

  HomeProcess home_;  ///< a forked child makes no MPI call
  MPI_Win window_;
  double timeout_s_;
  Processes here_;
  std::string broken_;  ///< why no further call is tried; empty while all is well
  /// MPI writes here and not where the caller wants it: it may still do so after the deadline.
  std::unique_ptr<std::vector<std::byte>> landing_ = std::make_unique<std::vector<std::byte>>();
  /// And reads here what it puts, for the same reason.
  std::unique_ptr<std::vector<std::byte>> leaving_ = std::make_unique<std::vector<std::byte>>();
  std::vector<MPI_Request> requests_;
};

}  // namespace bento::vol
