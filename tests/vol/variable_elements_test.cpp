// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/data/variable_elements.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "hdf5/base/handle.hpp"
#include "hdf5/data/held_references.hpp"

using namespace bento;
using namespace bento::vol;

namespace {

struct Item {
  std::int32_t number;
  char* name;
  hvl_t values;
  char* two[2];
};

TypeHandle text_type() {
  TypeHandle type(H5Tcopy(H5T_C_S1));
  H5Tset_size(type.get(), H5T_VARIABLE);
  return type;
}

TypeHandle item_type() {
  const TypeHandle text = text_type();
  const TypeHandle values(H5Tvlen_create(H5T_NATIVE_INT16));
  const hsize_t two = 2;
  const TypeHandle pair(H5Tarray_create2(text.get(), 1, &two));
  TypeHandle type(H5Tcreate(H5T_COMPOUND, sizeof(Item)));
  H5Tinsert(type.get(), "number", HOFFSET(Item, number), H5T_NATIVE_INT32);
  H5Tinsert(type.get(), "name", HOFFSET(Item, name), text.get());
  H5Tinsert(type.get(), "values", HOFFSET(Item, values), values.get());
  H5Tinsert(type.get(), "two", HOFFSET(Item, two), pair.get());
  return type;
}

/// Three elements, which share their values.
struct Items {
  std::string name = "name";
  std::string empty;
  std::vector<std::int16_t> numbers = {1, -2, 3};
  Item all[3] = {};

  Items() {
    all[0] = {7, name.data(), {3, numbers.data()}, {empty.data(), nullptr}};
    all[1] = {8, nullptr, {0, nullptr}, {nullptr, name.data()}};
    all[2] = {9, empty.data(), {1, numbers.data()}, {name.data(), name.data()}};
  }
  [[nodiscard]] const std::byte* bytes() const { return reinterpret_cast<const std::byte*>(all); }
};

std::vector<std::byte> encoded(const VariableElements& elements, const std::byte* from,
                               std::size_t count) {
  std::vector<std::byte> out;
  VariableElements::begin(out);
  std::uint64_t bytes = out.size();
  for (std::size_t i = 0; i < count; ++i) {
    bytes += elements.encoded_bytes(from + i * elements.element_bytes()).value();
    REQUIRE(elements.encode(from + i * elements.element_bytes(), out));
  }
  CHECK(out.size() == bytes);
  return out;
}

Box row(std::uint64_t start, std::uint64_t count) {
  return {Dims(1, start), Dims(1, count)};
}

std::size_t allocated = 0;
void* allocate(std::size_t bytes) {
  ++allocated;
  return std::malloc(bytes);
}
void give_back(void* value) {
  --allocated;
  std::free(value);
}

}  // namespace

TEST_CASE("variable elements: what was encoded comes back, and null stays null") {
  const auto elements = VariableElements::of(item_type().get());
  REQUIRE(elements);
  const Items items;
  const auto stored = encoded(*elements, items.bytes(), 3);
  Item found[3] = {};
  auto* const to = reinterpret_cast<std::byte*>(found);
  REQUIRE(elements->decode(row(5, 3), stored, row(5, 3), row(5, 3), to, allocate));
  CHECK(found[0].number == 7);
  CHECK(found[0].name == items.name);
  CHECK(found[0].values.len == 3);
  CHECK(static_cast<std::int16_t*>(found[0].values.p)[1] == -2);
  CHECK(std::strcmp(found[0].two[0], "") == 0);
  CHECK(found[0].two[1] == nullptr);
  CHECK(found[1].name == nullptr);
  CHECK(found[1].values.p == nullptr);
  CHECK(std::strcmp(found[2].name, "") == 0);
  elements->release(to, 3, give_back);
  CHECK(allocated == 0);
  CHECK(found[2].two[1] == nullptr);

  // A part of them, into a part of a larger box.
  REQUIRE(elements->decode(row(5, 3), stored, row(6, 1), row(4, 3), to, allocate));
  CHECK(found[0].number == 7);
  CHECK(found[2].number == 8);
  CHECK(found[2].two[1] == items.name);
  elements->release(to, 3, give_back);
  CHECK(allocated == 0);

  // The same part as a record of its own.
  const auto cut = elements->cut(row(5, 3), stored, row(6, 1));
  REQUIRE(cut);
  CHECK(*cut == encoded(*elements, items.bytes() + sizeof(Item), 1));
}

