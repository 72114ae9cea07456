// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The side of programs and people: hand a file to the daemon, take it back, start a daemon.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "transfer/arrive.hpp"
#include "transfer/transfer_file.hpp"

namespace bento::transfer {

/// The transfer file of this user on this node: $H5BENTO_TRANSFER_FILE, else
/// /tmp/USER/h5bento/transfer.scrinfo (TMPDIR instead of /tmp).
std::string default_transfer_file();
/// Makes the folders of a transfer file. Errors: kPermission (its folder is somebody else's), kIo.
Status make_transfer_folder(const std::string& transfer_file);

struct Submission {
  std::string source;       ///< a container (its other physical files come along) or any other file
  std::string destination;  ///< the name that it shall have, or an existing folder
  std::optional<double> bytes_per_second;  ///< changes the limit of the transfer file
  std::optional<double> cpu_percent;
  bool evict = false;  ///< remove the source when it has arrived
  /// The source lies in a CacheFolder, and a note beside the destination says so.
  bool cached = false;
  Arrive arrive = Arrive::kContainer;
  std::uint64_t keep = 0;  ///< with `evict`: so many of the cache that arrived last stay
};

/// Writes the entries and COMMAND RUN. Returns them. Errors: kNotFound, kBusy (a program writes to
/// the source), kExists (it is being copied to another place), kInvalidArgument,
/// kUnsupported (it cannot arrive so), those of the transfer file.
Result<std::vector<Entry>> submit(const std::string& transfer_file, const Submission& submission);

/// The absolute name, as entries have it: without `.` and `..`.
std::string clean_name(const std::string& name);

/// Takes entries back: those whose source or destination is one of `names`, with all parts of their
/// container; all of them, and COMMAND STOP, if there are no names. What was copied so far is
/// removed by the daemon, or here if none runs. Returns what was taken back. Errors: kNotFound (one
/// of the names is not there).
Result<std::vector<Entry>> cancel(const std::string& transfer_file,
                                  const std::vector<std::string>& names);

/// Takes back what was submitted for a destination, in the transfer file alone: a daemon that runs
/// removes what it has copied. Nothing happens if there is no transfer file. Errors: those of it.
Status withdraw(const std::string& transfer_file, const std::string& destination);

/// The program h5bento: $H5BENTO_PROGRAM, else bin/h5bento in one of the folders above the module
/// that this code is part of, as it is built and as it is installed. Errors: kNotFound, naming the
/// places.
Result<std::string> find_program();

/// Starts a daemon that outlives this process, unless one runs: a session of its own, descriptors
/// closed, working directory /. `program` is h5bento, `arguments` follow `transfer run --file
/// FILE`. What it prints goes to FILE.log. Returns whether it was started here. Errors: kIo,
/// kNotFound.
Result<bool> start_daemon(const std::string& program, const std::string& transfer_file,
                          const std::vector<std::string>& arguments);

}  // namespace bento::transfer
