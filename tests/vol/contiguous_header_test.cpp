// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// Object headers that the library wrote, read by our own code: what is taken, and what is left to
// the library.
#include "hdf5/skeleton/contiguous_header.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <hdf5.h>
#include <catch2/catch_test_macros.hpp>

#include "hdf5/base/handle.hpp"

namespace bento::vol {
namespace {

struct Written {
  std::vector<std::byte> image;
  std::uint64_t address = 0;
};

struct List {
  std::function<void(hid_t creation_list)> file = [](hid_t) {};
  H5F_libver_t lowest = H5F_LIBVER_EARLIEST;
};

/// An HDF5 file in memory with what `make` creates there; it returns the object that is looked at.
Written write(const std::function<hid_t(hid_t file)>& make, const List& list = {}) {
  const PlistHandle access(H5Pcreate(H5P_FILE_ACCESS));
  const PlistHandle creation(H5Pcreate(H5P_FILE_CREATE));
  REQUIRE(H5Pset_fapl_core(access.get(), 64 << 10, false) >= 0);
  REQUIRE(H5Pset_libver_bounds(access.get(), list.lowest, H5F_LIBVER_LATEST) >= 0);
  list.file(creation.get());
  const FileHandle file(H5Fcreate("contiguous.h5", H5F_ACC_TRUNC, creation.get(), access.get()));
  REQUIRE(file.valid());
  Written out;
  {
    const ObjectHandle object(make(file.get()));
    H5O_info2_t info{};
    REQUIRE(H5Oget_info3(object.get(), &info, H5O_INFO_BASIC) >= 0);
    std::memcpy(&out.address, &info.token, sizeof out.address);
  }
  REQUIRE(H5Fflush(file.get(), H5F_SCOPE_GLOBAL) >= 0);
  const ssize_t bytes = H5Fget_file_image(file.get(), nullptr, 0);
  REQUIRE(bytes > 0);
  out.image.resize(static_cast<std::size_t>(bytes));
  REQUIRE(H5Fget_file_image(file.get(), out.image.data(), out.image.size()) == bytes);
  return out;
}

hid_t make_dataset(hid_t file, hid_t type, std::vector<hsize_t> dims, hid_t list = H5P_DEFAULT) {
  const SpaceHandle space(
      dims.empty() ? H5Screate(H5S_SCALAR)
                   : H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr));
  const hid_t made = H5Dcreate2(file, "d", type, space.get(), H5P_DEFAULT, list, H5P_DEFAULT);
  REQUIRE(made >= 0);
  return made;
}

void attribute(hid_t object, const char* name, hid_t type) {
  const SpaceHandle space(H5Screate(H5S_SCALAR));
  const AttributeHandle made(H5Acreate2(object, name, type, space.get(), H5P_DEFAULT, H5P_DEFAULT));
  REQUIRE(made.valid());
}

std::optional<ContiguousHeader> read(const Written& written) {
  return read_contiguous_header(written.image, written.address);
}

TEST_CASE("contiguous header: extent, size of an element, place of the address", "[vol][header]") {
  for (const auto& dims : {std::vector<hsize_t>{}, {7}, {3, 4, 5}}) {
    const Written written =
        write([&](hid_t file) { return make_dataset(file, H5T_IEEE_F64LE, dims); });
    const auto header = read(written);
    REQUIRE(header);
    CHECK(header->extent.rank() == dims.size());
    for (unsigned d = 0; d < dims.size(); ++d) CHECK(header->extent[d] == dims[d]);
    CHECK(header->element_bytes == 8);
    std::uint64_t address = 0;
    std::memcpy(&address, written.image.data() + header->address_at, sizeof address);
    CHECK(address == ~std::uint64_t{0});
  }
}

TEST_CASE("contiguous header: attributes of plain types, in further blocks, too", "[vol][header]") {
  const Written written = write([](hid_t file) {
    const hid_t dataset = make_dataset(file, H5T_STD_I16BE, {100});
    const TypeHandle text(H5Tcopy(H5T_C_S1));
    H5Tset_size(text.get(), H5T_VARIABLE);
    const TypeHandle fixed(H5Tcopy(H5T_C_S1));
    H5Tset_size(fixed.get(), 300);
    for (int i = 0; i < 7; ++i) {
      attribute(dataset, ("n" + std::to_string(i)).c_str(), H5T_STD_I64LE);
      attribute(dataset, ("a longer name " + std::to_string(i)).c_str(), fixed.get());
    }
    attribute(dataset, "text", text.get());
    H5Oset_comment(dataset, "a comment");
    return dataset;
  });
  const auto header = read(written);
  REQUIRE(header);
  CHECK(header->extent[0] == 100);
  CHECK(header->element_bytes == 2);
}

TEST_CASE("contiguous header: what is more than bytes to copy is left to the library",
          "[vol][header]") {
  const auto left = [](const std::function<hid_t(hid_t)>& make, const List& list = {}) {
    return !read(write(make, list));
  };
  const auto with_attribute = [](hid_t type) {
    return [type](hid_t file) {
      const hid_t dataset = make_dataset(file, H5T_STD_I32LE, {4});
      attribute(dataset, "a", type);
      return dataset;
    };
  };
  const auto with_list = [](const std::function<void(hid_t)>& set) {
    return [set](hid_t file) {
      const PlistHandle list(H5Pcreate(H5P_DATASET_CREATE));
      set(list.get());
      return make_dataset(file, H5T_STD_I32LE, {4}, list.get());
    };
  };
  const hsize_t chunk = 2;
  const TypeHandle pair(H5Tcreate(H5T_COMPOUND, 8));
  H5Tinsert(pair.get(), "r", 0, H5T_STD_REF_OBJ);
  const TypeHandle sequence(H5Tvlen_create(H5T_STD_I32LE));

  CHECK(left([](hid_t file) { return H5Gcreate2(file, "g", 0, 0, 0); }));
  CHECK(left([](hid_t file) { return make_dataset(file, H5T_STD_REF_OBJ, {4}); }));
  CHECK(left([&](hid_t file) { return make_dataset(file, pair.get(), {4}); }));
  CHECK(left([&](hid_t file) { return make_dataset(file, sequence.get(), {4}); }));
  CHECK(left([](hid_t file) {
    const TypeHandle type(H5Tcopy(H5T_STD_I32LE));
    REQUIRE(H5Tcommit2(file, "t", type.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT) >= 0);
    return make_dataset(file, type.get(), {4});
  }));
  CHECK(left([](hid_t file) {
    const TypeHandle type(H5Tcopy(H5T_STD_I32LE));
    REQUIRE(H5Tcommit2(file, "t", type.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT) >= 0);
    const hid_t dataset = make_dataset(file, H5T_STD_I32LE, {4});
    attribute(dataset, "a", type.get());
    return dataset;
  }));
  CHECK(left([](hid_t file) {
    const SpaceHandle space(H5Screate(H5S_NULL));
    return H5Dcreate2(file, "d", H5T_STD_I32LE, space.get(), 0, 0, 0);
  }));
  CHECK(left(with_attribute(H5T_STD_REF_OBJ)));
  CHECK(left(with_attribute(H5T_STD_REF_DSETREG)));
  CHECK(left(with_attribute(pair.get())));
  CHECK(left(with_attribute(sequence.get())));
  CHECK(left(with_list([&](hid_t list) { H5Pset_chunk(list, 1, &chunk); })));
  CHECK(left(with_list([](hid_t list) { H5Pset_layout(list, H5D_COMPACT); })));
  CHECK(left(with_list([](hid_t list) { H5Pset_alloc_time(list, H5D_ALLOC_TIME_EARLY); })));
  CHECK(left(with_list([](hid_t list) { H5Pset_external(list, "x", 0, H5F_UNLIMITED); })));
  // Headers of version 2 end with a checksum.
  const auto plain = [](hid_t file) { return make_dataset(file, H5T_STD_I32LE, {4}); };
  CHECK(left(plain, {.lowest = H5F_LIBVER_V18}));
  CHECK(left(plain, {.file = [](hid_t list) { H5Pset_sizes(list, 4, 4); }}));
  CHECK(left(plain, {.file = [](hid_t list) { H5Pset_userblock(list, 512); }}));
  // Of two that are alike, the second refers to the messages of the first.
  const auto second = [&](hid_t file) {
    const ObjectHandle first(plain(file));
    REQUIRE(H5Lmove(file, "d", file, "e", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    return plain(file);
  };
  CHECK(left(second, {.file = [](hid_t list) {
               H5Pset_shared_mesg_nindexes(list, 1);
               H5Pset_shared_mesg_index(list, 0, H5O_SHMESG_DTYPE_FLAG | H5O_SHMESG_SDSPACE_FLAG,
                                        1);
             }}));
  CHECK_FALSE(left(second));
  CHECK_FALSE(left(plain));
}

TEST_CASE("contiguous header: damaged and cut images are never read past their end",
          "[vol][header]") {
  const Written written = write([](hid_t file) {
    const hid_t dataset = make_dataset(file, H5T_IEEE_F32LE, {8, 9});
    for (int i = 0; i < 9; ++i) attribute(dataset, std::to_string(i).c_str(), H5T_STD_I64LE);
    return dataset;
  });
  REQUIRE(read(written));
  std::mt19937 random(7);  // NOLINT: the same every time
  std::size_t taken = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::byte> image = written.image;
    for (int i = 0; i < 3; ++i) image[random() % image.size()] = static_cast<std::byte>(random());
    if (round % 2 == 0) image.resize(random() % image.size());
    // The vector ends where the image does, for a sanitizer to see.
    const auto header = read_contiguous_header(std::vector<std::byte>(image), written.address);
    if (!header) continue;
    ++taken;
    CHECK(header->address_at <= image.size() - 8);
  }
  CHECK(taken > 0);  // most of the image is no part of the header
  CHECK_FALSE(read_contiguous_header(written.image, ~std::uint64_t{0}));
  CHECK_FALSE(read_contiguous_header({}, 0));
}

TEST_CASE("contiguous header: blocks that lead to each other come to an end", "[vol][header]") {
  Written written = write([](hid_t file) {
    const hid_t dataset = make_dataset(file, H5T_IEEE_F32LE, {8});
    for (int i = 0; i < 9; ++i) attribute(dataset, std::to_string(i).c_str(), H5T_STD_I64LE);
    return dataset;
  });
  REQUIRE(read(written));
  // Every continuation leads to the first block from here on.
  const std::uint64_t first = written.address + 16;
  std::uint32_t length = 0;
  std::memcpy(&length, written.image.data() + written.address + 8, sizeof length);
  bool found = false;
  for (std::uint64_t at = first; at + 8 <= first + length;) {
    std::uint16_t kind = 0;
    std::uint16_t size = 0;
    std::memcpy(&kind, written.image.data() + at, 2);
    std::memcpy(&size, written.image.data() + at + 2, 2);
    if (kind == 0x10) {
      found = true;
      std::memcpy(written.image.data() + at + 8, &first, 8);
    }
    at += 8 + std::uint64_t{size};
  }
  REQUIRE(found);
  CHECK_FALSE(read(written));
}

/// What is written of `header` with data at `address`, behind the image that it is of.
Written written_anew(const Written& old, const ContiguousHeader& header, std::uint64_t address,
                     const MoveText& move) {
  ByteWriter out;
  REQUIRE(write_contiguous_header(header, address, move, out));
  CHECK(out.size() == bytes_of_contiguous_header(header));
  Written anew = old;
  anew.address = anew.image.size();
  anew.image.insert(anew.image.end(), out.view().begin(), out.view().end());
  return anew;
}

TEST_CASE("contiguous header: one that is written says the same in one piece", "[vol][header]") {
  const Written written = write([](hid_t file) {
    const hid_t dataset = make_dataset(file, H5T_STD_I16BE, {100, 3});
    for (int i = 0; i < 9; ++i)  // needs further blocks
      attribute(dataset, ("attribute " + std::to_string(i)).c_str(), H5T_STD_I64LE);
    H5Oset_comment(dataset, "a comment");
    return dataset;
  });
  const auto header = read(written);
  REQUIRE(header);
  const MoveText none = [](auto) -> bool { throw std::logic_error("there is no text"); };
  const Written anew = written_anew(written, *header, ~std::uint64_t{0}, none);
  const auto again = read(anew);
  REQUIRE(again);
  CHECK(again->extent == header->extent);
  CHECK(again->element_bytes == 2);
  REQUIRE(again->messages.size() == header->messages.size());
  for (std::size_t i = 0; i < header->messages.size(); ++i) {
    CHECK(again->messages[i].kind == header->messages[i].kind);
    CHECK(again->messages[i].flags == header->messages[i].flags);
    CHECK(std::ranges::equal(again->messages[i].bytes, header->messages[i].bytes));
    CHECK(again->messages[i].at > written.image.size());
  }
  // With its data somewhere it is none that has still to be given some.
  const Written placed = written_anew(written, *header, 0x1234, none);
  CHECK_FALSE(read(placed));
  std::uint64_t address = 0;
  std::memcpy(&address, placed.image.data() + again->address_at, sizeof address);
  CHECK(address == 0x1234);
}

TEST_CASE("contiguous header: the texts of its attributes can be moved", "[vol][header]") {
  const Written written = write([](hid_t file) {
    const hid_t dataset = make_dataset(file, H5T_STD_I32LE, {5});
    const TypeHandle text(H5Tcopy(H5T_C_S1));
    H5Tset_size(text.get(), H5T_VARIABLE);
    const hsize_t three = 3;
    const SpaceHandle space(H5Screate_simple(1, &three, nullptr));
    const AttributeHandle made(
        H5Acreate2(dataset, "texts", text.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT));
    const char* const values[] = {"one", "", "three"};
    REQUIRE(H5Awrite(made.get(), text.get(), static_cast<const void*>(values)) >= 0);
    attribute(dataset, "number", H5T_STD_I64LE);
    return dataset;
  });
  const auto header = read(written);
  REQUIRE(header);
  std::vector<std::uint32_t> lengths;
  const Written anew = written_anew(written, *header, 8, [&](std::span<std::byte, 16> text) {
    lengths.push_back(std::to_integer<std::uint32_t>(text[0]));
    std::ranges::fill(text.subspan(4), std::byte{77});
    return true;
  });
  CHECK(lengths == std::vector<std::uint32_t>{3, 0, 5});
  // Twelve bytes that are there three times: one of them alone may be in the time of the object.
  const std::array<std::byte, 12> place = [] {
    std::array<std::byte, 12> bytes{};
    bytes.fill(std::byte{77});
    return bytes;
  }();
  int places = 0;
  auto rest = std::span<const std::byte>(anew.image).subspan(written.image.size());
  for (auto found = std::ranges::search(rest, place); !found.empty();
       found = std::ranges::search(rest, place)) {
    ++places;
    rest = {found.end(), rest.end()};
  }
  CHECK(places == 3);
  ByteWriter out;
  CHECK_FALSE(write_contiguous_header(*header, 8, [](auto) { return false; }, out));
}

}  // namespace
}  // namespace bento::vol
