// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// FTI 1.1 as a program sees it that restarts from a file and checkpoints again: what it compares,
/// where it puts bytes, and which fields of the file it believes. Source: docs/formats/fti-ff.md,
/// sections 3 and 4.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>

#include "core/fti/evolve.hpp"
#include "core/fti/verify.hpp"
#include "core/fti/writer.hpp"
#include "tests/support/memory_file.hpp"

namespace bento::test {

/// What a program protects, in this order, and the bytes of it.
struct FtiVariable {
  std::int32_t id = 0;
  std::vector<std::byte> bytes;
  bool operator==(const FtiVariable&) const = default;
};
using FtiVariables = std::vector<FtiVariable>;

class FtiModel {
 public:
  explicit FtiModel(std::vector<std::byte> file) : file_(std::move(file)) {}

  /// What a program that protects variables of these ids and sizes finds in them; nothing if FTI
  /// refuses, with the reason in refusal().
  std::optional<FtiVariables> restart(FtiVariables protects) {
    fti::MemorySource source(file_);
    const auto verdict = fti::verify(source, {fti::Rules::kStream, true, {}});
    REQUIRE(verdict);
    if (verdict->hash_kind != fti::HashKind::kMd5 || !verdict->checksum_reader_rule_ok ||
        !verdict->my_hash_ok)
      return refused("file checksum");
    previous_ = verdict->checkpoint;
    // Sizes go by the order in which ids appear in the file, data by idx.
    std::vector<std::int32_t> ids;
    std::map<std::int32_t, std::uint64_t> sizes;
    for_each([&](const fti::Container& c) {
      if (sizes.emplace(c.id, 0).second) ids.push_back(c.id);
      sizes[c.id] += c.chunksize;
    });
    if (ids.size() != protects.size()) return refused("number of variables");
    for (std::size_t i = 0; i < ids.size(); ++i)
      if (sizes[ids[i]] != protects[i].bytes.size()) return refused("size of a variable");
    bool hashed = true;
    for_each([&](const fti::Container& c) {
      const auto chunk = std::span(file_).subspan(static_cast<std::size_t>(c.fptr),
                                                  static_cast<std::size_t>(c.chunksize));
      hashed = hashed && fti::md5(chunk) == c.hash;
      if (!hashed || chunk.empty()) return;
      REQUIRE(c.idx >= 0);  // FTI writes beyond its list, and beyond the variable
      auto& to = protects.at(static_cast<std::size_t>(c.idx)).bytes;
      INFO(layout());
      REQUIRE(c.dptr + c.chunksize <= to.size());
      std::copy(chunk.begin(), chunk.end(), to.begin() + static_cast<std::ptrdiff_t>(c.dptr));
    });
    if (!hashed) return refused("hash of a container");
    return protects;
  }

  /// After a restart: the next checkpoint takes the place of the file.
  void checkpoint(const FtiVariables& variables) {
    std::vector<fti::Protected> sizes;
    for (const auto& variable : variables) sizes.push_back({variable.id, variable.bytes.size()});
    auto next = fti::next_checkpoint(previous_, sizes);
    if (!next) FAIL(next.error().text);
    MemoryFileSystem disk;
    auto out = disk.opener()("next", OpenMode::kCreate);
    REQUIRE(out);
    const auto data = [&](std::int32_t id, std::uint64_t offset,
                          std::span<std::byte> into) -> Status {
      for (const auto& variable : variables) {
        if (variable.id != id) continue;
        REQUIRE(offset + into.size() <= variable.bytes.size());
        std::copy_n(variable.bytes.begin() + static_cast<std::ptrdiff_t>(offset), into.size(),
                    into.begin());
      }
      return {};
    };
    REQUIRE(fti::write_checkpoint(**out, *next, data, {}));
    REQUIRE((*out)->close());
    file_ = disk.content("next");
  }

  [[nodiscard]] const std::string& refusal() const { return refusal_; }

 private:
  std::optional<FtiVariables> refused(std::string why) {
    refusal_ = std::move(why);
    return std::nullopt;
  }
  /// For messages: id, whether there is content, dptr, bytes in use, capacity.
  [[nodiscard]] std::string layout() const {
    std::string text;
    for_each([&](const fti::Container& c) {
      text += fmt::format(" {}{}@{}+{}/{}", c.id, c.hascontent ? "" : "-", c.dptr, c.chunksize,
                          c.containersize);
    });
    return text;
  }
  template <class Use>
  void for_each(const Use& use) const {
    for (const auto& block : previous_.blocks)
      for (const auto& c : block.containers) use(c);
  }

  std::vector<std::byte> file_;
  fti::Checkpoint previous_;
  std::string refusal_;
};

/// Restart, checkpoint, restart, checkpoint, restart, with other values each time. False: the first
/// restart was refused. Anything between is a failure of the test.
inline bool goes_on(std::vector<std::byte> file, FtiVariables variables) {
  FtiModel model(std::move(file));
  for (int round = 0; round < 3; ++round) {
    FtiVariables empty = variables;
    for (auto& variable : empty) variable.bytes.assign(variable.bytes.size(), std::byte{0xEE});
    const auto found = model.restart(std::move(empty));
    if (!found && round == 0) return false;
    INFO("restart " << round << " refused: " << model.refusal());
    REQUIRE(found);
    REQUIRE(*found == variables);
    for (auto& variable : variables)
      for (auto& byte : variable.bytes) byte ^= std::byte{0x5A};
    model.checkpoint(variables);
  }
  return true;
}

}  // namespace bento::test
