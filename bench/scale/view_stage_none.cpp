// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "bench/scale/view_stage.hpp"

namespace bento::scale {

bool has_view_stage() {
  return false;
}

ViewStage make_view_stage(const Scenario&, std::uint64_t) {
  return {};
}

}  // namespace bento::scale
