// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/fti/rsed.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace bento::fti {

namespace {

struct Closing {
  FileMeta meta;
  std::uint64_t offset = 0;
  bool my_hash_ok = false;
  bool sizes_ok = false;

  [[nodiscard]] int weight() const { return 2 * my_hash_ok + sizes_ok; }
};

Result<std::optional<Closing>> load(Source& source, Layout layout, std::uint64_t size) {
  std::vector<std::byte> bytes(file_meta_bytes(layout));
  if (size < bytes.size()) return std::optional<Closing>{};
  Closing closing;
  closing.offset = size - bytes.size();
  BENTO_TRY(source.read_at(closing.offset, bytes));
  auto meta = decode_file_meta(layout, bytes);
  if (!meta) return std::optional<Closing>{};
  closing.meta = *meta;
  closing.my_hash_ok = meta->my_hash == my_hash(layout, *meta);
  closing.sizes_ok = meta->fs == closing.offset;
  return std::optional<Closing>(std::move(closing));
}

void check_fields(const Closing& closing, Layout layout, Findings& findings) {
  const FileMeta& meta = closing.meta;
  const std::uint64_t at = closing.offset;
  const bool v11 = layout == Layout::kV11;
  if (!closing.my_hash_ok)
    findings.add(Damage::kMyHash, at, file_meta_bytes(layout),
                 "the hash of the file meta is wrong: the hash, or a field that it covers");
  if (!closing.sizes_ok)
    findings.add(Damage::kSize, at + (v11 ? 64 : 77), 8,
                 fmt::format("fs is {}, want the {} bytes of parity", meta.fs, closing.offset));
  if (meta.max_fs < 0 || static_cast<std::uint64_t>(meta.max_fs) != meta.fs)
    findings.add(Damage::kSize, at + (v11 ? 72 : 85), 8,
                 fmt::format("maxFs is {}, want fs, {}", meta.max_fs, meta.fs));
  if (meta.pt_fs != -1)
    findings.add(Damage::kSize, at + (v11 ? 80 : 93), 8,
                 fmt::format("ptFs is {}, want -1", meta.pt_fs));
  // The rank's own file was extended to fs, in 1.6 with its size in the last 8 bytes.
  const std::uint64_t room = meta.fs - std::min<std::uint64_t>(meta.fs, v11 ? 0 : 8);
  if (meta.ckpt_size > room)
    findings.add(Damage::kSize, at + (v11 ? 56 : 53), 8,
                 fmt::format("ckptSize is {}, want at most {}", meta.ckpt_size, room));
}

}  // namespace

Result<RsedVerdict> verify_rsed(Source& source) {
  RsedVerdict verdict;
  BENTO_ASSIGN(const std::uint64_t size, source.size());
  BENTO_ASSIGN(const auto v11, load(source, Layout::kV11, size));
  BENTO_ASSIGN(const auto v16, load(source, Layout::kV16, size));
  const int weight_v11 = v11 ? v11->weight() : 0;
  const int weight_v16 = v16 ? v16->weight() : 0;
  if (weight_v11 == 0 && weight_v16 == 0) {
    verdict.findings.add(Damage::kSize, 0, size,
                         "the file does not end in the file meta record of an RSed file");
    return verdict;
  }
  verdict.layout = weight_v11 > weight_v16 ? Layout::kV11 : Layout::kV16;
  const Closing& closing = *verdict.layout == Layout::kV11 ? *v11 : *v16;
  verdict.meta = closing.meta;
  verdict.my_hash_ok = closing.my_hash_ok;
  check_fields(closing, *verdict.layout, verdict.findings);

  BENTO_ASSIGN(const ChecksumText found, md5_text(source, 0, closing.offset));
  verdict.checksum_ok = found == closing.meta.checksum;
  if (!verdict.checksum_ok)
    verdict.findings.add(
        Damage::kChecksum, 0, closing.offset,
        fmt::format("the checksum at byte {} is not the MD5 of the parity", closing.offset));
  return verdict;
}

Status check_partner(const FileMeta& holder, Source& copy, Source* original) {
  BENTO_ASSIGN(const std::uint64_t size, copy.size());
  if (holder.pt_fs < 0 || static_cast<std::uint64_t>(holder.pt_fs) != size)
    return fail(Code::kCorrupt, fmt::format("{}: {} bytes, but the holder's ptFs is {}",
                                            copy.name(), size, holder.pt_fs));
  if (original == nullptr) return {};
  BENTO_ASSIGN(const std::uint64_t original_size, original->size());
  if (original_size != size)
    return fail(Code::kCorrupt, fmt::format("{}: {} bytes, but '{}' has {}", copy.name(), size,
                                            original->name(), original_size));
  constexpr std::uint64_t kPieceBytes = 1u << 20;
  std::vector<std::byte> a;
  std::vector<std::byte> b;
  for (std::uint64_t at = 0; at < size; at += a.size()) {
    a.resize(static_cast<std::size_t>(std::min(kPieceBytes, size - at)));
    b.resize(a.size());
    BENTO_TRY(copy.read_at(at, a));
    BENTO_TRY(original->read_at(at, b));
    const auto differ = std::mismatch(a.begin(), a.end(), b.begin());
    if (differ.first != a.end())
      return fail(Code::kCorrupt,
                  fmt::format("{}: differs from '{}' at byte {}", copy.name(), original->name(),
                              at + static_cast<std::uint64_t>(differ.first - a.begin())));
  }
  return {};
}

}  // namespace bento::fti
