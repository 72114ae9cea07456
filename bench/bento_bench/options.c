// SPDX-FileCopyrightText: The h5bento developers
// SPDX-License-Identifier: BSD-3-Clause

#ifndef _GNU_SOURCE
#define _GNU_SOURCE  // getopt_long
#endif
#include "options.h"

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char* const kMethodNames[] = {"raw",  "raw-shared", "raw-two",   "raw-kept",
                                    "hdf5", "hdf5-own",   "subfiling", "filter"};
const char* const kPatternNames[] = {"slabs",      "bands",     "blocks",  "ghosts",
                                     "conversion", "pieces",    "members", "interleaved",
                                     "gaps",       "overwrite", "append",  "deflate"};
static const char* const kPhaseNames[] = {"both", "write", "read"};

static void usage(FILE* out) {
  fputs(
      "usage: bento_bench --method METHOD --pattern PATTERN [option...] PATH\n"
      "\n"
      "  --method raw          each rank its own file PATH.<rank>, by pwrite and pread\n"
      "           raw-shared   one file, each rank its own region, by pwrite and pread\n"
      "           raw-two      two such files, each of one half of the ranks\n"
      "           raw-kept     one such file, and what was written last time stays until it is "
      "written once more\n"
      "           hdf5         one HDF5 file\n"
      "           hdf5-own     each rank its own HDF5 file PATH.<rank>.h5, not for pieces\n"
      "           subfiling    HDF5's Subfiling\n"
      "           filter       no file: zlib alone on the chunks of deflate\n"
      "  --pattern slabs       1-D variables, a rank's slab in one request\n"
      "            bands       2-D variables, a rank's band of columns in one request\n"
      "            blocks      3-D variables, a rank's block in one request\n"
      "            ghosts      blocks that lie in memory inside arrays, two elements from each "
      "side\n"
      "            conversion  slabs of double in memory and float in the file\n"
      "            pieces      1-D variables, a rank's slab in many requests\n"
      "            members     a compound of four members, one request and one array in memory for "
      "each\n"
      "            interleaved an array of structures in memory, a variable for each of their four "
      "members\n"
      "            gaps        every third element of slabs that are there already\n"
      "            overwrite   slabs written three times, with a flush each\n"
      "            append      2-D variables that grow by a row with each of 16 requests\n"
      "            deflate     slabs in chunks of 1 MiB\n"
      "  --variables V         number of variables (default 8)\n"
      "  --kib K               KiB per rank and variable (default 32768)\n"
      "  --piece-bytes B       bytes of a row of a band, or of a piece (default 4096)\n"
      "  --level L             of deflate (default 1)\n"
      "  --collective          collective transfer (default independent)\n"
      "  --tuned               alignment of 1 MiB and collective metadata\n"
      "  --sync                fsync before the close of plain files, and after flush and close of "
      "an HDF5 file\n"
      "  --phase write|read    only one half (default both)\n"
      "  --written-by N        ranks that wrote what is read, if not as many; slabs only\n"
      "  --serial              one rank, without MPI's file driver\n"
      "  --marks               around each call of HDF5 two calls of access() for strace\n"
      "  --verify              check all values after reading, outside the measured time\n"
      "  --help\n"
      "\n"
      "The files must not exist yet; they are left behind. Prints one JSON object.\n"
      "exit status: 0 done, 1 a call failed or values are wrong, 2 wrong usage\n",
      out);
}

static int parse_name(const char* text, const char* const* names, int count) {
  for (int i = 0; i < count; ++i)
    if (strcmp(text, names[i]) == 0) return i;
  return count;
}

enum { kMethod = 256, kPattern, kPhase, kVariables, kKib, kPieceBytes, kLevel, kWrittenBy, kHelp };

static bool wrong(const Options* o) {
  const bool plain = is_raw(o->method);
  return o->method == kMethods || o->pattern == kPatterns || o->phase == kPhases ||
         o->variables < 1 || o->writers < 1 || o->variable_bytes == 0 || o->piece_bytes == 0 ||
         o->piece_bytes % 8 != 0 || o->level < 0 || o->level > 9 ||
         o->variable_bytes % o->piece_bytes != 0 ||
         (o->method == kHdf5Own && o->pattern != kSlabs && o->pattern != kBands) ||
         (o->method == kFilter && (o->pattern != kDeflate || o->phase != kBoth)) ||
         (plain && o->pattern == kDeflate) ||
         (o->writers != ranks && (o->pattern != kSlabs || o->phase != kReadOnly)) ||
         (o->serial && ranks != 1) || (o->pattern == kInterleaved && o->variables % 4 != 0);
}

static void take(int option, Options* o) {
  switch (option) {
    case kMethod:
      o->method = (Method)parse_name(optarg, kMethodNames, kMethods);
      break;
    case kPattern:
      o->pattern = (Pattern)parse_name(optarg, kPatternNames, kPatterns);
      break;
    case kPhase:
      o->phase = (Phase)parse_name(optarg, kPhaseNames, kPhases);
      break;
    case kVariables:
      o->variables = atoi(optarg);
      break;
    case kKib:
      o->variable_bytes = strtoull(optarg, NULL, 10) * 1024;
      break;
    case kPieceBytes:
      o->piece_bytes = strtoull(optarg, NULL, 10);
      break;
    case kLevel:
      o->level = atoi(optarg);
      break;
    case kWrittenBy:
      o->writers = atoi(optarg);
      break;
    default:
      break;
  }
}

int parse(int argc, char** argv, Options* options) {
  const struct option known[] = {
      {"method", required_argument, NULL, kMethod},
      {"pattern", required_argument, NULL, kPattern},
      {"phase", required_argument, NULL, kPhase},
      {"variables", required_argument, NULL, kVariables},
      {"kib", required_argument, NULL, kKib},
      {"piece-bytes", required_argument, NULL, kPieceBytes},
      {"level", required_argument, NULL, kLevel},
      {"written-by", required_argument, NULL, kWrittenBy},
      {"collective", no_argument, &options->collective, 1},
      {"tuned", no_argument, &options->tuned, 1},
      {"sync", no_argument, &options->sync, 1},
      {"serial", no_argument, &options->serial, 1},
      {"marks", no_argument, &options->marks, 1},
      {"verify", no_argument, &options->verify, 1},
      {"help", no_argument, NULL, kHelp},
      {NULL, 0, NULL, 0},
  };
  options->method = kMethods;
  options->pattern = kPatterns;
  opterr = rank == 0;
  for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
    if (option == kHelp && rank == 0) usage(stdout);
    if (option == kHelp) return 0;
    if (option == '?') return 2;
    take(option, options);
  }
  if (argc - optind != 1 || wrong(options)) {
    if (rank == 0) usage(stderr);
    return 2;
  }
  options->path = argv[optind];
  return -1;
}
