#include "recovery/waiting_packets.h"

#include <gtest/gtest.h>

#include <array>
#include <utility>
#include <vector>

#include "recovery/received_packets.h"
#include "recovery/times.h"

namespace sheaf::quic {
namespace {

using Ranges = std::vector<std::pair<PacketNumber, PacketNumber>>;

void receive_one(ReceivedPackets& received, PacketNumber number, Time now) {
  received.on_received(number, Ecn::kNotEct, true, now, k_max_ack_delay);
}

// The ranges of an ACK that is written now, from the largest down, and the delay that it tells.
Ranges reported(ReceivedPackets& received, Time now, Duration* delay = nullptr) {
  constexpr std::uint8_t k_exponent = 3;
  std::array<std::uint8_t, 1200> buffer;
  Writer writer(buffer);
  if (!received.write_ack(writer, k_exponent, now)) return {};
  Reader reader(writer.written());
  const auto frame = decode_frame(reader, PacketType::kOneRtt);
  const auto& ack = std::get<AckFrame>(*frame);
  if (delay != nullptr) *delay = std::chrono::microseconds(ack.delay << k_exponent);
  Ranges out;
  AckRangeReader ranges(ack);
  for (PacketNumber first, last; ranges.next(first, last);) out.emplace_back(first, last);
  return out;
}

// Receives a packet that confirms what other nodes' packets may not have reached yet.
void receive_confirming(ReceivedPackets& received, PacketNumber number, Time now,
                        bool ack_eliciting = true) {
  received.on_received(number, Ecn::kNotEct, ack_eliciting, now, k_max_ack_delay, true);
}

TEST(WaitingPackets, NothingWaitsWithoutAHold) {
  ReceivedPackets received;
  receive_confirming(received, 0, at_ms(0));
  receive_confirming(received, 1, at_ms(0));
  EXPECT_EQ(received.ack_deadline(), at_ms(0));
  EXPECT_EQ(reported(received, at_ms(0)), (Ranges{{0, 1}}));
}

TEST(WaitingPackets, AnAckWaitsUntilTheHoldIsOver) {
  ReceivedPackets received;
  received.set_hold(10ms);
  receive_one(received, 0, at_ms(0));
  receive_confirming(received, 1, at_ms(1));
  receive_confirming(received, 2, at_ms(4));
  // The first one needs no other reason than its own.
  EXPECT_EQ(reported(received, at_ms(10)), (Ranges{{0, 0}}));
  EXPECT_FALSE(received.ack_pending());
  EXPECT_EQ(received.ack_deadline(), at_ms(11));
  received.release(at_ms(11));
  EXPECT_TRUE(received.ack_pending());
  EXPECT_EQ(received.ack_deadline(), at_ms(14)) << "one packet waits for a second";
  received.release(at_ms(14));
  EXPECT_LE(received.ack_deadline(), at_ms(14));
  Duration delay{};
  EXPECT_EQ(reported(received, at_ms(14), &delay), (Ranges{{0, 2}}));
  EXPECT_EQ(delay, 10ms) << "the hold is a delay as any other";
  EXPECT_EQ(received.ack_deadline(), k_never);
}

// The peer would count as lost what later packets overtake.
TEST(WaitingPackets, LaterPacketsWaitBehind) {
  ReceivedPackets received;
  received.set_hold(10ms);
  receive_confirming(received, 0, at_ms(0));
  receive_one(received, 1, at_ms(5));
  receive_one(received, 2, at_ms(6));
  EXPECT_EQ(reported(received, at_ms(9)), Ranges());
  EXPECT_EQ(reported(received, at_ms(10)), (Ranges{{0, 2}}));
  receive_one(received, 3, at_ms(10));
  EXPECT_EQ(reported(received, at_ms(10)), (Ranges{{0, 3}}));
}

TEST(WaitingPackets, AreKnownAlready) {
  ReceivedPackets received;
  received.set_hold(10ms);
  EXPECT_FALSE(received.largest());
  receive_confirming(received, 7, at_ms(0));
  EXPECT_EQ(received.largest(), 7u);
  EXPECT_TRUE(received.is_duplicate(7));
  EXPECT_FALSE(received.is_duplicate(6));
  receive_confirming(received, 7, at_ms(1));
  receive_confirming(received, 5, at_ms(1));
  EXPECT_EQ(received.largest(), 7u);
  received.release(at_ms(20));
  EXPECT_TRUE(received.is_duplicate(7));
  EXPECT_TRUE(received.is_duplicate(5));
  EXPECT_EQ(reported(received, at_ms(20)), (Ranges{{7, 7}, {5, 5}}));
}

TEST(WaitingPackets, PureAcksWaitWithoutADeadline) {
  ReceivedPackets received;
  received.set_hold(10ms);
  for (PacketNumber number = 0; number < 5; ++number) {
    receive_confirming(received, number, at_ms(static_cast<std::int64_t>(number)), false);
  }
  EXPECT_EQ(received.ack_deadline(), k_never);
  EXPECT_EQ(reported(received, at_ms(12)), (Ranges{{0, 2}}));
  receive_confirming(received, 5, at_ms(12));
  EXPECT_EQ(received.ack_deadline(), at_ms(22));
}

TEST(WaitingPackets, TheHoldEndsForPacketsThatArriveLater) {
  ReceivedPackets received;
  received.set_hold(10ms);
  receive_confirming(received, 0, at_ms(0));
  received.set_hold(0ms);
  receive_confirming(received, 1, at_ms(1));
  EXPECT_EQ(reported(received, at_ms(9)), Ranges());
  EXPECT_EQ(reported(received, at_ms(10)), (Ranges{{0, 1}}));
  receive_confirming(received, 2, at_ms(11));
  EXPECT_EQ(reported(received, at_ms(11)), (Ranges{{0, 2}}));
}

TEST(WaitingPackets, AFloodIsNotKept) {
  ReceivedPackets received;
  received.set_hold(10ms);
  for (PacketNumber number = 0; number < 1000; ++number) {
    receive_confirming(received, number, at_ms(0));
  }
  EXPECT_LE(received.ack_deadline(), at_ms(0));
  EXPECT_EQ(reported(received, at_ms(0)), (Ranges{{0, 999 - WaitingPackets::k_max}}));
  EXPECT_EQ(reported(received, at_ms(10)), (Ranges{{0, 999}}));
}

}  // namespace
}  // namespace sheaf::quic
