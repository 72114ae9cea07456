// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "transfer/arrive.hpp"

#include <fmt/format.h>

#include "transfer/source.hpp"

namespace bento::transfer {

std::string_view arrive_name(Arrive arrive) {
  switch (arrive) {
    case Arrive::kOneFile:
      return "onefile";
    case Arrive::kNative:
      return "native";
    case Arrive::kContainer:
      break;
  }
  return "container";
}

Result<Arrive> arrive_of(std::string_view name) {
  if (name.empty()) return Arrive::kContainer;
  for (const Arrive one : {Arrive::kContainer, Arrive::kOneFile, Arrive::kNative})
    if (name == arrive_name(one)) return one;
  return fail(Code::kUnsupported,
              fmt::format("arrive={}: this version knows container, onefile and native", name));
}

Status check_can_arrive(const std::string& path, Arrive arrive) {
  if (arrive == Arrive::kContainer) return {};
  BENTO_ASSIGN(const auto state, look_at_container(path));
  if (!state)
    return fail(Code::kUnsupported,
                fmt::format("'{}' is no container that the connector wrote: it cannot arrive as {}",
                            path, arrive_name(arrive)));
  if (arrive == Arrive::kNative && state->step > state->oldest)
    return fail(Code::kUnsupported,
                fmt::format("'{}' keeps steps {} to {}, and what arrives as {} has the newest one "
                            "only: let it arrive as container or onefile",
                            path, state->oldest, state->step, arrive_name(arrive)));
  return {};
}

}  // namespace bento::transfer
