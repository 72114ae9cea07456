// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/file/native_of_ranks.hpp"

#include <set>

namespace bento::vol {

namespace {

// Never destroyed: datasets may be read after static destructors have run.
std::set<unsigned long>& numbers() {
  static auto* const instance = new std::set<unsigned long>;
  return *instance;
}

}  // namespace

void note_native_of_ranks(unsigned long fileno) {
  numbers().insert(fileno);
}

bool is_native_of_ranks(unsigned long fileno) {
  return numbers().contains(fileno);
}

}  // namespace bento::vol
