// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Which ranks share a node: an operating system that lets them talk over Unix sockets.
#pragma once

#include <string>

namespace bento {

/// Names the node on which this process runs, the same for all processes of it and no others:
/// the running kernel's id and the network that the process sees. H5BENTO_TEST_NODES=N pretends N
/// nodes, for tests on one machine: `rank` goes to node rank modulo N.
std::string name_of_node(int rank);

}  // namespace bento
