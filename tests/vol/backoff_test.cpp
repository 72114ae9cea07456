// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/mpi/backoff.hpp"

#include <chrono>
#include <thread>

#include <catch2/catch_test_macros.hpp>

using bento::vol::Backoff;
using bento::vol::now_s;

namespace {

void sleep_for(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

}  // namespace

TEST_CASE("backoff: a deadline passes while somebody waits for it") {
  Backoff wait(1e-3);
  const double until = now_s() + 0.05;
  while (now_s() <= until) wait.pause();
  CHECK(wait.is_late(until));
  CHECK_FALSE(wait.is_late(0));  // there is none
}

TEST_CASE("backoff: time in which the process was stopped does not count, but not for ever") {
  Backoff wait(1e-3);
  const double until = now_s() + 1;
  CHECK_FALSE(wait.is_late(until));
  sleep_for(1.1);  // stopped: nobody asks meanwhile
  CHECK_FALSE(wait.is_late(until));
  sleep_for(1.5);  // at most as long again
  CHECK(wait.is_late(until));
}
