#include "switchboard/run_channel.h"

#include <set>

#include "switchboard/backbone_pair.h"

namespace sheaf::switchboard {
namespace {

class RunChannelTest : public BackbonePair {
 protected:
  void SetUp() override {
    BackbonePair::SetUp();
    if (HasFatalFailure()) return;
    near.emplace(request_of(*caller, *asking));
    far.emplace(request_of(*called, *answering));
  }
  void TearDown() override {
    near.reset();
    far.reset();
    BackbonePair::TearDown();
  }

  RunChannel::Request request_of(Node& node, Node::Peer& peer) const {
    return {node.loop(), peer.driver, peer.session, request_id};
  }
  static std::vector<std::uint8_t> message(std::uint32_t number, std::size_t size = 24) {
    std::vector<std::uint8_t> bytes(size, static_cast<std::uint8_t>(number));
    quic::Writer(bytes).write_u32(number);
    return bytes;
  }
  static std::uint32_t number_of(quic::Bytes bytes) { return quic::Reader(bytes).read_u32(); }

  std::optional<RunChannel> near;  // the caller's end
  std::optional<RunChannel> far;
};

TEST_F(RunChannelTest, CarriesDatagramsBothWaysWithoutLoss) {
  constexpr std::uint32_t k_messages = 3000;
  std::set<std::uint32_t> there;
  std::set<std::uint32_t> back;
  std::uint32_t next = 0;
  called->on_turn = [&](Node::Peer&, quic::Time) {
    far->drain([&](quic::Bytes bytes) {
      EXPECT_EQ(bytes.size(), 24u);
      EXPECT_TRUE(there.insert(number_of(bytes)).second);
      EXPECT_TRUE(far->send(bytes));
    });
    far->flush();
  };
  caller->on_turn = [&](Node::Peer&, quic::Time) {
    near->drain([&](quic::Bytes bytes) { EXPECT_TRUE(back.insert(number_of(bytes)).second); });
  };
  EXPECT_TRUE(run_until([&] {
    for (int i = 0; i < 30 && next < k_messages; ++i) EXPECT_TRUE(near->send(message(next++)));
    near->flush();
    return back.size() == k_messages;
  })) << there.size()
      << " went and " << back.size() << " came back";
  EXPECT_EQ(near->dropped() + far->dropped(), 0u);
}

// What a turn of one endpoint orders leaves by another endpoint before the loop serves anything
// else.
TEST_F(RunChannelTest, SendsFromTheTurnOfAnotherEndpoint) {
  // What the connection itself has to send leaves first.
  for (int turn = 0; turn < 10; ++turn) uv_run(&uv, UV_RUN_NOWAIT);
  // A third node stands for the one that serves clients.
  Node clients(&uv, quic::EndpointConfig{}, 3);
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  clients.flushed = [&](quic::Time) {
    if (after > 0) return;
    before = caller->endpoint().stats().datagrams_sent;
    EXPECT_TRUE(near->send(message(7)));
    near->flush();
    after = caller->endpoint().stats().datagrams_sent;
  };
  std::vector<std::uint32_t> received;
  called->on_turn = [&](Node::Peer&, quic::Time) {
    far->drain([&](quic::Bytes bytes) { received.push_back(number_of(bytes)); });
  };
  clients.call(called->loop().local_address(), {});
  EXPECT_TRUE(run_until([&] { return !received.empty(); }));
  EXPECT_GE(after, before + 1);
  EXPECT_EQ(received, std::vector<std::uint32_t>{7});
  clients.loop().close({});
  for (int turn = 0; turn < 10; ++turn) uv_run(&uv, UV_RUN_NOWAIT);
}

TEST_F(RunChannelTest, DropsAndCountsWhatDoesNotFit) {
  const std::size_t most = near->max_payload();
  EXPECT_GE(most, 1150u);  // of the smallest datagrams of QUIC
  EXPECT_TRUE(near->send(message(1, most)));
  EXPECT_FALSE(near->send(message(2, most + 1)));
  EXPECT_EQ(near->dropped(), 1u);
  // As long as nothing leaves, the queue takes half a megabyte and then refuses, so that the sender
  // knows which are lost.
  std::uint32_t sent = 1;
  while (near->send(message(sent, most))) ++sent;
  EXPECT_GT(sent * most, 500'000u);
  EXPECT_EQ(near->dropped(), 2u);
  std::uint32_t received = 0;
  called->on_turn = [&](Node::Peer&, quic::Time) { far->drain([&](quic::Bytes) { ++received; }); };
  near->flush();
  // A small buffer of the socket may lose a few.
  EXPECT_TRUE(run_until([&] { return received > sent / 2; })) << received << " of " << sent;
}

// A channel that is gone leaves its session usable.
TEST_F(RunChannelTest, EndsBeforeItsRequest) {
  far.reset();
  EXPECT_TRUE(near->send(message(1)));
  near->flush();
  bool reset = false;
  called->on_event = [&](Node::Peer&, http3::SessionEvent& event) {
    const auto* ended = std::get_if<http3::StreamReset>(&event);
    reset = reset || (ended && ended->stream == request_id);
  };
  EXPECT_TRUE(run_until([&] { return reset; }));  // RFC 9297 §2: the datagram has no meaning there
  EXPECT_FALSE(answering->driver.finished());
}

}  // namespace
}  // namespace sheaf::switchboard
