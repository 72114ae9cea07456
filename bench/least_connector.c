// SPDX-FileCopyrightText: The h5bento developers
// SPDX-License-Identifier: BSD-3-Clause
//
// The least that a VOL connector has to do to make small pieces fast: what a program writes piece
// by piece gathers in memory, and native HDF5 writes it in pieces of 1 MiB; what it reads is read
// ahead. No container, no checksums, nothing for other ranks, one dimension. It asks the library
// only what has to be asked before elements may be copied. So it shows what the library's own part
// of a call, the copy and the file system leave of a target. bench/run measures it as `least`.
// Files and datasets only: other calls fail. Interface: H5VLconnector.h of HDF5 1.14.
#include <H5PLextern.h>
#include <H5VLconnector.h>
#include <H5VLconnector_passthru.h>
#include <hdf5.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { kGathered = 1 << 20, kAhead = 256 << 10, kSmall = 64 << 10 };  // bytes

typedef struct Object {
  void* under;     // the native connector's
  hid_t type;      // of a dataset's elements
  size_t element;  // its size in bytes
  hsize_t extent;  // of a dataset of one dimension; else 0
  char* buffer;    // elements [start, start + count), to be written if dirty
  hsize_t start, count;
  bool dirty;
  struct Object* next;
} Object;

static hid_t native;
static Object* datasets;  // that are open

static Object* made(void* under) {
  Object* object = under ? calloc(1, sizeof *object) : NULL;
  if (object) object->under = under;
  return object;
}

// ---- the elements of one call

typedef struct {
  hsize_t start, count;
} Block;

// One block of a hyperslab inside `extent`; no selection as a whole can be small.
static bool block_of(hid_t space, hsize_t extent, Block* block) {
  hsize_t dims, first, last, stride;
  if (space == H5S_ALL || space == H5S_BLOCK || space == H5S_PLIST) return false;
  const hssize_t points = H5Sget_select_npoints(space);
  if (points <= 0 || H5Sget_select_type(space) != H5S_SEL_HYPERSLABS ||
      H5Sget_simple_extent_ndims(space) != 1 || H5Sget_simple_extent_dims(space, &dims, NULL) < 0 ||
      H5Sget_select_bounds(space, &first, &last) < 0 ||
      H5Sget_regular_hyperslab(space, NULL, &stride, NULL, NULL) < 0)
    return false;
  *block = (Block){first, (hsize_t)points};
  return stride == 1 && last - first + 1 == (hsize_t)points && last < dims && last < extent;
}

static bool is_run(hid_t memory, hsize_t count) {
  if (memory == H5S_BLOCK) return true;
  if (memory == H5S_ALL || memory == H5S_PLIST) return false;
  return H5Sget_select_npoints(memory) == (hssize_t)count &&
         H5Sget_select_type(memory) == H5S_SEL_ALL;
}

static bool is_plain(hid_t dxpl) {
  if (dxpl == H5P_DEFAULT || dxpl == H5P_DATASET_XFER_DEFAULT) return true;
  H5FD_mpio_xfer_t mode = H5FD_MPIO_INDEPENDENT;
  void* transform = NULL;
  return H5Pget_dxpl_mpio(dxpl, &mode) >= 0 && mode == H5FD_MPIO_INDEPENDENT &&
         H5Pget(dxpl, "data_transform", &transform) >= 0 && transform == NULL;
}

static bool is_small_piece(const Object* set, hid_t type, hid_t memory, hid_t file, hid_t dxpl,
                           Block* block) {
  return set->extent > 0 && is_plain(dxpl) && H5Tequal(type, set->type) > 0 &&
         block_of(file, set->extent, block) && is_run(memory, block->count) &&
         block->count * set->element <= kSmall;
}

// ---- what gathers

static herr_t move_natively(Object* set, Block block, char* buffer, bool writing) {
  const hid_t file = H5Screate_simple(1, &set->extent, NULL);
  const hid_t memory = H5Screate_simple(1, &block.count, NULL);
  H5Sselect_hyperslab(file, H5S_SELECT_SET, &block.start, NULL, &block.count, NULL);
  hid_t type = set->type, from = memory, to = file;
  const void* out = buffer;
  void* in = buffer;
  const herr_t done = writing ? H5VLdataset_write(1, &set->under, native, &type, &from, &to,
                                                  H5P_DATASET_XFER_DEFAULT, &out, NULL)
                              : H5VLdataset_read(1, &set->under, native, &type, &from, &to,
                                                 H5P_DATASET_XFER_DEFAULT, &in, NULL);
  H5Sclose(memory);
  H5Sclose(file);
  return done;
}

