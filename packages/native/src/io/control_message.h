#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>

#include "util/address.h"
#include "wire/types.h"

namespace sheaf::io {

// Has room for every control message of one datagram. An IPv4 datagram on a dual-stack socket comes
// with those of both families.
union ControlBuffer {
  cmsghdr alignment;
  char bytes[256];
};

// Sets the source address, the ECN mark and the segmentation of a message that is sent.
struct SendControl {
  const quic::AddressPair& path;
  quic::Ecn ecn;
  std::uint16_t segment_size = 0;  // bytes; 0 sends one datagram
};
void write_control(msghdr& message, ControlBuffer& buffer, const SendControl& control);

// Holds the properties that the kernel reports for a received message.
struct ReceiveControl {
  quic::Address local;  // unchanged when the kernel does not report it
  quic::Ecn ecn = quic::Ecn::kNotEct;
  std::size_t segment_size = 0;  // bytes; 0 when the message is one datagram
};
void read_control(msghdr& message, ReceiveControl& control);

}  // namespace sheaf::io
