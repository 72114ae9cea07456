// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/io/assembly_journal.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "tests/support/matchers.hpp"
#include "tests/support/scratch.hpp"
#include "tests/transfer/golden_scr.hpp"

using namespace bento;
using namespace bento::test;

namespace {

constexpr std::size_t kLine = 56;

std::unique_ptr<AssemblyJournal> journal_at(const std::string& path,
                                            std::string_view subject = "subject") {
  if (!std::filesystem::exists(path)) write_file(path, std::vector<std::byte>());
  return must(AssemblyJournal::open(must(open_posix_file(path, OpenMode::kReadWrite)), subject));
}

JournalledChunk chunk(std::uint64_t number) {
  return {7, static_cast<std::uint32_t>(number % 2), number, 4096 * number, 100 + number};
}

/// Three chunks, a plan, three ends: a header and seven lines.
void fill(const std::string& path) {
  const auto journal = journal_at(path);
  CHECK_FALSE(journal->begun());
  for (std::uint64_t i = 0; i < 3; ++i) journal->add_chunk(chunk(i));
  journal->set_plan(hash128(std::as_bytes(std::span("plan"))));
  require_ok(journal->store());
  for (const std::uint64_t end : {100U, 200U, 200U, 300U}) {
    journal->set_end(end);
    require_ok(journal->store());
  }
}

}  // namespace

TEST_CASE("assembly journal: what was stored is there again, and goes on", "[io]") {
  const Scratch scratch;
  const std::string path = scratch / "journal";
  fill(path);
  CHECK(bytes_of_file(path).size() == 8 * kLine);
  {
    const auto journal = journal_at(path);
    CHECK(journal->begun());
    REQUIRE(journal->chunks().size() == 3);
    for (std::uint64_t i = 0; i < 3; ++i) CHECK(journal->chunks()[i] == chunk(i));
    CHECK(journal->plan() == hash128(std::as_bytes(std::span("plan"))));
    CHECK(journal->end() == 300);
    journal->set_end(250);  // it never goes back
    require_ok(journal->store());
    journal->set_end(400);
    require_ok(journal->store());
    journal->set_end(500);  // and is not there before it is stored
  }
  const auto journal = journal_at(path);
  CHECK(journal->end() == 400);
  require_ok(journal->forget());
  CHECK_FALSE(journal->begun());
  CHECK_FALSE(journal_at(path)->begun());
  CHECK(bytes_of_file(path).size() == kLine);
}

TEST_CASE("assembly journal: of another subject nothing holds", "[io]") {
  const Scratch scratch;
  const std::string path = scratch / "journal";
  fill(path);
  CHECK_FALSE(journal_at(path, "subjects")->begun());
  CHECK_FALSE(journal_at(path)->begun());
}

TEST_CASE("assembly journal: what stands before damage holds, and nothing else", "[io]") {
  const Scratch scratch;
  const std::string path = scratch / "journal";
  fill(path);
  const auto whole = bytes_of_file(path);
  const auto ends = std::vector<std::uint64_t>{0, 0, 0, 0, 0, 100, 200, 300};
  const auto check_lines = [&](const std::vector<std::byte>& bytes, std::size_t lines) {
    write_file(path, bytes);
    auto journal = journal_at(path);
    CHECK(journal->begun() == (lines > 1));
    CHECK(journal->chunks().size() == std::min<std::size_t>(lines == 0 ? 0 : lines - 1, 3));
    CHECK(journal->plan().has_value() == (lines >= 5));
    CHECK(journal->end() == (lines == 0 ? 0 : ends[lines - 1]));
    // What is added after that is read again.
    if (lines < 5) journal->set_plan({});
    journal->set_end(1000);
    require_ok(journal->store());
    CHECK(journal_at(path)->end() == 1000);
  };
  for (std::size_t length = 0; length <= whole.size(); length += 4) {
    INFO("cut to " << length);
    check_lines({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)},
                length / kLine);
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    INFO("changed at " << at);
    auto bytes = whole;
    bytes[at] ^= std::byte{0x10};
    check_lines(bytes, at / kLine);
  }
  // Lines of its own, at other places.
  auto twice = whole;
  twice.insert(twice.end(), whole.end() - static_cast<std::ptrdiff_t>(kLine), whole.end());
  check_lines(twice, 8);
}
