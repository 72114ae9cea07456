/* SPDX-License-Identifier: BSD-3-Clause
 * SPDX-FileCopyrightText: The h5bento developers */
/** \file
 * The C interface of h5bento: what can be asked of containers, and done with them, from outside the
 * programs that write them. libh5bento.so links neither HDF5 nor MPI. Calls marked [HDF5] load
 * libh5bento_hdf5.so, which lies beside it and brings HDF5; they fail with H5BENTO_UNSUPPORTED in a
 * process that has another HDF5 library than that one, unless h5bento_use_module() was called.
 *
 * Every call that can fail returns a status; what was wrong says h5bento_last_error(). A handle
 * that was given out is freed by its own _free function, which takes NULL, too. Texts belong to
 * their handle and live as long as it. Paths are of a container's first physical file. No call is
 * collective. Calls of several threads do not disturb each other, except those marked [HDF5], of
 * which one may run at a time; a handle is for one thread at a time.
 *
 * Compatible within one minor version: functions may be added, and stay as they are.
 */
#ifndef H5BENTO_H
#define H5BENTO_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define H5BENTO_API __attribute__((visibility("default")))
#else
#define H5BENTO_API
#endif

typedef enum h5bento_status {
  H5BENTO_OK = 0,
  H5BENTO_NOT_FOUND = 1,
  H5BENTO_EXISTS = 2,
  H5BENTO_CORRUPT = 3,     /**< bytes contradict the format or their checksum */
  H5BENTO_UNSUPPORTED = 4, /**< outside of what this version or this process can do */
  H5BENTO_INVALID = 5,     /**< the caller's fault; also a file that is no container */
  H5BENTO_IO = 6,
  H5BENTO_NO_SPACE = 7,
  H5BENTO_PERMISSION = 8,
  H5BENTO_BUSY = 9, /**< somebody writes the container */
  H5BENTO_PEER = 10,
  H5BENTO_INTERNAL = 11
} h5bento_status;

/** Stands for "not known" where a task, dataset, step or offset is returned. */
#define H5BENTO_UNKNOWN UINT64_MAX

/** "0.1.0". */
H5BENTO_API const char* h5bento_version(void);
/** What the last failed call of this thread said; "" if none failed. Valid until the next call. */
H5BENTO_API const char* h5bento_last_error(void);

/* --- what a file is -------------------------------------------------------------------------- */

/** Sets *yes to 1 or 0. A file of another kind is no error; one that cannot be read is. Containers
 * of the file driver count; of them h5bento_view_build() and h5bento_view_drop() do their work, the
 * other calls fail with H5BENTO_UNSUPPORTED. */
H5BENTO_API h5bento_status h5bento_is_container(const char* path, int* yes);

typedef struct h5bento_summary {
  uint64_t newest_step;     /**< absolute; 0: nothing is committed */
  uint64_t oldest_step;     /**< that can be read */
  uint64_t ranks;           /**< that have a stream */
  uint64_t files;           /**< physical files */
  uint64_t apparent_bytes;  /**< of all physical files, holes included */
  uint64_t allocated_bytes; /**< that the file system gave */
  int closed;               /**< 0: its last writer did not come to its close, or is at work */
  int being_written;        /**< somebody holds the writers' lock */
} h5bento_summary;
H5BENTO_API h5bento_status h5bento_summarize(const char* path, h5bento_summary* summary);

/* --- steps ----------------------------------------------------------------------------------- */

/** [HDF5] The kept steps of a file, ascending. */
typedef struct h5bento_steps h5bento_steps;
H5BENTO_API h5bento_status h5bento_steps_list(const char* path, h5bento_steps** steps);
H5BENTO_API size_t h5bento_steps_count(const h5bento_steps* steps);
/** The absolute number of the i-th one. */
H5BENTO_API uint64_t h5bento_steps_number(const h5bento_steps* steps, size_t i);
/** How many datasets the i-th one wrote or resized, and their paths ("" if it had none). */
H5BENTO_API size_t h5bento_steps_datasets(const h5bento_steps* steps, size_t i);
H5BENTO_API const char* h5bento_steps_dataset(const h5bento_steps* steps, size_t i, size_t k);
H5BENTO_API void h5bento_steps_free(h5bento_steps* steps);

