// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What verify and recover put into a report.
#pragma once

#include <optional>
#include <string>

#include "core/offline/verify_container.hpp"
#include "library/handles.hpp"

namespace bento::library {

template <class T>
std::uint64_t or_unknown(const std::optional<T>& value) {
  return value ? std::uint64_t{*value} : H5BENTO_UNKNOWN;
}

inline void fill(h5bento_report& report, const ContainerVerdict& verdict) {
  report.sound = verdict.sound();
  report.step = verdict.step;
  report.count = verdict.count;
  for (const auto& one : verdict.findings)
    report.damage.push_back({std::string(to_string(one.part)) + ": " + one.text, one.file,
                             or_unknown(one.address), or_unknown(one.writer),
                             or_unknown(one.dataset), or_unknown(one.step)});
  if (!verdict.closed)
    report.notes.emplace_back("not closed: what only a close writes was not judged");
  if (!verdict.older_verified)
    report.notes.emplace_back(
        "so many steps are kept that data which only older ones show was not verified");
  if (verdict.unhashed > 0)
    report.notes.emplace_back(
        "some records have no checksum: nothing tells whether they are right");
}

}  // namespace bento::library
