#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>

#include "util/address.h"
#include "wire/types.h"

namespace sheaf::io {

// Room for every control message of one datagram: an IPv4 datagram on a dual-stack socket brings
// those of both families.
union ControlBuffer {
  cmsghdr alignment;
  char bytes[256];
};

// Tells the kernel more about a message than its destination.
struct SendControl {
  const quic::AddressPair& path;
  quic::Ecn ecn;
  std::uint16_t segment_size = 0;  // 0: one datagram
};
void write_control(msghdr& message, ControlBuffer& buffer, const SendControl& control);

// The properties of a received message that the kernel tells.
struct ReceiveControl {
  quic::Address local;  // keeps its value when the kernel does not tell
  quic::Ecn ecn = quic::Ecn::kNotEct;
  std::size_t segment_size = 0;  // 0: not coalesced
};
void read_control(msghdr& message, ReceiveControl& control);

}  // namespace sheaf::io
