// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/fti/verify.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "core/fti/md5_pair.hpp"
#include "core/fti/walk.hpp"

namespace bento::fti {

namespace {

template <class Use>
void for_each_container(const Checkpoint& checkpoint, Use&& use) {
  for (const Block& block : checkpoint.blocks)
    for (const Container& container : block.containers) use(container);
}

/// containerid, dptr and hascontent by FTI's rules.
void check_order_fti(const Checkpoint& checkpoint, Findings& findings) {
  struct Seen {
    std::uint64_t containers = 0, reserved = 0;
    bool open = true;
  };
  std::unordered_map<std::int32_t, Seen> seen;
  const RecordFields field = record_fields(checkpoint.layout);
  for_each_container(checkpoint, [&](const Container& c) {
    if (is_filler(c)) return;
    Seen& before = seen[c.id];
    const auto wrong = [&](std::uint64_t at, std::uint64_t bytes, std::string text) {
      findings.add(Damage::kOrder, c.record_offset + at, bytes,
                   fmt::format("variable {}: {}", c.id, text));
    };
    if (c.idx < 0)
      wrong(4, 4, fmt::format("idx is {}, with which FTI 1.1 would index its list", c.idx));
    if (c.containerid < 0 || static_cast<std::uint64_t>(c.containerid) != before.containers)
      wrong(field.containerid, 4,
            fmt::format("containerid is {}, want {}", c.containerid, before.containers));
    if (c.dptr != before.reserved)
      wrong(field.dptr, 8, fmt::format("dptr is {}, want {}", c.dptr, before.reserved));
    if (c.hascontent && !before.open)
      wrong(field.hascontent, 1, "has content behind a container that was not full");
    if (!c.hascontent && before.open && before.containers == 0)
      wrong(field.hascontent, 1, "its first container has no content");
    if (!c.hascontent || c.chunksize < c.containersize) before.open = false;
    ++before.containers;
    before.reserved += c.containersize;
  });
}

/// The same by our rules: the live chunks of a variable are its bytes, each once.
void check_order_stream(const Checkpoint& checkpoint, Findings& findings) {
  std::unordered_map<std::int32_t, std::vector<const Container*>> variables;
  for_each_container(checkpoint, [&](const Container& c) {
    if (!is_filler(c)) variables[c.id].push_back(&c);
  });
  const RecordFields field = record_fields(checkpoint.layout);
  for (auto& [id, containers] : variables) {
    if (id < 0)
      findings.add(Damage::kOrder, containers.front()->record_offset, field.dptr,
                   fmt::format("id {} is no dataset number, and no filler", id));
    std::sort(containers.begin(), containers.end(), [](const Container* a, const Container* b) {
      return a->containerid < b->containerid;
    });
    for (std::size_t i = 0; i < containers.size(); ++i)
      if (containers[i]->containerid < 0 ||
          (i > 0 && containers[i]->containerid == containers[i - 1]->containerid))
        findings.add(Damage::kOrder, containers[i]->record_offset + field.containerid, 4,
                     fmt::format("variable {}: containerid {} is negative or taken", id,
                                 containers[i]->containerid));
    std::erase_if(containers,
                  [](const Container* c) { return !c->hascontent || c->chunksize == 0; });
    std::sort(containers.begin(), containers.end(),
              [](const Container* a, const Container* b) { return a->dptr < b->dptr; });
    std::uint64_t at = 0;
    for (const Container* c : containers) {
      if (c->dptr != at)
        findings.add(
            Damage::kOrder, c->record_offset + field.dptr, 8,
            fmt::format("variable {}: dptr is {}, want {}: its live chunks overlap or leave a gap",
                        id, c->dptr, at));
      at = c->dptr + std::min(c->chunksize, UINT64_MAX - c->dptr);
    }
  }
}

/// A stream with a gate: where FTI puts what it restores and what it writes next must be the same
/// if the gate is open, and the gate must keep it out if not.
class GateCheck {
 public:
  GateCheck(const Checkpoint& checkpoint, const Container& gate, Findings& findings)
      : checkpoint_(checkpoint), gate_(gate), findings_(findings) {}

