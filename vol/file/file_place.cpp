// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/file/file_place.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "core/layout/names.hpp"
#include "hdf5/skeleton/plain_file.hpp"
#include "vol/file/file_context.hpp"

namespace bento::vol {

std::optional<std::string> place_elsewhere(const char* name, FileContext& context) {
  // Nodes may number the devices of one file system differently, but not its inodes.
  if (context.cached() || identity_of_name(name).inode == context.identity().inode)
    return std::nullopt;
  return context.container().names().first();
}

namespace {

/// As it was opened.
std::string name_of_file(const Object* dataset) {
  std::string name(4096, '\0');
  std::size_t length = 0;
  H5VL_file_get_args_t args{};
  args.op_type = H5VL_FILE_GET_NAME;
  args.args.get_name.type = H5I_DATASET;
  args.args.get_name.buf_size = name.size();
  args.args.get_name.buf = name.data();
  args.args.get_name.file_name_len = &length;
  if (H5VLfile_get(dataset->under, dataset->under_vol_id, &args, H5P_DATASET_XFER_DEFAULT,
                   nullptr) < 0)
    return {};
  name.resize(std::min(length, name.size()));
  return name;
}

// By the library's numbers, which it does not give twice. Never destroyed: datasets may be closed
// after static destructors have run.
std::map<unsigned long, FilePlace>& noted_places() {
  static auto* const instance = new std::map<unsigned long, FilePlace>;
  return *instance;
}

/// Those of files in which nothing is open any more; now and then, as each object has to be asked.
void forget_closed_files() {
  constexpr std::size_t kMany = 1024;
  static std::size_t next = kMany;
  if (noted_places().size() < next) return;
  std::set<unsigned long> open;
  for (const Object* const object : open_objects())
    if (object->under != nullptr)
      if (const auto fileno = fileno_of(object)) open.insert(*fileno);
  std::erase_if(noted_places(), [&](const auto& entry) { return !open.contains(entry.first); });
  next = 2 * noted_places().size() + kMany;
}

FilePlace place_now(std::string name) {
  std::error_code unknown;
  const auto real = std::filesystem::canonical(name, unknown);
  return {std::move(name), unknown ? std::string() : real.parent_path().string()};
}

}  // namespace

void note_place(const Object* file, const char* name) {
  const auto fileno = fileno_of(file);
  if (!fileno || noted_places().contains(*fileno)) return;
  forget_closed_files();
  const auto context = context_of(file);
  auto place = context ? place_elsewhere(name, *context) : std::nullopt;
  noted_places().emplace(*fileno, place_now(place ? std::move(*place) : absolute_name(name)));
}

void places_forget() {
  noted_places().clear();
}

// A file that the library has opened by a link has an absolute name mostly.
FilePlace place_of_holder(const Object* dataset) {
  const auto fileno = fileno_of(dataset);
  const auto found = fileno ? noted_places().find(*fileno) : noted_places().end();
  return found != noted_places().end() ? found->second
                                       : place_now(absolute_name(name_of_file(dataset)));
}

}  // namespace bento::vol
