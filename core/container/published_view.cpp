// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/container/published_view.hpp"

#include "core/catalogue/catalogue.hpp"
#include "core/catalogue/view_table.hpp"

namespace bento {

Result<Superblock> read_superblock(File& file, const FilePlan& plan) {
  Superblock bytes{};
  BENTO_TRY(file.read_some(plan.superblock_address(), bytes));  // a short file: zeros
  return bytes;
}

Result<bool> view_switched(File& first, const FilePlan& plan, const Root& root) {
  BENTO_ASSIGN(const Superblock found, read_superblock(first, plan));
  const Hash128 hash = hash128(found);
  return hash == root.superblock || hash != root.superblock_before;
}

Result<Root> in_use_of(File& first, const FilePlan& plan, Root root) {
  BENTO_ASSIGN(const bool switched, view_switched(first, plan, root));
  if (switched) root.view_before = {};
  return root;
}

void begin_view(Root& next, const Hash128& superblock) {
  // The last switch may not have happened.
  const bool old_one = superblock == next.superblock_before && superblock != next.superblock;
  next.view_before = old_one ? next.view_before : next.view;
  next.view = {};
}

Result<bool> view_edited(File& first, const FilePlan& plan, const Root& root, bool thorough) {
  BENTO_ASSIGN(const Superblock found, read_superblock(first, plan));
  const Hash128 hash = hash128(found);
  const bool never = root.superblock == Hash128{};  // no close yet: nothing is published
  if (never ? found != Superblock{} : hash != root.superblock && hash != root.superblock_before)
    return true;
  if (!thorough || root.view.bytes == 0 || hash != root.superblock) return false;
  Catalogue catalogue(first, plan);
  BENTO_ASSIGN(const auto bytes, catalogue.read(root.view, "table of the native view"));
  BENTO_ASSIGN(const ViewTable table, decode_view_table(bytes));
  BENTO_ASSIGN(const Hash128 now, hash_of_view(first, plan, table));
  return now != table.hash;
}

}  // namespace bento
