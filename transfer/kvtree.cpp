// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "transfer/kvtree.hpp"

#include <algorithm>
#include <utility>

namespace bento::transfer {

KvTree::KvTree() = default;
KvTree::~KvTree() = default;
KvTree::KvTree(const KvTree&) = default;
KvTree& KvTree::operator=(const KvTree&) = default;
KvTree::KvTree(KvTree&&) noexcept = default;
KvTree& KvTree::operator=(KvTree&&) noexcept = default;

bool KvTree::operator==(const KvTree& other) const {
  return elements_ == other.elements_;
}

bool KvTree::empty() const {
  return elements_.empty();
}

std::size_t KvTree::size() const {
  return elements_.size();
}

const KvTree* KvTree::find(std::string_view key) const {
  const auto found =
      std::ranges::find_if(elements_, [&](const Element& one) { return one.key == key; });
  return found != elements_.end() ? &found->below : nullptr;
}

KvTree* KvTree::find(std::string_view key) {
  return const_cast<KvTree*>(std::as_const(*this).find(key));
}

const KvTree* KvTree::find(std::initializer_list<std::string_view> path) const {
  const KvTree* at = this;
  for (const auto key : path)
    if (at != nullptr) at = at->find(key);
  return at;
}

std::string_view KvTree::value(std::string_view key) const {
  const KvTree* const below = find(key);
  return below != nullptr && !below->empty() ? std::string_view(below->elements_.front().key)
                                             : std::string_view{};
}

const std::string* KvTree::only_value(std::string_view key) const {
  const KvTree* const below = find(key);
  return below != nullptr && below->size() == 1 ? &below->elements_.front().key : nullptr;
}

KvTree& KvTree::at(std::string_view key) {
  if (KvTree* const found = find(key)) return *found;
  return elements_.insert(elements_.begin(), Element{std::string(key), {}})->below;
}

void KvTree::set(std::string_view key, std::string_view value) {
  remove(key);
  at(key).append(value);
}

KvTree& KvTree::append(std::string_view key) {
  elements_.push_back(Element{std::string(key), {}});
  return elements_.back().below;
}

void KvTree::append(std::string_view key, std::string_view value) {
  append(key).append(value);
}

bool KvTree::remove(std::string_view key) {
  return std::erase_if(elements_, [&](const Element& one) { return one.key == key; }) != 0;
}

void KvTree::remove(std::string_view key, std::string_view value) {
  KvTree* const below = find(key);
  if (below == nullptr) return;
  below->remove(value);
  if (below->empty()) remove(key);
}

void KvTree::clear() {
  elements_.clear();
}

namespace {

void print(const KvTree& tree, std::size_t indent, KvPrint mode, std::string& out) {
  for (const auto& one : tree.elements()) {
    out.append(indent, ' ').append(one.key);
    const auto& below = one.below.elements();
    if (mode == KvPrint::kKeyval && below.size() == 1 && below.front().below.empty()) {
      out.append(" = ").append(below.front().key).append("\n");
      continue;
    }
    out.append("\n");
    print(one.below, indent + 2, mode, out);
  }
}

}  // namespace

std::string print_kvtree(const KvTree& tree, KvPrint mode) {
  std::string out;
  print(tree, 2, mode, out);
  return out;
}

}  // namespace bento::transfer
