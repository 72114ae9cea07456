// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Steps of a dataset of which nothing can be seen any more leave the index, so that a file that is
/// overwritten for ever does not grow. Source: docs/format.md, "Step index".
#pragma once

#include "core/base/error.hpp"
#include "core/steps/blob.hpp"
#include "core/steps/step.hpp"
#include "core/steps/step_tables.hpp"

namespace bento {

/// Removes from `entry`, to which a step was just added, steps that neither `oldest` nor a newer
/// step shows. A step that hides all older ones is found at once; steps that others hide together
/// are looked for when the dataset was written as often again as the index has steps of it.
/// Relative numbers of the steps that stay readable are the same after it. Errors: kCorrupt, the
/// source's and the sink's.
Status forget_steps(SegmentSource& source, SegmentSink& sink, AbsoluteStep oldest,
                    DatasetEntry& entry);

}  // namespace bento
