// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Where the shares of a container come together: `.h5bento-HASH.parts-ID` beside its final name.
/// In it `new/`, with the physical files into which each node's daemon writes its share, and
/// `complete-K` once share K is there and on the device. What arrives in another form does not show
/// that it is of these shares: then `arrived` stays until all nodes have seen it. Several daemons
/// use it at the same time; the one of share 0 takes the files away when all shares are there.
/// Source: docs/transfer.md, "Caches on several nodes".
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "transfer/descriptor.hpp"
#include "transfer/share.hpp"

namespace bento::transfer {

class PartsFolder {
 public:
  /// Opens it in the open folder of the final name, and makes it if it is missing. Errors:
  /// kPermission (somebody else's), kNoSpace, kIo.
  static Result<PartsFolder> make(int folder, const std::string& final_name, const std::string& id);
  static bool exists(int folder, const std::string& final_name, const std::string& id);
  /// What was made of the files has its name: they go, and the other nodes are told.
  static void tell_arrived(int folder, const std::string& final_name, const std::string& id);
  static bool has_arrived(int folder, const std::string& final_name, const std::string& id);
  /// This share knows. Whoever is the last removes the folder.
  static void leave(int folder, const std::string& final_name, const std::string& id,
                    const Share& share);
  /// Removes those of this final name that have other ids: what they were for is outdated.
  static void remove_others(int folder, const std::string& final_name, const std::string& id);
  /// The same by the final name's own folder, if it can be opened.
  static void remove_others(const std::string& final_name, const std::string& id);
  /// Removes it with all that is in it.
  static void remove(int folder, const std::string& final_name, const std::string& id);

  /// Opens or makes a physical file, by the last part of its name, for reading and writing.
  Result<Descriptor> open_part(const std::string& name);
  [[nodiscard]] std::string part_path(const std::string& name) const;
  /// Does the name still lead to this open file?
  [[nodiscard]] bool is_part(const std::string& name, int file) const;
  /// The open folder of the files.
  [[nodiscard]] int files() const { return new_.get(); }

  [[nodiscard]] bool complete(std::uint32_t share) const;
  /// All files of this share are synced. `bytes`: how long they are on its node, by their numbers.
  /// Errors: kNoSpace, kIo.
  using Lengths = std::map<std::uint32_t, std::uint64_t>;
  Status set_complete(std::uint32_t share, const Lengths& bytes);
  /// How long the physical files are, all shares taken together. Errors: kCorrupt, kIo.
  [[nodiscard]] Result<Lengths> lengths(std::uint32_t shares) const;
  /// The shares that are not complete.
  [[nodiscard]] std::vector<std::uint32_t> missing(std::uint32_t shares) const;

  /// Everything has to be brought again. Returns whether that was said before. Errors: kIo.
  Result<bool> begin_again();

 private:
  PartsFolder() = default;

  std::string path_;
  Descriptor folder_;
  Descriptor new_;
};

}  // namespace bento::transfer
