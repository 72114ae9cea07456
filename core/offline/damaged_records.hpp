// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// For each record that is damaged: of which dataset it is, and which step wrote it. Looked up only
/// when there is damage: it reads the whole index.
#pragma once

#include <span>

#include "core/base/error.hpp"
#include "core/layout/plan.hpp"
#include "core/offline/survey.hpp"
#include "core/offline/verify_container.hpp"

namespace bento {

/// A finding, and which positions of a writer's chunks it may concern.
struct DamagedPlace {
  ContainerFinding* finding = nullptr;
  Position begin = 0;
  Position end = 0;
};

/// Sets dataset and step of findings that a record, or its header, lies in. Errors: kCorrupt, kIo:
/// some may be set then.
Status name_records(Survey& survey, std::span<const DamagedPlace> places);

}  // namespace bento
