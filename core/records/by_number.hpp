// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A table by dataset number. Programs create datasets one after the other and go through them in
/// the same order, so neighbours lie side by side in memory, and ten thousand of them are found
/// without a miss of the processor's cache for each.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/records/record.hpp"

namespace bento {

/// `T` can be made from nothing. What lies in the table does not move until it is erased.
template <class T>
class ByNumber {
 public:
  ByNumber() = default;
  ByNumber(ByNumber&& other) noexcept : pages_(std::move(other.pages_)) { other.clear(); }
  ByNumber& operator=(ByNumber&& other) noexcept {
    last_ = {};
    pages_ = std::move(other.pages_);
    other.clear();
    return *this;
  }

  [[nodiscard]] T* find(DatasetNumber number) {
    Page* const page = page_of(number);
    if (page == nullptr) return nullptr;
    auto& slot = page->slots[number % kPage];
    return slot ? &*slot : nullptr;
  }
  [[nodiscard]] const T* find(DatasetNumber number) const {
    return const_cast<ByNumber*>(this)->find(number);
  }
  [[nodiscard]] bool contains(DatasetNumber number) const { return find(number) != nullptr; }

  /// Made if it is not there.
  T& operator[](DatasetNumber number) {
    Page* page = page_of(number);
    if (page == nullptr)
      page = pages_.emplace(number / kPage, std::make_unique<Page>()).first->second.get();
    auto& slot = page->slots[number % kPage];
    if (!slot) {
      slot.emplace();
      ++page->used;
    }
    return *slot;
  }

  void erase(DatasetNumber number) {
    const auto page = pages_.find(number / kPage);
    if (page == pages_.end() || !page->second->slots[number % kPage]) return;
    page->second->slots[number % kPage].reset();
    if (--page->second->used != 0) return;
    last_ = {};
    pages_.erase(page);
  }
  void clear() {
    last_ = {};
    pages_.clear();
  }

  /// Ascending.
  [[nodiscard]] std::vector<DatasetNumber> numbers() const {
    std::vector<DatasetNumber> numbers;
    for (const auto& [place, page] : pages_)
      for (std::uint32_t i = 0; i < kPage; ++i)
        if (page->slots[i]) numbers.push_back(place * kPage + i);
    std::sort(numbers.begin(), numbers.end());
    return numbers;
  }
  /// Calls visit(number, T&) for each, in no order. It may not add or erase any.
  template <class Visit>
  void for_each(const Visit& visit) {
    for (auto& [place, page] : pages_)
      for (std::uint32_t i = 0; i < kPage; ++i)
        if (page->slots[i]) visit(place * kPage + i, *page->slots[i]);
  }

 private:
  /// Few, since of a file with gaps in its numbers a page may hold one.
  static constexpr std::uint32_t kPage = 16;
  struct Page {
    std::uint32_t used = 0;
    std::array<std::optional<T>, kPage> slots;
  };
  Page* page_of(DatasetNumber number) {
    const std::uint32_t place = number / kPage;
    if (last_.page != nullptr && last_.place == place) return last_.page;
    const auto found = pages_.find(place);
    if (found == pages_.end()) return nullptr;
    last_ = {place, found->second.get()};
    return last_.page;
  }

  std::unordered_map<std::uint32_t, std::unique_ptr<Page>> pages_;
  /// Who writes or reads a dataset piece by piece asks for it again and again.
  struct Last {
    std::uint32_t place = 0;
    Page* page = nullptr;
  };
  mutable Last last_;
};

}  // namespace bento
