// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Elements with variable-length parts (strings, sequences) or references, as HDF5 has them in
/// memory, to the bytes of a record and back. Source: docs/format.md, "Variable-length records".
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "core/bytes/byte_reader.hpp"
#include "core/geometry/box.hpp"
#include "core/records/record.hpp"
#include "hdf5/data/reference_values.hpp"
#include "hdf5/data/region_values.hpp"

namespace bento::vol {

/// A record is made no longer than this, unless a single element is.
inline constexpr std::uint64_t kVariableRecordBytes = std::uint64_t{1} << 20;
/// Nor of more elements: to find one, those before it in the record are gone through.
inline constexpr std::uint64_t kVariableRecordElements = 4096;

/// Gives memory for the values of elements; null: there is none.
using AllocateValue = std::function<void*(std::size_t bytes)>;
using FreeValue = std::function<void(void* value)>;

/// Memory for values that are given back all at once.
class ValueArena {
 public:
  void* allocate(std::size_t bytes);
  void clear();

 private:
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::byte* next_ = nullptr;
  std::size_t left_ = 0;  ///< from there to the end of its block
};

/// For the place of a reference to a region in memory.
using VisitRegion = std::function<Status(std::byte* reference)>;

/// How elements of one type are encoded. Keeps nothing of HDF5's.
class VariableElements {
 public:
  /// `type` as H5Dget_type gives it: variable-length parts are pointers. Errors: kUnsupported
  /// (references to regions of files with other sizes of addresses), kInternal.
  static Result<VariableElements> of(hid_t type);
  /// Where the references to regions in memory lead; must outlive its use. Without it only null
  /// ones can be encoded or decoded.
  void use_regions(RegionValues* regions) { regions_ = regions; }
  /// The same for references of HDF5 1.12.
  void use_references(ReferenceValues* references) { references_ = references; }

  /// Of one element in memory.
  [[nodiscard]] std::size_t element_bytes() const { return layout_.bytes; }
  /// Errors: of RegionValues::get, kUnsupported (a region, and no heap for it).
  [[nodiscard]] Result<std::uint64_t> encoded_bytes(const std::byte* element) const;
  Status encode(const std::byte* element, std::vector<std::byte>& out) const;

  /// Decodes the elements of `part`, which lies in both boxes, of the record of `box` into the
  /// row-major buffer of `to_box`. What `allocate` gave belongs to the caller, also after an error:
  /// elements that were not reached are as before. Errors: kCorrupt, kNoSpace (no memory), of
  /// RegionValues::put.
  Status decode(const Box& box, std::span<const std::byte> stored, const Box& part,
                const Box& to_box, std::byte* to, const AllocateValue& allocate) const;
  /// The bytes of a record that has only the elements of `part`. Errors: kCorrupt.
  Result<std::vector<std::byte>> cut(const Box& box, std::span<const std::byte> stored,
                                     const Box& part) const;
  /// Gives the values of `count` elements back, and makes them null.
  void release(std::byte* elements, std::size_t count, const FreeValue& free) const;

  [[nodiscard]] bool has_references() const { return has_references(layout_); }
  [[nodiscard]] bool has_regions() const { return has_regions(layout_); }
  /// References of HDF5 1.12?
  [[nodiscard]] bool has_new_references() const { return has_new_references(layout_); }
  /// Makes the references of `count` elements null.
  void clear_references(std::byte* elements, std::size_t count) const;
  /// Visits the references to regions in `count` elements, those in sequences too; null ones not.
  Status for_each_region(std::byte* elements, std::size_t count, const VisitRegion& visit) const;

  /// What a record's bytes begin with.
  static void begin(std::vector<std::byte>& out);

 private:
  struct Part;
  struct Layout {
    std::size_t bytes = 0;
    std::vector<Part> parts;
    /// One run of bytes that is all of it?
    [[nodiscard]] bool fixed() const;
  };
  struct Part {
    enum class Kind {
      kFixed,
      kObject,     ///< an object's address in the skeleton, which all ranks share
      kRegion,     ///< what RegionValues knows
      kReference,  ///< of HDF5 1.12, what ReferenceValues knows
      kString,
      kSequence,
      kArray
    } kind = Kind::kFixed;
    std::size_t offset = 0;
    std::size_t count = 0;  ///< of kArray elements, of fixed size and of references bytes
    Layout base;            ///< kSequence, kArray
  };

  static Status describe(hid_t type, std::size_t offset, Layout& out);
  static Status describe_reference(hid_t type, std::size_t offset, Layout& out);
  static void add_fixed(std::size_t offset, std::size_t bytes, Layout& out);
  /// To a sink that takes the bytes, or counts them.
  template <class Sink>
  Status put(const Layout& layout, const std::byte* element, Sink& sink) const;
  template <class Sink>
  Status put_all(const Layout& base, const std::byte* first, std::size_t count, Sink& sink) const;
  Status decode(const Layout& layout, ByteReader& in, std::byte* element,
                const AllocateValue& allocate) const;
  /// What `values` have for a reference that is not null.
  template <class Sink, class Values>
  static Status put_known(Values* values, Error (*unknown)(), const std::byte* reference,
                          Sink& sink);
  Status decode_region(ByteReader& in, std::byte* reference) const;
  Status decode_reference(ByteReader& in, std::byte* reference) const;
  static Status skip(const Layout& layout, ByteReader& in);
  /// What an element takes in a record at least, never 0.
  static std::size_t least_bytes(const Layout& layout);
  static void release(const Layout& layout, std::byte* element, const FreeValue& free);
  static bool is_reference(const Part& part);
  /// At any depth.
  static bool contains(const Layout& layout, bool (*what)(const Part&));
  static bool has_references(const Layout& layout);
  static bool has_regions(const Layout& layout);
  static bool has_new_references(const Layout& layout);
  static void clear_references(const Layout& layout, std::byte* element);
  static Status for_each_region(const Layout& layout, std::byte* element, const VisitRegion& visit);

  Layout layout_;
  RegionValues* regions_ = nullptr;
  ReferenceValues* references_ = nullptr;
};

}  // namespace bento::vol
