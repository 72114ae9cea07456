// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "transfer/scr_index.hpp"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <optional>

#include <fmt/format.h>

#include "transfer/descriptor.hpp"
#include "transfer/kvtree_file.hpp"

namespace bento::transfer {
namespace {

std::optional<std::uint64_t> number_of(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

void add_variable(KvTree& tree, const char* key, std::initializer_list<const char*> variables) {
  for (const char* const variable : variables) {
    const char* const value = std::getenv(variable);
    if (value == nullptr || *value == '\0') continue;
    tree.append(key, value);
    return;
  }
}

std::string user_name() {
  passwd found{};
  passwd* result = nullptr;
  std::array<char, 4096> text{};
  if (::getpwuid_r(::geteuid(), &found, text.data(), text.size(), &result) == 0 &&
      result != nullptr)
    return found.pw_name;
  return fmt::format("{}", ::geteuid());
}

KvTree description(const ArrivedDataset& dataset, std::uint64_t id) {
  KvTree tree;
  tree.append("ID", fmt::format("{}", id));
  tree.append("NAME", dataset.name);
  tree.append("CREATED", dataset.created);
  tree.append("USER", user_name());
  add_variable(tree, "JOBNAME", {"SCR_JOB_NAME", "SLURM_JOB_NAME"});
  add_variable(tree, "JOBID", {"SCR_JOB_ID", "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID"});
  add_variable(tree, "CLUSTER", {"SCR_CLUSTER_NAME", "SLURM_CLUSTER_NAME"});
  tree.append("FILES", fmt::format("{}", dataset.files));
  tree.append("SIZE", fmt::format("{}", dataset.bytes));
  tree.append("COMPLETE", "1");
  return tree;
}

/// The number that the dataset has, or shall have.
std::uint64_t number_for(const KvTree& index, const ArrivedDataset& dataset) {
  std::uint64_t highest = 0;
  const KvTree* const all = index.find("DSET");
  if (all == nullptr) return 1;
  for (const auto& one : all->elements()) {
    const auto id = number_of(one.key);
    if (!id) continue;
    highest = std::max(highest, *id);
    const KvTree* const known = one.below.find({"NAME", dataset.name, "DSET"});
    if (known != nullptr && known->value("CREATED") == dataset.created) return *id;
  }
  return highest + 1;
}

/// The datasets of this name that were recorded before, by us: their files have been replaced.
std::vector<std::uint64_t> replaced_by(const KvTree& index, const ArrivedDataset& dataset,
                                       std::uint64_t id) {
  std::vector<std::uint64_t> replaced;
  const KvTree* const all = index.find("DSET");
  if (all == nullptr) return replaced;
  for (const auto& one : all->elements()) {
    const auto number = number_of(one.key);
    const KvTree* const known = one.below.find({"NAME", dataset.name, "DSET"});
    // What SCR itself recorded has a checkpoint's number as well.
    if (number && *number < id && known != nullptr && known->find("CKPT") == nullptr &&
        known->value("ID") == one.key)
      replaced.push_back(*number);
  }
  return replaced;
}

void forget_in_index(KvTree& index, const ArrivedDataset& dataset, std::uint64_t id) {
  const std::string number = fmt::format("{}", id);
  KvTree& entry = index.at("DSET").at(number);
  entry.at("NAME").remove(dataset.name);
  if (entry.at("NAME").elements().empty()) index.at("DSET").remove(number);
  index.at("NAME").at(dataset.name).at("DSET").remove(number);
}

/// What else lies in the folder stays, and then the folder.
void remove_summary(int scr, std::uint64_t id) {
  const std::string folder = fmt::format("scr.dataset.{}", id);
  ::unlinkat(scr, (folder + "/summary.scr").c_str(), 0);
  ::unlinkat(scr, folder.c_str(), AT_REMOVEDIR);
}

Status write_summary(int scr, const std::string& shown, const KvTree& dataset, std::uint64_t id) {
  const std::string folder = fmt::format("scr.dataset.{}", id);
  if (::mkdirat(scr, folder.c_str(), 0777) != 0 && errno != EEXIST)
    return fail(os_error(errno, "making the folder", shown + "/" + folder));
  const std::string path = folder + "/summary.scr";
  KvTree tree;
  tree.append("VERSION", "6");
  tree.append("COMPLETE", "1");
  tree.append("DSET") = dataset;
  BENTO_ASSIGN(const auto bytes, encode_kvtree(tree));
  const std::string next = path + ".next";
  const std::string shown_next = fmt::format("{}/{}", shown, next);
  {
    BENTO_ASSIGN(const Descriptor file,
                 open_at(scr, next, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0666, shown_next));
    BENTO_TRY(write_whole(file.get(), 0, bytes, shown_next));
    BENTO_TRY(sync(file.get(), shown_next));
  }
  if (::renameat(scr, next.c_str(), scr, path.c_str()) != 0)
    return fail(os_error(errno, "rename of", shown_next));
  BENTO_ASSIGN(const Descriptor names,
               open_at(scr, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, shown + "/" + folder));
  return sync(names.get(), shown + "/" + folder);
}

}  // namespace

Status record_arrival(int folder, const std::string& shown, const ArrivedDataset& dataset) {
  if (::mkdirat(folder, ".scr", 0777) != 0 && errno != EEXIST)
    return fail(os_error(errno, "making the folder", shown + "/.scr"));
  BENTO_ASSIGN(const Descriptor scr,
               open_at(folder, ".scr", O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, shown + "/.scr"));
  // Relative to the open folder, as everything at the destination.
  const std::string index = fmt::format("/proc/self/fd/{}/index.scr", scr.get());
  std::vector<std::uint64_t> replaced;
  auto updated = update_kvfile(index, [&](KvTree& tree) -> Status {
    const std::uint64_t id = number_for(tree, dataset);
    const KvTree about = description(dataset, id);
    BENTO_TRY(write_summary(scr.get(), shown + "/.scr", about, id));
    if (tree.find("VERSION") == nullptr) tree.append("VERSION", "1");
    KvTree& numbers = tree.at("NAME").at(dataset.name).at("DSET");
    if (numbers.find(fmt::format("{}", id)) == nullptr) numbers.at(fmt::format("{}", id));
    KvTree& entry = tree.at("DSET").at(fmt::format("{}", id)).at("NAME").at(dataset.name);
    entry.clear();
    entry.append("DSET") = about;
    entry.append("COMPLETE", "1");
    replaced = replaced_by(tree, dataset, id);
    for (const std::uint64_t old : replaced) forget_in_index(tree, dataset, old);
    return {};
  });
  if (!updated) return fail(std::move(updated).error().with_context(shown + "/.scr/index.scr"));
  for (const std::uint64_t old : replaced) remove_summary(scr.get(), old);
  return sync(scr.get(), shown + "/.scr");
}

}  // namespace bento::transfer
