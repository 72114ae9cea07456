// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// How ranks come to one result after each has done its own part of a collective operation.
#pragma once

#include <functional>

#include "core/base/error.hpp"
#include "core/comm/communicator.hpp"

namespace bento {

/// The result that all ranks return: success if all succeeded, else the error of the lowest failing
/// rank, with its code and errno. On the other ranks the text begins with "rank R: ". One message
/// up and one down the tree, of a few bytes or of that error. Collective. Errors also: kPeer, as
/// the communicator's.
Status agree(Communicator& ranks, const Status& mine);
/// The same; if all have succeeded, rank 0 first does what is left, while the others wait for how
/// that went.
Status agree_then(Communicator& ranks, const Status& mine, const std::function<Status()>& last);

}  // namespace bento
