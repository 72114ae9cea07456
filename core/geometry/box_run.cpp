// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/geometry/box_run.hpp"

#include <algorithm>

namespace bento {

// Each box is the largest that begins here: some indices of one dimension, with all of the faster
// ones.
std::vector<Box> boxes_of_run(const Box& whole, std::uint64_t begin, std::uint64_t end) {
  std::vector<Box> boxes;
  end = std::min(end, whole.elements());
  while (begin < end) {
    Box box = whole;
    std::uint64_t stride = whole.elements();
    std::uint64_t elements = 1;
    bool cut = false;
    for (unsigned d = 0; d < whole.rank(); ++d) {
      const std::uint64_t around = stride;
      stride /= whole.count[d];
      if (cut) {
        elements *= whole.count[d];
        continue;
      }
      const std::uint64_t index = begin % around / stride;
      box.start[d] = whole.start[d] + index;
      box.count[d] = 1;
      if (begin % stride != 0 || end - begin < stride) continue;
      box.count[d] = std::min((end - begin) / stride, whole.count[d] - index);
      elements = box.count[d];
      cut = true;
    }
    boxes.push_back(box);
    begin += elements;
  }
  return boxes;
}

Box cut_front(Box box, std::uint64_t limit, std::vector<Box>& rest) {
  while (box.elements() > limit) {
    unsigned d = 0;
    while (box.count[d] == 1) ++d;
    const std::uint64_t slice = box.elements() / box.count[d];
    const std::uint64_t rows = std::max<std::uint64_t>(1, limit / slice);
    if (rows >= box.count[d]) break;
    Box tail = box;
    tail.start[d] += rows;
    tail.count[d] -= rows;
    box.count[d] = rows;
    rest.push_back(tail);
  }
  return box;
}

}  // namespace bento