/** [HDF5] The kept steps in which one dataset was written: *count of them, of which the first has
 * the relative number *first and each next one the number after that. At most `room` absolute
 * numbers are stored in `absolute`, which may be NULL. */
H5BENTO_API h5bento_status h5bento_dataset_steps(const char* path, const char* dataset,
                                                 uint64_t* first, size_t* count, uint64_t* absolute,
                                                 size_t room);

/** [HDF5] A dataset opened for reading as it was at one of its relative steps. */
typedef struct h5bento_dataset h5bento_dataset;
H5BENTO_API h5bento_status h5bento_dataset_open(const char* path, const char* dataset,
                                                uint64_t relative_step, h5bento_dataset** opened);
/** The absolute step that is seen. */
H5BENTO_API uint64_t h5bento_dataset_step(const h5bento_dataset* dataset);
H5BENTO_API unsigned h5bento_dataset_rank(const h5bento_dataset* dataset);
/** Elements along one dimension; 0 for a dimension that it does not have. */
H5BENTO_API uint64_t h5bento_dataset_extent(const h5bento_dataset* dataset, unsigned dimension);
/** Bytes of one element in memory. */
H5BENTO_API size_t h5bento_dataset_element_bytes(const h5bento_dataset* dataset);
/** Reads the box start .. start + count (one number each per dimension; both NULL: everything) into
 * `to`, row-major, in this machine's form of the dataset's type. `bytes` is the size of `to`, which
 * must be that of the box. */
H5BENTO_API h5bento_status h5bento_dataset_read(const h5bento_dataset* dataset,
                                                const uint64_t* start, const uint64_t* count,
                                                void* to, size_t bytes);
/** Its hid_t, for programs that use the same HDF5 library; it stays this handle's. */
H5BENTO_API int64_t h5bento_dataset_hid(const h5bento_dataset* dataset);
H5BENTO_API void h5bento_dataset_free(h5bento_dataset* dataset);

/* --- records by value ------------------------------------------------------------------------ */

typedef enum h5bento_kind {
  H5BENTO_INT64 = 0,
  H5BENTO_UINT64 = 1,
  H5BENTO_DOUBLE = 2
} h5bento_kind;
typedef struct h5bento_number {
  h5bento_kind kind;
  union {
    int64_t i;
    uint64_t u;
    double d;
  } value;
} h5bento_number;

/** [HDF5] Boxes of a dataset in which values from `low` to `high` (both included) may be; nothing
 * is read but the index. What lies in none of them surely holds no such value (fill values of
 * places that nobody wrote aside). `start` and `count` limit the search, both NULL: everywhere. */
typedef struct h5bento_boxes h5bento_boxes;
H5BENTO_API h5bento_status h5bento_find(const char* path, const char* dataset, h5bento_number low,
                                        h5bento_number high, const uint64_t* start,
                                        const uint64_t* count, h5bento_boxes** boxes);
H5BENTO_API size_t h5bento_boxes_count(const h5bento_boxes* boxes);
H5BENTO_API unsigned h5bento_boxes_rank(const h5bento_boxes* boxes);
/** Numbers of the i-th box along one dimension. */
H5BENTO_API uint64_t h5bento_boxes_start(const h5bento_boxes* boxes, size_t i, unsigned dimension);
H5BENTO_API uint64_t h5bento_boxes_extent(const h5bento_boxes* boxes, size_t i, unsigned dimension);
/** Records that were ruled out, and need not be read. */
H5BENTO_API uint64_t h5bento_boxes_skipped(const h5bento_boxes* boxes);
H5BENTO_API void h5bento_boxes_free(h5bento_boxes* boxes);

