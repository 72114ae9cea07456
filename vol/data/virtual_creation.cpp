// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/data/virtual_creation.hpp"

#include <string>
#include <utility>
#include <vector>

#include "hdf5/base/library_text.hpp"
#include "hdf5/data/meant_selection.hpp"

namespace bento::vol {

namespace {

using NameGetter = ssize_t (*)(hid_t, size_t, char*, size_t);

Result<std::string> name_in(hid_t dcpl, std::size_t mapping, NameGetter get) {
  auto name =
      library_text([&](char* room, std::size_t bytes) { return get(dcpl, mapping, room, bytes); });
  if (!name) return fail(Code::kInternal, "the name of a virtual source is unreadable");
  return *std::move(name);
}

struct Mapping {
  SpaceHandle given_elements;
  SpaceHandle given_source;
  MeantSelection elements;
  MeantSelection source;

  static Result<Mapping> of(hid_t dcpl, std::size_t number) {
    Mapping mapping;
    mapping.given_elements = SpaceHandle(H5Pget_virtual_vspace(dcpl, number));
    mapping.given_source = SpaceHandle(H5Pget_virtual_srcspace(dcpl, number));
    if (!mapping.given_elements.valid() || !mapping.given_source.valid())
      return fail(Code::kInternal, "the space of a virtual mapping is unreadable");
    BENTO_ASSIGN(mapping.elements, MeantSelection::of(mapping.given_elements.get()));
    BENTO_ASSIGN(mapping.source, MeantSelection::of(mapping.given_source.get()));
    return mapping;
  }
};

}  // namespace

Result<PlistHandle> list_of_meant_mappings(hid_t dcpl) {
  std::size_t count = 0;
  if (H5Pget_layout(dcpl) != H5D_VIRTUAL || H5Pget_virtual_count(dcpl, &count) < 0)
    return PlistHandle();
  std::vector<Mapping> mappings(count);
  bool all_right = true;
  for (std::size_t i = 0; i < count; ++i) {
    BENTO_ASSIGN(mappings[i], Mapping::of(dcpl, i));
    all_right = all_right && !mappings[i].elements.rebuilt() && !mappings[i].source.rebuilt();
  }
  if (all_right) return PlistHandle();
  PlistHandle list(H5Pcopy(dcpl));
  // Another layout, so that the new mappings do not come behind the old ones.
  if (!list.valid() || H5Pset_layout(list.get(), H5D_CONTIGUOUS) < 0)
    return fail(Code::kInternal, "the creation list of a virtual dataset cannot be copied");
  for (std::size_t i = 0; i < count; ++i) {
    BENTO_ASSIGN(const std::string file, name_in(dcpl, i, H5Pget_virtual_filename));
    BENTO_ASSIGN(const std::string dataset, name_in(dcpl, i, H5Pget_virtual_dsetname));
    if (H5Pset_virtual(list.get(), mappings[i].elements.get(), file.c_str(), dataset.c_str(),
                       mappings[i].source.get()) < 0)
      return fail(Code::kInternal, "a virtual mapping cannot be set");
  }
  return list;
}

}  // namespace bento::vol
