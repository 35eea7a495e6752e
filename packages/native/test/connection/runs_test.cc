// Tests packets that a connection leaves to other nodes: connection/run_order.h.

#include "connection/runs.h"

#include <array>
#include <cstdlib>
#include <deque>
#include <map>
#include <set>

#include "connection/raw_peer.h"

namespace sheaf::quic {
namespace {

constexpr std::size_t k_overhead = 1 + 8 + 4 + 1 + 1 + 8 + 16;  // with a stream id below 64
constexpr std::uint64_t k_all = 1 << 20;

class RunsTest : public testing::Test {
 protected:
  RunsTest() {
    for (std::uint8_t sender = 1; sender <= 3; ++sender) extension().open_sender(sender, 50ms);
    extension().set_run_limits(limits_);
  }
  ConnectionExtension& extension() { return peer_.server.extension(); }
  StreamWriter& writer() { return peer_.server.streams().writer(); }
  RemoteStreams& remote() { return extension().streams().remote(); }
  Path& path() { return *extension().paths().find(PathId{0})->path; }

  // Opens a stream with a head of a hundred bytes, whose body a sender has.
  StreamId open(std::uint8_t sender, std::uint64_t body) {
    const StreamId id = *writer().open(Directionality::kUnidirectional);
    EXPECT_TRUE(writer().write(id, SendChunk::copy_of(std::vector<std::uint8_t>(100, 1)), false));
    EXPECT_EQ(*remote().assign(id, sender), 100u);
    EXPECT_TRUE(remote().append(id, body, true));
    return id;
  }
  // Lets the server send what it may now. Returns its own packets, and keeps the orders.
  std::vector<RawPeer::Packet> turn() {
    std::vector<RawPeer::Packet> packets = peer_.collect();
    orders_.clear();
    while (const auto order = extension().poll_run()) {
      orders_.push_back(*order);
      for (PacketNumber i = 0; i < order->count; ++i) {
        EXPECT_TRUE(numbers_.insert(order->first + i).second) << "a number is used twice";
      }
    }
    for (const RawPeer::Packet& packet : packets) {
      EXPECT_TRUE(numbers_.insert(packet.number).second) << "a number is used twice";
    }
    return packets;
  }
  void acknowledge(PacketNumber first, std::uint64_t count = 1) {
    peer_.send({AckFrame{.largest = first + count - 1, .first_range = count - 1}}, peer_.path);
  }
  void acknowledge_all(const std::vector<RawPeer::Packet>& packets) {
    for (const RawPeer::Packet& packet : packets) acknowledge(packet.number);
    for (const RunOrder& order : orders_) {
      peer_.on_other_packet(order.first + order.count - 1);
      acknowledge(order.first, order.count);
    }
    peer_.server.end_batch(peer_.now);
  }
  // Sends and acknowledges, a round trip of 20 ms at a time, until nothing is left.
  template <typename Each>
  void transfer(Each&& each) {
    for (int i = 0; i < 400; ++i) {
      const auto packets = turn();
      each(packets, orders_);
      const std::vector<RunOrder> sent = orders_;
      peer_.now += 20ms;
      acknowledge_all(packets);
      if (packets.empty() && sent.empty() && extension().streams().outgoing().unsent_bytes() == 0) {
        return;
      }
    }
    FAIL() << "it does not end";
  }

