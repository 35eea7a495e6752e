#pragma once

#include <gtest/gtest.h>

#include "io/udp_socket.h"
#include "switchboard/backbone_pair.h"
#include "tunnel_node/tunnel_ends.h"
#include "tunnel_node/tunnel_node.h"

namespace sheaf::tunnel_node {

using namespace std::chrono_literals;
using switchboard::Node;

inline std::vector<std::uint8_t> payload_datagram(std::size_t size, std::uint8_t content = 'x') {
  std::vector<std::uint8_t> datagram(1 + size, content);
  datagram[0] = 0;  // the context of payloads
  return datagram;
}

// A client, a proxy and a target on one loop, by real sockets
class TunnelNodes : public switchboard::BackbonePair, private http3::DatagramConsumer {
 protected:
  void SetUp() override {
    BackbonePair::SetUp();
    auto opened = TunnelNode::open(&uv);
    ASSERT_TRUE(opened);
    node = std::move(*opened);
    auto bound = io::UdpSocket::open(*io::parse_address("127.0.0.1", 0), {});
    ASSERT_TRUE(bound);
    target = std::move(*bound);
    called->on_event = [this](Node::Peer&, http3::SessionEvent& event) {
      ends.on_event(event, io::monotonic_now());
    };
    called->on_turn = [this](Node::Peer&, quic::Time now) {
      ends.on_turn(now);
      ends.take_over([this](TunnelEnd& end) { over.push_back(end.reason()); });
      ends.remove_closed();
    };
    caller->on_event = [this](Node::Peer&, http3::SessionEvent& event) {
      if (const auto* reset = std::get_if<http3::StreamReset>(&event)) reset_code = reset->error;
      finished = finished || std::holds_alternative<http3::MessageFinished>(event);
    };
    asking->session.datagrams().claim(request_id, *this);
  }
  void TearDown() override {
    ends.clear();
    node.reset();
    BackbonePair::TearDown();
  }

  TunnelEnd::Place end_place() {
    return {*node,      ends,      called->loop(), answering->driver, answering->session,
            request_id, ends.way()};
  }
  TunnelEnd* open(TunnelSettings settings = {}) {
    if (settings.target.family == quic::Address::Family::kNone) {
      settings.target = target->local_address();
    }
    auto opened = TunnelEnd::open(end_place(), settings, io::monotonic_now());
    if (!opened) return nullptr;
    return &ends.keep(std::move(*opened));
  }
  void send(quic::Bytes datagram) {
    EXPECT_TRUE(asking->session.datagrams().send(request_id, datagram, 0));
    caller->loop().wake(asking->driver);
  }
  // Reads what the target has, and remembers who sent it.
  std::size_t at_target() {
    target->receive([&](const quic::Datagram& datagram) {
      received.push_back(datagram.payload.size());
      sender = datagram.path.remote;
      marks |= static_cast<int>(datagram.ecn);
    });
    return received.size();
  }
  void answer(quic::Bytes payload, std::size_t segment_size = 0,
              quic::Ecn ecn = quic::Ecn::kNotEct) {
    std::vector<std::uint8_t> copy(payload.begin(), payload.end());
    quic::TransmitBatch batch;
    batch.buffer = copy;
    batch.size = copy.size();
    batch.segment_size = segment_size == 0 ? copy.size() : segment_size;
    batch.path.remote = sender;
    batch.ecn = ecn;
    EXPECT_EQ(target->send(batch), io::SendOutcome::kSent);
  }
  void on_datagram(http3::HttpDatagram datagram) override {
    at_client.emplace_back(datagram.payload.begin(), datagram.payload.end());
  }

  std::unique_ptr<TunnelNode> node;
  TunnelEnds ends;
  std::unique_ptr<io::UdpSocket> target;
  std::vector<std::size_t> received;
  std::vector<std::vector<std::uint8_t>> at_client;
  std::vector<TunnelOver> over;
  quic::Address sender;
  int marks = 0;
  std::optional<std::uint64_t> reset_code;
  bool finished = false;
};

}  // namespace sheaf::tunnel_node
