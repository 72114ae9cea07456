// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include <algorithm>

#include <fmt/format.h>

#include "transfer/daemon_lock.hpp"
#include "transfer/kvtree_file.hpp"
#include "transfer/one_name.hpp"
#include "transfer/submit.hpp"
#include "transfer/work_folder.hpp"

namespace bento::transfer {

Result<std::vector<Entry>> cancel(const std::string& transfer_file,
                                  const std::vector<std::string>& names) {
  std::vector<Entry> taken;
  BENTO_TRY(read_kvfile(transfer_file));  // makes none
  BENTO_TRY(update_kvfile(transfer_file, [&](KvTree& tree) -> Status {
    const TransferState state = read_state(tree);
    const auto is_one = [](const Entry& entry, const std::string& name) {
      return one_name(entry.source) == name || one_name(entry.destination) == name ||
             one_name(entry.container) == name;
    };
    std::vector<std::string> wanted;
    for (const auto& name : names) {
      wanted.push_back(one_name(clean_name(name)));
      const auto found = std::ranges::find_if(
          state.entries, [&](const Entry& entry) { return is_one(entry, wanted.back()); });
      if (found == state.entries.end())
        return fail(Code::kNotFound,
                    fmt::format("'{}' is neither source nor destination of anything in '{}'", name,
                                transfer_file));
      if (!found->container.empty()) wanted.push_back(one_name(found->container));
    }
    for (const auto& entry : state.entries) {
      if (!wanted.empty() && std::ranges::none_of(wanted, [&](const std::string& name) {
            return is_one(entry, name);
          }))
        continue;
      if (!entry.complete()) taken.push_back(entry);
      remove_entry(tree, entry.source);
    }
    if (wanted.empty()) set_command(tree, "STOP");
    return {};
  }));
  BENTO_ASSIGN(const auto lock, DaemonLock::take(transfer_file));
  if (lock)
    for (const auto& entry : taken)
      if (entry.part == 0 && entry.share == 0)
        clean_destination(entry.destination, AllowedFolders());
  return taken;
}

}  // namespace bento::transfer
