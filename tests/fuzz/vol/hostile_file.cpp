// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "tests/fuzz/vol/hostile_file.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/fti/checksum.hpp"
#include "core/fti/v11.hpp"
#include "tests/fuzz/vol/editable_blob.hpp"

namespace bento::fuzz {

namespace {

constexpr std::size_t kMostOps = 24;
constexpr std::size_t kMostItems = 1u << 20;

/// Numbers at which arithmetic breaks.
std::uint64_t interesting(std::uint64_t which, std::uint64_t old) {
  const std::array<std::uint64_t, 24> values{
      0,          1,          2,          3,          16,         255,
      256,        4095,       4096,       65536,      1u << 20,   (1u << 24) + 1,
      1ull << 31, ~0u,        1ull << 32, 1ull << 40, 1ull << 43, (1ull << 62) - 1,
      1ull << 62, ~0ull >> 1, 1ull << 63, ~0ull,      old + 1,    old - 1};
  if (which >= 200) return old << (which - 199);
  if (which >= 128) return old + (which - 160);
  return values[which % values.size()];
}

/// The blobs of a sample as they are; taken apart once.
const std::vector<EditableBlob>& unedited(const Sample& sample) {
  static std::map<const Sample*, std::vector<EditableBlob>> known;
  const auto [at, fresh] = known.try_emplace(&sample);
  if (!fresh) return at->second;
  std::multimap<std::uint64_t, std::size_t> by_hash;
  for (std::size_t i = 0; i < sample.blobs.size(); ++i) {
    std::uint64_t head = 0;
    std::memcpy(&head, sample.blobs[i].ref.hash.data(), sizeof head);
    by_hash.emplace(head, i);
  }
  for (const auto& blob : sample.blobs) at->second.emplace_back(blob, sample.blobs, by_hash);
  return at->second;
}

class Editor {
 public:
  Editor(const Sample& sample, Dice dice, Edits edits)
      : sample_(sample), dice_(dice), edits_(edits), root_(sample.root), blobs_(unedited(sample)) {
    out_.files = sample.files;
    for (std::size_t i = 0; i < blobs_.size(); ++i)
      if (may_edit(sample.blobs[i].kind)) editable_.push_back(i);
    emitted_.resize(blobs_.size());
    end_ = root_.catalogue_end + 65536;
  }

  HostileFile run() {
    for (std::size_t op = 0; op < kMostOps && !dice_.rest().empty(); ++op)
      edits_ == Edits::kSkeleton ? edit_blob(dice_.number(1) % 6) : edit();
    finish();
    return std::move(out_);
  }

 private:
  [[nodiscard]] bool may_edit(SampleBlob::Kind kind) const {
    const bool skeleton = kind == SampleBlob::Kind::kSkeletonPage;
    if (edits_ == Edits::kSkeleton) return skeleton;
    return !skeleton && kind != SampleBlob::Kind::kSkeletonTable;
  }

  void edit() {
    const auto what = dice_.number(1) % 20;
    if (what < 13) return edit_blob(what % 10);
    switch (what) {
      case 13:
      case 14:
        return edit_root();
      case 15:
        return edit_head();
      case 16:
      case 17:
        return edit_record(what == 16);
      case 18: {
        const std::size_t size = out_.files[0].size();
        out_.files[0].resize(size - size * dice_.number(1) / 512);
        return;
      }
      default:
        out_.grow_to = 1ull << (20 + dice_.number(1) % 22);
    }
  }

  void edit_blob(std::uint64_t what) {
    if (editable_.empty()) return;
    const std::size_t number = editable_[dice_.number(2) % editable_.size()];
    EditableBlob& blob = edited_.try_emplace(number, blobs_[number]).first->second;
    auto& items = blob.items();
    if (items.empty() || items.size() > kMostItems) return;
    const std::size_t at = dice_.number(2) % items.size();
    const auto value = dice_.number(1);
    const auto place = [&](std::size_t i) {
      return items.begin() + static_cast<std::ptrdiff_t>(std::min(i, items.size()));
    };
    switch (what) {
      case 0:
        if (!items[at].target) items[at].byte = static_cast<std::byte>(value);
        return;
      case 1:
      case 2:
        if (const auto old = blob.varint_at(at))
          blob.replace_varint(at, old->second, interesting(value, old->first));
        return;
      case 3:
        items.insert(place(at), 1 + value % 8, {static_cast<std::byte>(value / 8), {}, {}, {}, {}});
        return;
      case 4:
        items.erase(place(at), place(at + 1 + value % 8));
        return;
      case 5: {
        const std::vector<EditableBlob::Item> part(place(at), place(at + 1 + value));
        const auto times = 1 + dice_.number(1);
        for (std::uint64_t i = 0; i < times && items.size() < kMostItems; ++i)
          items.insert(place(at), part.begin(), part.end());
        return;
      }
      default:
        edit_reference(blob, what, value);
    }
  }

  void edit_reference(EditableBlob& blob, std::uint64_t what, std::uint64_t value) {
    const auto references = blob.references();
    if (references.empty()) return;
    auto& item = blob.items()[references[value % references.size()]];
    const auto how = dice_.number(1);
    if (what == 8)
      item.bytes = interesting(how, sample_.blobs[*item.target].ref.bytes);
    else if (what == 9)
      item.position = interesting(how, sample_.blobs[*item.target].ref.position);
    else
      item.target = editable_[how % editable_.size()];
  }