  void run() {
    const bool open = gate_.id != kFillerId;
    if (open ? !gate_.hascontent || gate_.containerid != 0 || gate_.dptr != 0 || gate_.idx != 0
             : gate_.hascontent || gate_.hash != Digest{})
      wrong(gate_, 0, 48, "the gate of the stream is neither open nor closed");
    for_each_container(checkpoint_, [&](const Container& c) { look_at(c, open); });
    if (!open) return;
    std::int32_t place = 0;
    std::map<std::int32_t, std::int32_t> places;
    for (const auto& [id, variable] : variables_) places[id] = place++;
    for (const auto& [id, variable] : variables_)
      if (variable.live == 0 || (variable.astray && *variable.astray < variable.live))
        wrong(*variable.first, 16, 8,
              fmt::format("the gate is open, but FTI would write {} bytes of variable {} elsewhere "
                          "than it reads them",
                          variable.live, id));
    for_each_container(checkpoint_, [&](const Container& c) {
      if (c.idx != places[c.id])
        wrong(c, 4, 4,
              fmt::format("the gate is open, and idx is {}, want {}", c.idx, places[c.id]));
    });
  }

 private:
  struct Variable {
    const Container* first = nullptr;
    std::uint64_t live = 0, reserved = 0;
    std::optional<std::uint64_t> astray;  ///< capacities in front of the first such container
  };

  void look_at(const Container& c, bool open) {
    if (is_filler(c)) {
      if (open) wrong(c, 0, 4, "the gate is open, but FTI would take a filler for a variable");
      return;
    }
    Variable& variable = variables_[c.id];
    if (variable.first == nullptr) {
      variable.first = &c;
      if (open && c.id < variables_.rbegin()->first)
        wrong(c, 0, 4,
              "the gate is open, but the variables do not begin in the order of their ids");
    }
    if (!c.hascontent && c.dptr != variable.reserved)
      wrong(c, 16, 8,
            fmt::format("variable {}: dptr is {} in a container without content, want {}", c.id,
                        c.dptr, variable.reserved));
    if (c.dptr != variable.reserved && !variable.astray) variable.astray = variable.reserved;
    variable.live += c.chunksize;
    variable.reserved += std::min(c.containersize, UINT64_MAX - variable.reserved);
  }

  void wrong(const Container& c, std::uint64_t at, std::uint64_t bytes, std::string text) {
    findings_.add(Damage::kOrder, c.record_offset + at, bytes, std::move(text));
  }

  const Checkpoint& checkpoint_;
  const Container& gate_;
  Findings& findings_;
  std::map<std::int32_t, Variable> variables_;
};

void check_empty(const Checkpoint& checkpoint, Findings& findings) {
  const RecordFields field = record_fields(checkpoint.layout);
  for_each_container(checkpoint, [&](const Container& c) {
    if (!c.hascontent && c.chunksize != 0)
      findings.add(Damage::kRecord, c.record_offset + field.hascontent,
                   field.chunksize + 8 - field.hascontent,
                   fmt::format("chunksize is {} in a container without content", c.chunksize));
  });
}

constexpr std::uint64_t kPieceBytes = 256u << 10;

class DataCheck {
 public:
  DataCheck(Source& source, std::uint64_t size, Rules rules, Verdict& verdict)
      : source_(source),
        rules_(rules),
        size_(size),
        verdict_(verdict),
        kind_(verdict.hash_kind),
        empty_(empty_chunk_hash(kind_)),
        buffer_(static_cast<std::size_t>(std::min(kPieceBytes, size))) {
    if (kind_ == HashKind::kXxh3) hashes_.emplace();
  }