TEST_CASE("variable elements: bytes that are cut off or changed are an error, and nothing leaks") {
  const auto elements = VariableElements::of(item_type().get());
  REQUIRE(elements);
  const Items items;
  const auto stored = encoded(*elements, items.bytes(), 3);
  const auto decode = [&](const std::vector<std::byte>& bytes) {
    Item found[3] = {};
    auto* const to = reinterpret_cast<std::byte*>(found);
    const bool done =
        elements->decode(row(0, 3), bytes, row(0, 3), row(0, 3), to, allocate).has_value();
    elements->release(to, 3, give_back);
    CHECK(allocated == 0);
    return done;
  };
  CHECK(decode(stored));
  for (std::size_t length = 0; length < stored.size(); ++length) {
    INFO(length);
    const std::vector<std::byte> bytes(stored.begin(),
                                       stored.begin() + static_cast<std::ptrdiff_t>(length));
    CHECK_FALSE(decode(bytes));
    CHECK_FALSE(elements->cut(row(0, 3), bytes, row(1, 1)));
  }
  auto longer = stored;
  longer.push_back({});
  CHECK_FALSE(decode(longer));
  for (std::size_t at = 0; at < stored.size(); ++at)
    for (const unsigned value : {0u, 1u, 0x7Fu, 0x80u, 0xFFu}) {
      auto changed = stored;
      changed[at] = static_cast<std::byte>(value);
      (void)decode(changed);
    }
}

TEST_CASE("variable elements: no memory for a value is an error") {
  const auto elements = VariableElements::of(item_type().get());
  REQUIRE(elements);
  const Items items;
  const auto stored = encoded(*elements, items.bytes(), 3);
  for (int last = 0; last < 5; ++last) {
    int left = last;
    Item found[3] = {};
    auto* const to = reinterpret_cast<std::byte*>(found);
    const auto some = [&left](std::size_t bytes) { return left-- > 0 ? allocate(bytes) : nullptr; };
    const auto done = elements->decode(row(0, 3), stored, row(0, 3), row(0, 3), to, some);
    REQUIRE_FALSE(done);
    CHECK(done.error().code == Code::kNoSpace);
    elements->release(to, 3, give_back);
    CHECK(allocated == 0);
  }
}

TEST_CASE("variable elements: references to objects are fixed in size") {
  const TypeHandle objects(H5Tvlen_create(H5T_STD_REF_OBJ));
  const auto elements = VariableElements::of(objects.get());
  REQUIRE(elements);
  CHECK(elements->has_references());
  CHECK_FALSE(elements->has_regions());
  CHECK_FALSE(elements->has_new_references());
}

namespace {

/// A reference, and nobody who knows what it leads to.
void check_leads_nowhere(const VariableElements& elements, const std::byte* element) {
  const auto nowhere = elements.encoded_bytes(element);
  REQUIRE_FALSE(nowhere);
  CHECK(nowhere.error().code == Code::kUnsupported);
}

/// A record of one element that ends too early, at whatever byte, and leaves no memory behind.
void check_shorter_ones_refused(const VariableElements& elements, std::span<const std::byte> stored,
                                std::byte* back) {
  for (std::size_t length = 0; length < stored.size(); ++length) {
    const std::vector<std::byte> cut(stored.begin(),
                                     stored.begin() + static_cast<std::ptrdiff_t>(length));
    CHECK_FALSE(elements.decode(row(0, 1), cut, row(0, 1), row(0, 1), back, allocate));
    elements.release(back, 1, give_back);
  }
  CHECK(allocated == 0);
}

}  // namespace

