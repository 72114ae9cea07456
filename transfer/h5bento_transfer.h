/* SPDX-License-Identifier: BSD-3-Clause
 * SPDX-FileCopyrightText: The h5bento developers */
/** \file
 * For programs in C that must know when a file has arrived. */
#ifndef H5BENTO_TRANSFER_H
#define H5BENTO_TRANSFER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum h5bento_transfer_result {
  H5BENTO_TRANSFER_ARRIVED = 0, /**< it lies under its final name, with all its parts */
  H5BENTO_TRANSFER_FAILED = 1,  /**< it never will, unless it is submitted again */
  H5BENTO_TRANSFER_LATE = 2,    /**< the time is over; it is still being copied */
  H5BENTO_TRANSFER_UNKNOWN = 3  /**< nobody has submitted it, or no daemon works on it, or the
                                     transfer file cannot be read */
};

/** Waits until the container or file for the destination `path` has arrived. Local: one process
 * of a node asks. Thread-safe.
 * @param path           its destination, as it was submitted; a relative one is made absolute
 * @param transfer_file  NULL: the default one of this user on this node
 * @param seconds        to wait at most; 0: only asks; below 0: for ever
 * @param message        gets the reason of anything but ARRIVED; may be NULL
 * @param message_bytes  its room, with the zero byte; what is longer is cut
 * @return one of h5bento_transfer_result */
__attribute__((visibility("default"))) int h5bento_transfer_wait(const char* path,
                                                                 const char* transfer_file,
                                                                 double seconds, char* message,
                                                                 size_t message_bytes);

#ifdef __cplusplus
}
#endif
#endif
