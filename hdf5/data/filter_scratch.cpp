// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/data/filter_scratch.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include <H5VLnative.h>
#include <fmt/format.h>

#include "hdf5/base/chunk_arguments.hpp"
#include "hdf5/base/library_state.hpp"
#include "hdf5/base/memory_file.hpp"
#include "hdf5/base/native_connector.hpp"
#include "hdf5/data/missing_filter.hpp"
#include "hdf5/data/value_range.hpp"

namespace bento::vol {

namespace {

// A regular decomposition has the whole chunk and what its edges leave of it.
constexpr std::size_t kSlots = 8;
constexpr std::size_t kFileIncrement = 1u << 20;
constexpr std::array<hsize_t, kMaxRank> kOrigin{};

herr_t optional(void* dataset, int operation, void* native) {
  H5VL_optional_args_t args{operation, native};
  return H5VLdataset_optional(dataset, native_connector(), &args, H5P_DATASET_XFER_DEFAULT,
                              nullptr);
}

// The library reads as many bytes of a decoded chunk as a chunk has, however many there are. So
// what comes out of the filters is counted by one of our own, the last on the way back. Its number
// is one that nobody may distribute, and no file ever holds it.
constexpr H5Z_filter_t kCountFilter = 48752;

std::size_t count_decoded(unsigned flags, std::size_t values, const unsigned* value,
                          std::size_t bytes, std::size_t*, void**) {
  if ((flags & H5Z_FLAG_REVERSE) == 0) return bytes;
  if (values != 2) return 0;
  return bytes >= (value[0] | std::uint64_t{value[1]} << 32) ? bytes : 0;
}

/// Again for each dataset: the library forgets it when it is closed and begun anew.
bool register_count_filter() {
  const H5Z_class2_t filter{
      H5Z_CLASS_T_VERS, kCountFilter, 1, 1, "h5bento: count decoded bytes", nullptr,
      nullptr,          count_decoded};
  return H5Zregister(&filter) >= 0;
}

/// `dcpl` without the filters that `mask` skips; `decoded`, if not 0, are the bytes that must come
/// back.
Result<PlistHandle> scratch_list(hid_t dcpl, std::uint32_t mask, std::uint64_t decoded) {
  PlistHandle list(H5Pcopy(dcpl));
  if (mask == 0 && decoded == 0) return list;
  if (H5Premove_filter(list.get(), H5Z_FILTER_ALL) < 0)
    return fail(Code::kInternal, "the list of filters cannot be changed");
  const int filters = H5Pget_nfilters(dcpl);
  const std::array<unsigned, 2> expected{static_cast<unsigned>(decoded),
                                         static_cast<unsigned>(decoded >> 32)};
  if (decoded != 0 && filters < H5Z_MAX_NFILTERS &&
      (!register_count_filter() || H5Pset_filter(list.get(), kCountFilter, H5Z_FLAG_MANDATORY,
                                                 expected.size(), expected.data()) < 0))
    return fail(Code::kInternal, "the list of filters cannot be changed");
  for (int i = 0; i < filters; ++i) {
    if ((mask >> i & 1u) != 0) continue;
    const auto at = static_cast<unsigned>(i);
    unsigned flags = 0;
    std::size_t count = 0;
    std::vector<unsigned> values(1);
    H5Z_filter_t id = H5Pget_filter2(dcpl, at, &flags, &count, values.data(), 0, nullptr, nullptr);
    values.resize(std::max<std::size_t>(count, 1));
    id = H5Pget_filter2(dcpl, at, &flags, &count, values.data(), 0, nullptr, nullptr);
    if (id < 0 || H5Pset_filter(list.get(), id, flags, count, values.data()) < 0)
      return fail(Code::kInternal, "the list of filters cannot be changed");
  }
  return list;
}

}  // namespace

Result<std::unique_ptr<FilterScratch>> FilterScratch::make(hid_t dcpl, hid_t type) {
  const int filters = H5Pget_nfilters(dcpl);
  if (filters < 0) return fail(Code::kInternal, "the list of filters is unreadable");
  if (filters == 0) return std::unique_ptr<FilterScratch>();
  std::unique_ptr<FilterScratch> made(new FilterScratch);
  std::array<hsize_t, kMaxRank> dims{};
  const int rank = H5Pget_chunk(dcpl, kMaxRank, dims.data());
  if (rank <= 0) return fail(Code::kInvalidArgument, "the dataset is not chunked");
  made->chunk_ = Dims(static_cast<unsigned>(rank));
  for (unsigned d = 0; d < made->chunk_.rank(); ++d) {
    made->chunk_[d] = dims[d];
    if (dims[d] == 0) return fail(Code::kCorrupt, "a chunk of no elements");
  }
  unsigned options = 0;
  made->spares_partial_chunks_ = H5Pget_chunk_opts(dcpl, &options) >= 0 &&
                                 (options & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS) != 0;
  made->keeps_values_ = filters_keep_values(dcpl);
  made->dcpl_ = PlistHandle(H5Pcopy(dcpl));
  made->dapl_ = PlistHandle(H5Pcreate(H5P_DATASET_ACCESS));
  made->type_ = type;
  made->element_bytes_ = H5Tget_size(type);
  made->direct_ = DirectFilters::of(dcpl, made->element_bytes_);
  // No chunk cache: a write passes the filters at once.
  if (H5Pset_alloc_time(made->dcpl_.get(), H5D_ALLOC_TIME_INCR) < 0 ||
      H5Pset_chunk_opts(made->dcpl_.get(), 0) < 0 ||
      H5Pset_chunk_cache(made->dapl_.get(), 1, 0, 0.0) < 0)
    return fail(Code::kInternal, "no properties for a filter scratch");
  return made;
}

FilterScratch::~FilterScratch() {
  if (root_ == nullptr) return;
  const LibraryState state;  // tools drop it outside of any call of the library
  const ErrorStackKeeper keep;
  for (const auto& slot : slots_)
    H5VLdataset_close(slot.dataset, native_connector(), H5P_DATASET_XFER_DEFAULT, nullptr);
  H5VLgroup_close(root_, native_connector(), H5P_DATASET_XFER_DEFAULT, nullptr);
}

// The file must be made by H5Fcreate, which tells the library its connector; then its root group,
// opened without an identifier, keeps it open.
Status FilterScratch::open_file() {
  if (root_ != nullptr) return {};
  BENTO_ASSIGN(const FileHandle file,
               make_memory_file("filters", kFileIncrement, MemoryFormat::kNewest));
  const auto self = by_self(H5I_FILE);
  root_ = H5VLgroup_open(H5VLobject(file.get()), &self, native_connector(), "/",
                         H5P_GROUP_ACCESS_DEFAULT, H5P_DATASET_XFER_DEFAULT, nullptr);
  return root_ != nullptr ? Status{} : fail(Code::kInternal, "no memory file for filters");
}

Result<void*> FilterScratch::dataset(const Dims& shape, Use use, std::uint32_t mask) {
  for (auto slot = slots_.begin(); slot != slots_.end(); ++slot)
    if (slot->use == use && slot->mask == mask && slot->shape == shape) {
      std::rotate(slots_.begin(), slot, slot + 1);
      return slots_.front().dataset;
    }
  BENTO_TRY(open_file());
  std::array<hsize_t, kMaxRank> dims{};
  std::copy_n(shape.view().begin(), shape.rank(), dims.begin());
  const auto rank = static_cast<int>(shape.rank());
  const SpaceHandle space(H5Screate_simple(rank, dims.data(), nullptr));
  const std::uint64_t decoded = use == Use::kRead ? shape.bytes(element_bytes_) : 0;
  BENTO_ASSIGN(const PlistHandle list, scratch_list(dcpl_.get(), mask, decoded));
  if (H5Pset_chunk(list.get(), rank, dims.data()) < 0)
    return fail(Code::kInvalidArgument, "no chunk of this shape");
  if (slots_.size() == kSlots) {
    H5VLdataset_close(slots_.back().dataset, native_connector(), H5P_DATASET_XFER_DEFAULT, nullptr);
    slots_.pop_back();
  }
  const auto self = by_self(H5I_GROUP);
  // Without a name it goes away when it is closed.
  void* const made =
      H5VLdataset_create(root_, &self, native_connector(), nullptr, H5P_LINK_CREATE_DEFAULT, type_,
                         space.get(), list.get(), dapl_.get(), H5P_DATASET_XFER_DEFAULT, nullptr);
  if (made == nullptr)
    return fail(lacks_filter(mask).value_or(
        Error{Code::kInvalidArgument, "the dataset's filters cannot be set up here", 0}));
  slots_.insert(slots_.begin(), {shape, use, mask, made});
  return made;
}

std::optional<Error> FilterScratch::lacks_filter(std::uint32_t mask) const {
  const std::string missing = missing_filter(dcpl_.get(), mask);
  if (missing.empty()) return std::nullopt;
  return Error{
      Code::kInvalidArgument,
      fmt::format(
          "this HDF5 library has no {}: HDF5_PLUGIN_PATH must name the folder of its plugin",
          missing),
      0};
}

bool FilterScratch::accepts(const Dims& shape) {
  if (direct_) return true;
  bool accepted = false;
  H5E_BEGIN_TRY {
    accepted = dataset(shape, Use::kWrite, 0).has_value();
  }
  H5E_END_TRY
  return accepted;
}

Status FilterScratch::filter(const Dims& shape, std::span<const std::byte> elements,
                             std::vector<std::byte>& stored, std::uint32_t& mask) {
  if (direct_ && direct_->filter(elements, stored)) {
    mask = 0;
    return {};
  }
  BENTO_ASSIGN(void* scratch, dataset(shape, Use::kWrite, 0));
  hid_t type = type_;
  hid_t all = H5S_ALL;
  const void* from = elements.data();
  if (H5VLdataset_write(1, &scratch, native_connector(), &type, &all, &all,
                        H5P_DATASET_XFER_DEFAULT, &from, nullptr) < 0)
    return fail(Code::kInvalidArgument, "a filter of the dataset failed");
  hsize_t bytes = 0;
  H5VL_native_dataset_optional_args_t args{};
  args.get_chunk_storage_size = {kOrigin.data(), &bytes};
  if (optional(scratch, H5VL_NATIVE_DATASET_GET_CHUNK_STORAGE_SIZE, &args) < 0)
    return fail(Code::kInternal, "filtered bytes unreadable");
  stored.resize(static_cast<std::size_t>(bytes));
  auto read = ChunkArguments::read(kOrigin.data(), stored.data());
  if (optional(scratch, H5VL_NATIVE_DATASET_CHUNK_READ, read.get()) < 0)
    return fail(Code::kInternal, "filtered bytes unreadable");
  mask = read.filters();
  return {};
}

// H5Dwrite_chunk would lose the mask (docs/hdf5-traps.md), so the skipped filters are taken out of
// the scratch dataset's list instead, and no dataset serves both directions.
Status FilterScratch::unfilter(const Dims& shape, std::span<const std::byte> stored,
                               std::uint32_t mask, std::byte* elements) {
  const auto all_skipped =
      static_cast<std::uint32_t>((std::uint64_t{1} << H5Pget_nfilters(dcpl_.get())) - 1);
  mask &= all_skipped;
  const std::uint64_t plain_bytes = shape.bytes(element_bytes_);
  if (mask == all_skipped) {
    if (stored.size() < plain_bytes)
      return fail(Code::kCorrupt, fmt::format("{} unfiltered bytes stored for a piece of {}",
                                              stored.size(), plain_bytes));
    std::memcpy(elements, stored.data(), plain_bytes);
    return {};
  }
  if (direct_ && direct_->unfilter(stored, mask, {elements, plain_bytes})) return {};
  if (stored.size() > std::numeric_limits<std::uint32_t>::max())
    return fail(Code::kCorrupt, fmt::format("{} bytes stored for one chunk", stored.size()));
  BENTO_ASSIGN(void* scratch, dataset(shape, Use::kRead, mask));
  auto write = ChunkArguments::write(kOrigin.data(), 0, stored.size(), stored.data());
  hid_t type = type_;
  hid_t all = H5S_ALL;
  void* to = elements;
  if (optional(scratch, H5VL_NATIVE_DATASET_CHUNK_WRITE, write.get()) < 0 ||
      H5VLdataset_read(1, &scratch, native_connector(), &type, &all, &all, H5P_DATASET_XFER_DEFAULT,
                       &to, nullptr) < 0)
    return fail(lacks_filter(mask).value_or(
        Error{Code::kCorrupt, "the stored bytes do not pass the dataset's filters", 0}));
  return {};
}

}  // namespace bento::vol
