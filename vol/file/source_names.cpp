// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/file/source_names.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "vol/file/container_open.hpp"

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

std::string joined(const std::string& folder, const std::string& name) {
  return folder.empty() || folder.back() == '/' ? folder + name : folder + "/" + name;
}

}  // namespace

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
