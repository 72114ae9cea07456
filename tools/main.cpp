// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "tools/program.hpp"

int main(int argc, char** argv) {
  return bento::tools::run_program(argc, argv);
}
