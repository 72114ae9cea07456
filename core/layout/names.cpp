// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/layout/names.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>
#include <unistd.h>

#include "core/io/host.hpp"
#include "core/layout/plan.hpp"
#include "core/sion/constants.hpp"
#include "core/sion/meta1.hpp"

namespace bento {

namespace {

struct Free {
  void operator()(char* text) const { std::free(text); }
};
using Text = std::unique_ptr<char, Free>;

}  // namespace

std::string absolute_name(const std::string& name) {
  if (name.empty() || name.front() == '/') return name;
  const Text here(::getcwd(nullptr, 0));
  // "(unreachable)" is what Linux says of a folder outside the process's root.
  if (!here || *here != '/') return name;
  return fmt::format("{}/{}", here.get(), name);
}

bool leads_to(const std::string& name, const File& file) {
  return file.descriptor() < 0 || leads_to(name, file.descriptor());
}

std::string end_of_links(const std::string& name) {
  constexpr int kMostLinks = 40;  // as Linux has it
  std::filesystem::path at = name;
  for (int links = 0; links < kMostLinks; ++links) {
    std::error_code none;
    const auto target = std::filesystem::read_symlink(at, none);
    if (none) return at.string();
    at = at.parent_path() / target;  // an absolute target stands for all
  }
  return name;
}

ContainerNames ContainerNames::of(const File& first) {
  ContainerNames names;
  if (first.descriptor() < 0) {
    names.places_ = {first.path()};
    names.in_memory_ = true;
    return names;
  }
  const std::string given = absolute_name(first.path());
  if (const Text target(::realpath(given.c_str(), nullptr)); target)
    names.places_.emplace_back(target.get());
  if (names.empty() || names.first() != given) names.places_.push_back(given);
  return names;
}

std::string ContainerNames::of_new(std::uint32_t index) const {
  return physical_name(first(), index);
}

std::vector<std::string> ContainerNames::places(std::uint32_t index) const {
  std::vector<std::string> all;
  for (const auto& place : places_) all.push_back(physical_name(place, index));
  return all;
}

std::string ContainerNames::base() const {
  return first().substr(first().find_last_of('/') + 1);
}

std::string ContainerNames::folder() const {
  const std::size_t slash = first().rfind('/');
  return slash == std::string::npos ? "." : first().substr(0, slash + 1);
}

Result<std::unique_ptr<File>> ContainerNames::open(std::uint32_t index, OpenMode mode,
                                                   const FileOpener& opener) const {
  std::string seen;
  for (const auto& name : places(index)) {
    auto file = opener(name, mode);
    if (file || file.error().code != Code::kNotFound) return file;
    seen += fmt::format("{}'{}'", seen.empty() ? "" : ", ", name);
  }
  return fail(Code::kNotFound,
              fmt::format("physical file {} of the container '{}' is not there; looked for {} "
                          "(errno = {})",
                          index, first(), seen, ENOENT),
              ENOENT);
}

void ContainerNames::also(const std::string& absolute) {
  if (!in_memory_ && std::ranges::find(places_, absolute) == places_.end())
    places_.push_back(absolute);
}

void ContainerNames::encode(ByteWriter& out) const {
  out.u8(in_memory_ ? 1 : 0);
  out.varint(places_.size());
  for (const auto& place : places_) {
    out.varint(place.size());
    out.bytes(std::as_bytes(std::span(place)));
  }
}

Result<ContainerNames> ContainerNames::decode(ByteReader& in) {
  ContainerNames names;
  BENTO_ASSIGN(const std::uint8_t in_memory, in.u8());
  names.in_memory_ = in_memory != 0;
  BENTO_ASSIGN(const std::uint64_t count, in.varint());
  BENTO_TRY(in.fits(count, 1));
  for (std::uint64_t i = 0; i < count; ++i) {
    BENTO_ASSIGN(const std::uint64_t bytes, in.varint());
    BENTO_ASSIGN(const auto text, in.bytes(bytes));
    names.places_.emplace_back(reinterpret_cast<const char*>(text.data()), text.size());
  }
  if (names.empty()) return fail(Code::kCorrupt, "names: none");
  return names;
}

std::string name_of_first(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string::npos || name.size() - dot < 7) return {};
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  if (!std::all_of(name.begin() + static_cast<std::ptrdiff_t>(dot) + 1, name.end(), digit))
    return {};
  return name.substr(0, dot);
}

Result<std::string> name_in(File& file) {
  BENTO_ASSIGN(const Meta1 head, read_meta1(file));
  return head.prefix;
}

Status call_container(File& file, const std::string& name) {
  BENTO_ASSIGN(Meta1 head, read_meta1(file));
  head.prefix = name.substr(0, kSionPrefixBytes - 1);
  BENTO_ASSIGN(const auto bytes, encode_meta1(head, false));
  return file.write_at(0, bytes);
}

}  // namespace bento
