#pragma once

#include "util/bytes.h"
#include "wire/types.h"

namespace sheaf::quic {

// A datagram of the peer (RFC 9221), and the mark of the packet that brought it
struct ReceivedDatagram {
  Bytes payload;
  Ecn ecn = Ecn::kNotEct;
};

}  // namespace sheaf::quic
