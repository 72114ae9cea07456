// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "tests/core/sion/oracle.hpp"

#include <cstdint>
#include <stdexcept>

#include <fmt/format.h>

#include "core/sion/reader.hpp"
#include "tests/support/span_file.hpp"

namespace bento::test {
namespace {

__extension__ typedef __int128 Wide;

/// One physical file as the format describes it. Throws the reason when it is none.
struct Judged {
  std::span<const std::byte> bytes;
  bool big = false;
  Wide version, f, n, nfiles, filenumber, maxchunks, meta2;
  Wide start = 0;
  Wide skip = 0;
  std::vector<Wide> chunk;

  explicit Judged(std::span<const std::byte> image) : bytes(image) {
    if (number(0, 4, true) != 0x73696f6e) throw std::runtime_error("magic");
    const auto first = at(4);
    if (first != at(7) || at(5) != at(6) || first > 1 || at(5) > 1)
      throw std::runtime_error("endianness");
    big = first == 1;
    version = number(16, 4, big);
    if (version < 2 || version > 5) throw std::runtime_error("version");
    f = number(20, 4, big);
    n = number(24, 4, big);
    nfiles = number(28, 4, big);
    const Wide fixed = version == 2 ? 1056 : 1076;
    filenumber = version == 2 ? 1 : number(32, 4, big);
    if (f < 1 || n < 0 || nfiles < 1 || filenumber < 0)
      throw std::runtime_error("a number below its minimum");
    if (nfiles > 1 && filenumber >= nfiles) throw std::runtime_error("filenumber");
    if (version == 5 && (number(44, 8, big) != 0 || number(36, 8, big) % 4294967296 != 0))
      throw std::runtime_error("flags");
    start = (1088 + 16 * n + f - 1) / f * f;
    for (Wide t = 0; t < n; ++t) {
      Wide size = number(fixed + 8 * n + 8 * t, 8, big);
      if (size < 0) throw std::runtime_error("chunk size");
      if (version <= 3) size = (size + f - 1) / f * f;
      chunk.push_back(size);
      skip += size;
    }
    maxchunks = number(fixed + 16 * n, 4, big);
    meta2 = number(fixed + 16 * n + 4, 8, big);
    if (meta2 <= fixed + 16 * n || maxchunks < 0) throw std::runtime_error("not closed");
    (void)number(meta2 + 8 * n * (1 + maxchunks) - 1, 1, big);  // the last size row is there
  }

  [[nodiscard]] unsigned at(Wide offset) const {
    if (offset < 0 || offset >= static_cast<Wide>(bytes.size()))
      throw std::runtime_error("outside the file");
    return std::to_integer<unsigned>(bytes[static_cast<std::size_t>(offset)]);
  }
  /// A signed number.
  [[nodiscard]] Wide number(Wide offset, int width, bool most_first) const {
    Wide value = 0;
    for (int i = 0; i < width; ++i)
      value = value * 256 + at(offset + (most_first ? i : width - 1 - i));
    const Wide half = static_cast<Wide>(1) << (8 * width - 1);
    return value >= half ? value - 2 * half : value;
  }

