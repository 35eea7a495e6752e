// Counts the memory of tunnels that nothing goes through.
#include <gtest/gtest.h>

#include "stream/allocation_counter.h"
#include "tunnel_node/tunnel_nodes.h"

namespace sheaf::tunnel_node {
namespace {

// What an idle tunnel may take beside the stream of its request
constexpr std::size_t k_max_bytes = 1024;

class IdleTunnels : public TunnelNodes {
 protected:
  // Opens a tunnel for each of so many new requests. Returns the bytes that they took, without
  // their requests.
  std::size_t open_tunnels(std::size_t count) {
    std::vector<quic::StreamId> asked;
    called->on_event = [&](Node::Peer& peer, http3::SessionEvent& event) {
      const auto* request = std::get_if<http3::RequestReceived>(&event);
      if (!request) return static_cast<void>(ends.on_event(event, io::monotonic_now()));
      EXPECT_TRUE(peer.session.submit_response(request->stream, {{":status", "200"}}, true));
      asked.push_back(request->stream);
    };
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_TRUE(asking->session.submit_request(
          {{":method", "POST"}, {":scheme", "https"}, {":authority", "a"}, {":path", "/"}}, true));
    }
    caller->loop().wake(asking->driver);
    EXPECT_TRUE(run_until([&] { return asked.size() == count; }));
    TunnelSettings settings;
    settings.target = target->local_address();
    const std::size_t before = quic::live_bytes();
    for (const quic::StreamId stream : asked) {
      auto opened = TunnelEnd::open(
          {*node, ends, called->loop(), answering->driver, answering->session, stream, ends.way()},
          settings, io::monotonic_now());
      if (opened) ends.keep(std::move(*opened));
    }
    ends.on_turn(io::monotonic_now());
    return quic::live_bytes() - before;
  }
};

TEST_F(IdleTunnels, TakeLessThanAKilobyteEach) {
  constexpr std::size_t k_tunnels = 60;
  const std::size_t taken = open_tunnels(k_tunnels) / k_tunnels;
  EXPECT_EQ(ends.size(), k_tunnels);
  EXPECT_LT(taken, k_max_bytes);
  RecordProperty("bytes", std::to_string(taken));
}

}  // namespace
}  // namespace sheaf::tunnel_node
