// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/data/virtual_transfer.hpp"

#include <cstring>
#include <functional>
#include <vector>

#include <fmt/format.h>

#include "hdf5/data/plain_selection.hpp"
#include "hdf5/data/selection.hpp"
#include "vol/data/packed_memory.hpp"
#include "vol/data/virtual_dataset.hpp"
#include "vol/data/virtual_pieces.hpp"
#include "vol/file/native_dataset.hpp"

namespace bento::vol {

namespace {

using For = VirtualSources::For;

struct Selections {
  SpaceHandle wanted;  ///< in the virtual dataset
  SpaceHandle memory;
};

Result<SpaceHandle> whole(const Dims& extent) {
  if (extent.rank() == 0) return SpaceHandle(H5Screate(H5S_SCALAR));
  const SpaceHandle space(
      H5Screate_simple(static_cast<int>(extent.rank()), extent.view().data(), nullptr));
  if (!space.valid()) return fail(Code::kInternal, "no dataspace for a virtual dataset");
  return plain_selection(space.get());
}

/// The selection in the dataset, with the dataset's extent.
Result<SpaceHandle> wanted_of(const VirtualDataset& dataset, hid_t file_space) {
  if (file_space == H5S_PLIST)
    return fail(Code::kUnsupported, "H5S_PLIST selections are not supported for virtual datasets");
  BENTO_ASSIGN(SpaceHandle all, whole(dataset.extent));
  if (file_space == H5S_ALL) return all;
  BENTO_ASSIGN(SpaceHandle wanted, plain_selection(file_space));
  const auto rank = static_cast<int>(dataset.extent.rank());
  if (H5Sget_select_npoints(wanted.get()) == 0) {
    if (H5Sselect_none(all.get()) < 0) return fail(Code::kInternal, "nothing can be selected");
    return all;
  }
  if (H5Sget_simple_extent_ndims(wanted.get()) != rank)
    return fail(Code::kInvalidArgument,
                fmt::format("file selection has {} dimensions, the dataset {}",
                            H5Sget_simple_extent_ndims(wanted.get()), rank));
  if (rank > 0) {
    BENTO_TRY(bounds_of(wanted.get(), dataset.extent));
    if (H5Sextent_copy(wanted.get(), all.get()) < 0)
      return fail(Code::kInternal, "the extent of a selection cannot be set");
  }
  return wanted;
}

Result<Selections> selections_of(const VirtualDataset& dataset, const TransferArgs& args) {
  Selections selections;
  BENTO_ASSIGN(selections.wanted, wanted_of(dataset, args.file_space));
  const hssize_t elements = H5Sget_select_npoints(selections.wanted.get());
  if (args.mem_space == H5S_BLOCK) {
    const auto length = static_cast<hsize_t>(elements);
    const SpaceHandle run(H5Screate_simple(1, &length, nullptr));
    BENTO_ASSIGN(selections.memory, plain_selection(run.get()));
  } else {
    const bool same = args.mem_space == H5S_ALL;
    const bool all = same && args.file_space == H5S_ALL;
    BENTO_ASSIGN(selections.memory, plain_selection(all    ? selections.wanted.get()
                                                    : same ? args.file_space
                                                           : args.mem_space));
  }
  if (H5Sget_select_npoints(selections.memory.get()) != elements)
    return fail(Code::kInvalidArgument,
                fmt::format("memory selection has {} elements, file selection {}",
                            H5Sget_select_npoints(selections.memory.get()), elements));
  return selections;
}

/// As natively, also if the type in memory has members that the dataset lacks.
Status fill(const Object* object, hid_t mem_type, hid_t space, void* buffer) {
  if (H5Sget_select_npoints(space) == 0) return {};
  BENTO_ASSIGN(const PlistHandle dcpl, native_dcpl(object));
  H5D_fill_value_t defined = H5D_FILL_VALUE_UNDEFINED;
  if (H5Pfill_value_defined(dcpl.get(), &defined) < 0)
    return fail(Code::kInternal, "fill value unreadable");
  if (defined == H5D_FILL_VALUE_UNDEFINED) return {};
  std::vector<std::byte> value(H5Tget_size(mem_type));
  const bool users = defined == H5D_FILL_VALUE_USER_DEFINED;
  if (users && H5Pget_fill_value(dcpl.get(), mem_type, value.data()) < 0)
    return fail(Code::kInternal, "the fill value has no conversion to the type in memory");
  const herr_t done = H5Dfill(users ? value.data() : nullptr, mem_type, buffer, mem_type, space);
  if (users) {
    const SpaceHandle one(H5Screate(H5S_SCALAR));
    H5Treclaim(mem_type, one.get(), H5P_DEFAULT, value.data());
  }
  if (done < 0) return fail(Code::kInternal, "the fill value cannot be given");
  return {};
}

/// As natively: not in parallel, nor where the virtual dataset's own file is open for reading.
Status check_writable(const Object* object, const DatasetState& state) {
  if (state.file && state.file->access().parallel)
    return fail(Code::kUnsupported, "parallel writes not supported on virtual datasets");
  if (state.file) {
    if (state.file->writable()) return {};
    return fail(Code::kPermission, "no write intent on file");
  }
  const auto fileno = fileno_of(object);
  const Object* const file = fileno ? open_file_with(*fileno) : nullptr;
  if (file == nullptr)
    return fail(Code::kUnsupported,
                "a virtual dataset of an ordinary file can be written only while the file is open "
                "by an identifier of its own: open it by its name");
  unsigned flags = 0;
  H5VL_file_get_args_t args{};
  args.op_type = H5VL_FILE_GET_INTENT;
  args.args.get_intent.flags = &flags;
  if (H5VLfile_get(file->under, file->under_vol_id, &args, H5P_DATASET_XFER_DEFAULT, nullptr) < 0)
    return fail(Code::kInternal, "what a file is open for cannot be asked");
  if ((flags & H5F_ACC_RDWR) != 0) return {};
  return fail(Code::kPermission, "no write intent on file");
}

/// Hyperslabs to hyperslabs, which in memory are one, or lie in one dimension.
using PlainTransfer = std::function<Status(hid_t wanted, hid_t memory, void* buffer)>;

/// Cuts what is none into such transfers, by way of a packed copy of the elements.
Status in_plain_parts(const Selections& selections, hid_t mem_type, void* buffer, bool reads,
                      const PlainTransfer& transfer) {
  const bool points = H5Sget_select_type(selections.wanted.get()) == H5S_SEL_POINTS;
  BENTO_ASSIGN(const bool irregular, is_irregular(selections.memory.get()));
  if (!points && !irregular && H5Sget_select_type(selections.memory.get()) != H5S_SEL_POINTS)
    return transfer(selections.wanted.get(), selections.memory.get(), buffer);
  BENTO_ASSIGN(PackedMemory packed, PackedMemory::of(selections.memory.get(), mem_type, buffer));
  if (!points) {
    BENTO_ASSIGN(const SpaceHandle run, packed.space());
    BENTO_TRY(transfer(selections.wanted.get(), run.get(), packed.data()));
  } else {
    BENTO_ASSIGN(const auto rounds, rounds_of_points(selections.wanted.get()));
    for (const PointRound& round : rounds) {
      PackedMemory part = packed.take(round.order);
      BENTO_ASSIGN(const SpaceHandle run, part.space());
      BENTO_TRY(transfer(round.points.get(), run.get(), part.data()));
      if (reads) packed.put(round.order, part);
    }
  }
  return reads ? packed.give_back(selections.memory.get(), buffer) : Status{};
}

}  // namespace

Status virtual_read(Object* object, DatasetState& state, const TransferArgs& args, void* buffer,
                    ReadElements read) {
  BENTO_ASSIGN(VirtualDataset* const dataset, virtual_dataset(object, state));
  BENTO_ASSIGN(const Selections selections, selections_of(*dataset, args));
  if (H5Sget_select_npoints(selections.wanted.get()) == 0) return {};
  if (buffer == nullptr) return fail(Code::kInvalidArgument, "no buffer for a read of elements");
  BENTO_ASSIGN(const VirtualDescent here, VirtualDescent::into(object));
  const VirtualSources::Use use(dataset->sources);
  const auto transfer = [&](hid_t wanted, hid_t memory, void* elements) -> Status {
    PiecesInMemory found(dataset->layout.disjoint);
    BENTO_TRY(for_each_piece(
        *dataset, For::kReading, wanted, memory, [&](VirtualPiece piece, Object* source) -> Status {
          BENTO_TRY(read(source, {args.mem_type, piece.memory.get(), piece.source.get(), args.dxpl},
                         elements));
          found.add(std::move(piece.memory));
          return {};
        }));
    BENTO_ASSIGN(const SpaceHandle missing, found.missing_of(memory));
    return fill(object, args.mem_type, missing.get(), elements);
  };
  return in_plain_parts(selections, args.mem_type, buffer, true, transfer);
}

Status virtual_write(Object* object, DatasetState& state, const TransferArgs& args,
                     const void* buffer, WriteElements write) {
  BENTO_TRY(check_writable(object, state));
  BENTO_ASSIGN(VirtualDataset* const dataset, virtual_dataset(object, state));
  BENTO_ASSIGN(const Selections selections, selections_of(*dataset, args));
  if (H5Sget_select_npoints(selections.wanted.get()) == 0) return {};
  if (buffer == nullptr) return fail(Code::kInvalidArgument, "no buffer for a write of elements");
  BENTO_ASSIGN(const VirtualDescent here, VirtualDescent::into(object));
  const VirtualSources::Use use(dataset->sources);
  const auto transfer = [&](hid_t wanted, hid_t memory, void* elements) -> Status {
    PiecesInMemory found(dataset->layout.disjoint);
    std::vector<VirtualPiece> pieces;
    BENTO_TRY(for_each_piece(*dataset, For::kWriting, wanted, memory,
                             [&](VirtualPiece piece, Object*) -> Status {
                               found.add(SpaceHandle(H5Scopy(piece.memory.get())));
                               pieces.push_back(std::move(piece));
                               return {};
                             }));
    BENTO_ASSIGN(const SpaceHandle missing, found.missing_of(memory));
    if (H5Sget_select_npoints(missing.get()) > 0)
      return fail(Code::kNotFound, "write requested to unmapped portion of virtual dataset");
    for (const VirtualPiece& piece : pieces) {
      BENTO_ASSIGN(Object* const source,
                   dataset->sources.open(piece.file, piece.dataset, For::kWriting));
      if (source == nullptr)
        return fail(Code::kNotFound,
                    fmt::format("the source '{}' in '{}' is gone", piece.dataset, piece.file));
      BENTO_TRY(write(source, {args.mem_type, piece.memory.get(), piece.source.get(), args.dxpl},
                      elements));
    }
    return {};
  };
  // What is written is only read: the parts of it are copies, or the buffer itself.
  return in_plain_parts(selections, args.mem_type, const_cast<void*>(buffer), false, transfer);
}

}  // namespace bento::vol
