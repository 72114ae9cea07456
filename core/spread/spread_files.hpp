// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The physical files of a container that is created in the own folders of several nodes. Each node
/// has files of the same layout, and in them, as holes allow, only what its ranks write; laid over
/// each other they are the container. Rank 0 writes all that is common (heads, catalogue, roots)
/// into the files of its node. The other ranks read that, so each further node has a second set of
/// files, NAME.common, in which the node's lowest rank repeats what rank 0 has written. Source:
/// docs/transfer.md, "Caches on several nodes".
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "core/base/error.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/comm/communicator.hpp"
#include "core/io/file.hpp"

namespace bento {

/// A rank's place in such a container.
struct SpreadPlace {
  std::string folder;           ///< in which the files of this rank's node are
  std::uint32_t node = 0;       ///< number of this rank's node; rank 0's is 0
  bool owner = false;           ///< this is rank 0
  bool leads = false;           ///< the lowest rank of its node
  bool survives_power = false;  ///< what is repeated is on the device before a commit returns
};

/// The name of what is repeated of a physical file.
std::string common_name(const std::string& physical);

class SpreadFiles {
 public:
  SpreadFiles(SpreadPlace place, FileOpener under);

  [[nodiscard]] const SpreadPlace& place() const { return place_; }
  /// Opens what is common of a physical file, by the name that it has on rank 0. This must outlive
  /// it, and what it opens.
  FileOpener common_opener();
  /// Opens a physical file for the streams of this node's ranks; makes it if it is not there.
  FileOpener stream_opener();

  /// Of rank 0: what was written since this was called before, for repeat() elsewhere.
  Bytes take_written();
  /// Repeats what rank 0 has written. Does something on the lowest rank of each further node.
  /// Errors: kNoSpace, kIo, kCorrupt.
  Status repeat(std::span<const std::byte> written);

 private:
  class Recorded;
  void note_write(const std::string& name, std::uint64_t offset, std::span<const std::byte> bytes);
  void note_truncate(const std::string& name, std::uint64_t bytes);
  [[nodiscard]] std::string here(const std::string& path) const;
  Result<File*> common_file(const std::string& name);

  SpreadPlace place_;
  FileOpener under_;
  ByteWriter written_;
  std::map<std::string, std::unique_ptr<File>> common_;  ///< by the last part of the name
};

}  // namespace bento
