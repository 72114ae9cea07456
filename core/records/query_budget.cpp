// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/records/query_budget.hpp"

#include <fmt/format.h>

namespace bento {

Status QueryBudget::spend(std::uint64_t count) {
  if (visits < count) {
    visits = 0;
    return fail(Code::kUnsupported, "step index: more records than one query may visit");
  }
  visits -= count;
  return {};
}

Status QueryBudget::hold(std::uint64_t held) const {
  if (held <= records) return {};
  return fail(Code::kUnsupported,
              fmt::format("step index: more than {} records, which is more than the files have "
                          "room for",
                          records));
}

Status QueryBudget::hold_boxes(std::uint64_t held) const {
  if (held <= boxes) return {};
  return fail(Code::kUnsupported,
              fmt::format("step index: a selection in more than {} pieces, which is more than "
                          "elements in the files can cut it into; select less at once",
                          boxes));
}

}  // namespace bento
