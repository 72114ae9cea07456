/* SPDX-FileCopyrightText: The h5bento developers
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What a program can ask of a container through h5bento.h:
 *   inspect FILE            says what it is, verifies it, and lists its steps
 *   inspect FILE DATASET    also the sum of a dataset of float64 in each of its kept steps
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "h5bento.h"

static int failed(const char* what) {
  fprintf(stderr, "%s: %s\n", what, h5bento_last_error());
  return 1;
}

static int verify(const char* path) {
  h5bento_report* report = NULL;
  if (h5bento_verify(path, 0, &report) != H5BENTO_OK) return failed("verify");
  const int sound = h5bento_report_sound(report);
  printf("step %" PRIu64 " is %s\n", h5bento_report_step(report), sound ? "sound" : "damaged");
  for (size_t i = 0; i < h5bento_report_count(report); ++i)
    printf("  %s, byte %" PRIu64 ": %s\n", h5bento_report_file(report, i),
           h5bento_report_offset(report, i), h5bento_report_text(report, i));
  h5bento_report_free(report);
  return sound ? 0 : 1;
}

static int list_steps(const char* path) {
  h5bento_steps* steps = NULL;
  if (h5bento_steps_list(path, &steps) != H5BENTO_OK) return failed("steps");
  for (size_t i = 0; i < h5bento_steps_count(steps); ++i) {
    printf("step %" PRIu64 " wrote", h5bento_steps_number(steps, i));
    for (size_t k = 0; k < h5bento_steps_datasets(steps, i); ++k)
      printf(" %s", h5bento_steps_dataset(steps, i, k));
    printf("\n");
  }
  h5bento_steps_free(steps);
  return 0;
}

static int sum_step(const char* path, const char* name, uint64_t step) {
  h5bento_dataset* dataset = NULL;
  if (h5bento_dataset_open(path, name, step, &dataset) != H5BENTO_OK) return failed("open");
  uint64_t elements = 1;
  for (unsigned d = 0; d < h5bento_dataset_rank(dataset); ++d)
    elements *= h5bento_dataset_extent(dataset, d);
  int result = 1;
  double* values = NULL;
  if (h5bento_dataset_element_bytes(dataset) != sizeof *values)
    fprintf(stderr, "%s does not hold float64\n", name);
  else if ((values = malloc(elements * sizeof *values + 1)) == NULL)
    fprintf(stderr, "out of memory\n");
  else if (h5bento_dataset_read(dataset, NULL, NULL, values, elements * sizeof *values) !=
           H5BENTO_OK)
    failed("read");
  else {
    double sum = 0;
    for (uint64_t i = 0; i < elements; ++i) sum += values[i];
    printf("%s, its step %" PRIu64 " (step %" PRIu64 " of the file): sum %.17g\n", name, step,
           h5bento_dataset_step(dataset), sum);
    result = 0;
  }
  free(values);
  h5bento_dataset_free(dataset);
  return result;
}

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    fprintf(stderr, "usage: inspect FILE [DATASET]\n");
    return 2;
  }
  h5bento_summary summary;
  if (h5bento_summarize(argv[1], &summary) != H5BENTO_OK) return failed("summarize");
  printf("written by %" PRIu64 " ranks, steps %" PRIu64 " to %" PRIu64 "\n", summary.ranks,
         summary.oldest_step, summary.newest_step);
  int result = verify(argv[1]) | list_steps(argv[1]);
  if (argc == 3) {
    uint64_t first = 0;
    size_t count = 0;
    if (h5bento_dataset_steps(argv[1], argv[2], &first, &count, NULL, 0) != H5BENTO_OK)
      return failed("steps of the dataset");
    for (size_t i = 0; i < count; ++i) result |= sum_step(argv[1], argv[2], first + i);
  }
  return result;
}
