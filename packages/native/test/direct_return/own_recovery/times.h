#pragma once

#include "util/time.h"

namespace sheaf::quic {

// A moment that is not the first one that a clock can show.
inline Time at(Duration since) { return Time{} + 1s + since; }

}  // namespace sheaf::quic
