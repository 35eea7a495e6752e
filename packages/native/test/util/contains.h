#pragma once

#include <algorithm>

#include "util/bytes.h"

namespace sheaf::quic {

// Whether these bytes are somewhere in others
inline bool contains(Bytes bytes, Bytes wanted) {
  return std::search(bytes.begin(), bytes.end(), wanted.begin(), wanted.end()) != bytes.end();
}

}  // namespace sheaf::quic