TEST_CASE("variable elements: of references of HDF5 1.12 that is stored what they stand for") {
  const TypeHandle lists(H5Tvlen_create(H5T_STD_REF));
  auto elements = VariableElements::of(lists.get());
  REQUIRE(elements);
  CHECK(elements->has_references());
  CHECK(elements->has_new_references());
  CHECK_FALSE(elements->has_regions());
  std::array<std::byte, 2 * kReferenceBytes> two{};  // the second is null
  HeldReferences from;
  REQUIRE(from.put(std::vector<std::byte>(20, std::byte{5}), two.data()));
  const hvl_t list{2, two.data()};
  const auto* const element = reinterpret_cast<const std::byte*>(&list);
  check_leads_nowhere(*elements, element);
  elements->use_references(&from);
  const auto stored = encoded(*elements, element, 1);
  CHECK(elements->encoded_bytes(element).value() == stored.size() - 1);
  HeldReferences to;
  elements->use_references(&to);
  hvl_t found{};
  auto* const back = reinterpret_cast<std::byte*>(&found);
  REQUIRE(elements->decode(row(0, 1), stored, row(0, 1), row(0, 1), back, allocate));
  REQUIRE(found.len == 2);
  const auto* const references = static_cast<const std::byte*>(found.p);
  const auto held = to.get(references);
  REQUIRE(held);
  CHECK(std::ranges::equal(*held, std::vector<std::byte>(20, std::byte{5})));
  CHECK(is_null_reference(references + kReferenceBytes));
  elements->clear_references(back, 1);
  CHECK(is_null_reference(references));
  elements->release(back, 1, give_back);
  CHECK(allocated == 0);
  check_shorter_ones_refused(*elements, stored, back);
}

namespace {

/// A heap where references are numbers from 1 on.
class NumberedRegions final : public RegionValues {
 public:
  Result<std::vector<std::byte>> get(const std::byte* reference) override {
    const auto number = std::to_integer<std::size_t>(reference[0]);
    if (number == 0 || number > regions.size()) return fail(Code::kInvalidArgument, "no region");
    return regions[number - 1];
  }
  Status put(std::span<const std::byte> region, std::byte* reference) override {
    regions.emplace_back(region.begin(), region.end());
    reference[0] = static_cast<std::byte>(regions.size());
    return {};
  }
  std::vector<std::vector<std::byte>> regions;
};

}  // namespace

TEST_CASE("variable elements: of references to regions the regions are stored") {
  const TypeHandle lists(H5Tvlen_create(H5T_STD_REF_DSETREG));
  auto elements = VariableElements::of(lists.get());
  REQUIRE(elements);
  CHECK(elements->has_regions());
  std::array<std::byte, 2 * kRegionReferenceBytes> two{};  // the second is null
  NumberedRegions from;
  REQUIRE(from.put(std::vector<std::byte>(20, std::byte{5}), two.data()));
  const hvl_t list{2, two.data()};
  const auto* const element = reinterpret_cast<const std::byte*>(&list);
  check_leads_nowhere(*elements, element);
  elements->use_regions(&from);
  const auto stored = encoded(*elements, element, 1);
  NumberedRegions to;
  REQUIRE(to.put(std::vector<std::byte>(9), two.data()));  // numbers are others there
  elements->use_regions(&to);
  hvl_t found{};
  auto* const back = reinterpret_cast<std::byte*>(&found);
  REQUIRE(elements->decode(row(0, 1), stored, row(0, 1), row(0, 1), back, allocate));
  REQUIRE(found.len == 2);
  const auto* const references = static_cast<const std::byte*>(found.p);
  CHECK(to.get(references).value() == from.regions[0]);
  CHECK(is_null_region(references + kRegionReferenceBytes));
  std::size_t visited = 0;
  REQUIRE(elements->for_each_region(back, 1, [&](std::byte*) -> Status {
    ++visited;
    return {};
  }));
  CHECK(visited == 1);
  elements->clear_references(back, 1);
  CHECK(is_null_region(references));
  elements->release(back, 1, give_back);
  CHECK(allocated == 0);
  check_shorter_ones_refused(*elements, stored, back);
}

TEST_CASE("variable elements: a length that the bytes cannot hold takes no memory") {
  const TypeHandle text = text_type();
  const hsize_t many = 1000;
  const TypeHandle texts(H5Tarray_create2(text.get(), 1, &many));
  const TypeHandle lists(H5Tvlen_create(texts.get()));
  const auto elements = VariableElements::of(lists.get());
  REQUIRE(elements);
  std::vector<std::byte> stored;
  VariableElements::begin(stored);
  stored.push_back(std::byte{100});  // arrays, of which each has a byte for each string at least
  stored.resize(stored.size() + 2000);
  hvl_t found{};
  std::size_t largest = 0;
  const auto note = [&largest](std::size_t bytes) {
    largest = std::max(largest, bytes);
    return std::malloc(bytes);
  };
  auto* const to = reinterpret_cast<std::byte*>(&found);
  CHECK_FALSE(elements->decode(row(0, 1), stored, row(0, 1), row(0, 1), to, note));
  CHECK(largest == 0);
  elements->release(to, 1, [](void* value) { std::free(value); });
}
