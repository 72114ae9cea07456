// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// States of a container, written to files for a judge that shares no code with us
/// (tests/checkers/check_crash_states.py).
#pragma once

#include "tests/support/memory_file.hpp"

namespace bento::test {

/// What our own reader says of a state. kWhole: closed, and its streams are whole, too.
enum class SionState { kRefused, kAccepted, kWhole };

/// Writes the files of `disk` to a folder of its own below the one that H5BENTO_SION_STATES names;
/// with H5BENTO_SION_STATES_EVERY=n only every n-th time. Without these variables, nothing.
void keep_sion_state(const MemoryFileSystem& disk, SionState state);

}  // namespace bento::test
