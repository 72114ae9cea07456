// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The side of programs and people: hand a file to the daemon, take it back, start a daemon.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
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
};

/// Writes the entries and COMMAND RUN. Returns them. Errors: kNotFound, kBusy (a program writes to
/// the source), kExists (it is being copied to another place), kInvalidArgument, those of the
/// transfer file.
Result<std::vector<Entry>> submit(const std::string& transfer_file, const Submission& submission);

/// Takes entries back: those whose source or destination is one of `names`, with all parts of their
/// container; all of them, and COMMAND STOP, if there are no names. What was copied so far is
/// removed by the daemon, or here if none runs. Returns what was taken back. Errors: kNotFound (one
/// of the names is not there).
Result<std::vector<Entry>> cancel(const std::string& transfer_file,
                                  const std::vector<std::string>& names);

/// Starts a daemon that outlives this process, unless one runs: a session of its own, descriptors
/// closed, working directory /. `program` is h5bento, `arguments` follow `transfer run --file
/// FILE`. What it prints goes to FILE.log. Returns whether it was started here. Errors: kIo,
/// kNotFound.
Result<bool> start_daemon(const std::string& program, const std::string& transfer_file,
                          const std::vector<std::string>& arguments);

}  // namespace bento::transfer