/* --- whether it is whole ---------------------------------------------------------------------- */

/** What verify or recover found. */
typedef struct h5bento_report h5bento_report;
/** Reads everything once and compares every checksum, `jobs` streams at a time (0: as many as there
 * are processors). Damage is no error: it is in the report. */
H5BENTO_API h5bento_status h5bento_verify(const char* path, unsigned jobs, h5bento_report** report);
/** [HDF5] After a death: makes what all readers see of the last committed step, and verifies. */
H5BENTO_API h5bento_status h5bento_recover(const char* path, h5bento_report** report);
/** 1 if nothing is damaged. */
H5BENTO_API int h5bento_report_sound(const h5bento_report* report);
H5BENTO_API uint64_t h5bento_report_step(const h5bento_report* report);
/** All damage that was found, and how much of it is listed. */
H5BENTO_API uint64_t h5bento_report_damage(const h5bento_report* report);
H5BENTO_API size_t h5bento_report_count(const h5bento_report* report);
/** Of the i-th: in words; the physical file; byte in it; rank's stream, number of the dataset,
 * absolute step (H5BENTO_UNKNOWN where it has none). */
H5BENTO_API const char* h5bento_report_text(const h5bento_report* report, size_t i);
H5BENTO_API const char* h5bento_report_file(const h5bento_report* report, size_t i);
H5BENTO_API uint64_t h5bento_report_offset(const h5bento_report* report, size_t i);
H5BENTO_API uint64_t h5bento_report_task(const h5bento_report* report, size_t i);
H5BENTO_API uint64_t h5bento_report_dataset(const h5bento_report* report, size_t i);
H5BENTO_API uint64_t h5bento_report_dataset_step(const h5bento_report* report, size_t i);
/** What was done or should be known, in words. */
H5BENTO_API size_t h5bento_report_notes(const h5bento_report* report);
H5BENTO_API const char* h5bento_report_note(const h5bento_report* report, size_t i);
H5BENTO_API void h5bento_report_free(h5bento_report* report);

/* --- other forms ------------------------------------------------------------------------------ */

typedef enum h5bento_fti { H5BENTO_FTI_1_1 = 11, H5BENTO_FTI_1_6 = 16 } h5bento_fti;
/** Writes the newest step as FTI-FF files, one per rank: FOLDER/CkptN-RankR.fti for
 * checkpoint N and rank R. Sets *files to their number if it is not NULL. Filtered datasets are
 * refused (H5BENTO_UNSUPPORTED). */
H5BENTO_API h5bento_status h5bento_export_fti(const char* path, const char* folder,
                                              h5bento_fti form, int32_t checkpoint,
                                              uint64_t* files);

/* --- the native view, which HDF5 without h5bento reads -----------------------------------------
 */

typedef enum h5bento_view {
  H5BENTO_VIEW_NONE = 0,
  H5BENTO_VIEW_THERE = 1,
  H5BENTO_VIEW_EDITED = 2 /**< another program changed the file through it */
} h5bento_view;
H5BENTO_API h5bento_status h5bento_view_status(const char* path, h5bento_view* view);
/** [HDF5] Builds it; forgets what another program changed; makes that the container's content. */
H5BENTO_API h5bento_status h5bento_view_build(const char* path);
H5BENTO_API h5bento_status h5bento_view_drop(const char* path);
H5BENTO_API h5bento_status h5bento_view_take_over(const char* path);

/* --- which HDF5 the calls marked [HDF5] use ----------------------------------------------------
 */

/** They go to this module, a plugin without MPI (libh5bento_vol_serial.so), and so to the
 * HDF5 library of which `code` is an address, for instance that in the h5py wheel. To be called
 * before the first of them, which say what is wrong with it; `path` is copied. Without it they load
 * libh5bento_hdf5.so, which brings the HDF5 it was linked with. */
H5BENTO_API void h5bento_use_module(const char* path, const void* code);

#ifdef __cplusplus
}
#endif

#endif /* H5BENTO_H */
