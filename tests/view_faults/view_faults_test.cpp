// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// Whatever fails while a native view is built: nothing goes down, no HDF5 handle stays behind, and
// the container is complete without it.
#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "core/container/container.hpp"
#include "hdf5/base/handle.hpp"
#include "hdf5/view/view_builder.hpp"
#include "hdf5/view/view_file.hpp"
#include "tests/support/fault_file.hpp"
#include "tests/view_faults/faults.hpp"
#include "tests/vol/fake_host.hpp"
#include "vol/callbacks/callbacks.hpp"

namespace bento::vol {
namespace {

using test::Failing;
using test::Fault;
using test::WorkFolder;

constexpr const char* kFile = "view.h5";
constexpr hsize_t kRows = 300;
constexpr hsize_t kColumns = 100;

PlistHandle bento_access(const char* config) {
  const hid_t connector = H5VLregister_connector(&connector_class(), H5P_DEFAULT);
  void* info = nullptr;
  REQUIRE(H5VLconnector_str_to_info(config, connector, &info) >= 0);
  PlistHandle list(H5Pcreate(H5P_FILE_ACCESS));
  REQUIRE(H5Pset_vol(list.get(), connector, info) >= 0);
  if (info != nullptr) H5VLfree_connector_info(connector, info);
  H5VLclose(connector);
  return list;
}

void write_box(hid_t dataset, hsize_t row, hsize_t rows, int value) {
  const SpaceHandle space(H5Dget_space(dataset));
  const std::array<hsize_t, 2> start{row, 0};
  const std::array<hsize_t, 2> count{rows, kColumns};
  REQUIRE(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(),
                              nullptr) >= 0);
  const SpaceHandle memory(H5Screate_simple(2, count.data(), nullptr));
  const std::vector<int> values(rows * kColumns, value);
  REQUIRE(H5Dwrite(dataset, H5T_NATIVE_INT, memory.get(), space.get(), H5P_DEFAULT,
                   values.data()) >= 0);
}

/// Bands of columns from the last to the first, which become chunks in place. Of the last band only
/// two columns lie within the extent, so it is copied.
void write_bands(hid_t dataset) {
  constexpr hsize_t kWide = 14;
  const SpaceHandle space(H5Dget_space(dataset));
  for (hsize_t column = kColumns / kWide * kWide;; column -= kWide) {
    const std::array<hsize_t, 2> start{0, column};
    const std::array<hsize_t, 2> count{kRows, std::min(kWide, kColumns - column)};
    REQUIRE(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(),
                                nullptr) >= 0);
    const SpaceHandle memory(H5Screate_simple(2, count.data(), nullptr));
    const std::vector<int> values(kRows * kWide, 6);
    REQUIRE(H5Dwrite(dataset, H5T_NATIVE_INT, memory.get(), space.get(), H5P_DEFAULT,
                     values.data()) >= 0);
    if (column == 0) return;
  }
}

DatasetHandle table(hid_t where, const char* name, hid_t type, hid_t list = H5P_DEFAULT) {
  const std::array<hsize_t, 2> dims{kRows, kColumns};
  const SpaceHandle space(H5Screate_simple(2, dims.data(), nullptr));
  DatasetHandle dataset(H5Dcreate2(where, name, type, space.get(), H5P_DEFAULT, list, H5P_DEFAULT));
  REQUIRE(dataset.valid());
  return dataset;
}

void text(hid_t where, const char* name) {
  const TypeHandle type(H5Tcopy(H5T_C_S1));
  H5Tset_size(type.get(), H5T_VARIABLE);
  const SpaceHandle space(H5Screate(H5S_SCALAR));
  const AttributeHandle attribute(
      H5Acreate2(where, name, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT));
  const char* const value = "some text";
  REQUIRE(H5Awrite(attribute.get(), type.get(), &value) >= 0);
}

