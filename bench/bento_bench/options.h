// SPDX-FileCopyrightText: The h5bento developers
// SPDX-License-Identifier: BSD-3-Clause

#ifndef BENTO_BENCH_OPTIONS_H
#define BENTO_BENCH_OPTIONS_H

#include "bench.h"

extern const char* const kMethodNames[];
extern const char* const kPatternNames[];

// Returns -1 to go on, else the exit status.
int parse(int argc, char** argv, Options* options);

#endif
