// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
/// \file
/// FTI-FF files of both layouts, rank files and RSed files. The first byte of the input says how
/// the rest is taken, so that the fuzzer gets past the hashes, which it cannot guess. Besides the
/// sanitizers' checks: what the strict reader accepts can be read by variable, and what the
/// verifier calls sound the reader accepts.
#include <algorithm>
#include <span>
#include <vector>

#include "core/bytes/byte_writer.hpp"
#include "core/fti/reader.hpp"
#include "core/fti/rsed.hpp"
#include "core/fti/variables.hpp"
#include "core/fti/verify.hpp"
#include "tests/fuzz/target.hpp"

namespace bento::fuzz {
namespace {

using fti::Layout;

/// Makes sizes and hash of the file meta right.
void seal(Layout layout, std::vector<std::byte>& bytes) {
  const std::size_t width = fti::file_meta_bytes(layout);
  if (bytes.size() < width) return;
  const auto at = layout == Layout::kV11 ? 0 : bytes.size() - width;
  const auto place = std::span(bytes).subspan(at, width);
  auto meta = fti::decode_file_meta(layout, place);
  if (!meta) return;
  meta->ckpt_size = meta->fs = bytes.size();
  meta->my_hash = fti::my_hash(layout, *meta);
  ByteWriter sealed;
  fti::encode(sealed, layout, *meta);
  std::copy(sealed.view().begin(), sealed.view().end(), place.begin());
}

void use_variables(fti::Source& source, const fti::Checkpoint& checkpoint) {
  const auto variables = fti::Variables::of(checkpoint);
  if (!variables) return;
  const auto size = source.size();
  for (const auto& variable : variables->list()) {
    require(variable.bytes <= *size, "a variable fits the file");
    std::vector<std::byte> content(static_cast<std::size_t>(variable.bytes));
    require(variables->read(source, variable.id, 0, content).has_value(), "a variable can be read");
  }
}

void encodes_back(std::span<const std::byte> bytes, const fti::Checkpoint& checkpoint) {
  for (const fti::Block& block : checkpoint.blocks) {
    ByteWriter header;
    fti::encode(header, checkpoint.layout, block);
    const auto there = bytes.subspan(static_cast<std::size_t>(block.head_offset), header.size());
    require(std::equal(there.begin(), there.end(), header.view().begin()),
            "a header is written as it was read");
  }
}

}  // namespace

void fti_ff(Input input) {
  Dice dice(input);
  const auto how = dice.number(1);
  std::vector<std::byte> bytes(dice.rest().begin(), dice.rest().end());
  const Layout layout = (how & 1u) != 0 ? Layout::kV16 : Layout::kV11;
  if ((how & 2u) != 0) seal(layout, bytes);

  fti::MemorySource source(bytes);
  fti::VerifyOptions options;
  options.rules = (how & 4u) != 0 ? fti::Rules::kStream : fti::Rules::kFti;
  options.limits.max_containers = 4096;

  const auto checkpoint = fti::read_checkpoint(source, options.limits);
  const auto verdict = fti::verify(source, options);
  if (checkpoint) {
    encodes_back(bytes, *checkpoint);
    use_variables(source, *checkpoint);
    fti::Checkpoint placed = *checkpoint;
    require(fti::place(placed).has_value() && placed == *checkpoint,
            "places are computed as stored");
  }
  if (verdict && verdict->sound()) require(checkpoint.has_value(), "what is sound can be read");

  fti::Findings findings;
  // Damaged containers may overlap, so that variables need not fit the file: only that it returns
  // counts.
  if (const auto damaged = fti::read_damaged(source, layout, findings, options.limits))
    (void)fti::Variables::of(*damaged);
  (void)fti::verify_rsed(source);
}

}  // namespace bento::fuzz

BENTO_FUZZ_MAIN(fti_ff)
