#pragma once

#include "util/bytes.h"
#include "wire/types.h"

namespace sheaf::tunnel {

// A UDP packet of a tunnel: its payload, which somebody else keeps, and its mark
struct Packet {
  quic::Bytes payload;
  quic::Ecn ecn = quic::Ecn::kNotEct;
};

}  // namespace sheaf::tunnel
