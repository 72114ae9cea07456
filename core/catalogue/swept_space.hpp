// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The space of a catalogue, and when its holes are looked for: what newer roots have left behind
/// becomes holes now and then. Arithmetic only; whoever sweeps says what is in use.
#pragma once

#include <cstdint>
#include <vector>

#include "core/catalogue/catalogue_space.hpp"

namespace bento {

class SweptSpace {
 public:
  SweptSpace() = default;
  /// Of a container of an earlier session. How much of that is in use is not known.
  explicit SweptSpace(Position end) : space_(end), replaced_(end) {}

  [[nodiscard]] CatalogueSpace& space() { return space_; }

  /// A commit has taken what it needed. It has replaced no more than that, and no more than was in
  /// use before.
  void committed();
  /// Is it time to look at all that is in use? So when commits may have replaced as much as it
  /// holds, so that looking costs no more than having written it; and not while ranges wait.
  [[nodiscard]] bool due() const;
  /// `used`: all that is in use. What else was taken waits until release(step) is called for the
  /// step `until`.
  void sweep(std::vector<CatalogueRange> used, std::uint64_t until);
  /// Makes holes of what the last sweep found, if the container has come to the step that it waits
  /// for.
  void release(std::uint64_t step);
  /// The same without waiting.
  void release();

 private:
  CatalogueSpace space_;
  std::uint64_t used_ = 0;            ///< bytes, at least, as of the last commit
  std::uint64_t replaced_ = 0;        ///< bytes, at most, that no newer root refers to
  std::uint64_t counted_ = 0;         ///< of the bytes that space_ has taken
  std::vector<CatalogueRange> held_;  ///< what the last sweep found
  /// The step from which on nobody can come to them any more.
  std::uint64_t held_until_ = 0;
};

}  // namespace bento
