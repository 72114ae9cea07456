// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Communicator over MPI. Messages go point to point along a binomial tree, or in a circle for
/// shifts, so that a rank that does not answer can be named and waited for no longer than the
/// deadline; a collective MPI call could neither be abandoned nor say who is missing. Needs no more
/// than MPI_Init.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <mpi.h>
#include <sys/types.h>

#include "core/comm/communicator.hpp"
#include "core/io/private_descriptor.hpp"

namespace bento::vol {

class MpiCommunicator final : public Communicator {
 public:
  /// Takes over `comm`, a duplicate of the caller's that nobody else sends on. `timeout_s` 0 waits
  /// for ever. `path`: of the file that the ranks speak of, for errors. Not collective. Errors:
  /// kPeer (MPI is not running).
  static Result<std::unique_ptr<MpiCommunicator>> take(MPI_Comm comm, double timeout_s,
                                                       std::string path);
  /// Frees the communicator, collectively. A broken one, or one with messages that nobody takes, is
  /// left alone: the missing rank would be waited for, without a deadline.
  ~MpiCommunicator() override;

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  Result<std::vector<Bytes>> gather(std::span<const std::byte> payload) override;
  Result<Bytes> combine(std::span<const std::byte> payload, const Merge& merge) override;
  Result<Bytes> broadcast(std::span<const std::byte> payload) override;
  Result<Bytes> shift(int distance, std::span<const std::byte> payload) override;
  void progress() override;
  Result<std::unique_ptr<RemoteMemory>> open_remote_memory() override;
  [[nodiscard]] bool reaches_at_rest(const Hash128& nodes) const override;
  void note_reaches_at_rest(const Hash128& nodes) override;

 private:
  /// A message under way: as many requests as it has pieces. MPI reads the buffer until all are
  /// done.
  struct Sent {
    int to;
    std::shared_ptr<const Bytes> message;
    std::vector<MPI_Request> requests;
    bool is_done();
  };
  MpiCommunicator(MPI_Comm comm, double timeout_s, std::string path);

  Status usable() const;
  /// Ranks on this machine, with the numbers of their processes. Collective.
  Result<std::map<std::uint32_t, pid_t>> processes_here();
  [[nodiscard]] double deadline(double factor, int levels) const;
  Status send(int to, int tag, const std::shared_ptr<const Bytes>& message);
  /// Waits for a message of this collective. Errors: kPeer; broken_ stays empty if only the
  /// deadline passed.
  Result<Bytes> receive(int from, int tag, double deadline_s);
  Result<Bytes> take_pieces(MPI_Message first, const MPI_Status& status);
  Status receive_piece(MPI_Request request, std::unique_ptr<Bytes>& buffer, int from);
  /// Fails, and passes it on, if there is news that another rank has given up, which may have been
  /// before this rank came.
  Status heed_news();
  /// Waits until MPI needs none of the messages that were sent.
  Status see_off(double deadline_s);
  std::string name_missing(std::vector<int> missing) const;
  /// Forgets sends that are done. Returns whether none is left.
  bool reap();
  /// Ranks to which something was sent that they have not taken, ascending.
  std::vector<int> who_has_not_taken();
  /// Names the file.
  [[nodiscard]] tl::unexpected<Error> failure(std::string_view why) const;
  /// Fails for good without a word to anybody; what the others do not know they find out at their
  /// deadline.
  tl::unexpected<Error> broken(std::string why);
  /// Fails for good and tells the others; all of them `as_rank_0`.
  tl::unexpected<Error> give_up(std::string why, bool as_rank_0 = false);

  HomeProcess home_;  ///< a forked child makes no MPI call
  MPI_Comm comm_;
  double timeout_s_;
  std::string path_;
  int rank_ = 0;
  int size_ = 1;
  std::uint64_t sequence_ =
      0;            ///< collectives so far; a late message of an abandoned one is recognised by it
  int shifts_ = 0;  ///< since the last message that rank 0 has sent to all
  std::string broken_;     ///< why no further call is tried; empty while all is well
  std::deque<Sent> sent_;  ///< in the order in which they were begun
};

}  // namespace bento::vol
