// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// One process of a node hands an open descriptor to others of the same node, over a Unix socket
/// without a name in the file system. Who comes shows a random token that was sent to it on another
/// way, and runs under the same user. Nothing waits without a deadline.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <string>

#include "core/base/error.hpp"
#include "core/io/private_descriptor.hpp"

namespace bento {

/// Where to meet, which anybody on the node can find out, and what to say there, which nobody can.
struct MeetingPlace {
  std::array<std::byte, 16> name{};
  std::array<std::byte, 16> token{};
  int number = 0;  ///< several places of one name, e.g. the leader's rank
};

using Deadline = std::chrono::steady_clock::time_point;

/// The giving side. Made early, so that those who take need not wait for it.
class DescriptorGiver {
 public:
  /// Errors: kExists (somebody else has the place), kIo.
  static Result<DescriptorGiver> open(const MeetingPlace& place);

  /// Gives `descriptor` to `takers` processes; -1 tells them that there is none. Returns how many
  /// came before the deadline.
  int give(int descriptor, int takers, Deadline until);

 private:
  DescriptorGiver(PrivateDescriptor socket, MeetingPlace place)
      : socket_(std::move(socket)), place_(place) {}

  PrivateDescriptor socket_;
  MeetingPlace place_;
};

/// The taking side; waits for the giver to come. Errors: kPeer (nobody came, or the giver had
/// nothing, or is not who it must be), kIo.
Result<PrivateDescriptor> take_descriptor(const MeetingPlace& place, Deadline until);

}  // namespace bento