static herr_t write_out(Object* set) {
  if (!set->dirty) return 0;
  set->dirty = false;
  const herr_t done = move_natively(set, (Block){set->start, set->count}, set->buffer, true);
  set->count = 0;
  return done;
}

static bool has_buffer(Object* set) {
  if (!set->buffer) set->buffer = malloc(kGathered);
  return set->buffer;
}

static herr_t gather(Object* set, Block block, const void* data) {
  const bool goes_on = set->dirty && block.start == set->start + set->count &&
                       (set->count + block.count) * set->element <= kGathered;
  if (!goes_on) {
    if (write_out(set) < 0 || !has_buffer(set)) return -1;
    set->start = block.start;
    set->count = 0;
    set->dirty = true;
  }
  memcpy(set->buffer + set->count * set->element, data, block.count * set->element);
  set->count += block.count;
  return 0;
}

static herr_t give(Object* set, Block block, void* data) {
  const bool here =
      block.start >= set->start && block.start + block.count <= set->start + set->count;
  if (!here) {
    Block ahead = {block.start, kAhead / set->element};
    if (ahead.count > set->extent - ahead.start) ahead.count = set->extent - ahead.start;
    set->count = 0;
    if (!has_buffer(set) || move_natively(set, ahead, set->buffer, false) < 0) return -1;
    set->start = ahead.start;
    set->count = ahead.count;
  }
  memcpy(data, set->buffer + (block.start - set->start) * set->element, block.count * set->element);
  return 0;
}

// ---- datasets

static Object* note(void* under) {
  Object* const set = made(under);
  if (!set) return NULL;
  H5VL_dataset_get_args_t args = {.op_type = H5VL_DATASET_GET_TYPE};
  H5VLdataset_get(under, native, &args, H5P_DATASET_XFER_DEFAULT, NULL);
  set->type = args.args.get_type.type_id;
  set->element = H5Tget_size(set->type);
  args.op_type = H5VL_DATASET_GET_SPACE;
  H5VLdataset_get(under, native, &args, H5P_DATASET_XFER_DEFAULT, NULL);
  const hid_t space = args.args.get_space.space_id;
  if (H5Sget_simple_extent_ndims(space) == 1) H5Sget_simple_extent_dims(space, &set->extent, NULL);
  H5Sclose(space);
  set->next = datasets;
  datasets = set;
  return set;
}

static void* set_create(void* at, const H5VL_loc_params_t* place, const char* name, hid_t lcpl,
                        hid_t type, hid_t space, hid_t dcpl, hid_t dapl, hid_t dxpl, void** req) {
  return note(H5VLdataset_create(((Object*)at)->under, place, native, name, lcpl, type, space, dcpl,
                                 dapl, dxpl, req));
}

static void* set_open(void* at, const H5VL_loc_params_t* place, const char* name, hid_t dapl,
                      hid_t dxpl, void** req) {
  return note(H5VLdataset_open(((Object*)at)->under, place, native, name, dapl, dxpl, req));
}

static herr_t set_read(size_t count, void* sets[], hid_t type[], hid_t memory[], hid_t file[],
                       hid_t dxpl, void* data[], void** req) {
  for (size_t i = 0; i < count; ++i) {
    Object* const set = sets[i];
    Block block;
    if (write_out(set) < 0) return -1;
    const herr_t done = is_small_piece(set, type[i], memory[i], file[i], dxpl, &block)
                            ? give(set, block, data[i])
                            : H5VLdataset_read(1, &set->under, native, &type[i], &memory[i],
                                               &file[i], dxpl, &data[i], req);
    if (done < 0) return -1;
  }
  return 0;
}

static herr_t set_write(size_t count, void* sets[], hid_t type[], hid_t memory[], hid_t file[],
                        hid_t dxpl, const void* data[], void** req) {
  for (size_t i = 0; i < count; ++i) {
    Object* const set = sets[i];
    Block block;
    if (is_small_piece(set, type[i], memory[i], file[i], dxpl, &block)) {
      if (gather(set, block, data[i]) < 0) return -1;
      continue;
    }
    if (write_out(set) < 0) return -1;
    set->count = 0;
    if (H5VLdataset_write(1, &set->under, native, &type[i], &memory[i], &file[i], dxpl, &data[i],
                          req) < 0)
      return -1;
  }
  return 0;
}

