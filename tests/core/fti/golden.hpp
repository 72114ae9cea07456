// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The golden FTI-FF files with what their manifest says of them, and helpers of the FTI tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "core/base/error.hpp"
#include "core/fti/evolve.hpp"
#include "core/fti/model.hpp"
#include "core/fti/writer.hpp"
#include "tests/core/fti/json.hpp"
#include "tests/support/memory_file.hpp"

namespace bento::test {

using Bytes = std::vector<std::byte>;

/// One golden file; its bytes have been compared with the manifest's MD5.
struct Golden {
  std::string path;  ///< below tests/data/fti
  fti::Layout layout = fti::Layout::kV11;
  std::string scenario;
  std::string kind;  ///< "rank", "partner_copy", "rs_encoded", "dcp"
  int checkpoint = 0;
  int rank = 0;  ///< in the file name; partner copies hold the content of content_rank()
  Bytes bytes;
  Json json;  ///< the file's manifest entry

  [[nodiscard]] int content_rank() const { return kind == "partner_copy" ? 1 - rank : rank; }
};

/// All files of the manifest. Fails the test if one is missing or has other bytes.
const std::vector<Golden>& golden_files();
const Golden& golden(std::string_view path);

/// Byte `i` of variable `id` of a golden file.
std::byte golden_byte(int id, int rank, std::uint64_t i);
/// VariableData that follows the golden rule.
fti::VariableData golden_data(int rank);

/// Bytes of the published example before checkpoint 1..7, in protect order; `unit` = 1000 for the
/// golden files, 1000000 at full size.
std::vector<fti::Protected> published_sizes(int checkpoint, std::uint64_t unit);
/// The same for the scenario "mixed", checkpoints 1..4.
std::vector<fti::Protected> mixed_sizes(int checkpoint, int rank);

/// An empty file in memory.
class ScratchFile {
 public:
  ScratchFile();
  File& operator*() { return *file_; }
  [[nodiscard]] Bytes bytes() const { return files_.content("scratch"); }

 private:
  MemoryFileSystem files_;
  std::unique_ptr<File> file_;
};

Bytes to_bytes(std::string_view text);
std::string hex(std::span<const std::byte> bytes);

/// Value of a Result in a test: fails the test with the error's text.
template <class T>
T value_of(Result<T> result) {
  if (!result) FAIL(result.error().text);
  return std::move(*result);
}
inline void require_ok(const Status& status) {
  if (!status) FAIL(status.error().text);
}

}  // namespace bento::test