  [[nodiscard]] std::vector<std::byte> stream(Wide t) const {
    if (t < 0 || t >= n) throw std::runtime_error("no such task");
    const Wide count = number(meta2 + 8 * t, 8, big);
    if (count < 0 || count > maxchunks) throw std::runtime_error("block count");
    Wide before = 0;
    for (Wide i = 0; i < t; ++i) before += chunk[static_cast<std::size_t>(i)];
    std::vector<std::byte> result;
    for (Wide b = 0; b < count; ++b) {
      const Wide used = number(meta2 + 8 * (n * (1 + b) + t), 8, big);
      if (used < 0 || used > chunk[static_cast<std::size_t>(t)])
        throw std::runtime_error("size beyond its chunk");
      if (used == 0) continue;
      const Wide begin = start + before + b * skip;
      if (begin + used > static_cast<Wide>(bytes.size()))
        throw std::runtime_error("chunk outside the file");
      const auto part =
          bytes.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(used));
      result.insert(result.end(), part.begin(), part.end());
    }
    return result;
  }
};

std::string physical(const std::string& name, Wide index) {
  return index == 0 ? name : fmt::format("{}.{:06}", name, static_cast<std::int64_t>(index));
}

void judge(const Images& images, const std::string& name, bool alone, OracleResult& result) {
  std::vector<Judged> files{Judged(images.at(name))};
  const Judged& head = files.front();
  if (alone || head.nfiles == 1 || head.filenumber != 0) {
    for (Wide t = 0; t < head.n; ++t) result.streams.push_back(head.stream(t));
    return;
  }
  const Wide nfiles = head.nfiles;
  Wide total = head.n;
  for (Wide k = 1; k < nfiles; ++k) {
    files.emplace_back(images.at(physical(name, k)));
    if (files.back().filenumber != k || files.back().nfiles != nfiles)
      throw std::runtime_error("foreign sub-file");
    total += files.back().n;
  }
  const Judged& master = files.front();
  const Wide table = master.meta2 + 8 * master.n * (1 + master.maxchunks);
  const Wide count = master.number(table, 4, master.big);
  if (count != total) throw std::runtime_error("mapping size");
  std::map<std::pair<Wide, Wide>, int> seen;
  for (Wide g = 0; g < count; ++g) {
    const Wide file = master.number(table + 4 + 8 * g, 4, master.big);
    const Wide task = master.number(table + 8 + 8 * g, 4, master.big);
    if (file < 0 || file >= nfiles) throw std::runtime_error("mapping to no file");
    if (seen[{file, task}]++ != 0) throw std::runtime_error("mapped twice");
    result.streams.push_back(files[static_cast<std::size_t>(file)].stream(task));
  }
}

std::string compare(SionReader& reader, const OracleResult& expected) {
  if (reader.tasks() != expected.streams.size())
    return fmt::format("{} tasks read, {} expected", reader.tasks(), expected.streams.size());
  for (std::size_t task = 0; task < expected.streams.size(); ++task) {
    const auto& stream = expected.streams[task];
    if (reader.stream_bytes(task) != stream.size())
      return fmt::format("task {}: {} bytes, {} expected", task, reader.stream_bytes(task),
                         stream.size());
    std::vector<std::byte> read(stream.size());
    if (const Status status = reader.read_stream(task, 0, read); !status)
      return status.error().text;
    if (read != stream) return fmt::format("task {}: other bytes", task);
    std::byte beyond{};
    if (reader.read_stream(task, stream.size(), std::span(&beyond, 1)))
      return "read behind the end of a stream";
  }
  return {};
}

}  // namespace

OracleResult judge_container(const Images& images, const std::string& name, bool alone) {
  OracleResult result;
  try {
    judge(images, name, alone, result);
  } catch (const std::exception& reason) {
    result.problem = reason.what();
  }
  return result;
}

std::string compare_with_oracle(const Images& images, const std::string& name, bool alone,
                                std::size_t* accepted) {
  SpanFiles files;
  for (const auto& [path, bytes] : images) files.put(path, bytes);
  auto reader =
      SionReader::open(files.opener(), name, alone ? SionScope::kOneFile : SionScope::kContainer);
  if (!reader) {
    if (reader.error().text.empty()) return "an error without a text";
    if (files.overreads() != 0)
      return "refused only after a read behind the end: " + reader.error().text;
    return {};
  }
  if (accepted != nullptr) ++*accepted;
  const OracleResult expected = judge_container(images, name, alone);
  if (!expected.problem.empty()) return "accepted, but: " + expected.problem;
  std::string problem = compare(*reader, expected);
  if (problem.empty() && files.overreads() != 0) problem = "reads behind the end of a file";
  return problem;
}

}  // namespace bento::test