static herr_t set_get(void* set, H5VL_dataset_get_args_t* args, hid_t dxpl, void** req) {
  return H5VLdataset_get(((Object*)set)->under, native, args, dxpl, req);
}

static herr_t set_close(void* at, hid_t dxpl, void** req) {
  Object* const set = at;
  const herr_t written = write_out(set);
  Object** link = &datasets;
  while (*link != set) link = &(*link)->next;
  *link = set->next;
  H5Tclose(set->type);
  const herr_t closed = H5VLdataset_close(set->under, native, dxpl, req);
  free(set->buffer);
  free(set);
  return written < 0 ? written : closed;
}

// ---- files

static hid_t native_access(hid_t fapl) {
  const hid_t list = H5Pcopy(fapl);
  H5Pset_vol(list, native, NULL);
  return list;
}

static void* file_create(const char* name, unsigned flags, hid_t fcpl, hid_t fapl, hid_t dxpl,
                         void** req) {
  const hid_t list = native_access(fapl);
  Object* const file = made(H5VLfile_create(name, flags, fcpl, list, dxpl, req));
  H5Pclose(list);
  return file;
}

static void* file_open(const char* name, unsigned flags, hid_t fapl, hid_t dxpl, void** req) {
  const hid_t list = native_access(fapl);
  Object* const file = made(H5VLfile_open(name, flags, list, dxpl, req));
  H5Pclose(list);
  return file;
}

static herr_t file_get(void* file, H5VL_file_get_args_t* args, hid_t dxpl, void** req) {
  return H5VLfile_get(((Object*)file)->under, native, args, dxpl, req);
}

static herr_t file_specific(void* file, H5VL_file_specific_args_t* args, hid_t dxpl, void** req) {
  if (!file || args->op_type != H5VL_FILE_FLUSH) return -1;
  for (Object* set = datasets; set; set = set->next)
    if (write_out(set) < 0) return -1;
  return H5VLfile_specific(((Object*)file)->under, native, args, dxpl, req);
}

static herr_t file_optional(void* file, H5VL_optional_args_t* args, hid_t dxpl, void** req) {
  return H5VLfile_optional(((Object*)file)->under, native, args, dxpl, req);
}

static herr_t file_close(void* file, hid_t dxpl, void** req) {
  const herr_t closed = H5VLfile_close(((Object*)file)->under, native, dxpl, req);
  free(file);
  return closed;
}

// ---- the connector

static herr_t begin(hid_t vipl) {
  (void)vipl;
  native = H5VLget_connector_id_by_name("native");
  return native < 0 ? -1 : 0;
}

static herr_t end(void) {
  return H5VLclose(native);
}

static herr_t get_class(void* object, H5VL_get_conn_lvl_t level, const H5VL_class_t** found);

static herr_t get_flags(const void* info, uint64_t* flags) {
  (void)info;
  *flags = 0;
  return 0;
}

static herr_t query(void* object, H5VL_subclass_t kind, int operation, uint64_t* flags) {
  return H5VLintrospect_opt_query(((Object*)object)->under, native, kind, operation, flags);
}

static const H5VL_class_t least = {
    .version = H5VL_VERSION,
    .value = 514,  // of those that are for tests
    .name = "least",
    .initialize = begin,
    .terminate = end,
    .dataset_cls = {.create = set_create,
                    .open = set_open,
                    .read = set_read,
                    .write = set_write,
                    .get = set_get,
                    .close = set_close},
    .file_cls = {.create = file_create,
                 .open = file_open,
                 .get = file_get,
                 .specific = file_specific,
                 .optional = file_optional,
                 .close = file_close},
    .introspect_cls = {.get_conn_cls = get_class, .get_cap_flags = get_flags, .opt_query = query}};

static herr_t get_class(void* object, H5VL_get_conn_lvl_t level, const H5VL_class_t** found) {
  (void)object;
  (void)level;
  *found = &least;
  return 0;
}

H5PL_type_t H5PLget_plugin_type(void) {
  return H5PL_TYPE_VOL;
}

const void* H5PLget_plugin_info(void) {
  return &least;
}