  RawPeer peer_;
  RunLimits limits_;
  std::vector<RunOrder> orders_;
  std::set<PacketNumber> numbers_;
};

TEST_F(RunsTest, TheHeadLeavesHereAndTheBodyElsewhere) {
  const StreamId id = open(2, k_all);
  std::uint64_t end = 100;
  std::size_t longest = 0;
  std::size_t own = 0;
  transfer([&](const auto& packets, const auto& orders) {
    for (const RawPeer::Packet& packet : packets) {
      for (const StreamFrame& frame : packet.template all<StreamFrame>()) own += frame.data.size();
    }
    for (const RunOrder& order : orders) {
      EXPECT_EQ(order.sender, 2);
      EXPECT_EQ(order.stream, id);
      EXPECT_EQ(order.offset, end);
      EXPECT_EQ(order.time, peer_.now);
      end = order.end();
      EXPECT_EQ(order.fin, end == 100 + k_all);
      longest = std::max<std::size_t>(longest, order.count);
      EXPECT_LE(order.count, 32);
      if (!order.fin) {
        EXPECT_EQ(order.payload + k_overhead, path().mtu.current());
      }
    }
  });
  EXPECT_EQ(own, 100u);
  EXPECT_EQ(end, 100 + k_all);
  EXPECT_EQ(longest, 32u);
  EXPECT_EQ(path().loss.bytes_in_flight(), 0u);
  while (peer_.server.poll_event()) {
  }
  EXPECT_EQ(remote().acknowledged(id), 0u) << "the stream has closed";
  // Numbers that are left out lie between runs.
  EXPECT_GT(*numbers_.rbegin() + 1, numbers_.size());
}

TEST_F(RunsTest, CountsWhatOthersSend) {
  open(1, k_all);
  const auto packets = turn();
  std::uint64_t bytes = 0;
  for (const RawPeer::Packet& packet : packets) bytes += packet.size;
  ASSERT_FALSE(orders_.empty());
  for (const RunOrder& order : orders_) bytes += order.count * (order.payload + k_overhead);
  EXPECT_EQ(path().bytes_sent, bytes);
  EXPECT_EQ(path().loss.bytes_in_flight(), bytes);
  EXPECT_LE(bytes, path().controller->window());
  EXPECT_EQ(extension().keys().phase_for_sending(PathId{0})->first_number,
            path().loss.sent().next_number());
}

TEST_F(RunsTest, WithoutLimitsNothingIsOrdered) {
  RawPeer peer;
  ConnectionExtension& extension = peer.server.extension();
  const StreamId id = *peer.server.streams().writer().open(Directionality::kUnidirectional);
  ASSERT_TRUE(extension.streams().remote().assign(id, 1));
  ASSERT_TRUE(extension.streams().remote().append(id, 5000, true));
  for (const RawPeer::Packet& packet : peer.collect()) EXPECT_FALSE(packet.has<StreamFrame>());
  EXPECT_FALSE(extension.poll_run());
}

// A probe timeout asks both: this node, since the other one may not work, and the other one.
TEST_F(RunsTest, AProbeTimeoutSendsAPingAndARunOfOnePacket) {
  open(1, k_all);
  acknowledge_all(turn());
  turn();
  ASSERT_FALSE(orders_.empty());
  const RunOrder lost = orders_.front();
  while (orders_.empty() || orders_.front().offset != lost.offset) {
    peer_.now = peer_.server.next_timeout();
    peer_.server.on_timeout(peer_.now);
    const auto packets = turn();
    if (orders_.empty() || orders_.front().offset != lost.offset) continue;
    ASSERT_EQ(packets.size(), 1u);
    EXPECT_TRUE(packets[0].has<PingFrame>());
    EXPECT_LT(packets[0].number, orders_.front().first);
    ASSERT_EQ(orders_.size(), 1u);
    EXPECT_EQ(orders_.front().count, 1);
    EXPECT_EQ(orders_.front().sender, 1);
  }
}

TEST_F(RunsTest, OnlyThisNodeProbesWhileRemoteBytesAreWithheld) {
  const StreamId id = open(1, k_all);
  acknowledge_all(turn());
  turn();
  ASSERT_FALSE(orders_.empty());
  remote().withhold(id, true);
  std::size_t pings = 0;
  for (int i = 0; i < 5; ++i) {
    peer_.now = peer_.server.next_timeout();
    peer_.server.on_timeout(peer_.now);
    for (const RawPeer::Packet& packet : turn()) pings += packet.has<PingFrame>();
    EXPECT_TRUE(orders_.empty());
  }
  EXPECT_GE(pings, 2u);
}

TEST_F(RunsTest, WhatWasRefusedIsOrderedAgain) {
  open(1, 20'000);
  turn();
  ASSERT_FALSE(orders_.empty());
  const RunOrder refused = orders_.front();
  const std::uint64_t window = path().controller->window();
  extension().refuse_run(1, refused.first, refused.count, peer_.now);
  peer_.now += 1s;  // of the pacer
  turn();
  ASSERT_FALSE(orders_.empty());
  EXPECT_EQ(orders_.front().offset, refused.offset);
  EXPECT_GT(orders_.front().first, refused.first);
  EXPECT_EQ(path().controller->window(), window) << "no congestion";
  acknowledge(refused.first);
  EXPECT_NE(peer_.server.state(), Connection::State::kEstablished)
      << "an acknowledgement of what was not sent";
}

// RFC 9000 §21.4: who acknowledges all that may have been sent, as soon as it may have been, meets
// a number between two runs that nobody used.
TEST_F(RunsTest, AClientThatAcknowledgesWhatItDidNotReceiveIsFoundOut) {
  open(1, 100 * k_all);
  for (int i = 0; i < 400 && peer_.server.state() == Connection::State::kEstablished; ++i) {
    turn();
    peer_.now += 20ms;
    const PacketNumber largest = *numbers_.rbegin();
    peer_.on_other_packet(largest);
    acknowledge(0, largest + 1);
    peer_.server.end_batch(peer_.now);
  }
  EXPECT_NE(peer_.server.state(), Connection::State::kEstablished);
  // The distance between two of them is at most 4,224.
  EXPECT_LE(*numbers_.rbegin(), 2 * 4'224u);
}

TEST_F(RunsTest, AnotherSenderGetsWhatADeadOneLost) {
  const StreamId id = open(1, 20'000);
  turn();
  ASSERT_FALSE(orders_.empty());
  extension().abandon_sender(1, peer_.now);
  ASSERT_TRUE(remote().assign(id, 3));
  peer_.now += 1s;
  turn();
  ASSERT_FALSE(orders_.empty());
  EXPECT_EQ(orders_.front().sender, 3);
  EXPECT_EQ(orders_.front().offset, 100u);
}

TEST_F(RunsTest, OwnFramesComeFirst) {
  open(1, k_all);
  acknowledge_all(turn());
  peer_.now += 20ms;
  // The acknowledgement of this packet is due at once.
  for (int i = 0; i < 3; ++i) peer_.send({PingFrame{}}, peer_.path);
  peer_.server.ping(peer_.now);
  const auto packets = turn();
  ASSERT_EQ(packets.size(), 1u);
  ASSERT_FALSE(orders_.empty());
  EXPECT_TRUE(packets[0].has<AckFrame>());
  EXPECT_TRUE(packets[0].has<PingFrame>());
  EXPECT_LT(packets[0].number, orders_.front().first);
}

TEST_F(RunsTest, LocalAndRemoteStreamsTakeTheirTurns) {
  const StreamId first = open(1, k_all);
  const StreamId second = *writer().open(Directionality::kUnidirectional);
  const StreamId third = open(2, k_all);
  ASSERT_TRUE(
      writer().write(second, SendChunk::copy_of(std::vector<std::uint8_t>(k_all, 1)), true));
  for (const StreamId id : {first, second, third}) {
    writer().set_priority(id, {.urgency = 3, .incremental = true});
  }
  std::map<StreamId, std::uint64_t> bytes;
  for (int i = 0; i < 60; ++i) {
    const auto packets = turn();
    for (const RawPeer::Packet& packet : packets) {
      for (const StreamFrame& frame : packet.all<StreamFrame>()) {
        bytes[frame.stream] += frame.data.size();
      }
    }
    for (const RunOrder& order : orders_) bytes[order.stream] += order.end() - order.offset;
    peer_.now += 10ms;
    acknowledge_all(packets);
    if (bytes[first] > k_all / 2) break;
  }
  EXPECT_GT(bytes[first], k_all / 2);
  for (const StreamId id : {second, third}) {
    EXPECT_NEAR(static_cast<double>(bytes[id]), static_cast<double>(bytes[first]), 70'000);
  }
}

TEST_F(RunsTest, ARunAfterAKeyUpdateNamesTheNewKeys) {
  open(1, k_all);
  acknowledge_all(turn());
  peer_.now += 20ms;
  auto packets = turn();
  ASSERT_FALSE(orders_.empty());
  EXPECT_EQ(orders_.front().generation, 0u);
  const PacketNumber old = orders_.back().first;
  acknowledge_all(packets);
  ASSERT_TRUE(peer_.server.initiate_key_update(peer_.now));
  peer_.now += 20ms;
  packets = turn();
  ASSERT_FALSE(orders_.empty());
  EXPECT_EQ(orders_.front().generation, 1u);
  EXPECT_GT(orders_.front().first, old);
  // The peer acknowledges a packet of the other node in the new phase: the update is confirmed.
  peer_.send({PingFrame{}}, peer_.path);
  acknowledge(orders_.front().first, orders_.front().count);
  EXPECT_EQ(peer_.server.state(), Connection::State::kEstablished);
}

TEST_F(RunsTest, NumbersOfOneInstantAreBounded) {
  open(1, 4 * k_all);
  limits_.per_turn = 20;
  extension().set_run_limits(limits_);
  std::size_t most = 0;
  for (int i = 0; i < 60; ++i) {
    const auto packets = turn();
    std::size_t numbers = packets.size();
    for (const RunOrder& order : orders_) numbers += order.count;
    most = std::max(most, numbers);
    // All is acknowledged, so that the window opens much further than the pacer.
    peer_.now += 20ms;
    acknowledge_all(packets);
  }
  EXPECT_GT(path().controller->window(), 60u * 1200);
  EXPECT_LE(most, 21u);  // and an acknowledgement
  EXPECT_GE(most, 19u);
}

TEST_F(RunsTest, ARunWaitsUntilThePacerLetsMoreGo) {
  open(1, 4 * k_all);
  struct Flight {
    Time arrives;
    std::vector<RawPeer::Packet> packets;
    std::vector<RunOrder> orders;
  };
  std::deque<Flight> flight;
  std::vector<std::size_t> lengths;
  for (int i = 0; i < 300; ++i) {
    const auto packets = turn();
    for (const RunOrder& order : orders_) {
      if (!order.fin) lengths.push_back(order.count);
    }
    flight.push_back({peer_.now + 20ms, packets, orders_});
    const Time next = peer_.server.next_timeout();
    ASSERT_GT(next, peer_.now) << "it would wake at once";
    peer_.now = std::min(next, flight.front().arrives);
    if (peer_.now == flight.front().arrives) {
      orders_ = flight.front().orders;
      acknowledge_all(flight.front().packets);
      flight.pop_front();
    }
    peer_.server.on_timeout(peer_.now);
  }
  // The window is large enough for the shortest runs soon.
  ASSERT_GT(lengths.size(), 30u);
  EXPECT_GE(*std::min_element(lengths.begin() + 10, lengths.end()), limits_.shortest);
}

TEST_F(RunsTest, AStreamKeepsItsTurnUntilTimeHasPassed) {
  limits_.longest = limits_.shortest = 1;
  limits_.shortest_turn = 4;
  limits_.longest_turn = 6;
  extension().set_run_limits(limits_);
  const std::array streams{open(1, k_all), open(2, k_all)};
  for (const StreamId id : streams) {
    writer().set_priority(id, {.urgency = 3, .incremental = true});
  }
  // Turns of the same stream that follow each other count as one.
  std::vector<std::pair<StreamId, std::size_t>> turns;
  std::map<StreamId, int> packets_of;
  for (int i = 0; i < 20; ++i) {
    const auto packets = turn();
    for (const RunOrder& order : orders_) {
      if (turns.empty() || turns.back().first != order.stream) turns.push_back({order.stream, 0});
      turns.back().second += order.count;
      packets_of[order.stream] += order.count;
      EXPECT_LE(std::abs(packets_of[streams[0]] - packets_of[streams[1]]), 6) << "shares are equal";
    }
    peer_.now += 20ms;
    acknowledge_all(packets);
  }
  ASSERT_GT(turns.size(), 5u);
  turns.pop_back();
  EXPECT_EQ(turns.front().second, 6u) << "all at one instant";
  for (const auto& [stream, packets] : turns) EXPECT_GE(packets, 4u);
}

TEST_F(RunsTest, AnotherSendersRunWaits) {
  const StreamId first = open(1, 5000);
  const StreamId second = open(2, 5000);
  limits_.before_switch = 3ms;
  extension().set_run_limits(limits_);
  writer().set_priority(first, {.urgency = 1});
  writer().set_priority(second, {.urgency = 2});
  turn();
  ASSERT_FALSE(orders_.empty());
  for (const RunOrder& order : orders_) EXPECT_EQ(order.stream, first);
  const Time ordered = peer_.now;
  for (int i = 0; i < 10 && peer_.now < ordered + 3ms; ++i) {
    peer_.now = peer_.server.next_timeout();
    EXPECT_LE(peer_.now, ordered + 3ms);
    peer_.server.on_timeout(peer_.now);
    turn();
    if (!orders_.empty()) break;
  }
  EXPECT_EQ(peer_.now, ordered + 3ms);
  ASSERT_FALSE(orders_.empty());
  EXPECT_EQ(orders_.front().stream, second);
}

TEST_F(RunsTest, OwnPacketsWaitAfterTheirNumbering) {
  limits_.waits[0] = 4ms;
  limits_.waits[1] = 2ms;
  extension().set_run_limits(limits_);
  open(1, k_all);
  EXPECT_TRUE(turn().empty());
  ASSERT_FALSE(orders_.empty());
  EXPECT_EQ(orders_.front().wait, 2ms);
  const PacketNumber first_run = orders_.front().first;
  EXPECT_LE(peer_.server.next_timeout(), peer_.now + 4ms);
  peer_.now += 4ms;
  const auto packets = turn();
  ASSERT_FALSE(packets.empty());
  EXPECT_TRUE(packets.back().has<StreamFrame>());
  EXPECT_LT(packets.back().number, first_run) << "it had its number before";
}

TEST_F(RunsTest, AConnectionThatClosesDelaysNothing) {
  limits_.waits[0] = 1s;
  extension().set_run_limits(limits_);
  open(1, k_all);
  EXPECT_TRUE(turn().empty());
  peer_.server.close(7, "done", peer_.now);
  const auto packets = turn();
  ASSERT_GE(packets.size(), 2u);
  EXPECT_TRUE(std::ranges::any_of(packets, &RawPeer::Packet::has<StreamFrame>));
  EXPECT_TRUE(packets.back().has<ConnectionCloseFrame>());
}

// RFC 9000 §10.2.2.
TEST_F(RunsTest, AConnectionThatDrainsSendsNothingThatWaited) {
  limits_.waits[0] = 1s;
  extension().set_run_limits(limits_);
  open(1, k_all);
  EXPECT_TRUE(turn().empty());
  peer_.send({ConnectionCloseFrame{}}, peer_.path);
  const auto packets = turn();
  ASSERT_EQ(packets.size(), 1u);
  EXPECT_TRUE(packets[0].has<ConnectionCloseFrame>());
  peer_.now += 2s;
  EXPECT_TRUE(turn().empty());
}

// No window limits acknowledgements, and the client may have made their wait long.
TEST_F(RunsTest, FewOwnPacketsWaitAtATime) {
  turn();
  limits_.waits[0] = 1min;
  extension().set_run_limits(limits_);
  std::size_t sent = 0;
  for (int i = 0; i < 1000; ++i) {
    peer_.send({PingFrame{}, ImmediateAckFrame{}}, peer_.path);
    sent += turn().size();
  }
  EXPECT_EQ(sent, 1000 - DelayedBatches::k_max);
  peer_.now += 1min;
  EXPECT_EQ(turn().size(), DelayedBatches::k_max);
}

// --- extents ------------------------------------------------------------------------------------

constexpr RunRoom k_plenty{.available = 1 << 20,
                           .most_payload = 1161,
                           .overhead = 39,
                           .window = 1 << 20,
                           .free = 1 << 20,
                           .paced = 1 << 20,
                           .burst = 1 << 20,
                           .probe = false};

TEST(RunExtentTest, HasWholePacketsAloneOrOneThatIsShorter) {
  const Runs runs;
  EXPECT_EQ(runs.extent(k_plenty).count, 32u);
  EXPECT_EQ(runs.extent(k_plenty).payload, 1161u);
  RunRoom room = k_plenty;
  room.available = 3 * 1161 + 7;
  EXPECT_EQ(runs.extent(room).bytes(), 3u * 1161);
  room.available = 7;
  EXPECT_EQ(runs.extent(room).count, 1u);
  EXPECT_EQ(runs.extent(room).payload, 7u);
}

TEST(RunExtentTest, WaitsForTheShortestLength) {
  const Runs runs;
  RunRoom room = k_plenty;
  room.free = 7 * 1200;
  EXPECT_EQ(runs.extent(room).count, 0u);
  EXPECT_EQ(runs.extent(room).await_paced, 0u) << "an acknowledgement comes first";
  room.free = 9 * 1200;
  EXPECT_EQ(runs.extent(room).count, 9u);
  room.paced = 7 * 1200;
  EXPECT_EQ(runs.extent(room).count, 0u);
  EXPECT_EQ(runs.extent(room).await_paced, 8u * 1200);
  room.available = 5 * 1161;
  EXPECT_EQ(runs.extent(room).count, 5u) << "all that there is";
  room.available = 1 << 20;
  room.window = 12 * 1200;
  room.free = 3 * 1200;
  EXPECT_EQ(runs.extent(room).count, 3u) << "a quarter of a small window";
  room.window = 1 << 20;
  room.burst = 5 * 1200;
  room.free = room.paced = 4 * 1200;
  EXPECT_EQ(runs.extent(room).count, 4u) << "the pacer never saves up for eight";
  room.free = room.paced = 0;
  room.probe = true;
  EXPECT_EQ(runs.extent(room).count, 1u);
}

}  // namespace
}  // namespace sheaf::quic
