// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/data/dataset_copy.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/base/guarded.hpp"
#include "core/base/verified_reads.hpp"
#include "hdf5/base/native_connector.hpp"
#include "hdf5/data/selection.hpp"
#include "hdf5/skeleton/open_files.hpp"
#include "vol/data/box_data.hpp"
#include "vol/data/variable_records.hpp"
#include "vol/file/dataset_state.hpp"
#include "vol/file/opened_object.hpp"
#include "vol/file/refresh.hpp"
#include "vol/file/shared_groups.hpp"

namespace bento::vol {

namespace {

constexpr std::uint64_t kPieceBytes = 16u << 20;

// Called by the library, through which nothing may be thrown. Other links of a copied group lead to
// where those of the source lead: to objects that were not copied.
herr_t collect_name(hid_t, const char* name, const H5L_info2_t* link, void* data) noexcept {
  try {
    if (link->type != H5L_TYPE_HARD) return 0;
    static_cast<std::vector<std::string>*>(data)->emplace_back(name);
    return 0;
  } catch (...) {
    return -1;
  }
}

/// The names of all hard links below a group, as paths from there.
Result<std::vector<std::string>> hard_links_below(Object* group) {
  std::vector<std::string> names;
  H5VL_link_specific_args_t args{};
  args.op_type = H5VL_LINK_ITER;
  args.args.iterate.recursive = true;
  args.args.iterate.idx_type = H5_INDEX_NAME;
  args.args.iterate.order = H5_ITER_NATIVE;
  args.args.iterate.idx_p = nullptr;
  args.args.iterate.op = collect_name;
  args.args.iterate.op_data = &names;
  const H5VL_loc_params_t here = by_self(H5I_GROUP);
  if (H5VLlink_specific(group->under, &here, group->under_vol_id, &args, H5P_DATASET_XFER_DEFAULT,
                        nullptr) < 0)
    return fail(Code::kInternal, "the copied group cannot be walked");
  return names;
}

Status write_native(Object* target, hid_t type, const Dims& extent, const Box& box,
                    const std::byte* data) {
  std::array<hsize_t, kMaxRank> dims{};
  std::array<hsize_t, kMaxRank> start{};
  std::array<hsize_t, kMaxRank> count{};
  for (unsigned d = 0; d < extent.rank(); ++d) {
    dims[d] = extent[d];
    start[d] = box.start[d];
    count[d] = box.count[d];
  }
  SpaceHandle file(extent.rank() > 0
                       ? H5Screate_simple(static_cast<int>(extent.rank()), dims.data(), nullptr)
                       : H5Screate(H5S_SCALAR));
  if (extent.rank() > 0)
    H5Sselect_hyperslab(file.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr);
  hid_t mem_space = H5S_BLOCK;
  hid_t file_space = file.get();
  const hsize_t elements = box.elements();
  const SpaceHandle memory(H5Screate_simple(1, &elements, nullptr));
  mem_space = memory.get();
  const void* buffer = data;
  if (H5VLdataset_write(1, &target->under, target->under_vol_id, &type, &mem_space, &file_space,
                        H5P_DATASET_XFER_DEFAULT, &buffer, nullptr) < 0)
    return fail(Code::kInternal, "copied data cannot be written to the ordinary file");
  return {};
}

/// Copies the elements of one box in pieces of bounded size. Each is asked for its step before it
/// goes to the target: another process may be writing the source.
template <class Write>
Status copy_elements(Object* source, DatasetState& state, const Box& whole, const Write& write) {
  std::vector<std::byte> data;
  const std::uint64_t most = std::max<std::uint64_t>(1, kPieceBytes / state.element_bytes);
  return for_each_part(whole, most, [&](const Box& box) -> Status {
    data.resize(box.elements() * state.element_bytes);
    const VerifiedReads verified;
    BENTO_TRY(read_of_one_step(state.file->container(),
                               [&] { return read_box(source, state, box, data.data()); }));
    return write(box, data);
  });
}

/// Copies what was written, record by record, and leaves the rest unwritten. A filtered record goes
/// over as it is stored if all of it counts, and is decoded otherwise.
Status copy_records(Object* source, DatasetState& from, const Dims& extent, Object* target,
                    DatasetState& to) {
  Container& container = from.file->container();
  const auto find = [&](const Box& box) {
    return read_of_one_step(container, [&] { return container.find(from.number, box); });
  };
  BENTO_ASSIGN(const RecordLookup written, find(Box::whole(extent)));
  for (const auto& piece : written.pieces) {
    // Asked again, since a write to the same container may move what still gathers in memory.
    BENTO_ASSIGN(const RecordLookup now, find(piece.part));
    const Record record = now.pieces.empty() ? Record{} : now.records[now.pieces.front().record];
    if (record.encoding == Encoding::kFiltered && piece.part == record.box &&
        record.stored_bytes <= to.file->container().largest_record()) {
      BENTO_ASSIGN(const auto stored,
                   read_of_one_step(container, [&] { return container.read_stored(record); }));
      BENTO_TRY(to.file->container().write_filtered(to.number, record.box, record.filter_mask,
                                                    stored, ValueRange::everything(),
                                                    to.all_members()));
      continue;
    }
    BENTO_TRY(copy_elements(source, from, piece.part,
                            [&](const Box& box, const std::vector<std::byte>& data) {
                              return write_box(target, to, box, data.data(), to.all_members());
                            }));
  }
  return {};
}

/// Copies to a dataset of an ordinary file. Where little was written, only that: all else shows the
/// fill value there by itself.
Status copy_to_ordinary(Object* source, DatasetState& from, const Dims& extent, Object* target) {
  if (extent.product() == 0) return {};
  const auto write = [&](const Box& box, const std::vector<std::byte>& data) {
    return write_native(target, from.type->id(), extent, box, data.data());
  };
  const Box whole = Box::whole(extent);
  if (from.variable)
    return for_each_written(from, whole, [&](const Box& box, const std::byte* elements) {
      return write_native(target, from.type->id(), extent, box, elements);
    });
  BENTO_ASSIGN(const RecordLookup written, read_of_one_step(from.file->container(), [&] {
                 return from.file->container().find(from.number, whole);
               }));
  std::uint64_t elements = 0;
  for (const auto& piece : written.pieces) elements += piece.part.elements();
  if (elements >= extent.product() / 2) return copy_elements(source, from, whole, write);
  for (const auto& piece : written.pieces)
    BENTO_TRY(copy_elements(source, from, piece.part, write));
  return {};
}

Status copy_one(Object* source, Object* target) {
  if (source->type != H5I_DATASET || target->type != H5I_DATASET) return {};
  BENTO_ASSIGN(const ObjectIdentity place, identity_of(source));
  BENTO_TRY(check_not_outdated(place, H5I_DATASET));
  BENTO_ASSIGN(DatasetState* const from, resolve(source));
  BENTO_ASSIGN(const ObjectIdentity identity, identity_of(target));
  const auto file = std::static_pointer_cast<FileContext>(host_of_fileno(identity.fileno));
  if (from->home != Home::kDiverted) {
    if (file) file->undeclare(identity.token);
    return {};
  }
  BENTO_ASSIGN(const Dims extent, from->extent(source));
  if (!file) return copy_to_ordinary(source, *from, extent, target);
  if (from->variable && file->container().root().version < kFormatVersion)
    return fail(Code::kUnsupported,
                "containers of format version 3 do not hold variable-length elements of ranks");
  file->declare(identity.token, from->element_bytes, extent.rank(), from->flags,
                extent.bytes(from->element_bytes), from->variable != nullptr);
  if (file->container().comm().rank() != 0) return {};
  BENTO_ASSIGN(DatasetState* const to, resolve(target));
  if (from->variable) return copy_variable(*from, Box::whole(extent), *to);
  return copy_records(source, *from, extent, target, *to);
}

Status copy_objects(OpenedObject& old_root, OpenedObject& new_root) {
  if (new_root.get()->type != H5I_GROUP) return copy_one(old_root.get(), new_root.get());

  BENTO_ASSIGN(const auto names, hard_links_below(new_root.get()));
  std::set<TokenBytes> done;  // a dataset may be reached by several links
  for (const auto& name : names) {
    Status copied;
    H5E_BEGIN_TRY {
      OpenedObject new_object(new_root.get(), H5I_GROUP, name);
      if (new_object.get() != nullptr && new_object.get()->type == H5I_GROUP)
        note_shared_group(new_object.get(), by_self(H5I_GROUP), 2);
      if (new_object.get() != nullptr && new_object.get()->type == H5I_DATASET) {
        const auto identity = identity_of(new_object.get());
        if (identity && done.insert(identity->token).second) {
          OpenedObject old_object(old_root.get(), H5I_GROUP, name);
          if (old_object.get() != nullptr) copied = copy_one(old_object.get(), new_object.get());
        }
      }
    }
    H5E_END_TRY
    if (!copied) return copied;
  }
  return {};
}

}  // namespace

Status copy_diverted_data(Object* source, const H5VL_loc_params_t& from, const char* source_name,
                          Object* target, const H5VL_loc_params_t& to, const char* target_name) {
  if (!any_armed_host()) return {};
  // The paths may have led through links or mounts: the objects are asked where they are.
  OpenedObject old_root(source, from.obj_type, source_name);
  OpenedObject new_root(target, to.obj_type, target_name);
  if (old_root.get() == nullptr || new_root.get() == nullptr)
    return fail(Code::kInternal,
                fmt::format("'{}' or its copy '{}' cannot be opened", source_name, target_name));
  const auto source_file = context_of(old_root.get());
  const auto target_file = context_of(new_root.get());
  if (source_file && source_file->access().parallel && source_file->writable())
    BENTO_TRY(source_file->container().exchange());
  // Whatever becomes of it on rank 0, the others wait for it in the second exchange.
  Status copied = guarded([&] { return copy_objects(old_root, new_root); });
  // Rank 0 has written the copy's values. What any rank writes from now on is later.
  if (target_file) target_file->note_collective("object_copied", target_name);
  if (source_file && target_file && target_file->access().parallel && target_file->writable()) {
    Status told = target_file->container().exchange();
    if (copied) copied = std::move(told);
  }
  return copied;
}

}  // namespace bento::vol
