// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Which file names go into which container: `match=` and `container=` of the driver's
/// configuration. Source: docs/vfd.md, "Which file goes where".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/error.hpp"

namespace bento {

class ContainerTemplate {
 public:
  /// `match` is a pattern of file names: `*` is any run of characters but '/', `?` one of them.
  /// `container` may hold %1 to %9 (what the n-th `*` has matched), %s (the file's name without its
  /// folder), %d (that folder, `.` if the name has none) and %% (a percent sign). Errors:
  /// kInvalidArgument (empty; another letter behind %; a number beyond the stars).
  static Result<ContainerTemplate> parse(std::string match, std::string container);

  /// The container of a file; nothing if the name does not match. As many components of the name,
  /// counted from its end, are held against the pattern as the pattern has.
  [[nodiscard]] std::optional<std::string> container_of(const std::string& file) const;

 private:
  std::string match_;
  std::string container_;
};

}  // namespace bento
