// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// How ranks agree before any of them touches a file: on the call, on the file's name, on what is
/// to be done with the file, and on the settings. Source: docs/usage.md, "Configuration".
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/comm/communicator.hpp"
#include "core/config/config.hpp"

namespace bento {

/// What one rank brings to a create, open or delete that all ranks of a group make together.
struct FileCall {
  std::string call;   ///< with its flags, as a person would say it; equal on all ranks
  std::string name;   ///< of the file, as the program gave it
  std::string place;  ///< the same as an absolute path: two names may mean one place
  Result<RequestedConfig> settings;
  /// Ids of the sessions that this rank has open, ascending. A session is what one create or open
  /// begins and the last close ends; its id is equal on all ranks that take part.
  std::vector<std::uint64_t> sessions;
};

/// What is to be done with the file, as rank 0 sees it.
struct FileDecision {
  enum class What : std::uint8_t {
    kPass,   ///< not ours: the native connector's
    kJoin,   ///< the file is open already, in `session`, on all ranks of the group
    kBegin,  ///< ours: `session` begins
    kRemove  ///< ours, and to be deleted: settings are no matter
  };
  What what = What::kPass;
  std::uint64_t session = 0;
  std::uint8_t locking = 0;  ///< the caller's; as rank 0's list and environment want it
  std::string place;         ///< where the file is, if not under its name; else empty
};

/// Asked on rank 0, when all ranks make the same call and every rank's settings are well-formed.
/// `open_everywhere`: the sessions that all ranks of the group have open, ascending.
using FileDecider =
    std::function<Result<FileDecision>(std::span<const std::uint64_t> open_everywhere)>;

struct AgreedCall {
  FileDecision decision;
  /// What holds on this rank: rank 0's values, and its own where the key is a process's.
  Config config;
};

/// Agrees on a call: one reduction, in which the size of messages does not grow with the number of
/// ranks, and one broadcast. Settings are compared unless the file is not ours, and those that are
/// fixed at create only if the call `creates`. A rank that names no value takes rank 0's.
/// Collective. Errors, equal on all ranks: the settings of some rank (which it names), or
/// kInvalidArgument naming what differs and about five of the ranks; those of `decide`; kPeer.
Result<AgreedCall> agree_on_call(Communicator& comm, const FileCall& mine, bool creates,
                                 const FileDecider& decide);

/// Can a container be created with these settings by so many ranks? Errors: kInvalidArgument naming
/// the key that would have no effect.
Status check_for_create(const Config& config, std::uint32_t ranks);

/// A file that this process has open with `open` is opened once more: does the second open name
/// another value? step= is no matter here, because it says which file is meant. Keys that are fixed
/// at create count only if the session `created` the file. A variable that the first open's
/// connector string overruled says nothing new. Errors: kInvalidArgument naming key and values.
Status check_second_open(const RequestedConfig& second, const RequestedConfig& open, bool created);

}  // namespace bento
