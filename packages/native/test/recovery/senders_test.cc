// Tests loss detection where other nodes send some of the packets (docs/decisions/0022).
#include "recovery/senders.h"

#include <algorithm>
#include <functional>

#include "recovery/loss_fixture.h"

namespace sheaf::quic {
namespace {

using Numbers = std::vector<std::uint64_t>;
using Action = LossDetection::TimeoutAction;
using State = SentPacket::State;

class SendersTest : public LossDetectionTest {
 protected:
  SendersTest() {
    loss_.open_sender(1, 20ms);
    loss_.open_sender(2, 40ms);
  }
  const RttEstimator& rtt_of(std::uint8_t sender) const { return loss_.sender_rtt(sender).rtt; }
};

// --- packet threshold ---------------------------------------------------------------------------

TEST_F(SendersTest, PacketsOfOthersAreNoReasonForALoss) {
  send_run(1, 8, at_ms(0));
  send_run(2, 8, at_ms(0));
  send_many(3, at_ms(0));
  acknowledge({{.first = 8, .last = 18}}, at_ms(10));
  EXPECT_TRUE(listener_.lost.empty());
  acknowledge({{.first = 0, .last = 18}}, at_ms(11));
  EXPECT_EQ(listener_.acknowledged.size(), 19u);
  EXPECT_EQ(loss_.spurious_losses(), 0u);
  EXPECT_EQ(next_timeout(), k_never);
}

TEST_F(SendersTest, ThreeLaterPacketsOfTheSenderMakeALoss) {
  send_run(1, 2, at_ms(0));  // 0 and 1
  send_run(2, 32, at_ms(0));
  send_run(1, 2, at_ms(0));  // 34 and 35
  send_run(2, 32, at_ms(0));
  acknowledge({{.first = 35, .last = 35}}, at_ms(10));
  EXPECT_EQ(listener_.lost, (Numbers{0}));
  send_run(1, 1, at_ms(10));
  acknowledge({{.first = 68, .last = 68}, {.first = 35, .last = 35}}, at_ms(12));
  EXPECT_EQ(listener_.lost, (Numbers{0, 1}));
}

TEST_F(SendersTest, HolesAndRefusedPacketsDoNotCount) {
  send_run(1, 1, at_ms(0));
  loss_.sent().skip_number();
  send_run(1, 2, at_ms(0));  // 2 and 3
  send_run(1, 2, at_ms(0));  // 4 and 5
  EXPECT_EQ(loss_.refuse_run(1, 2, 2, at_ms(1), listener_), 2u);
  listener_.lost.clear();
  acknowledge({{.first = 5, .last = 5}}, at_ms(10));
  EXPECT_TRUE(listener_.lost.empty());
  send_run(1, 1, at_ms(10));
  acknowledge({{.first = 5, .last = 6}}, at_ms(12));
  EXPECT_EQ(listener_.lost, (Numbers{0}));
}

// What counted towards the threshold counts no longer when it turns out not to have been sent.
TEST_F(SendersTest, ALateRefusalLowersTheThreshold) {
  for (int run = 0; run < 3; ++run) send_run(1, 1, at_ms(0));
  acknowledge({{.first = 2, .last = 2}}, at_ms(10));
  EXPECT_EQ(loss_.refuse_run(1, 1, 1, at_ms(11), listener_), 1u);
  listener_.lost.clear();
  for (int run = 0; run < 2; ++run) send_run(1, 1, at_ms(11));
  acknowledge({{.first = 2, .last = 3}}, at_ms(12));
  EXPECT_TRUE(listener_.lost.empty());
  acknowledge({{.first = 2, .last = 4}}, at_ms(12));
  EXPECT_EQ(listener_.lost, (Numbers{0}));
}

TEST_F(LossDetectionTest, OpeningASenderChangesNothingForOwnPackets) {
  send_many(6, at_ms(0));
  acknowledge({{.first = 2, .last = 2}}, at_ms(10));
  loss_.open_sender(1, 20ms);
  EXPECT_EQ(loss_.sender_rtt(0).rtt.latest(), 10ms);
  acknowledge({{.first = 2, .last = 3}}, at_ms(10));
  EXPECT_EQ(listener_.lost, (Numbers{0}));
  EXPECT_FALSE(loss_.runs_in_flight());
}

// --- time threshold -----------------------------------------------------------------------------

// Nine eighths of the sender's RTT and its mean deviation, since the run's packets left in a burst.
TEST_F(SendersTest, TimeFindsTheTailOfASilentSender) {
  send_run(1, 8, at_ms(0));
  send_run(2, 8, at_ms(0));
  acknowledge({{.first = 0, .last = 5}}, at_ms(20));
  EXPECT_EQ(rtt_of(1).smoothed(), 20ms);
  acknowledge({{.first = 8, .last = 15}, {.first = 0, .last = 5}}, at_ms(21));
  EXPECT_TRUE(listener_.lost.empty());
  EXPECT_EQ(next_timeout(), at_ms(0) + 22500us + 10ms);
  EXPECT_EQ(on_timeout(at_ms(32)), Action::kNone);
  EXPECT_EQ(on_timeout(at_ms(33)), Action::kLossDetected);
  EXPECT_EQ(listener_.lost, (Numbers{6, 7}));
  EXPECT_EQ(next_timeout(), k_never);
}

TEST_F(SendersTest, TheEarliestOfAllSendersArmsTheTimer) {
  send_run(2, 1, at_ms(0));
  send_run(1, 1, at_ms(0));
  send(at_ms(0));
  acknowledge({{.first = 2, .last = 2}}, at_ms(10));
  // Neither has a sample: a probe timeout of the guesses, 20 and 40 ms, from the sending.
  EXPECT_EQ(next_timeout(), at_ms(60));
  EXPECT_EQ(on_timeout(at_ms(60)), Action::kLossDetected);
  EXPECT_EQ(listener_.lost, (Numbers{1}));
  EXPECT_EQ(next_timeout(), at_ms(120));
}

TEST_F(SendersTest, ARunIsTimedFromItsExpectedSending) {
  send_run(1, 4, at_ms(0), at_ms(7));
  acknowledge({{.first = 0, .last = 3}}, at_ms(30));
  EXPECT_EQ(rtt_of(1).latest(), 23ms);
  send_run(1, 4, at_ms(40), at_ms(47));
  const Duration timeout = loss_.probe_timeout(k_max_ack_delay);
  EXPECT_EQ(next_timeout(), at_ms(47) + timeout);
}

// --- round trips --------------------------------------------------------------------------------

TEST_F(SendersTest, EachSenderHasItsOwnRoundTrip) {
  send_run(1, 4, at_ms(0));
  send_run(2, 4, at_ms(10));
  send(at_ms(20));
  context_.ack_delay = 3ms;
  acknowledge({{.first = 0, .last = 8}}, at_ms(50));
  EXPECT_EQ(rtt_of(1).latest(), 50ms);
  EXPECT_EQ(rtt_of(2).latest(), 40ms);
  EXPECT_EQ(rtt_of(0).latest(), 30ms);
  EXPECT_EQ(rtt_.latest(), 30ms) << "the path's comes from the largest";
  EXPECT_EQ(loss_.sender_rtt(1).samples, 1u);
  // The peer's delay concerns the largest alone, since a lower packet makes it answer at once.
  send_run(1, 4, at_ms(100));
  send_run(2, 4, at_ms(100));
  acknowledge({{.first = 0, .last = 16}}, at_ms(160));
  EXPECT_EQ(rtt_of(1).smoothed(), Duration(7 * 50ms + 60ms) / 8);
  EXPECT_EQ(rtt_of(2).smoothed(), Duration(7 * 40ms + 57ms) / 8);
  EXPECT_EQ(loss_.sender_rtt(2).samples, 2u);
  EXPECT_EQ(loss_.sender_rtt(1).ack_delay, 0ms);
  EXPECT_EQ(loss_.sender_rtt(2).ack_delay, 3ms);
  // Unless it was asked to ignore the order
  context_.overtaken_ack_delay = 5ms;
  send_run(1, 4, at_ms(200));
  send_run(2, 4, at_ms(200));
  acknowledge({{.first = 0, .last = 24}}, at_ms(260));
  EXPECT_EQ(loss_.sender_rtt(1).ack_delay, std::nullopt);
  EXPECT_EQ(loss_.sender_rtt(2).ack_delay, 3ms);
}

TEST_F(SendersTest, PacketsOutOfOrderGiveNoSample) {
  send_run(1, 4, at_ms(0));
  acknowledge({{.first = 3, .last = 3}, {.first = 0, .last = 1}}, at_ms(20));
  send_run(2, 1, at_ms(20));
  acknowledge({{.first = 0, .last = 4}}, at_ms(40));
  EXPECT_EQ(rtt_of(1).latest(), 20ms);
  EXPECT_EQ(loss_.sender_rtt(1).samples, 1u);
  // Neither does a packet with nothing but an ACK, which the peer may acknowledge any time.
  send_acknowledgement(at_ms(40));
  send_run(1, 1, at_ms(40));
  acknowledge({{.first = 0, .last = 6}}, at_ms(60));
  EXPECT_EQ(loss_.sender_rtt(0).samples, 0u);
  EXPECT_EQ(loss_.sender_rtt(1).samples, 2u);
}

TEST_F(SendersTest, TheProbeTimeoutIsTheLongestOfThoseWithDataInFlight) {
  const auto of = [&](std::uint8_t sender) { return rtt_of(sender).probe_timeout(25ms); };
  send(at_ms(0));
  send_run(1, 1, at_ms(0));
  acknowledge({{.first = 0, .last = 0}}, at_ms(10));
  acknowledge({{.first = 0, .last = 1}}, at_ms(30));
  for (int i = 2; i < 20; ++i) {
    send(at_ms(30 * i));
    acknowledge({{.first = 0, .last = static_cast<PacketNumber>(i)}}, at_ms(30 * i + 10));
  }
  send(at_ms(1000));
  EXPECT_EQ(loss_.probe_timeout(25ms), std::max(of(0), rtt_.probe_timeout(25ms)));
  EXPECT_LT(loss_.probe_timeout(25ms), of(1));
  send_run(1, 1, at_ms(1000));
  EXPECT_EQ(loss_.probe_timeout(25ms), of(1));
  EXPECT_EQ(next_timeout(), at_ms(1000) + of(1));
}

TEST_F(SendersTest, ANewWayHasNewRoundTrips) {
  send_run(1, 4, at_ms(0));
  send_run(1, 4, at_ms(5));
  acknowledge({{.first = 0, .last = 3}}, at_ms(20));
  RecordingController other;
  loss_.set_controller(other);
  EXPECT_FALSE(rtt_of(1).has_sample());
  acknowledge({{.first = 0, .last = 7}}, at_ms(30));
  EXPECT_FALSE(rtt_of(1).has_sample());
  EXPECT_EQ(loss_.bytes_in_flight(), 0u);
  EXPECT_FALSE(loss_.runs_in_flight());
}

// --- refused runs -------------------------------------------------------------------------------

TEST_F(SendersTest, ARefusedRunIsLostWithoutASign) {
  send(at_ms(0));
  send_run(1, 8, at_ms(0));
  EXPECT_TRUE(loss_.runs_in_flight());
  EXPECT_EQ(loss_.refuse_run(1, 1, 8, at_ms(5), listener_), 8u);
  EXPECT_FALSE(loss_.runs_in_flight());
  EXPECT_EQ(listener_.lost, (Numbers{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(loss_.bytes_in_flight(), k_datagram);
  EXPECT_EQ(loss_.packets_lost(), 0u);
  send(at_ms(5));
  acknowledge({{.first = 9, .last = 9}, {.first = 0, .last = 0}}, at_ms(10));
  EXPECT_TRUE(controller_.losses.empty());
  EXPECT_TRUE(controller_.lost_packets.empty());
  EXPECT_EQ(loss_.oldest_outstanding(), std::nullopt);
  EXPECT_EQ(loss_.refuse_run(1, 1, 8, at_ms(11), listener_), 0u) << "once";
  EXPECT_EQ(listener_.lost.size(), 8u);
}

TEST_F(SendersTest, AnAcknowledgementOfARefusedRunIsAViolation) {
  send_many(2, at_ms(0));
  send_run(1, 4, at_ms(0));
  send_many(2, at_ms(0));
  loss_.refuse_run(1, 2, 4, at_ms(1), listener_);
  EXPECT_TRUE(try_acknowledge({{.first = 6, .last = 7}, {.first = 0, .last = 1}}, at_ms(10)));
  for (const PacketNumber number : {2, 4}) {
    const TransportStatus status =
        try_acknowledge({{.first = 6, .last = 7}, {.first = number, .last = number}}, at_ms(20));
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, TransportErrorCode::kProtocolViolation);
    EXPECT_EQ(status.error().reason, "acknowledges a packet that was refused");
  }
}

// The backend says so too late: some packets were found missing by the time threshold.
TEST_F(SendersTest, ARunThatCountedAsLostWasRefused) {
  send_run(1, 2, at_ms(0));
  send_run(2, 1, at_ms(0));
  acknowledge({{.first = 2, .last = 2}}, at_ms(40));
  on_timeout(at_ms(100));
  EXPECT_EQ(listener_.lost, (Numbers{0, 1}));
  ASSERT_EQ(controller_.losses.size(), 1u);
  EXPECT_EQ(loss_.refuse_run(1, 0, 2, at_ms(110), listener_), 2u);
  EXPECT_EQ(controller_.spurious, 1);
  EXPECT_EQ(listener_.lost.size(), 2u) << "its frames were due again before";
  EXPECT_FALSE(try_acknowledge({{.first = 0, .last = 2}}, at_ms(120)));
}

// Such a node lies, or the peer does. The packets were sent.
TEST_F(SendersTest, WhatWasAcknowledgedCannotBeRefused) {
  send_run(1, 4, at_ms(0));
  acknowledge({{.first = 1, .last = 1}}, at_ms(10));
  EXPECT_EQ(loss_.refuse_run(1, 0, 4, at_ms(11), listener_), 3u);
  EXPECT_EQ(listener_.lost, (Numbers{0, 2, 3}));
  EXPECT_TRUE(try_acknowledge({{.first = 1, .last = 1}}, at_ms(20)));
  // Nobody refuses packets of another node, or such as were never numbered.
  send_run(2, 1, at_ms(20));
  EXPECT_EQ(loss_.refuse_run(1, 4, 10, at_ms(21), listener_), 0u);
  EXPECT_EQ(loss_.bytes_in_flight(), k_datagram);
}

TEST_F(SendersTest, MarksOfARefusedRunAreNotExpected) {
  EcnValidation ecn;
  loss_.set_ecn_validation(ecn);
  send(at_ms(0), {.bytes = 100, .ack_eliciting = true, .in_flight = true, .ecn = ecn.next_mark()});
  ecn.on_sent(Ecn::kEct0);
  acknowledge({{.first = 0, .last = 0}}, at_ms(10), EcnCounts{.ect0 = 1});
  for (int run = 0; run < 2; ++run) {
    ASSERT_EQ(ecn.next_mark_of_run(), Ecn::kEct0);
    loss_.number_run({.time_sent = at_ms(10),
                      .bytes = k_datagram,
                      .ack_eliciting = true,
                      .in_flight = true,
                      .ecn = Ecn::kEct0,
                      .sender = 1},
                     4, {}, at_ms(10));
    ecn.on_sent(Ecn::kEct0, 4);
  }
  loss_.refuse_run(1, 1, 4, at_ms(11), listener_);
  acknowledge({{.first = 5, .last = 8}, {.first = 0, .last = 0}}, at_ms(30),
              EcnCounts{.ect0 = 4, .ce = 1});
  EXPECT_EQ(ecn.state(), EcnValidation::State::kCapable);
  ASSERT_EQ(controller_.losses.size(), 1u);
  EXPECT_TRUE(controller_.losses[0].ecn);
  send(at_ms(30));
  acknowledge({{.first = 5, .last = 9}}, at_ms(40), EcnCounts{.ect0 = 6, .ce = 1});
  EXPECT_EQ(ecn.state(), EcnValidation::State::kFailed) << "more marks than packets with marks";
}

// --- dead senders -------------------------------------------------------------------------------

TEST_F(SendersTest, ADeadSendersPacketsAreLostWithoutASign) {
  send_run(1, 4, at_ms(0));
  send_run(2, 4, at_ms(0));
  acknowledge({{.first = 4, .last = 7}, {.first = 0, .last = 0}}, at_ms(20));
  loss_.abandon_sender(1, listener_);
  EXPECT_EQ(listener_.lost, (Numbers{1, 2, 3}));
  EXPECT_EQ(loss_.bytes_in_flight(), 0u);
  EXPECT_TRUE(controller_.losses.empty());
  EXPECT_FALSE(loss_.runs_in_flight());
  EXPECT_EQ(loss_.oldest_outstanding(), std::nullopt);
  // Its packets may still arrive. They say nothing about the node that has its index by then.
  loss_.open_sender(1, 30ms);
  acknowledge({{.first = 0, .last = 7}}, at_ms(25));
  EXPECT_EQ(listener_.acknowledged.size(), 8u);
  EXPECT_EQ(loss_.spurious_losses(), 3u);
  EXPECT_EQ(controller_.spurious, 0);
  EXPECT_FALSE(rtt_of(1).has_sample());
  send_run(1, 1, at_ms(30));
  acknowledge({{.first = 0, .last = 8}}, at_ms(60));
  EXPECT_EQ(rtt_of(1).latest(), 30ms);
}

// A loss that was reported stays reported when another sender's packets are abandoned.
TEST_F(SendersTest, AbandoningDoesNotRefuteLossesOfOthers) {
  send_many(4, at_ms(0));
  send_run(1, 4, at_ms(0));
  acknowledge({{.first = 3, .last = 3}}, at_ms(20));
  ASSERT_EQ(controller_.losses.size(), 1u);
  loss_.abandon_sender(1, listener_);
  acknowledge({{.first = 3, .last = 7}}, at_ms(21));
  EXPECT_EQ(controller_.spurious, 0);
  acknowledge({{.first = 0, .last = 7}}, at_ms(22));
  EXPECT_EQ(controller_.spurious, 1);
}

// --- several senders at once --------------------------------------------------------------------

// Three senders take turns. Their packets need 20, 25 and 31 ms, and nothing is lost.
TEST_F(SendersTest, DifferentWaysAreNoLoss) {
  struct Arrival {
    Time at;
    PacketNumber number;
  };
  constexpr std::array<std::int64_t, 3> k_ways{20, 25, 31};
  std::vector<Arrival> arrivals;
  for (int turn = 0; turn < 300; ++turn) {
    const auto sender = static_cast<std::uint8_t>(turn % 3);
    const PacketNumber first = loss_.sent().next_number();
    sender == 0 ? send_many(8, at_ms(turn)) : void(send_run(sender, 8, at_ms(turn)));
    for (PacketNumber i = 0; i < 8; ++i) {
      arrivals.push_back({at_ms(turn + k_ways[sender]), first + i});
    }
    std::vector<PacketNumber> received;
    for (const Arrival& arrival : arrivals) {
      if (arrival.at <= at_ms(turn)) received.push_back(arrival.number);
    }
    std::ranges::sort(received, std::greater<>());
    std::vector<AckRange> ranges;
    for (const PacketNumber number : received) {
      if (!ranges.empty() && ranges.back().first == number + 1) {
        ranges.back().first = number;
      } else {
        ranges.push_back({number, number});
      }
    }
    if (next_timeout() <= at_ms(turn)) on_timeout(at_ms(turn));
    if (!ranges.empty()) acknowledge(ranges, at_ms(turn));
  }
  EXPECT_TRUE(listener_.lost.empty());
  EXPECT_EQ(loss_.probe_count(), 0u);
  EXPECT_EQ(rtt_of(0).smoothed(), 20ms);
  EXPECT_EQ(rtt_of(1).smoothed(), 25ms);
  EXPECT_EQ(rtt_of(2).smoothed(), 31ms);
}

}  // namespace
}  // namespace sheaf::quic
