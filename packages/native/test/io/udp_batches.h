#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "io/socket_address.h"
#include "io/udp_socket.h"

namespace sheaf::io {

struct ReceivedDatagram {
  std::vector<std::uint8_t> payload;
  quic::AddressPair path;
  quic::Ecn ecn;
};

inline std::unique_ptr<UdpSocket> open_socket(const char* ip, UdpSocketOptions options = {},
                                              std::uint16_t port = 0) {
  auto socket = UdpSocket::open(*parse_address(ip, port), options);
  EXPECT_TRUE(socket) << socket.error().message;
  return socket ? std::move(*socket) : nullptr;
}

// Waits for `count` datagrams. Datagrams that do not arrive in time are missing from the result.
inline std::vector<ReceivedDatagram> receive(UdpSocket& socket, std::size_t count) {
  std::vector<ReceivedDatagram> datagrams;
  pollfd readable{socket.descriptor(), POLLIN, 0};
  while (datagrams.size() < count && poll(&readable, 1, 10'000) == 1) {
    socket.receive([&](const quic::Datagram& datagram) {
      datagrams.push_back(
          {{datagram.payload.begin(), datagram.payload.end()}, datagram.path, datagram.ecn});
    });
  }
  return datagrams;
}

// Makes segments that differ from each other, of which the last is shorter.
struct Batch {
  Batch(std::size_t segments, std::size_t segment_size, std::size_t last_size)
      : bytes((segments - 1) * segment_size + last_size) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<std::uint8_t>(i / segment_size * 7 + i % segment_size);
    }
    value.buffer = bytes;
    value.size = bytes.size();
    value.segment_size = segment_size;
    value.max_segments = segments;
  }
  std::vector<std::uint8_t> segment(std::size_t index) const {
    const auto first = bytes.begin() + static_cast<long>(index * value.segment_size);
    const auto size = std::min<std::size_t>(value.segment_size, bytes.end() - first);
    return {first, first + static_cast<long>(size)};
  }

  std::vector<std::uint8_t> bytes;
  quic::TransmitBatch value;
};

inline void expect_segments(const std::vector<ReceivedDatagram>& datagrams, const Batch& batch) {
  ASSERT_EQ(datagrams.size(), batch.value.segments());
  for (std::size_t i = 0; i < datagrams.size(); ++i) {
    ASSERT_EQ(datagrams[i].payload, batch.segment(i)) << "segment " << i;
  }
}

}  // namespace sheaf::io
