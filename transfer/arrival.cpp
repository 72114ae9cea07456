// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "transfer/arrival.hpp"

#include <fmt/format.h>

#include "core/offline/verify_streams.hpp"
#include "transfer/gated_files.hpp"

namespace bento::transfer {
Status verify_container(const std::string& path, Gate& gate, bool& stopped) {
  GatedFiles files(gate);
  const auto checked = verify_streams(path, files.opener());
  stopped = files.stopped();
  if (!checked) return fail(checked.error());
  const StreamsVerdict& verdict = *checked;
  if (verdict.sound()) return {};
  if (verdict.findings.empty())
    return fail(Code::kCorrupt, fmt::format("'{}': {} damaged places", path, verdict.count));
  const StreamFinding& first = verdict.findings.front();
  return fail(Code::kCorrupt,
              fmt::format("'{}': {} damaged places, the first in the stream of writer {}, '{}' at "
                          "byte {}: {}",
                          path, verdict.count, first.writer, first.file, first.address,
                          first.finding.text));
}

}  // namespace bento::transfer
