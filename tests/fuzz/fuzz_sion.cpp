// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A whole SION container of up to four physical files, META1, META2 and mapping included. What the
/// reader accepts, it can read to the last byte, and no more than the files hold.
#include <algorithm>

#include "core/sion/dump.hpp"
#include "core/sion/keyval.hpp"
#include "core/sion/reader.hpp"
#include "tests/fuzz/sion_input.hpp"
#include "tests/support/memory_file.hpp"

namespace bento::fuzz {

SionFiles unpack(Dice& pieces) {
  SionFiles files;
  while (!pieces.rest().empty()) {
    auto& file = files[static_cast<std::size_t>(pieces.number(1)) % kFiles];
    const auto address = static_cast<std::size_t>(pieces.number(3));
    const Input bytes = pieces.take(static_cast<std::size_t>(pieces.number(2)));
    if (address > kFileBytes || bytes.size() > kFileBytes - address) continue;
    if (file.size() < address + bytes.size()) file.resize(address + bytes.size());
    std::ranges::copy(bytes, file.begin() + static_cast<std::ptrdiff_t>(address));
  }
  return files;
}

void pack(std::vector<std::byte>& input, std::size_t file, Input content) {
  const auto piece = [&](std::size_t from, std::size_t length) {
    input.push_back(static_cast<std::byte>(file));
    for (const unsigned shift : {0u, 8u, 16u})
      input.push_back(static_cast<std::byte>((from >> shift) & 0xFF));
    for (const unsigned shift : {0u, 8u})
      input.push_back(static_cast<std::byte>((length >> shift) & 0xFF));
    const auto bytes = content.subspan(from, length);
    input.insert(input.end(), bytes.begin(), bytes.end());
  };
  constexpr std::size_t kHole = 16;  // shorter runs of zeros are cheaper as they are
  constexpr std::size_t kLongest = 0xFFFF;
  std::size_t from = 0;
  while (from < content.size()) {
    if (content[from] == std::byte{0}) {
      ++from;
      continue;
    }
    std::size_t end = from;  // behind the last byte that is not zero
    for (std::size_t at = from; at < content.size() && at - from < kLongest && at < end + kHole;
         ++at)
      if (content[at] != std::byte{0}) end = at + 1;
    piece(from, end - from);
    from = end;
  }
  piece(content.size(), 0);
}

namespace {

void read_everything(SionReader& reader) {
  std::uint64_t sum = 0;
  for (std::uint64_t task = 0; task < reader.tasks(); ++task) {
    const std::uint64_t bytes = reader.stream_bytes(task);
    sum += bytes;
    require(sum <= kFiles * kFileBytes, "used chunks lie in the files and do not overlap");
    std::vector<std::byte> stream(static_cast<std::size_t>(bytes));
    require(reader.read_stream(task, 0, stream).has_value(), "a stream can be read");
    std::byte beyond{};
    require(!reader.read_stream(task, bytes, {&beyond, 1}), "a stream ends where it ends");
    std::uint64_t chunks = 0;
    for (std::uint64_t block = 0; block < reader.blocks(task); ++block)
      chunks += reader.chunk_used(task, block);
    require(chunks == bytes, "a stream is its chunks");
  }
  require(!reader.read_stream(reader.tasks(), 0, {}), "there are no more tasks");
}

void read_records(SionReader& reader) {
  for (std::uint64_t task = 0; task < reader.tasks(); ++task) {
    auto records = KeyvalReader::open(reader, task);
    if (!records) continue;
    while (true) {
      const auto record = records->next();
      if (!record || !*record) break;
      std::vector<std::byte> value(static_cast<std::size_t>((*record)->bytes));
      require(records->read(**record, 0, value).has_value(), "a record can be read");
    }
  }
}

/// What was read can be written, and reads as the same.
void encode_again(const SionFileInfo& info) {
  const auto meta2 = encode_meta2(info.meta2, info.meta1.order);
  const auto chunk_bytes = info.meta1.effective_chunk_bytes();
  require(chunk_bytes.has_value(), "chunk sizes");
  const auto sizes = decode_meta2(
      meta2, {info.meta1.order, info.meta1.tasks(), info.meta2.max_blocks(), *chunk_bytes});
  require(sizes && *sizes == info.meta2, "META2 is written as it was read");
  if (info.meta1.format_version != kSionFormatVersion) return;
  const auto head = encode_meta1(info.meta1, true);
  require(head.has_value(), "META1 can be written");
  const auto again = decode_meta1(*head, info.file_bytes);
  require(again && *again == info.meta1, "META1 is written as it was read");
}

}  // namespace

void sion(Input input) {
  Dice dice(input);
  const auto options = dice.number(1);
  const SionFiles files = unpack(dice);
  const MemoryFileSystem disk;
  for (std::uint32_t index = 0; index < kFiles; ++index)
    if (!files[index].empty()) disk.put(sion_file_name("box", index), files[index]);
  auto reader =
      SionReader::open(disk.opener(), "box",
                       (options & kOneFile) != 0 ? SionScope::kOneFile : SionScope::kContainer);
  if (!reader) return;
  read_everything(*reader);
  read_records(*reader);
  (void)dump(*reader);
  for (std::uint32_t index = 0; index < reader->files(); ++index) encode_again(reader->file(index));
  const auto mapping = encode_mapping(reader->mapping(), std::endian::big);
  require(mapping && decode_mapping(*mapping, std::endian::big) == reader->mapping(),
          "the mapping is written as it was read");
  require(reader->close().has_value(), "close");
}

}  // namespace bento::fuzz

BENTO_FUZZ_MAIN(sion)
