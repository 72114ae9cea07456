// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The folder in a cache that belongs to one final name: CACHE/h5bento-HASH. In it: `lock`, taken
/// by whoever changes what is in the folder; `final`, the name that the container shall get; and a
/// folder 1, 2, ... for each time that the file was created, with the container under the last part
/// of its final name, `id`, `arrived` once that state lies under the final name and is kept all the
/// same, and `superseded` once a newer one has its place. A new container never overwrites the one
/// before, which goes when the new one is complete. What is neither superseded nor arrived stays:
/// the folder of the final name may have been renamed, and another made in its place. Source:
/// docs/transfer.md.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "transfer/descriptor.hpp"

namespace bento::transfer {

/// What a container in a cache is.
enum class CopyState {
  kNothing,    ///< none, or nothing was committed
  kCommitted,  ///< can be opened
  kWritten,    ///< a program has it open for writing
};
CopyState state_of_copy(const std::string& path);

class CacheFolder {
 public:
  /// Opens the folder of a final name below the cache, makes both if they are missing (of the cache
  /// its last part), and waits for the lock. Errors: kNotFound (the cache has no parent),
  /// kPermission (somebody else's), kBusy (lock), kNoSpace, kIo.
  static Result<CacheFolder> make(const std::string& cache, const std::string& final_name);
  /// Opens the folder in which a copy lies. Nothing if it is not there, or no such folder. Waits
  /// so long for the lock. Errors: kBusy, kPermission, kIo.
  static Result<std::optional<CacheFolder>> of_copy(
      const std::string& copy, std::chrono::milliseconds wait = std::chrono::seconds(60));

  /// Is this the name of a file that lies beside a copy?
  static bool keeps(const std::string& name);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::string& final_name() const { return final_; }
  /// Numbers of what is there, the newest first.
  [[nodiscard]] std::vector<std::uint64_t> copies() const;
  /// Name of the container of one.
  [[nodiscard]] std::string copy(std::uint64_t number) const;
  /// A folder for a new one. Returns the container's name. Errors: kNoSpace, kIo.
  Result<std::string> add(const std::string& id);
  /// Removes one with all that is in it.
  Status remove(std::uint64_t number);
  /// Removes the whole folder if nothing is in it; it is not to be used after that.
  void remove_if_empty();
  /// Removes what was created and never committed, and is not being written.
  Status remove_unfinished();
  /// Removes what was created before this one, and is superseded or has arrived. If this one is one
  /// of several nodes' shares, all that was created before it: whether an older share is superseded
  /// only the first node knows.
  Status remove_older(const std::string& copy);
  /// Says that a newer copy has the place of this one.
  static Status set_superseded(const std::string& copy);
  /// Says that a copy has arrived and is kept.
  static Status set_arrived(const std::string& copy);

 private:
  CacheFolder() = default;
  static Result<CacheFolder> open_locked(const std::string& path, std::chrono::milliseconds wait);

  std::string path_;
  std::string final_;
  Descriptor folder_;
  Descriptor lock_;
};

/// The number of a copy, from its name. 0 if it has none.
std::uint64_t number_of_copy(const std::string& copy);
/// The copy for this final name in a cache that has this id; empty if there is none.
std::string copy_with_id(const std::string& cache, const std::string& final_name,
                         const std::string& id);
/// What the file `id` beside a copy says; empty if there is none.
std::string id_of_copy(const std::string& copy);

/// Removes from the whole cache what was created and never committed, and is not being written: of
/// programs that died. Folders that are in use are passed over.
void remove_abandoned(const std::string& cache);

/// Removes all but the `keep` copies of a cache that have arrived last. `held` is locked by the
/// caller; other folders that are in use are passed over. Returns the first error, having gone on.
Status keep_arrived(CacheFolder& held, std::uint64_t keep);

}  // namespace bento::transfer