  Status run() {
    if (kind_ == HashKind::kMd5 && verdict_.checkpoint.layout == Layout::kV11) {
      file_end_ = std::min(verdict_.checkpoint.meta.fs, size_);
      together_.emplace();
    }
    for (const Block& block : verdict_.checkpoint.blocks)
      for (const Container& container : block.containers) BENTO_TRY(chunk(container));
    return verdict_.checkpoint.layout == Layout::kV11 ? checksum_v11() : checksum_v16();
  }

 private:
  Status chunk(const Container& c) {
    Digest found = empty_;
    const bool inside = c.fptr <= size_ && c.chunksize <= size_ - c.fptr;
    // Out of range: walk() has already found fault with this record.
    if (inside && c.chunksize > 0 && kind_ != HashKind::kNone && !not_computed(c)) {
      BENTO_ASSIGN(found, hash_of(c.fptr, c.fptr + c.chunksize));
    }
    const bool ok = inside && found == c.hash;
    verdict_.chunk_ok.push_back(ok);
    stored_.update(c.hash);
    if (c.hascontent) content_.update(found);
    if (c.hascontent && hashes_) hashes_->add(c.hash);
    if (c.hascontent && rules_ == Rules::kStream && c.hash == Digest{}) ++verdict_.unhashed;
    if (!ok && must_match(c)) report(c);
    return {};
  }

  Result<Digest> hash_of(std::uint64_t begin, std::uint64_t end) {
    // Chunks come in file order, unless the file is damaged.
    if (together_ && begin >= file_at_ && end <= file_end_) {
      BENTO_TRY(rest_of_file(begin));
      together_->restart_second();
      BENTO_TRY(pieces(begin, end, [&](auto piece) { together_->update_both(piece); }));
      file_at_ = end;
      return together_->second();
    }
    ChunkHasher hasher(kind_);
    BENTO_TRY(pieces(begin, end, [&](auto piece) { hasher.update(piece); }));
    return hasher.digest();
  }

  /// Hands the bytes [begin, end) to `use` in pieces that stay in the processor's cache.
  template <class Use>
  Status pieces(std::uint64_t begin, std::uint64_t end, const Use& use) {
    for (std::uint64_t at = begin; at < end;) {
      const auto piece =
          std::span(buffer_).first(static_cast<std::size_t>(std::min(kPieceBytes, end - at)));
      BENTO_TRY(source_.read_at(at, piece));
      use(std::span<const std::byte>(piece));
      at += piece.size();
    }
    return {};
  }

  /// What the file's checksum covers, from where the last chunk ended.
  Status rest_of_file(std::uint64_t end) {
    BENTO_TRY(pieces(file_at_, end, [&](auto piece) { together_->update_first(piece); }));
    file_at_ = std::max(file_at_, end);
    return {};
  }

  [[nodiscard]] bool not_computed(const Container& c) const {
    return rules_ == Rules::kStream && kind_ != HashKind::kNone && c.hash == Digest{};
  }

  /// FTI 1.6 leaves the hash of former content in an emptied container. FTI 1.1 recomputes it, and
  /// compares it at recovery; our streams do as FTI 1.1.
  [[nodiscard]] bool must_match(const Container& c) const {
    if (not_computed(c)) return false;
    return c.hascontent || verdict_.checkpoint.layout == Layout::kV11;
  }

  void report(const Container& c) {
    const std::uint64_t hash_at = c.record_offset + record_fields(verdict_.checkpoint.layout).hash;
    if (c.chunksize == 0 || kind_ == HashKind::kNone)
      verdict_.findings.add(
          Damage::kChunkHash, hash_at, sizeof(Digest),
          fmt::format("container {} of variable {}: the stored hash is not that of no bytes",
                      c.containerid, c.id));
    else
      verdict_.findings.add(
          Damage::kChunkHash, c.fptr, c.chunksize,
          fmt::format("container {} of variable {}: its {} bytes do not have the hash stored at "
                      "byte {}",
                      c.containerid, c.id, c.chunksize, hash_at),
          c.record_offset);
  }

