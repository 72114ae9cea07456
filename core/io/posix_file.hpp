// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A File over a descriptor that was opened elsewhere.
#pragma once

#include <memory>
#include <string>

#include "core/io/file.hpp"

namespace bento {

/// Takes the descriptor over. `path` is what errors call the file.
std::unique_ptr<File> take_descriptor(std::string path, int descriptor);

}  // namespace bento
