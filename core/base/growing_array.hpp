// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// An array that may come to have very many elements, one after the other: they stay where they are
/// when it grows. A std::vector moves all of them each time into memory that was never touched
/// before, which costs more than to write them. While it is small it takes no more than a vector.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

namespace bento {

/// `T` must have a default constructor. Not thread-safe.
template <class T>
class GrowingArray {
 public:
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }

  [[nodiscard]] T& operator[](std::size_t at) {
    return at < kPiece ? first_[at] : others_[at / kPiece - 1][at % kPiece];
  }
  [[nodiscard]] const T& operator[](std::size_t at) const {
    return const_cast<GrowingArray&>(*this)[at];
  }

  /// What is added has any value: it is to be written next. The memory of what goes away stays.
  void resize(std::size_t size) {
    if (first_.size() < std::min(size, kPiece)) first_.resize(std::min(size, kPiece));
    while (kPiece * (1 + others_.size()) < size)
      others_.push_back(std::make_unique_for_overwrite<T[]>(kPiece));
    size_ = size;
  }
  void clear() { size_ = 0; }

 private:
  static constexpr std::size_t kPiece = 1024;
  std::vector<T> first_;                      ///< of the elements; doubles, as vectors do
  std::vector<std::unique_ptr<T[]>> others_;  ///< kPiece of them each
  std::size_t size_ = 0;
};

}  // namespace bento
