// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A line for a file to which many processes write, each at its end.
#pragma once

#include <string>
#include <string_view>

namespace bento {

/// Appends in one write, so that lines of several processes do not mix; makes the file if it is not
/// there. False, with errno: it could not be written, or not whole.
bool append_line(const std::string& path, std::string_view line);

}  // namespace bento
