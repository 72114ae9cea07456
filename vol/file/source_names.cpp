// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/file/source_names.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>

#include <fmt/format.h>

#include "core/layout/names.hpp"
#include "hdf5/skeleton/plain_file.hpp"
#include "vol/file/container_open.hpp"
#include "vol/file/file_context.hpp"

namespace bento::vol {

Result<SourceName> SourceName::of(std::string_view text) {
  SourceName name;
  name.parts_.emplace_back();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      name.parts_.back() += text[i];
      continue;
    }
    const char what = ++i < text.size() ? text[i] : '\0';
    if (what == 'b')
      name.parts_.emplace_back();
    else if (what == '%')
      name.parts_.back() += '%';
    else
      return fail(Code::kInvalidArgument,
                  fmt::format("'{}': an unknown specifier in the name of a virtual source", text));
  }
  return name;
}

std::string SourceName::at(std::uint64_t number) const {
  std::string name = parts_.front();
  for (std::size_t i = 1; i < parts_.size(); ++i) name += std::to_string(number) + parts_[i];
  return name;
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

std::string joined(const std::string& folder, const std::string& name) {
  return folder.empty() || folder.back() == '/' ? folder + name : folder + "/" + name;
}

}  // namespace

std::optional<std::string> place_elsewhere(const char* name, FileContext& context) {
  // Nodes may number the devices of one file system differently, but not its inodes.
  if (context.cached() || identity_of_name(name).inode == context.identity().inode)
    return std::nullopt;
  return context.container().names().first();
}

namespace {

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

std::vector<std::string> places_of_source(const FilePlace& holder, const std::string& name,
                                          const std::string& prefix) {
  std::vector<std::string> places;
  if (name.empty()) return places;
  std::string relative = name;
  if (name.front() == '/') {
    places.push_back(name);
    relative = name.substr(name.rfind('/') + 1);
  }
  if (const char* const set = std::getenv("HDF5_VDS_PREFIX")) {
    std::string_view folders(set);
    while (!folders.empty()) {
      const auto end = std::min(folders.find(':'), folders.size());
      if (end > 0) places.push_back(joined(std::string(folders.substr(0, end)), relative));
      folders.remove_prefix(std::min(end + 1, folders.size()));
    }
  }
  if (!prefix.empty()) places.push_back(joined(prefix, relative));
  places.push_back(joined(std::filesystem::path(holder.name).parent_path().string(), relative));
  places.push_back(relative);
  if (!holder.real_folder.empty()) places.push_back(joined(holder.real_folder, relative));
  return places;
}

std::optional<std::string> find_source(const std::vector<std::string>& places) {
  for (const std::string& place : places)
    if (::access(place.c_str(), R_OK) == 0 || is_container(place.c_str())) return place;
  return std::nullopt;
}

}  // namespace bento::vol
