// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "tools/assembler.hpp"

namespace bento::tools {

transfer::Assembler assembler() {
  return {};
}

transfer::ViewMaker view_maker() {
  return {};
}

}  // namespace bento::tools
