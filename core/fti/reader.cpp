// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/fti/reader.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/fti/walk.hpp"

namespace bento::fti {

std::string_view to_string(Damage damage) {
  switch (damage) {
    case Damage::kSize:
      return "size";
    case Damage::kMyHash:
      return "meta hash";
    case Damage::kChecksum:
      return "file checksum";
    case Damage::kChunkHash:
      return "chunk hash";
    case Damage::kHead:
      return "block head";
    case Damage::kRecord:
      return "container record";
    case Damage::kOrder:
      return "container order";
  }
  return "unknown";
}

namespace {

/// What speaks for one layout.
struct Evidence {
  bool readable = false;
  bool ckpt_size = false;
  bool fs = false;
  bool my_hash = false;
  bool checksum_text = false;

  [[nodiscard]] bool certain(Layout layout) const {
    return ckpt_size && my_hash && (layout == Layout::kV16 || fs);
  }
  [[nodiscard]] int weight() const { return 4 * my_hash + 2 * ckpt_size + 2 * fs + checksum_text; }
};

std::uint64_t meta_offset(Layout layout, std::uint64_t size) {
  return layout == Layout::kV11 ? 0 : size - file_meta_bytes(layout);
}

Result<FileMeta> load_meta(Source& source, Layout layout, std::uint64_t size) {
  std::vector<std::byte> bytes(file_meta_bytes(layout));
  if (size < bytes.size())
    return fail(Code::kCorrupt,
                fmt::format("{}: {} bytes, less than the {} bytes of a {} file meta record",
                            source.name(), size, bytes.size(), to_string(layout)));
  BENTO_TRY(source.read_at(meta_offset(layout, size), bytes));
  auto meta = decode_file_meta(layout, bytes);
  if (!meta)
    return fail(std::move(meta).error().with_context(
        fmt::format("{}: {} file meta record at byte {}", source.name(), to_string(layout),
                    meta_offset(layout, size))));
  return meta;
}

Result<Evidence> weigh(Source& source, Layout layout) {
  Evidence evidence;
  BENTO_ASSIGN(const std::uint64_t size, source.size());
  auto meta = load_meta(source, layout, size);
  if (!meta) {
    if (meta.error().code == Code::kCorrupt) return evidence;
    return fail(std::move(meta).error());
  }
  evidence.readable = true;
  evidence.ckpt_size = meta->ckpt_size == size;
  evidence.fs = meta->fs == size;
  evidence.my_hash = meta->my_hash == my_hash(layout, *meta);
  evidence.checksum_text = from_text(meta->checksum).has_value();
  return evidence;
}

std::string describe(const Evidence& evidence) {
  if (!evidence.readable) return "no file meta record";
  return fmt::format("ckptSize {}, fs {}, hash of the meta {}",
                     evidence.ckpt_size ? "right" : "wrong", evidence.fs ? "right" : "wrong",
                     evidence.my_hash ? "right" : "wrong");
}

}  // namespace

Result<Layout> detect_layout(Source& source) {
  BENTO_ASSIGN(const Evidence v16, weigh(source, Layout::kV16));
  if (v16.certain(Layout::kV16)) return Layout::kV16;
  BENTO_ASSIGN(const Evidence v11, weigh(source, Layout::kV11));
  if (v11.certain(Layout::kV11)) return Layout::kV11;
  BENTO_ASSIGN(const std::uint64_t size, source.size());
  return fail(Code::kCorrupt, fmt::format("{}: {} bytes that are no FTI-FF file (as 1.1, meta at "
                                          "byte 0: {}; as 1.6, meta in the last "
                                          "{} bytes: {})",
                                          source.name(), size, describe(v11),
                                          file_meta_bytes(Layout::kV16), describe(v16)));
}

Result<std::optional<Layout>> guess_layout(Source& source) {
  BENTO_ASSIGN(const Evidence v11, weigh(source, Layout::kV11));
  BENTO_ASSIGN(const Evidence v16, weigh(source, Layout::kV16));
  if (v11.weight() == 0 && v16.weight() == 0) return std::optional<Layout>{};
  return std::optional<Layout>(v11.weight() > v16.weight() ? Layout::kV11 : Layout::kV16);
}

Result<Checkpoint> read_damaged(Source& source, Layout layout, Findings& findings,
                                const ReadLimits& limits) {
  BENTO_ASSIGN(const std::uint64_t size, source.size());
  Checkpoint checkpoint;
  checkpoint.layout = layout;
  BENTO_ASSIGN(checkpoint.meta, load_meta(source, layout, size));
  BENTO_TRY(walk(source, size, limits, checkpoint, findings));
  return checkpoint;
}

Result<Checkpoint> read_checkpoint(Source& source, const ReadLimits& limits) {
  BENTO_ASSIGN(const Layout layout, detect_layout(source));
  Findings findings;
  BENTO_ASSIGN(Checkpoint checkpoint, read_damaged(source, layout, findings, limits));
  if (!findings.empty()) {
    const Finding& first = findings.kept().front();
    return fail(Code::kCorrupt, fmt::format("{}: {} at byte {}: {}", source.name(),
                                            to_string(first.damage), first.offset, first.text));
  }
  return checkpoint;
}

}  // namespace bento::fti
