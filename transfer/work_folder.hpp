// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The folder in which what is copied gathers until it is complete and verified, and the step that
/// gives it its final name. It lies beside the destination, as `.h5bento-HASH`, so that naming is a
/// rename; the files in it have their final names already, so that a container can be verified
/// there as it is. Below it: `new/` the copies, `old/` what had the names before, `complete` once
/// all is synced and verified, `journal` while something else than a copy is made. Source:
/// docs/transfer.md, with what a crash leaves at each point.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/io/file.hpp"
#include "transfer/descriptor.hpp"
#include "transfer/destination.hpp"

namespace bento::transfer {

class WorkFolder {
 public:
  /// Opens the one that belongs to a destination in an open folder, and makes it if it is missing.
  /// `path` is the destination of physical file 0. Held alone until it is destroyed. Errors: kBusy
  /// (another daemon copies to this destination), kPermission (somebody else's), kNoSpace, kIo.
  static Result<WorkFolder> open(Descriptor folder, const std::string& path);
  /// Is there one? Then something was left by a daemon that died.
  static bool exists(int folder, const std::string& path);

  /// Opens or makes a copy for writing.
  Result<Descriptor> open_copy(const std::string& name);
  /// Gives the open copy of `name` the permissions `mode`; or, if a file is to be replaced, owner
  /// and permissions of `first`, the first one of those that are. Errors: kIo, kPermission.
  Status set_permissions(int copy, const std::string& name, const std::string& first,
                         unsigned mode) const;
  /// Is there a copy of this name?
  [[nodiscard]] bool has_copy(const std::string& name) const;
  /// Where a copy can be opened by others in this process.
  [[nodiscard]] std::string copy_path(const std::string& name) const;

  /// The same, whatever becomes of the names on the way there.
  [[nodiscard]] std::string open_path(const std::string& name) const;
  /// Opens or makes what says how much of a copy is there that cannot be compared with its source.
  /// It goes with discard(). Errors: kIo, kNoSpace.
  Result<std::unique_ptr<File>> open_journal();
  [[nodiscard]] std::string journal_path() const;
  /// The names of the copies are durable. Errors: kIo.
  Status keep_copies();

  /// Takes files away from another folder, to be copies here; those that were taken before are here
  /// already. Errors: kNotFound (it is in neither), kIo.
  Status take_over(int from, const std::vector<std::string>& names);

  /// Everything in new/, which is `names`, is whole, of submission `ticket`. `outdated` are names
  /// in the destination folder, no copies among them, that go with the old container.
  Status set_complete(const std::string& ticket, const std::vector<std::string>& names,
                      const std::vector<std::string>& outdated);
  /// The submission that is complete; empty if none is.
  [[nodiscard]] const std::string& complete() const { return complete_; }
  /// Was everything complete named already?
  [[nodiscard]] bool all_named(const std::vector<std::string>& names) const;

  /// Gives the copies their names; names[0] is the master. One is named by one rename. With several
  /// the old ones go aside first, the master before all others, then come the new ones, the master
  /// last. May be called again after a crash or an error. After an error the old ones are back, as
  /// far as the file system lets. What somebody else has put under a name since the first rename
  /// stays. Errors: kBusy (a program writes to the old container), kExists (no regular file has one
  /// of the names, or somebody else's file), kNotFound (somebody has removed what was named),
  /// kPermission, kNoSpace, kIo.
  Status name_all(const std::vector<std::string>& names);

  /// Forgets the copies: nothing of them will be taken over. Of several of which some have names
  /// these lose them, and the old ones get theirs back, unless the container was written anew
  /// meanwhile. Errors: kExists (a part of it was, so that neither can be); kIo.
  Status discard();
  /// Removes the folder with all that is in it.
  Status remove();
  /// The same for a job that will never go on: what it has put aside gets its name back first,
  /// as in discard().
  Status abandon();

 private:
  /// A file by its name and what stamp_of() said of it.
  struct Stamped {
    std::string name;
    std::string stamp;
    bool operator==(const Stamped&) const = default;
  };
  using Stamps = std::vector<Stamped>;

  WorkFolder() = default;
  Status load_complete();
  Status check_places(const std::vector<std::string>& names) const;
  Status name_one(const std::string& name);
  Status name_several(const std::vector<std::string>& names);
  Status put_back();
  Status take_back();
  Status write_complete(const std::string& ticket, const Stamps& names, const Stamps& outdated);
  Status note_outdated();
  Status check_named() const;
  /// Never in the place of another file.
  Status give_name(int from, const std::string& name);
  [[nodiscard]] bool has_begun() const;
  /// Is what lies under the name what was noted, and unchanged?
  [[nodiscard]] bool is_ours(const Stamped& one) const;
  /// Names under which something lies that neither is a copy from here nor was there before. The
  /// master's is the first if it is one.
  [[nodiscard]] std::vector<std::string> put_by_others() const;

  Descriptor folder_;  ///< of the destination
  Descriptor work_;
  Descriptor lock_;
  Descriptor new_;
  Descriptor old_;
  std::string path_;  ///< of the destination folder
  std::string name_;  ///< of the work folder in it
  std::string complete_;
  Stamps names_;  ///< of what is complete
  Stamps outdated_;
};

/// Removes what a job that will never go on has left at its destination. Kept apart from the jobs,
/// so that who only submits and cancels does not link what copies.
void clean_destination(const std::string& destination, const AllowedFolders& allowed);

}  // namespace bento::transfer
