// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/file/dataset_state.hpp"

#include <cstring>

#include <fmt/format.h>

#include "hdf5/base/native_connector.hpp"
#include "hdf5/base/types.hpp"
#include "hdf5/data/selection.hpp"
#include "hdf5/skeleton/open_files.hpp"
#include "vol/file/destination.hpp"
#include "vol/file/native_dataset.hpp"
#include "vol/file/native_of_ranks.hpp"

namespace bento::vol {

Result<ObjectIdentity> identity_of(const Object* object) {
  H5O_info2_t info{};
  if (!ask_info(object, by_self(object->type), info))
    return fail(Code::kInternal, "the native connector does not know the object");
  ObjectIdentity identity;
  identity.token = token_bytes(info.token);
  identity.fileno = info.fileno;
  if (object->type == H5I_DATASET) object->fileno = info.fileno;
  return identity;
}

Result<Dims> DatasetState::extent(const Object* object) {
  BENTO_ASSIGN(const Dims* const now, look_at_extent(object));
  return *now;
}

Result<const Dims*> DatasetState::look_at_extent(const Object* object) {
  if (extent_version_ < file->extent_version(number)) {
    BENTO_ASSIGN(const SpaceHandle space, native_space(object));
    BENTO_ASSIGN(extent_, extent_of(space.get()));
    extent_version_ = file->extent_version();
  }
  return &extent_;
}

void DatasetState::extent_is(const Dims& extent) {
  extent_ = extent;
  extent_version_ = file->extent_version();
}

// An extent that has changed since is asked for.
void DatasetState::expect(const CreatedDataset& created) {
  filters_known_ = created.unfiltered;
  extent_ = created.extent;
  extent_version_ = created.extent_version;
}

Result<const std::vector<std::byte>*> DatasetState::fill_value(const Object* object) {
  if (fill_.empty()) {
    std::vector<std::byte> value(element_bytes);
    BENTO_ASSIGN(const PlistHandle dcpl, native_dcpl(object));
    H5D_fill_value_t defined = H5D_FILL_VALUE_UNDEFINED;
    H5D_fill_time_t when = H5D_FILL_TIME_IFSET;
    const bool never = H5Pget_fill_time(dcpl.get(), &when) >= 0 && when == H5D_FILL_TIME_NEVER;
    if (H5Pfill_value_defined(dcpl.get(), &defined) >= 0 && defined != H5D_FILL_VALUE_UNDEFINED &&
        !never)
      if (H5Pget_fill_value(dcpl.get(), type->id(), value.data()) < 0)
        return fail(Code::kInternal, "fill value unreadable");
    lacks_fill_value_ = defined == H5D_FILL_VALUE_UNDEFINED && !never;
    fill_ = std::move(value);
  }
  return &fill_;
}

// The library may have shared the values of the list's fill value or copied them: they are not
// given back here, once for each wrapper.
Result<const std::vector<std::byte>*> DatasetState::variable_fill(const Object* object) {
  if (fill_.empty()) {
    std::vector<std::byte> element(element_bytes);
    BENTO_ASSIGN(const PlistHandle dcpl, native_dcpl(object));
    H5D_fill_value_t defined = H5D_FILL_VALUE_UNDEFINED;
    if (H5Pfill_value_defined(dcpl.get(), &defined) >= 0 &&
        defined == H5D_FILL_VALUE_USER_DEFINED &&
        H5Pget_fill_value(dcpl.get(), type->id(), element.data()) < 0)
      return fail(Code::kInternal, "fill value unreadable");
    std::vector<std::byte> fill;
    VariableElements::begin(fill);
    BENTO_TRY(variable->encode(element.data(), fill));
    fill_ = std::move(fill);
  }
  return &fill_;
}

const TypeMembers* DatasetState::members() {
  if (!type->compound()) return nullptr;
  if (!members_) members_ = TypeMembers(type->id());
  return &*members_;
}

Result<FilterScratch*> DatasetState::filters(const Object* object) {
  if (!filters_known_) {
    BENTO_ASSIGN(const PlistHandle dcpl, native_dcpl(object));
    if (H5Pget_layout(dcpl.get()) == H5D_CHUNKED) {
      if ((flags & kUserSparesPartialChunks) != 0 &&
          H5Pset_chunk_opts(dcpl.get(), H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS) < 0)
        return fail(Code::kInternal, "the chunk options cannot be set");
      BENTO_ASSIGN(filters_, FilterScratch::make(dcpl.get(), type->id()));
    }
    filters_known_ = true;
  }
  return filters_.get();
}

Result<const EarlyFill*> DatasetState::early_fill(const Object* object) {
  if (!early_fill_) {
    BENTO_ASSIGN(const PlistHandle dcpl, native_dcpl(object));
    early_fill_.emplace(facts_of_list(dcpl.get()), allocated_early(flags));
  }
  return &*early_fill_;
}

ValueRange DatasetState::range_of(std::span<const std::byte> elements,
                                  const FilterScratch* filters) {
  if (!file->config().minmax) return ValueRange::everything();
  if (!order_) order_ = ValueOrder(type->id());
  if (filters != nullptr && !filters->keeps_values()) return ValueRange::everything();
  return order_->range_of(elements);
}

namespace {

/// Why ranks cannot write a dataset whose values lie in the skeleton, of which only rank 0's is
/// stored. Null if they can, because the values are elsewhere, in external files, or there are
/// none.
Result<const char*> refused_in_parallel(const Object* object, hid_t type, hid_t dcpl) {
  BENTO_ASSIGN(const SpaceHandle space, native_space(object));
  if (H5Sget_simple_extent_type(space.get()) == H5S_NULL) return nullptr;
  if (has_variable_length(type) || has_reference(type))
    return "Parallel IO does not support writing VL datatypes or references of serial programs yet";
  if (H5Pget_layout(dcpl) == H5D_CONTIGUOUS && H5Pget_external_count(dcpl) > 0) return nullptr;
  return "this dataset was copied from an ordinary file, so its values lie in the container's "
         "metadata, which ranks cannot write in parallel: write it in a serial program, or create "
         "a dataset and write that";
}

/// Of a dataset that is not diverted.
Status find_home(const Object* object, const ObjectIdentity& identity, DatasetState& state) {
  BENTO_ASSIGN(const PlistHandle dcpl, native_dcpl(object));
  if (H5Pget_layout(dcpl.get()) == H5D_VIRTUAL) {
    // HDF5 itself says that ranks cannot.
    const bool of_ranks = !state.file && is_native_of_ranks(identity.fileno);
    state.home = of_ranks ? Home::kNative : Home::kVirtual;
    return {};
  }
  if (!state.file) return {};
  state.home = Home::kSkeleton;
  BENTO_ASSIGN(state.refuses_parallel, refused_in_parallel(object, state.type->id(), dcpl.get()));
  return {};
}

/// What a transfer needs to know of a dataset whose data is diverted.
Status describe(const Object* object, const DatasetDeclaration& dataset, DatasetState& state) {
  state.home = Home::kDiverted;
  state.number = dataset.number;
  state.flags = dataset.flags;
  state.element_bytes = state.type->bytes();
  if (object->created) state.expect(*object->created);
  if ((state.flags & kVariableElements) != 0) {
    BENTO_ASSIGN(auto variable, VariableElements::of(state.type->id()));
    if (variable.has_regions()) variable.use_regions(&state.file->regions());
    variable.use_references(&state.references);
    state.variable = std::make_unique<VariableElements>(std::move(variable));
  }
  if (state.element_bytes != dataset.element_bytes)
    return fail(Code::kCorrupt,
                "the index and the skeleton disagree on the size of a dataset's elements");
  BENTO_ASSIGN(const Dims extent, state.extent(object));
  if (extent.rank() == dataset.rank) return {};
  return fail(Code::kCorrupt,
              fmt::format("dataset {} has {} dimensions in the index, and {} in the skeleton",
                          dataset.number, dataset.rank, extent.rank()));
}

Result<DatasetState*> resolve(Object* object, const ObjectIdentity& identity,
                              std::shared_ptr<FileContext> file) {
  auto state = std::make_shared<DatasetState>();
  state->file = std::move(file);
  if (state->file) {
    if (object->created && object->created->number >= 0) {
      state->type = element_type_of_number(object->created->number);
    } else {
      BENTO_ASSIGN(state->type, element_type_of(object, state->file->last_number()));
    }
    if (const DatasetDeclaration* const dataset = state->file->find(identity.token))
      BENTO_TRY(describe(object, *dataset, *state));
  }
  if (state->home != Home::kDiverted) BENTO_TRY(find_home(object, identity, *state));
  object->dataset = std::move(state);
  object->dataset_resolved = true;
  object->created.reset();
  return object->dataset.get();
}

std::shared_ptr<FileContext> host_of(const ObjectIdentity& identity) {
  return std::static_pointer_cast<FileContext>(host_of_fileno(identity.fileno));
}

}  // namespace

Result<DatasetState*> resolve(Object* object) {
  // What the library keeps of it is of an earlier step: type, extent, and values that lie in
  // metadata.
  if (object->outdated)
    return fail(
        Code::kBusy,
        "this dataset is not as it was in the step that the file has come to. Its writer "
        "has made it smaller, its values lie in metadata (variable length), or it is a virtual "
        "one: refresh it, too. Or it was deleted: close it");
  if (object->dataset_resolved) return object->dataset.get();
  ObjectIdentity identity;
  if (object->created) {
    identity = object->created->identity;
  } else {
    BENTO_ASSIGN(identity, identity_of(object));
  }
  return resolve(object, identity, host_of(identity));
}

void resolve_opened(Object* object) {
  if (!any_armed_host()) return;
  const ErrorStackKeeper keep;
  const auto identity = identity_of(object);
  auto file = identity ? host_of(*identity) : nullptr;
  if (file && file->find(identity->token) != nullptr)
    (void)resolve(object, *identity, std::move(file));
}

void unresolve(Object* object) {
  object->dataset.reset();
  object->dataset_resolved = false;
  object->created.reset();
}

}  // namespace bento::vol
