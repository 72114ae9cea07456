// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The connector with a mistake planted in its calls that write and read a dataset, for the test
/// that a sanitized run finds mistakes of this kind. Environment:
///   BENTO_PLANTED  over_read, leak, undefined or race; anything else: none
#include <H5PLextern.h>

#include <cstdlib>
#include <limits>
#include <string_view>
#include <thread>

#include "vol/callbacks/callbacks.hpp"

namespace bento::planted {
namespace {

// The compiler must not see through any of it.
volatile std::size_t length = 1000;
volatile int largest = std::numeric_limits<int>::max();
volatile int sink = 0;
char* volatile held = nullptr;
int counter = 0;

void over_read() {
  const std::size_t bytes = length;
  char* const block = new char[bytes]();
  sink = block[bytes];
  delete[] block;
}

void leak() {
  held = new char[length];
  held = nullptr;
}

void undefined() {
  const int value = largest;
  sink = value + 1;
}

void count() {
  for (int i = 0; i < 1000; ++i) counter = counter + 1;
}

void race() {
  std::thread other(count);
  count();
  other.join();
}

void mistake() {
  const char* const text = std::getenv("BENTO_PLANTED");
  const std::string_view which = text == nullptr ? "" : text;
  if (which == "over_read") over_read();
  if (which == "leak") leak();
  if (which == "undefined") undefined();
  if (which == "race") race();
}

herr_t bento_planted_read(size_t count, void* datasets[], hid_t memory_types[],
                          hid_t memory_spaces[], hid_t file_spaces[], hid_t transfer,
                          void* buffers[], void** request) {
  mistake();
  return vol::connector_class().dataset_cls.read(count, datasets, memory_types, memory_spaces,
                                                 file_spaces, transfer, buffers, request);
}

herr_t bento_planted_write(size_t count, void* datasets[], hid_t memory_types[],
                           hid_t memory_spaces[], hid_t file_spaces[], hid_t transfer,
                           const void* buffers[], void** request) {
  mistake();
  return vol::connector_class().dataset_cls.write(count, datasets, memory_types, memory_spaces,
                                                  file_spaces, transfer, buffers, request);
}

const H5VL_class_t& planted_class() {
  static const H5VL_class_t instance = [] {
    H5VL_class_t copy = vol::connector_class();
    copy.dataset_cls.read = bento_planted_read;
    copy.dataset_cls.write = bento_planted_write;
    return copy;
  }();
  return instance;
}

}  // namespace
}  // namespace bento::planted

extern "C" {

__attribute__((visibility("default"))) H5PL_type_t H5PLget_plugin_type(void) {
  return H5PL_TYPE_VOL;
}

__attribute__((visibility("default"))) const void* H5PLget_plugin_info(void) {
  return &bento::planted::planted_class();
}
}