  // Only the numbers: references get their turn in finish().
  void edit_root() {
    constexpr std::size_t kFirst = 8;
    constexpr std::size_t kLast = 256 + 24 * 3;
    const std::size_t size = dice_.number(1) % 2 == 0 ? 4 : 8;
    const std::size_t at = kFirst + dice_.number(1) % ((kLast - kFirst) / 4) * 4;
    root_edits_.push_back({at, size, dice_.number(1)});
  }

  // META1, superblock and holder note.
  void edit_head() {
    auto& file = out_.files[dice_.number(1) % out_.files.size()];
    const std::size_t reach = std::min<std::size_t>(file.size(), 8192);
    if (reach != 0) file[dice_.number(2) % reach] = static_cast<std::byte>(dice_.number(1));
  }

  // Data whose hash agrees again, or the dbvar in front of it.
  void edit_record(bool data) {
    if (sample_.records.empty()) return;
    auto& file = out_.files[0];
    const auto& record = sample_.records[dice_.number(2) % sample_.records.size()];
    const std::size_t at = dice_.number(2);
    const auto value = static_cast<std::byte>(dice_.number(1));
    if (record.data + record.bytes > file.size()) return;
    if (!data) {
      file[record.dbvar + at % fti::v11::kDbVarBytes] = value;
      return;
    }
    file[record.data + at % record.bytes] = value;
    auto var = fti::v11::decode_dbvar(std::span(file).subspan(record.dbvar));
    if (!var) return;
    var->hash =
        fti::chunk_hash(root_.record_hash(), std::span(file).subspan(record.data, record.bytes));
    const auto bytes = fti::v11::encode(*var);
    std::copy(bytes.begin(), bytes.end(), file.begin() + static_cast<std::ptrdiff_t>(record.dbvar));
  }

  void put(std::uint64_t address, std::span<const std::byte> bytes) {
    auto& file = out_.files[0];
    if (address + bytes.size() > file.size()) file.resize(address + bytes.size());
    std::copy(bytes.begin(), bytes.end(), file.begin() + static_cast<std::ptrdiff_t>(address));
  }

  CatalogueRef store(const Bytes& bytes) {
    const CatalogueRef ref{end_, bytes.size(), hash128(bytes)};
    const FilePlan& plan = sample_.plan.file(0);
    for (std::size_t done = 0; done < bytes.size();) {
      const std::uint64_t room = plan.chunk_bytes - end_ % plan.chunk_bytes;
      const std::size_t here = std::min<std::size_t>(bytes.size() - done, room);
      put(plan.address(plan.catalogue_task(), end_), std::span(bytes).subspan(done, here));
      done += here;
      end_ += here;
    }
    return ref;
  }

  /// Where blob `number` is now: where it was, unless it or something below it has changed.
  /// A blob that refers back to itself keeps the old reference there: hashes make no circles.
  CatalogueRef emit(std::size_t number) {
    auto& known = emitted_[number];
    if (known.busy) return sample_.blobs[number].ref;
    if (known.ref) return *known.ref;
    known.busy = true;
    const auto edited = edited_.find(number);
    bool same = edited == edited_.end();
    const auto& now = same ? blobs_[number] : edited->second;
    for (const auto target : now.targets()) same &= emit(target) == sample_.blobs[target].ref;
    if (same) {
      known.busy = false;
      return *(known.ref = sample_.blobs[number].ref);
    }
    const Bytes bytes = now.encode([this](std::size_t target) { return emit(target); });
    known.busy = false;
    known.ref = bytes == sample_.blobs[number].bytes ? sample_.blobs[number].ref : store(bytes);
    return *known.ref;
  }

  void emit_root(CatalogueRef& ref) {
    for (std::size_t i = 0; i < blobs_.size(); ++i)
      if (sample_.blobs[i].ref == ref) {
        ref = emit(i);
        return;
      }
  }

  void finish() {
    const auto wanted_size = out_.files[0].size();
    for (auto* const ref : {&root_.index, &root_.streams, &root_.view, &root_.skeleton})
      emit_root(*ref);
    if (wanted_size == sample_.files[0].size()) root_.catalogue_end = end_;
    auto sector = encode_root(root_);
    for (const auto& edit : root_edits_) {
      std::uint64_t old = 0;
      std::memcpy(&old, sector.data() + edit.at, edit.size);
      const std::uint64_t value = interesting(edit.value, old);
      std::memcpy(sector.data() + edit.at, &value, edit.size);
    }
    const Hash128 hash = hash128(std::span(sector).first(kSectorBytes - hash_bytes));
    std::copy(hash.begin(), hash.end(), sector.end() - hash_bytes);
    for (unsigned slot = 0; slot < 2; ++slot) put(sample_.plan.file(0).root_address(slot), sector);
  }

  struct RootEdit {
    std::size_t at;
    std::size_t size;
    std::uint64_t value;
  };
  struct Emitted {
    bool busy = false;
    std::optional<CatalogueRef> ref;
  };
  static constexpr std::size_t hash_bytes = 16;

  const Sample& sample_;
  Dice dice_;
  Edits edits_;
  Root root_;
  HostileFile out_;
  const std::vector<EditableBlob>& blobs_;
  std::map<std::size_t, EditableBlob> edited_;
  std::vector<std::size_t> editable_;
  std::vector<Emitted> emitted_;
  std::vector<RootEdit> root_edits_;
  Position end_ = 0;
};

}  // namespace

HostileFile make_hostile(const Sample& sample, Dice dice, Edits edits) {
  return Editor(sample, dice, edits).run();
}

}  // namespace bento::fuzz