void references(hid_t file) {
  const std::array<hsize_t, 1> one{1};
  const SpaceHandle space(H5Screate_simple(1, one.data(), nullptr));
  const DatasetHandle old(H5Dcreate2(file, "object reference", H5T_STD_REF_OBJ, space.get(),
                                     H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  hobj_ref_t object{};
  REQUIRE(H5Rcreate(&object, file, "mapped", H5R_OBJECT, H5I_INVALID_HID) >= 0);
  REQUIRE(H5Dwrite(old.get(), H5T_STD_REF_OBJ, H5S_ALL, H5S_ALL, H5P_DEFAULT, &object) >= 0);
  const DatasetHandle fresh(H5Dcreate2(file, "reference", H5T_STD_REF, space.get(), H5P_DEFAULT,
                                       H5P_DEFAULT, H5P_DEFAULT));
  H5R_ref_t reference{};
  REQUIRE(H5Rcreate_object(file, "mapped", H5P_DEFAULT, &reference) >= 0);
  REQUIRE(H5Dwrite(fresh.get(), H5T_STD_REF, H5S_ALL, H5S_ALL, H5P_DEFAULT, &reference) >= 0);
  H5Rdestroy(&reference);
}

/// Something of everything that a view treats in a way of its own.
void write_container() {
  const FileHandle file(
      H5Fcreate(kFile, H5F_ACC_TRUNC, H5P_DEFAULT, bento_access("view=off;chunk=32K").get()));
  REQUIRE(file.valid());
  const DatasetHandle mapped = table(file.get(), "mapped", H5T_STD_I32LE);
  write_box(mapped.get(), 0, kRows, 1);
  write_box(mapped.get(), 100, 50, 2);
  const DatasetHandle many = table(file.get(), "copied", H5T_STD_I32LE);
  for (hsize_t row = 0; row + 7 < kRows; row += 8 + row % 7) write_box(many.get(), row, 7, 3);
  const DatasetHandle bands = table(file.get(), "bands", H5T_STD_I32LE);
  write_bands(bands.get());
  const DatasetHandle empty = table(file.get(), "empty", H5T_STD_I32LE);

  const PlistHandle chunked(H5Pcreate(H5P_DATASET_CREATE));
  const std::array<hsize_t, 2> chunk{100, kColumns};
  H5Pset_chunk(chunked.get(), 2, chunk.data());
  H5Pset_deflate(chunked.get(), 1);
  const DatasetHandle filtered = table(file.get(), "filtered", H5T_STD_I32LE, chunked.get());
  write_box(filtered.get(), 0, kRows, 4);

  const PlistHandle ordered(H5Pcreate(H5P_GROUP_CREATE));
  H5Pset_link_creation_order(ordered.get(), H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
  const GroupHandle group(H5Gcreate2(file.get(), "group", H5P_DEFAULT, ordered.get(), H5P_DEFAULT));
  const TypeHandle type(H5Tcopy(H5T_STD_I32LE));
  REQUIRE(H5Tcommit2(group.get(), "type", type.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT) >= 0);
  const DatasetHandle typed = table(group.get(), "typed", type.get());
  write_box(typed.get(), 0, 10, 5);
  H5Lcreate_soft("/mapped", group.get(), "soft", H5P_DEFAULT, H5P_DEFAULT);
  H5Lcreate_external("other.h5", "/x", group.get(), "external", H5P_DEFAULT, H5P_DEFAULT);
  H5Lcreate_hard(file.get(), "mapped", group.get(), "hard", H5P_DEFAULT, H5P_DEFAULT);
  H5Oset_comment(group.get(), "a comment");
  text(group.get(), "text");
  text(mapped.get(), "text");
  references(file.get());
}

/// Open files, datasets, groups, committed types and attributes of the process.
ssize_t handles() {
  return H5Fget_obj_count(static_cast<hid_t>(H5F_OBJ_ALL), H5F_OBJ_ALL);
}

const ViewSettings kSettings{10, 0};

/// A container, opened to build its view; `body` runs where the view would be built.
void at_close(const FileOpener& opener, const std::function<void(ViewJob&)>& body) {
  ContainerOptions options;
  options.opener = opener;
  auto opened = Container::open(kFile, true, options, make_self_communicator());
  REQUIRE(opened);
  (*opened)->complete_again();
  const auto closed = (*opened)->close([&](ViewJob& job) {
    body(job);
    return build_native_view(kSettings, job);
  });
  INFO((closed ? "" : closed.error().text));
  CHECK(closed);
  CHECK((*opened)->notes().empty());
}

/// Of a build whose spaces are thrown away.
Result<NativeView> attempt(const ViewJob& job) {
  try {
    ViewJob mine = job;
    return build_native_view(kSettings, mine);
  } catch (const std::exception& error) {
    return fail(Code::kInternal, error.what());
  }
}

void is_complete() {
  const PlistHandle list(H5Pcreate(H5P_FILE_ACCESS));
  const FileHandle file(H5Fopen(kFile, H5F_ACC_RDONLY, list.get()));
  REQUIRE(file.valid());
  for (const char* name : {"mapped", "copied", "filtered", "bands"}) {
    const DatasetHandle dataset(H5Dopen2(file.get(), name, H5P_DEFAULT));
    std::vector<int> values(kRows * kColumns);
    REQUIRE(H5Dread(dataset.get(), H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >=
            0);
    CHECK(values.front() != 0);
  }
}

void fail_calls(std::uint64_t first, std::uint64_t every) {
  const WorkFolder folder;
  write_container();
  at_close(&open_posix_file, [&](ViewJob& job) {
    REQUIRE(attempt(job));
    const auto before = handles();
    std::uint64_t failed = 0;
    std::uint64_t noticed = 0;
    for (std::uint64_t n = first;; n += every) {
      const Failing failing(Fault::kCall, n);
      const auto built = attempt(job);
      if (!failing.fired()) break;
      ++failed;
      INFO("call " << n << ", " << failing.name());
      if (!built || !built->notes.empty()) ++noticed;
      CHECK(handles() == before);
    }
    CHECK(failed > 10);
    CHECK(noticed > failed * 9 / 10);  // some ask for what can be done without
  });
  is_complete();
}

void fail_memory(std::uint64_t first, std::uint64_t every, bool forever) {
  const WorkFolder folder;
  write_container();
  at_close(&open_posix_file, [&](ViewJob& job) {
    REQUIRE(attempt(job));
    const auto before = handles();
    std::uint64_t failed = 0;
    std::uint64_t noticed = 0;
    for (std::uint64_t n = first;; n += every) {
      std::optional<Failing> failing;
      failing.emplace(Fault::kMemory, n, forever);
      bool built = true;
      {
        const auto view = attempt(job);
        built = view.has_value();
        const bool fired = failing->fired();
        failing.reset();
        if (!fired) break;
      }
      ++failed;
      INFO("allocation " << n);
      if (!built) ++noticed;
      CHECK(handles() == before);
    }
    CHECK(failed > 10);
    CHECK(noticed + 2 >= failed);  // a sort may do without its buffer
  });
  is_complete();
}

TEST_CASE("native view: a call into HDF5 fails while it is built", "[view][faults]") {
  fail_calls(1, 5);
}
TEST_CASE("native view: each call into HDF5 fails while it is built", "[view][faults][full]") {
  fail_calls(1, 1);
}

TEST_CASE("native view: memory runs out while it is built", "[view][faults]") {
  SECTION("once") {
    fail_memory(1, 7, false);
  }
  SECTION("and stays so") {
    fail_memory(1, 13, true);
  }
}
TEST_CASE("native view: memory runs out at each allocation", "[view][faults][full]") {
  fail_memory(1, 1, false);
}

TEST_CASE("native view: its file fails while it is built", "[view][faults]") {
  const WorkFolder folder;
  write_container();
  const FaultFileSystem faults(&open_posix_file);
  for (const FaultOn kind : {FaultOn::kWrite, FaultOn::kRead})
    at_close(faults.opener(), [&](ViewJob& job) {
      REQUIRE(attempt(job));
      const auto before = handles();
      std::uint64_t failed = 0;
      for (std::uint64_t n = 1;; ++n) {
        faults.add({.on = kind, .nth = n});
        const auto built = attempt(job);
        faults.clear_rules();
        CHECK(handles() == before);
        if (built) break;
        ++failed;
      }
      CHECK(failed > 0);
    });
  is_complete();
}

/// Gives addresses in a sequence of the test's choice.
class ChosenPlace final : public ViewPlace {
 public:
  explicit ChosenPlace(std::vector<std::uint64_t> addresses) : addresses_(std::move(addresses)) {}
  Result<std::uint64_t> allocate(std::uint64_t) override { return addresses_.at(next_++); }
  [[nodiscard]] File& file() const override { return *file_; }
  [[nodiscard]] std::uint64_t base() const override { return 0; }

 private:
  std::vector<std::uint64_t> addresses_;
  std::size_t next_ = 0;
  std::unique_ptr<File> file_ = std::move(*open_posix_file("chosen", OpenMode::kCreate));
};

TEST_CASE("native view: one write over pieces that were allocated in any order", "[view]") {
  const WorkFolder folder;
  // Side by side in the file; the second is bytes 3000 to 3104, and 4 more are skipped behind it.
  ChosenPlace place({4096, 3000, 3108, 2000});
  ViewFile view(place);
  CHECK(view.allocate(H5FD_MEM_OHDR, 100) == 4096);
  CHECK(view.allocate(H5FD_MEM_OHDR, 104) == 3000);
  CHECK(view.allocate(H5FD_MEM_OHDR, 988) == 3108);
  view.adopt_next(5000, 50);
  CHECK(view.allocate(H5FD_MEM_DRAW, 50) == 5000);
  std::vector<std::byte> bytes(4196 - 3000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i % 251);
  view.write(3000, bytes);
  REQUIRE(view.failure());
  std::vector<std::byte> read(bytes.size());
  view.read(3000, read);
  for (std::size_t i = 104; i < 108; ++i) bytes[i] = std::byte{};
  CHECK(read == bytes);
  SECTION("but not over what nobody asked for") {
    view.write(4190, std::vector<std::byte>(20));
    CHECK_FALSE(view.failure());
  }
}

TEST_CASE("native view: small data does not gather in memory for ever", "[view]") {
  const WorkFolder folder;
  constexpr std::uint64_t kPiece = 200u << 10;
  constexpr std::uint64_t kPieces = 100;
  std::vector<std::uint64_t> addresses;
  for (std::uint64_t i = 0; i < kPieces; ++i) addresses.push_back(4096 + i * kPiece);
  ChosenPlace place(addresses);
  ViewFile view(place);
  std::vector<std::byte> bytes(kPiece);
  const auto fill = [&](std::uint64_t i) {
    std::ranges::fill(bytes, static_cast<std::byte>(i + 1));
  };
  for (std::uint64_t i = 0; i < kPieces; ++i) {
    const std::uint64_t address = view.allocate(H5FD_MEM_GHEAP, kPiece);
    REQUIRE(address == addresses[i]);
    fill(i);
    view.write(address, bytes);
  }
  REQUIRE(view.failure());
  const auto length = place.file().size();
  REQUIRE(length);
  CHECK(*length >= 16u << 20);  // long before store()
  fill(200);
  view.write(addresses[0], bytes);  // what is in the file changes there
  REQUIRE(view.store());
  std::vector<std::byte> read(kPiece);
  for (std::uint64_t i = 0; i < kPieces; ++i) {
    fill(i == 0 ? 200 : i);
    view.read(addresses[i], read);
    CHECK(read == bytes);
    REQUIRE(place.file().read_at(addresses[i], read));
    CHECK(read == bytes);
  }
}

}  // namespace
}  // namespace bento::vol
