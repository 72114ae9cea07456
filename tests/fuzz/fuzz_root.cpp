// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Root sectors, alone and in the slots of a file that probe() looks at: u8 options, u16 tasks as
/// META1 has them, then up to two sectors. What is accepted is a layout whose parts do not overlap.
#include <algorithm>
#include <array>

#include "core/base/hash.hpp"
#include "core/layout/root.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/support/memory_file.hpp"

namespace bento::fuzz {
namespace {

constexpr std::size_t kHashAt = kSectorBytes - 16;
enum Options : unsigned { kSeal = 1 };

using Sector = std::array<std::byte, kSectorBytes>;

void check_layout(const Root& root) {
  const auto plan = ContainerPlan::of(root.groups, root.fs_block);
  require(plan.has_value(), "the groups are a layout");
  require(plan->files() == root.files(), "files");
  std::uint32_t writers = 0;
  for (std::uint32_t index = 0; index < plan->files(); ++index) {
    const FilePlan& part = plan->file(index);
    require(part.first_writer == writers && part.writers > 0, "writers follow each other");
    require(plan->file_of(writers) == index, "a writer is found in its file");
    writers += part.writers;
    require(part.fsblksize != 0, "fsblksize");
    require(part.superblock_address() >= 1088 + 16ull * part.tasks(), "META1 ends before");
    require(part.root_address(1) + kSectorBytes <= part.data_start(), "roots before data");
  }
  require(writers == plan->writers(), "all writers have a file");
}

}  // namespace

void root(Input input) {
  Dice dice(input);
  const auto options = dice.number(1);
  const auto tasks = static_cast<std::uint32_t>(dice.number(2)) % 2048;
  std::vector<std::byte> file(
      static_cast<std::size_t>(superblock_address(tasks) + kSectorBytes + 2 * kSectorBytes));
  std::ranges::copy(std::as_bytes(std::span("sion", 4)), file.begin());
  file[24] = static_cast<std::byte>(tasks & 0xFF);
  file[25] = static_cast<std::byte>(tasks >> 8);

  std::uint64_t newest = 0;
  bool any = false;
  bool foreign = false;
  for (unsigned slot = 0; slot < 2; ++slot) {
    Sector sector{};
    std::ranges::copy(dice.take(kHashAt), sector.begin());
    if ((options & kSeal) != 0) {
      const Hash128 hash = hash128(std::span(sector).first(kHashAt));
      std::ranges::copy(hash, sector.begin() + kHashAt);
    } else {
      std::ranges::copy(dice.take(16), sector.begin() + kHashAt);
    }
    const auto at = superblock_address(tasks) + kSectorBytes * (1 + slot);
    std::ranges::copy(sector, file.begin() + static_cast<std::ptrdiff_t>(at));
    const auto decoded = decode_root(sector);
    if (!decoded) {
      foreign = foreign || decoded.error().code == Code::kUnsupported;
      continue;
    }
    newest = any ? std::max(newest, decoded->sequence) : decoded->sequence;
    any = true;
    check_layout(*decoded);
    const auto again = decode_root(encode_root(*decoded));
    require(again && encode_root(*again) == encode_root(*decoded), "a root is written as read");
  }

  const MemoryFileSystem disk;
  disk.put("box", std::move(file));
  auto handle = disk.open("box", OpenMode::kRead);
  const auto seen = probe(**handle);
  require(seen.has_value() || foreign, "only a newer format is an error");
  if (!seen) return;
  if (seen->kind == FileKind::kContainer)
    require(any && seen->root.sequence == newest, "the newest valid root counts");
  else
    require(!any || tasks < 2, "a valid root is found");
  for (std::size_t length : {0u, 3u, 27u, 28u, 5000u, 9000u}) {
    auto content = disk.content("box");
    content.resize(std::min(length, content.size()));
    disk.put("short", std::move(content));
    auto cut = disk.open("short", OpenMode::kRead);
    (void)probe(**cut);
  }
}

}  // namespace bento::fuzz

BENTO_FUZZ_MAIN(root)
