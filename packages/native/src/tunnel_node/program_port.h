#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/endpoint_loop.h"
#include "tunnel_node/tunnel_end.h"
#include "util/datagram_ring.h"

namespace sheaf::tunnel_node {

// A local port where programs send what goes through tunnels: what a client of a proxy forwards.
// Each flow there gets a tunnel of its own. Packets of one that has none wait, up to a bound.
class ProgramPort {
 public:
  using FlowId = std::uint32_t;

  // All must outlive the port.
  struct Place {
    TunnelNode& node;
    TunnelEnds& ends;
    io::EndpointLoop& loop;
    quic::ConnectionDriver& driver;
  };

  // A flow that waits for a tunnel
  struct NewFlow {
    FlowId id = 0;
    std::string host;  // target that the flow names; empty where the port leads to one alone
    std::uint16_t port = 0;
  };

  ProgramPort() = default;
  virtual ~ProgramPort() = default;
  ProgramPort(const ProgramPort&) = delete;
  ProgramPort& operator=(const ProgramPort&) = delete;

  virtual const quic::Address& address() const = 0;
  // Returns each flow that waits for a tunnel once.
  virtual std::vector<NewFlow> take_new() = 0;
  // Makes the tunnel of a flow, whose request was answered. Returns null when the flow is gone. Its
  // owner keeps it, and calls `give` then.
  virtual quic::Result<std::unique_ptr<TunnelEnd>, io::SocketError> open(
      FlowId flow, const TunnelEnd::Place& place, TunnelSettings settings, Time now) = 0;
  // Gives what the flow has sent so far to its tunnel, which is kept.
  virtual void give(FlowId flow, TunnelEnd& tunnel, Time now) = 0;
  // The flow gets no tunnel, and its packets are dropped. The next one asks again.
  virtual void refuse(FlowId flow) = 0;
  // Its tunnels no longer end with the port, where they can go on without it.
  virtual void leave_tunnels() {}

 protected:
  // System calls in a turn, so that other sockets get theirs, too
  static constexpr int k_receive_calls = 4;
  // Bytes that a flow may have sent before it has a tunnel: a first flight of ten packets (RFC 9002
  // §7.2). What is beyond is dropped.
  static constexpr std::size_t k_waiting_bytes = 16 << 10;

  // Packets that wait are tagged with their marks.
  static void push_tagged(quic::DatagramRing& ring, const tunnel::Packet& packet) {
    ring.push(packet.payload, static_cast<std::uint64_t>(packet.ecn));
  }
  static tunnel::Packet untagged(const quic::DatagramRing::Entry& entry) {
    return {entry.payload, static_cast<quic::Ecn>(entry.tag)};
  }
};

}  // namespace sheaf::tunnel_node