  void checksum(bool writer, bool reader, std::uint64_t at, std::uint64_t bytes,
                std::string_view what) {
    verdict_.checksum_writer_rule_ok = writer;
    verdict_.checksum_reader_rule_ok = reader;
    if (!writer && !reader)
      verdict_.findings.add(
          Damage::kChecksum, at, bytes,
          fmt::format("the file checksum at byte {} is not {}",
                      meta_fields(verdict_.checkpoint.layout, size_).begin, what));
  }

  Status checksum_v11() {
    const ChecksumText& stored = verdict_.checkpoint.meta.checksum;
    bool ok = true;
    if (hashes_) {
      ok = hashes_->text() == stored;
      checksum(ok, ok, 0, kChecksumTextBytes,
               "the XXH3-128 of the hashes of all containers with content");
    } else if (kind_ == HashKind::kMd5) {
      const std::uint64_t end = file_end_;
      BENTO_TRY(rest_of_file(end));
      ok = to_text(together_->first()) == stored;
      checksum(ok, ok, v11::kFileBlockBytes,
               end - std::min<std::uint64_t>(end, v11::kFileBlockBytes),
               fmt::format("the MD5 of the bytes [{}, {})", v11::kFileBlockBytes, end));
    } else {
      checksum(true, true, 0, 0, "");
    }
    return {};
  }

  Status checksum_v16() {
    const ChecksumText& stored = verdict_.checkpoint.meta.checksum;
    const MetaFields meta = meta_fields(Layout::kV16, size_);
    const std::uint64_t records = std::min(verdict_.checkpoint.meta.data_size, meta.begin);
    checksum(to_text(stored_.digest()) == stored, to_text(content_.digest()) == stored, records,
             meta.begin + kChecksumTextBytes - records,
             "the MD5 of the chunk hashes by either rule");
    return {};
  }

  Source& source_;
  Rules rules_;
  std::uint64_t size_;
  Verdict& verdict_;
  HashKind kind_;
  Digest empty_;
  Md5 stored_;   // all stored hashes: writer's rule of FTI 1.6
  Md5 content_;  // recomputed hashes of chunks with content: its reader's rule
  std::optional<v11::HashOfHashes> hashes_;  // stored hashes of chunks with content: our XXH3 rule
  std::optional<Md5Pair> together_;          // FTI 1.1: the file, and the chunk that is read
  std::uint64_t file_at_ = v11::kFileBlockBytes;  // up to here together_ has hashed the file
  std::uint64_t file_end_ = 0;
  std::vector<std::byte> buffer_;
};

}  // namespace

Result<Verdict> verify(Source& source, const VerifyOptions& options) {
  Verdict verdict;
  BENTO_ASSIGN(const std::uint64_t size, source.size());
  BENTO_ASSIGN(verdict.layout, guess_layout(source));
  if (!verdict.layout) {
    verdict.findings.add(Damage::kSize, 0, size,
                         "neither the first 96 nor the last 106 bytes are an FTI-FF file meta");
    return verdict;
  }
  const Layout layout = *verdict.layout;
  BENTO_ASSIGN(verdict.checkpoint, read_damaged(source, layout, verdict.findings, options.limits));
  verdict.hash_kind = hash_kind(verdict.checkpoint);
  verdict.my_hash_ok = verdict.checkpoint.meta.my_hash == my_hash(layout, verdict.checkpoint.meta);
  check_empty(verdict.checkpoint, verdict.findings);
  if (options.rules == Rules::kFti)
    check_order_fti(verdict.checkpoint, verdict.findings);
  else
    check_order_stream(verdict.checkpoint, verdict.findings);
  const Container* const gate = find_gate(verdict.checkpoint);
  if (options.rules == Rules::kStream && gate != nullptr)
    GateCheck(verdict.checkpoint, *gate, verdict.findings).run();
  if (options.data) BENTO_TRY(DataCheck(source, size, options.rules, verdict).run());
  return verdict;
}

}  // namespace bento::fti
