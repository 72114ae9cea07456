// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What a dataset wrapper knows about its dataset: whether its raw data is diverted, and the type,
/// extent and fill value that every transfer needs. Kept with the wrapper, so it is gone before the
/// library closes types.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "core/geometry/box.hpp"
#include "hdf5/base/handle.hpp"
#include "hdf5/data/filter_scratch.hpp"
#include "hdf5/data/held_references.hpp"
#include "hdf5/data/value_range.hpp"
#include "hdf5/data/variable_elements.hpp"
#include "vol/file/early_fill.hpp"
#include "vol/file/element_type.hpp"
#include "vol/file/file_context.hpp"
#include "vol/file/object.hpp"
#include "vol/file/type_members.hpp"

namespace bento::vol {

/// Where a dataset's raw data is.
enum class Home {
  kDiverted,  ///< records in the ranks' streams
  kSkeleton,  ///< in the skeleton of a container: variable-length, references, external
  kNative,    ///< an ordinary file
  kVirtual,   ///< in other datasets, whichever file describes it
};

struct CreatedDataset;
struct KnownChunks;
struct VirtualDataset;

struct DatasetState {
  Home home = Home::kNative;
  std::shared_ptr<FileContext> file;  ///< null in an ordinary file
  DatasetNumber number = 0;           ///< kDiverted
  std::uint32_t flags = 0;            ///< kDiverted: DatasetFlags
  std::size_t element_bytes = 0;      ///< kDiverted, like what follows
  std::shared_ptr<ElementType> type;  ///< not null where `file` is not
  /// kDiverted: how elements of variable length are stored; null for those of fixed size.
  std::unique_ptr<VariableElements> variable;
  /// Those that `variable` reads or writes now.
  HeldReferences references;
  const char* refuses_parallel = nullptr;  ///< kSkeleton: why ranks cannot write it, if so
  /// kVirtual, once it was needed: see vol/data/virtual_dataset.hpp.
  std::shared_ptr<VirtualDataset> mapped;
  /// kDiverted, once they were asked for: see vol/data/allocated_chunks.hpp.
  std::shared_ptr<const KnownChunks> chunks;

  /// kDiverted: current extent; asked from the native dataset again after it has changed.
  Result<Dims> extent(const Object* object);
  /// The same, for who only looks at it: valid until it is asked for again.
  Result<const Dims*> look_at_extent(const Object* object);
  /// It has changed to this: need not be asked for.
  void extent_is(const Dims& extent);
  /// One element of what nobody wrote, in the file type: the fill value; zeros if none is defined,
  /// or if it is never to be filled in (H5D_FILL_TIME_NEVER).
  Result<const std::vector<std::byte>*> fill_value(const Object* object);
  /// Is there none for elements that nobody wrote, as far as fill_value() was asked?
  [[nodiscard]] bool lacks_fill_value() const { return lacks_fill_value_; }
  /// It does not matter: there are elements.
  void needs_no_fill_value() { lacks_fill_value_ = false; }
  /// The same of a dataset of variable length, as a record of one element.
  Result<const std::vector<std::byte>*> variable_fill(const Object* object);
  /// The members of its elements; null if they have none.
  const TypeMembers* members();
  /// What a write of whole elements brings; null if they have no members.
  const WrittenMembers* all_members() { return type->compound() ? &members()->all() : nullptr; }
  /// The dataset's filters; null if it has none or is not chunked.
  Result<FilterScratch*> filters(const Object* object);
  /// When the native library would fill what it allocates for several ranks.
  Result<const EarlyFill*> early_fill(const Object* object);
  /// What is known of a dataset that was created here need not be asked for.
  void expect(const CreatedDataset& created);
  /// Range of elements that are about to be written as they are, or through `filters`;
  /// everything() unless minmax=on.
  [[nodiscard]] ValueRange range_of(std::span<const std::byte> elements,
                                    const FilterScratch* filters = nullptr);

 private:
  Dims extent_;
  std::uint64_t extent_version_ = 0;
  std::vector<std::byte> fill_;
  bool lacks_fill_value_ = false;
  std::optional<TypeMembers> members_;
  std::optional<EarlyFill> early_fill_;
  bool filters_known_ = false;
  std::unique_ptr<FilterScratch> filters_;
  std::optional<ValueOrder> order_;  ///< minmax=on
};

/// Token and file number of an object.
struct ObjectIdentity {
  TokenBytes token{};
  unsigned long fileno = 0;
  bool operator==(const ObjectIdentity&) const = default;
};
Result<ObjectIdentity> identity_of(const Object* object);

/// What the creation of a diverted dataset has said of it.
struct CreatedDataset {
  ObjectIdentity identity;
  hid_t number = H5I_INVALID_HID;  ///< its type, if that is one of the library's own numbers
  bool unfiltered = false;
  Dims extent;
  std::uint64_t extent_version = 0;  ///< of the file, when this was the extent
};

/// Finds out, once per wrapper, where the dataset's data is. Makes no communication.
Result<DatasetState*> resolve(Object* object);
/// The same for a dataset that was just opened, if its data is diverted: the open, which has to
/// look at the same metadata, is where it costs least. What goes wrong is for the first resolve()
/// to report.
void resolve_opened(Object* object);

/// Forgets what is cached, after H5Drefresh or when the wrapper's dataset was just declared.
void unresolve(Object* object);

}  // namespace bento::vol
