// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// One process writes, another reads and refreshes what it has open.
#include <array>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>
#include <catch2/catch_test_macros.hpp>

#include "hdf5/base/handle.hpp"
#include "tests/vol/fake_host.hpp"
#include "vol/library/bento_list.hpp"

namespace bento::vol {
namespace {

using test::WorkFolder;

constexpr const char* kFile = "live.h5";

PlistHandle access(const std::string& config = {}) {
  auto list = bento_list(config);
  if (!list) _exit(9);
  return std::move(*list);
}

/// A child process that does one thing after the other, each when it is told.
class Writer {
 public:
  using Work = std::function<bool(int step)>;

  explicit Writer(const Work& work) {
    if (::pipe(order_.data()) != 0 || ::pipe(answer_.data()) != 0) throw std::runtime_error("pipe");
    child_ = ::fork();
    if (child_ != 0) return;
    for (;;) {
      char step = 0;
      if (::read(order_[0], &step, 1) != 1) _exit(1);
      const char good = work(step) ? 1 : 0;
      if (::write(answer_[1], &good, 1) != 1 || step == 0) _exit(0);
    }
  }
  ~Writer() {
    (void)step(0);
    ::waitpid(child_, nullptr, 0);
    for (const int fd : {order_[0], order_[1], answer_[0], answer_[1]}) ::close(fd);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  [[nodiscard]] bool step(char number) const {
    char good = 0;
    return ::write(order_[1], &number, 1) == 1 && ::read(answer_[0], &good, 1) == 1 && good == 1;
  }

 private:
  std::array<int, 2> order_{};
  std::array<int, 2> answer_{};
  pid_t child_ = -1;
};

std::vector<int> run(hsize_t count, int first) {
  std::vector<int> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

bool put(hid_t dataset, const std::vector<int>& values) {
  return H5Dwrite(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >= 0;
}

hsize_t count_of(hid_t dataset) {
  const SpaceHandle space(H5Dget_space(dataset));
  return static_cast<hsize_t>(H5Sget_simple_extent_npoints(space.get()));
}

std::vector<int> get(hid_t dataset) {
  std::vector<int> values(count_of(dataset), -1);
  REQUIRE(H5Dread(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >= 0);
  return values;
}

TypeHandle text_type() {
  TypeHandle type(H5Tcopy(H5T_C_S1));
  H5Tset_size(type.get(), H5T_VARIABLE);
  return type;
}

bool set_number(hid_t object, const std::string& name, int value) {
  const SpaceHandle space(H5Screate(H5S_SCALAR));
  if (H5Aexists(object, name.c_str()) > 0) H5Adelete(object, name.c_str());
  const AttributeHandle attribute(
      H5Acreate2(object, name.c_str(), H5T_NATIVE_INT, space.get(), H5P_DEFAULT, H5P_DEFAULT));
  return H5Awrite(attribute.get(), H5T_NATIVE_INT, &value) >= 0;
}

bool set_text(hid_t object, const std::string& name, const std::string& value) {
  const SpaceHandle space(H5Screate(H5S_SCALAR));
  const TypeHandle type = text_type();
  if (H5Aexists(object, name.c_str()) > 0) H5Adelete(object, name.c_str());
  const AttributeHandle attribute(
      H5Acreate2(object, name.c_str(), type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT));
  const char* const text = value.c_str();
  return H5Awrite(attribute.get(), type.get(), &text) >= 0;
}

int number(hid_t object, const std::string& name) {
  const AttributeHandle attribute(H5Aopen(object, name.c_str(), H5P_DEFAULT));
  int value = -1;
  if (H5Aread(attribute.get(), H5T_NATIVE_INT, &value) < 0) return -2;
  return value;
}

std::string text(hid_t object, const std::string& name) {
  const AttributeHandle attribute(H5Aopen(object, name.c_str(), H5P_DEFAULT));
  const TypeHandle type = text_type();
  char* value = nullptr;
  if (H5Aread(attribute.get(), type.get(), &value) < 0 || value == nullptr) return "unreadable";
  std::string copy = value;
  H5free_memory(value);
  return copy;
}

DatasetHandle make(hid_t where, const std::string& name, hsize_t count, bool grows = false) {
  const hsize_t limit = grows ? H5S_UNLIMITED : count;
  const hsize_t chunk = 64;
  const SpaceHandle space(H5Screate_simple(1, &count, &limit));
  const PlistHandle list(H5Pcreate(H5P_DATASET_CREATE));
  if (grows) H5Pset_chunk(list.get(), 1, &chunk);
  return DatasetHandle(H5Dcreate2(where, name.c_str(), H5T_NATIVE_INT, space.get(), H5P_DEFAULT,
                                  list.get(), H5P_DEFAULT));
}

/// What the writer has open, in the child process only.
struct Open {
  FileHandle file;
  DatasetHandle grows;
  DatasetHandle fixed;
  GroupHandle group;
};

constexpr int kAttributes = 30;
constexpr int kMembers = 200;

/// Step n: values from 1000 n on, extent 100 n, attributes n, 200 more members of the group.
bool write_step(Open& open, int step, bool latest) {
  if (step == 0) {
    open = Open{};
    return true;
  }
  const hsize_t count = 100 * static_cast<hsize_t>(step);
  if (step == 1) {
    const PlistHandle list = access("keep=4");
    if (latest) H5Pset_libver_bounds(list.get(), H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    open.file = FileHandle(H5Fcreate(kFile, H5F_ACC_TRUNC, H5P_DEFAULT, list.get()));
    open.grows = make(open.file.get(), "grows", count, true);
    open.fixed = make(open.file.get(), "fixed", 50);
    open.group =
        GroupHandle(H5Gcreate2(open.file.get(), "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  } else if (H5Dset_extent(open.grows.get(), &count) < 0) {
    return false;
  }
  bool good =
      put(open.grows.get(), run(count, 1000 * step)) && put(open.fixed.get(), run(50, 1000 * step));
  for (const hid_t object : {open.grows.get(), open.fixed.get(), open.group.get()}) {
    good = good && set_number(object, "number", step) &&
           set_text(object, "text", fmt::format("step {} {}", step, std::string(300, '.')));
    for (int i = 0; i < kAttributes; ++i)
      good = good && set_number(object, fmt::format("of {} {}", step, i), step);
  }
  for (int i = 0; i < kMembers; ++i) {
    const DatasetHandle member = make(open.group.get(), fmt::format("m {} {}", step, i), 5);
    good = good && put(member.get(), run(5, 100 * step + i));
  }
  return good && H5Fflush(open.file.get(), H5F_SCOPE_LOCAL) >= 0;
}

void check_attributes(hid_t object, int step) {
  CHECK(number(object, "number") == step);
  CHECK(text(object, "text") == fmt::format("step {} {}", step, std::string(300, '.')));
  for (int earlier = 1; earlier <= step; ++earlier)
    for (int i = 0; i < kAttributes; ++i)
      CHECK(number(object, fmt::format("of {} {}", earlier, i)) == earlier);
}

void check_dataset(hid_t dataset, int step, bool grows) {
  const hsize_t count = grows ? 100 * static_cast<hsize_t>(step) : 50;
  REQUIRE(count_of(dataset) == count);
  CHECK(get(dataset) == run(count, 1000 * step));
}

void check_members(hid_t group, int step) {
  H5G_info_t info{};
  REQUIRE(H5Gget_info(group, &info) >= 0);
  CHECK(info.nlinks == static_cast<hsize_t>(kMembers * step));
  for (int earlier = 1; earlier <= step; ++earlier)
    for (int i = 0; i < kMembers; ++i) {
      const DatasetHandle member(
          H5Dopen2(group, fmt::format("m {} {}", earlier, i).c_str(), H5P_DEFAULT));
      REQUIRE(member.valid());
      if (i % 17 == 0) CHECK(get(member.get()) == run(5, 100 * earlier + i));
    }
}

void refresh_and_check(bool latest) {
  const WorkFolder folder;
  Open open;
  const Writer writer([&](int step) { return write_step(open, step, latest); });
  REQUIRE(writer.step(1));
  const FileHandle file(H5Fopen(kFile, H5F_ACC_RDONLY, access().get()));
  REQUIRE(file.valid());
  const DatasetHandle grows(H5Dopen2(file.get(), "grows", H5P_DEFAULT));
  // HDF5 cannot refresh an old chunked dataset that is open twice.
  const DatasetHandle again(H5Dopen2(file.get(), latest ? "grows" : "fixed", H5P_DEFAULT));
  const DatasetHandle fixed(H5Dopen2(file.get(), "fixed", H5P_DEFAULT));
  const GroupHandle group(H5Gopen2(file.get(), "group", H5P_DEFAULT));
  for (int step = 1; step <= 3; ++step) {
    INFO("step " << step);
    if (step > 1) {
      REQUIRE(writer.step(static_cast<char>(step)));
      // Before: the step that was opened or refreshed last.
      check_dataset(grows.get(), step - 1, true);
      check_dataset(fixed.get(), step - 1, false);
      REQUIRE(H5Drefresh(grows.get()) >= 0);
      REQUIRE(H5Orefresh(fixed.get()) >= 0);
      REQUIRE(H5Grefresh(group.get()) >= 0);
    }
    check_dataset(grows.get(), step, true);
    check_dataset(again.get(), step, latest);
    check_dataset(fixed.get(), step, false);
    check_attributes(grows.get(), step);
    check_attributes(fixed.get(), step);
    check_attributes(group.get(), step);
    check_members(group.get(), step);
  }
}

TEST_CASE("A refreshed object shows the newest step", "[refresh]") {
  refresh_and_check(false);
}

TEST_CASE("A refreshed object shows the newest step, latest format", "[refresh]") {
  refresh_and_check(true);
}

// Another object's refresh brings the file to the newer step, in which the library still has the
// old extent for both handles of the dataset.
TEST_CASE("All handles of a refreshed dataset have its new extent", "[refresh]") {
  const WorkFolder folder;
  FileHandle written;
  DatasetHandle grows;
  DatasetHandle other;
  const std::vector<hsize_t> extents{0, 40, 80, 20, 60};
  const Writer writer([&](int step) {
    if (step == 0) {
      grows.reset();
      other.reset();
      written.reset();
      return true;
    }
    const hsize_t count = extents[static_cast<std::size_t>(step)];
    if (step == 1) {
      const PlistHandle list = access("keep=9");
      H5Pset_libver_bounds(list.get(), H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
      written = FileHandle(H5Fcreate(kFile, H5F_ACC_TRUNC, H5P_DEFAULT, list.get()));
      grows = make(written.get(), "grows", count, true);
      other = make(written.get(), "other", 5);
    }
    return H5Dset_extent(grows.get(), &count) >= 0 && put(grows.get(), run(count, 100 * step)) &&
           put(other.get(), run(5, step)) && H5Fflush(written.get(), H5F_SCOPE_LOCAL) >= 0;
  });
  REQUIRE(writer.step(1));
  const FileHandle file(H5Fopen(kFile, H5F_ACC_RDONLY, access().get()));
  const DatasetHandle one(H5Dopen2(file.get(), "grows", H5P_DEFAULT));
  const DatasetHandle two(H5Dopen2(file.get(), "grows", H5P_DEFAULT));
  const DatasetHandle beside(H5Dopen2(file.get(), "other", H5P_DEFAULT));
  for (int step = 2; step <= 4; ++step) {
    CAPTURE(step);
    REQUIRE(writer.step(static_cast<char>(step)));
    REQUIRE(H5Drefresh(beside.get()) >= 0);
    if (step != 3) (void)get(two.get());  // as of the old extent
    REQUIRE(H5Drefresh(one.get()) >= 0);
    for (const hid_t dataset : {one.get(), two.get()}) {
      REQUIRE(count_of(dataset) == extents[static_cast<std::size_t>(step)]);
      CHECK(get(dataset) == run(extents[static_cast<std::size_t>(step)], 100 * step));
    }
  }
}

TEST_CASE("An old chunked dataset that is open twice is not refreshed", "[refresh]") {
  const WorkFolder folder;
  Open open;
  const Writer writer([&](int step) { return write_step(open, step, false); });
  REQUIRE(writer.step(1));
  const FileHandle file(H5Fopen(kFile, H5F_ACC_RDONLY, access().get()));
  const DatasetHandle one(H5Dopen2(file.get(), "grows", H5P_DEFAULT));
  DatasetHandle two(H5Oopen(file.get(), "grows", H5P_DEFAULT));
  check_dataset(one.get(), 1, true);
  REQUIRE(writer.step(2));
  herr_t done = 0;
  H5E_BEGIN_TRY {
    done = H5Drefresh(one.get());
  }
  H5E_END_TRY
  CHECK(done < 0);
  CHECK(count_of(one.get()) == 100);
  two.reset();
  REQUIRE(H5Drefresh(one.get()) >= 0);
  check_dataset(one.get(), 2, true);
}

TEST_CASE("A file as of a step that was asked for stays there, and so does a writer", "[refresh]") {
  const WorkFolder folder;
  Open open;
  const Writer writer([&](int step) { return write_step(open, step, false); });
  REQUIRE(writer.step(1));
  const FileHandle file(H5Fopen(kFile, H5F_ACC_RDONLY, access("step=1").get()));
  const DatasetHandle fixed(H5Dopen2(file.get(), "fixed", H5P_DEFAULT));
  REQUIRE(writer.step(2));
  REQUIRE(H5Drefresh(fixed.get()) >= 0);
  check_dataset(fixed.get(), 1, false);
  const FileHandle newest(H5Fopen(kFile, H5F_ACC_RDONLY, access().get()));
  const DatasetHandle now(H5Dopen2(newest.get(), "fixed", H5P_DEFAULT));
  check_dataset(now.get(), 2, false);
}

}  // namespace
}  // namespace bento::vol
