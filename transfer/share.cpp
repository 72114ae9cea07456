// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "transfer/share.hpp"

#include <fcntl.h>

#include <cstdlib>

#include <fmt/format.h>

#include "core/spread/spread_files.hpp"
#include "transfer/descriptor.hpp"
#include "transfer/kvtree.hpp"

namespace bento::transfer {
namespace {

constexpr std::uint64_t kMostBytes = 4096;

std::string name_of(const std::string& copy) {
  return folder_of(copy) + "/share";
}

}  // namespace

Share share_of_copy(const std::string& copy) {
  const std::string name = name_of(copy);
  const auto file = open_at(AT_FDCWD, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, name);
  if (!file) return {};
  const auto bytes = read_whole(file->get(), kMostBytes, name);
  if (!bytes) return {};
  const auto tree = decode_kvtree(*bytes);
  if (!tree) return {};
  const auto number = [&](const char* key) {
    return std::strtoull(std::string(tree->value(key)).c_str(), nullptr, 10);
  };
  Share share;
  share.index = static_cast<std::uint32_t>(number("SHARE"));
  share.count = static_cast<std::uint32_t>(number("SHARES"));
  share.view.wanted = tree->find("VIEW") != nullptr;
  share.view.maps = number("VIEW_MAPS");
  share.view.copy_bytes = number("VIEW_COPY");
  return share.index < share.count ? share : Share{};
}

Status set_share(const std::string& copy, const Share& share) {
  const std::string name = name_of(copy);
  BENTO_ASSIGN(const Descriptor file,
               open_at(AT_FDCWD, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600, name));
  KvTree tree;
  tree.append("SHARE", fmt::format("{}", share.index));
  tree.append("SHARES", fmt::format("{}", share.count));
  if (share.view.wanted) tree.append("VIEW");
  tree.append("VIEW_MAPS", fmt::format("{}", share.view.maps));
  tree.append("VIEW_COPY", fmt::format("{}", share.view.copy_bytes));
  BENTO_ASSIGN(const auto bytes, encode_kvtree(tree));
  BENTO_TRY(write_whole(file.get(), 0, bytes, name));
  return sync(file.get(), name);
}

std::string root_file_of_copy(const std::string& copy) {
  return share_of_copy(copy).index > 0 ? common_name(copy) : copy;
}

}  // namespace bento::transfer
