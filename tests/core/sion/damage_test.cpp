// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// Golden containers with one byte changed or the end cut off: the reader refuses them, or reads
// what the oracle says, and never looks behind the end of a file.
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>

#include "core/sion/constants.hpp"
#include "core/sion/layout.hpp"
#include "tests/core/sion/oracle.hpp"
#include "tests/support/golden.hpp"

using namespace bento;
using namespace bento::test;

namespace {

/// Copies of a container's files, and where their metadata lie.
struct Copy {
  std::string name;
  std::vector<std::pair<std::string, test::Bytes>> files;
  std::vector<std::vector<std::size_t>> metadata;  // offsets, per file

  explicit Copy(const GoldenContainer& golden) : name(golden.name) {
    for (const auto& file : golden.files) {
      files.emplace_back(file.name, file.content);
      auto& offsets = metadata.emplace_back();
      for (std::size_t at = 0; at < sion_meta1_bytes(file.tasks); ++at) offsets.push_back(at);
      for (std::size_t at = file.meta2_address; at < file.content.size(); ++at)
        offsets.push_back(at);
    }
  }

  [[nodiscard]] Images images() const {
    Images result;
    for (const auto& [path, bytes] : files) result[path] = bytes;
    return result;
  }

  /// As a whole, and each file alone.
  [[nodiscard]] std::string check(std::size_t changed, std::size_t* accepted = nullptr) const {
    const Images now = images();
    std::string problem = compare_with_oracle(now, name, false, accepted);
    if (problem.empty() && files.size() > 1)
      problem = compare_with_oracle(now, files[changed].first, true);
    return problem;
  }
};

bool in_prefix(std::size_t offset) {
  return offset >= 52 && offset < 1076;
}

/// Eight single bits, all zeros, all ones.
std::set<unsigned> ten_values(unsigned old) {
  std::set<unsigned> values{0x00, 0xFF};
  for (unsigned bit = 0; bit < 8; ++bit) values.insert(old ^ (1u << bit));
  values.erase(old);
  return values;
}

std::set<unsigned> all_values(unsigned old) {
  std::set<unsigned> values;
  for (unsigned value = 0; value < 256; ++value) values.insert(value);
  values.erase(old);
  return values;
}

template <class Values, class Wanted>
void change_bytes(const Values& values, const Wanted& wanted) {
  std::size_t tried = 0;
  std::size_t accepted = 0;
  for (const auto& golden : require_golden_sion()) {
    Copy copy(golden);
    for (std::size_t file = 0; file < copy.files.size(); ++file) {
      for (const std::size_t at : copy.metadata[file]) {
        if (!wanted(at)) continue;
        std::byte& byte = copy.files[file].second[at];
        const std::byte old = byte;
        for (const unsigned value : values(std::to_integer<unsigned>(old))) {
          byte = static_cast<std::byte>(value);
          ++tried;
          const std::string problem = copy.check(file, &accepted);
          if (!problem.empty())
            FAIL(fmt::format("{} byte {} {:#04x} -> {:#04x}: {}", copy.files[file].first, at,
                             std::to_integer<unsigned>(old), value, problem));
        }
        byte = old;
      }
    }
  }
  INFO(accepted << " of " << tried << " accepted");
  CHECK(accepted > 0);
  CHECK(accepted < tried);
}

}  // namespace

TEST_CASE("sion damage: every single-byte change of the numbers", "[core][sion][damage]") {
  change_bytes(ten_values, [](std::size_t at) { return !in_prefix(at); });
}

TEST_CASE("sion damage: single-byte changes of the prefix do no harm", "[core][sion][damage]") {
  for (const auto& golden : require_golden_sion()) {
    Copy copy(golden);
    for (std::size_t file = 0; file < copy.files.size(); ++file) {
      for (std::size_t at = 52; at < 1076; ++at) {
        std::byte& byte = copy.files[file].second[at];
        const std::byte old = byte;
        for (const unsigned value : {0x00u, 0x41u, 0xFFu}) {
          byte = static_cast<std::byte>(value);
          std::size_t accepted = 0;
          const std::string problem = copy.check(file, &accepted);
          if (!problem.empty() || accepted != 1)
            FAIL(fmt::format("{} byte {}: {}", copy.files[file].first, at, problem));
        }
        byte = old;
      }
    }
  }
  SUCCEED();
}

TEST_CASE("sion damage: all 255 changes of every byte of the numbers",
          "[core][sion][damage][full]") {
  change_bytes(all_values, [](std::size_t at) { return !in_prefix(at); });
}

TEST_CASE("sion damage: every length to which a file can be cut", "[core][sion][damage]") {
  for (const auto& golden : require_golden_sion()) {
    const Copy copy(golden);
    for (std::size_t file = 0; file < copy.files.size(); ++file) {
      const auto& [path, whole] = copy.files[file];
      // What is behind the size rows of a single file is nothing or four zero bytes that no reader
      // wants.
      const std::size_t needed = whole.size() - (copy.files.size() == 1 && golden.serial ? 4 : 0);
      for (std::size_t length = 0; length < whole.size(); ++length) {
        Images images = copy.images();
        images[path] = std::span(whole).first(length);
        std::size_t accepted = 0;
        const std::string problem = compare_with_oracle(images, copy.name, false, &accepted);
        if (!problem.empty() || (accepted == 1) != (length >= needed))
          FAIL(fmt::format("{} cut to {} bytes: {} {}", path, length,
                           accepted == 1 ? "accepted" : "refused", problem));
      }
    }
  }
  SUCCEED();
}

TEST_CASE("sion damage: two numbers at once", "[core][sion][damage]") {
  // Every pair of the 32-bit fields of META1 set to values at the borders of what they can hold.
  const GoldenContainer& golden = require_golden_sion("empty_tasks.sion");
  constexpr std::size_t kFields[] = {16, 20, 24, 28, 32};
  const std::size_t tail = sion_meta1_bytes(4, false);
  std::vector<std::size_t> fields(std::begin(kFields), std::end(kFields));
  fields.insert(fields.end(), {tail, tail + 4, tail + 8, 1076 + 32, 1076 + 36});
  constexpr std::uint32_t kValues[] = {0,   1,          2,          3,          5,
                                       255, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x01000000};
  const auto set = [](test::Bytes& bytes, std::size_t at, std::uint32_t value) {
    for (std::size_t i = 0; i < 4; ++i)
      bytes[at + i] = static_cast<std::byte>(value >> (8 * i) & 0xFFu);
  };
  for (const std::size_t first : fields) {
    for (const std::size_t second : fields) {
      for (const std::uint32_t a : kValues) {
        for (const std::uint32_t b : kValues) {
          Copy copy(golden);
          set(copy.files[0].second, first, a);
          set(copy.files[0].second, second, b);
          const std::string problem = copy.check(0);
          if (!problem.empty())
            FAIL(fmt::format("{} = {:#x}, {} = {:#x}: {}", first, a, second, b, problem));
        }
      }
    }
  }
  SUCCEED();
}
