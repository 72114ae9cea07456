// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/stream/stream_gate.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace bento {

using fti::v11::DbVar;

static_assert(StreamRules::kFileBlockBytes == fti::v11::kFileBlockBytes);
static_assert(StreamRules::kGateBytes == fti::v11::header_bytes(1));

DbVar make_gate(Gate gate) {
  DbVar var;
  var.id = gate.value_or(fti::kFillerId);
  var.hascontent = gate.has_value();
  var.fptr = fti::v11::kFileBlockBytes + fti::v11::header_bytes(1);
  if (gate) var.hash = fti::empty_chunk_hash(fti::HashKind::kMd5);
  return var;
}

std::vector<std::byte> encode_gate(Gate gate) {
  return fti::v11::encode_header(std::array{make_gate(gate)});
}

Status write_gate(const StreamPlace& place, Gate gate) {
  return place.file->write_at(place.address(fti::v11::kFileBlockBytes), encode_gate(gate));
}

GateKeeper::GateKeeper(const FtiShares* shares, std::uint32_t writer)
    : shares_(shares), closed_(shares == nullptr || !shares->writers.contains(writer)) {
  if (closed_) return;
  // The gate is the first container of its id.
  smallest_ = static_cast<std::int32_t>(*shares->datasets.begin());
  variables_[smallest_].containers = 1;
}

void GateKeeper::number(DbVar& var) {
  auto [found, fresh] = variables_.try_emplace(var.id);
  Variable& variable = found->second;
  if (fresh) ids_.push_back(var.id);
  var.idx = var.id;
  if (shares_ != nullptr) {
    const auto dataset = shares_->datasets.find(static_cast<DatasetNumber>(var.id));
    if (dataset == shares_->datasets.end())
      closed_ = true;  // of a dataset that was deleted
    else
      var.idx = static_cast<std::int32_t>(std::distance(shares_->datasets.begin(), dataset));
  }
  var.containerid = variable.containers++;
  // Where FTI puts these bytes when it restarts; in a container without content, which bytes it
  // takes for it when it checkpoints. It never changes the field.
  var.dptr = var.hascontent ? variable.live : variable.reserved;
  if (var.dptr != variable.reserved && !variable.astray) variable.astray = variable.reserved;
  variable.live += var.chunksize;
  variable.reserved += var.containersize;
  closed_ = closed_ || (var.hascontent && var.hash == fti::Digest{});
}

Gate GateKeeper::verdict() const {
  if (closed_ || !std::is_sorted(ids_.begin(), ids_.end())) return {};
  if (variables_.size() != shares_->datasets.size()) return {};
  for (const auto& [id, variable] : variables_)
    if (variable.live == 0 || (variable.astray && *variable.astray < variable.live)) return {};
  return smallest_;
}

}  // namespace bento
