#include "recovery/loss_detection.h"

#include "recovery/loss_fixture.h"
#include "util/random.h"

namespace sheaf::quic {
namespace {

using Numbers = std::vector<std::uint64_t>;
using Action = LossDetection::TimeoutAction;

// --- acknowledgements ---------------------------------------------------------------------------

TEST_F(LossDetectionTest, SettlesWhatIsAcknowledged) {
  send_many(4, at_ms(0));
  EXPECT_EQ(loss_.bytes_in_flight(), 4u * k_datagram);
  EXPECT_TRUE(acknowledge({{.first = 0, .last = 1}}, at_ms(100)));
  EXPECT_EQ(listener_.acknowledged, (Numbers{0, 1}));
  EXPECT_EQ(loss_.bytes_in_flight(), 2u * k_datagram);
  EXPECT_EQ(loss_.largest_acknowledged(), 1u);
  EXPECT_EQ(rtt_.smoothed(), 100ms);
  ASSERT_EQ(controller_.acknowledgements.size(), 1u);
  EXPECT_EQ(controller_.acknowledgements[0].acknowledged_bytes, 2u * k_datagram);
  EXPECT_EQ(controller_.acknowledgements[0].bytes_in_flight_before, 4u * k_datagram);
  EXPECT_EQ(controller_.acknowledgements[0].smallest_rtt, 100ms);
}

TEST_F(LossDetectionTest, ARepeatedAcknowledgementIsNoNews) {
  send_many(4, at_ms(0));
  acknowledge({{.first = 0, .last = 2}}, at_ms(100));
  EXPECT_FALSE(acknowledge({{.first = 0, .last = 2}}, at_ms(150)));
  EXPECT_EQ(listener_.acknowledged.size(), 3u);
  EXPECT_EQ(controller_.acknowledgements.size(), 1u);
  EXPECT_EQ(rtt_.latest(), 100ms);
}

TEST_F(LossDetectionTest, NumbersThatWereNotSentAreAViolation) {
  send_many(2, at_ms(0));
  const TransportStatus status = try_acknowledge({{.first = 2, .last = 2}}, at_ms(1));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, TransportErrorCode::kProtocolViolation);
  EXPECT_EQ(status.error().frame_type, static_cast<std::uint64_t>(FrameType::kAck));
}

// RFC 9000 §21.4.
TEST_F(LossDetectionTest, SkippedNumbersExposeOptimisticAcknowledgements) {
  send_many(2, at_ms(0));
  loss_.sent().skip_number();
  send_many(2, at_ms(0));
  EXPECT_TRUE(try_acknowledge({{.first = 3, .last = 4}, {.first = 0, .last = 1}}, at_ms(1)));
  const TransportStatus status = try_acknowledge({{.first = 0, .last = 4}}, at_ms(1));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, TransportErrorCode::kProtocolViolation);
  // This holds even long after its neighbours were forgotten.
  send_many(50, at_ms(2));
  EXPECT_TRUE(try_acknowledge({{.first = 5, .last = 54}}, at_ms(100)));
  EXPECT_FALSE(try_acknowledge({{.first = 1, .last = 54}}, at_ms(100)));
}

// An honest client repeats what is left in its next frame.
TEST_F(LossDetectionTest, TheWorkForAFrameIsBounded) {
  send_many(600, at_ms(0));
  std::vector<AckRange> ranges;
  for (PacketNumber number = 599; ranges.size() < 300; number -= 2)
    ranges.push_back({number, number});
  EXPECT_TRUE(acknowledge(ranges, at_ms(10)));
  EXPECT_EQ(listener_.acknowledged.size(), 256u);
  EXPECT_EQ(std::ranges::min(listener_.acknowledged), 599u - 2 * 255);
  EXPECT_EQ(loss_.sent().find(0)->state, SentPacket::State::kLost);
}

TEST_F(LossDetectionTest, AcknowledgementsOfAcknowledgementsGiveNoRoundTrip) {
  send_acknowledgement(at_ms(0));
  EXPECT_TRUE(acknowledge({{.first = 0, .last = 0}}, at_ms(50)));
  EXPECT_FALSE(rtt_.has_sample());
  EXPECT_TRUE(controller_.acknowledgements.empty());
}

// --- loss ---------------------------------------------------------------------------------------

TEST_F(LossDetectionTest, ThreeLaterPacketsMakeALoss) {
  send_many(6, at_ms(0));
  acknowledge({{.first = 2, .last = 2}}, at_ms(10));
  EXPECT_TRUE(listener_.lost.empty());
  acknowledge({{.first = 2, .last = 3}}, at_ms(10));
  EXPECT_EQ(listener_.lost, (Numbers{0}));
  acknowledge({{.first = 2, .last = 4}}, at_ms(10));
  EXPECT_EQ(listener_.lost, (Numbers{0, 1}));
  ASSERT_EQ(controller_.losses.size(), 2u);
  EXPECT_EQ(controller_.losses[1].largest_lost, 1u);
  EXPECT_EQ(controller_.losses[1].lost_bytes, k_datagram);
  EXPECT_EQ(controller_.losses[1].bytes_in_flight, k_datagram);
  EXPECT_EQ(loss_.packets_lost(), 2u);
}

TEST_F(LossDetectionTest, ToleratesReorderingOnceALossWasNone) {
  loss_.reordering.expect(20ms);
  send_many(8, at_ms(0));
  acknowledge({{.first = 5, .last = 5}}, at_ms(10));
  EXPECT_EQ(listener_.lost, (Numbers{0, 1, 2}));
  acknowledge({{.first = 1, .last = 1}}, at_ms(11));  // it came 4 behind the largest
  send_many(8, at_ms(12));
  acknowledge({{.first = 13, .last = 13}}, at_ms(22));
  // Packet 9 is 4 behind the largest as well, and 8 is 5 behind it.
  EXPECT_EQ(listener_.lost, (Numbers{0, 1, 2, 3, 4, 6, 7, 8}));
}

TEST_F(LossDetectionTest, ToleratedReorderingDelaysTheTimeThreshold) {
  loss_.reordering.expect(20ms);
  send(at_ms(0));
  send(at_ms(5));
  acknowledge({{.first = 1, .last = 1}}, at_ms(85));  // round trip 80 ms, threshold 90 + 20 ms
  EXPECT_EQ(next_timeout(), at_ms(110));
  EXPECT_EQ(on_timeout(at_ms(109)), Action::kNone);
  EXPECT_EQ(on_timeout(at_ms(110)), Action::kLossDetected);
}

TEST_F(LossDetectionTest, TimeMakesALoss) {
  send(at_ms(0));
  send(at_ms(5));
  acknowledge({{.first = 1, .last = 1}}, at_ms(85));  // round trip 80 ms, threshold 90 ms
  EXPECT_TRUE(listener_.lost.empty());
  EXPECT_EQ(next_timeout(), at_ms(90));
  EXPECT_EQ(on_timeout(at_ms(89)), Action::kNone);
  EXPECT_EQ(on_timeout(at_ms(90)), Action::kLossDetected);
  EXPECT_EQ(listener_.lost, (Numbers{0}));
  EXPECT_EQ(loss_.bytes_in_flight(), 0u);
  EXPECT_EQ(next_timeout(), k_never);
}

TEST_F(LossDetectionTest, LostAcknowledgementsCostNothing) {
  send_acknowledgement(at_ms(0));
  send_many(4, at_ms(0));
  acknowledge({{.first = 1, .last = 4}}, at_ms(10));
  EXPECT_EQ(listener_.lost, (Numbers{0}));
  EXPECT_TRUE(controller_.losses.empty());
  EXPECT_EQ(loss_.packets_lost(), 0u);
}

// RFC 9000 §14.4.
TEST_F(LossDetectionTest, LostMtuProbesAreNotCongestion) {
  send(at_ms(0), {.bytes = 1452, .ack_eliciting = true, .in_flight = true, .mtu_probe = true});
  send_many(3, at_ms(0));
  acknowledge({{.first = 1, .last = 3}}, at_ms(10));
  EXPECT_EQ(listener_.lost, (Numbers{0}));
  EXPECT_TRUE(controller_.losses.empty());
  EXPECT_EQ(loss_.bytes_in_flight(), 0u);
}

TEST_F(LossDetectionTest, AbandoningIsNotCongestion) {
  send_many(3, at_ms(0));
  loss_.abandon_outstanding(listener_);
  EXPECT_EQ(listener_.lost, (Numbers{0, 1, 2}));
  EXPECT_EQ(loss_.bytes_in_flight(), 0u);
  EXPECT_EQ(next_timeout(), k_never);
  EXPECT_TRUE(controller_.losses.empty());
  EXPECT_FALSE(acknowledge({{.first = 0, .last = 2}}, at_ms(100)));
  EXPECT_FALSE(rtt_.has_sample());
}

// RFC 9000 §9.4.
TEST_F(LossDetectionTest, WhatWasSentTheOldWayDoesNotCountForTheNewOne) {
  send_many(5, at_ms(0));
  RecordingController other;
  rtt_ = RttEstimator{};
  loss_.set_controller(other);
  EXPECT_EQ(loss_.bytes_in_flight(), 0u);
  send(at_ms(1000));
  EXPECT_EQ(loss_.bytes_in_flight(), k_datagram);
  acknowledge({{.first = 4, .last = 4}}, at_ms(1010));
  EXPECT_EQ(listener_.acknowledged, (Numbers{4}));
  EXPECT_EQ(listener_.lost, (Numbers{0, 1, 2, 3}));  // too old by time as well
  EXPECT_FALSE(rtt_.has_sample());
  EXPECT_TRUE(other.acknowledgements.empty());
  EXPECT_TRUE(other.losses.empty());
  EXPECT_EQ(loss_.bytes_in_flight(), k_datagram);
  acknowledge({{.first = 4, .last = 5}}, at_ms(1030));
  EXPECT_EQ(rtt_.latest(), 30ms);
  ASSERT_EQ(other.acknowledgements.size(), 1u);
  EXPECT_EQ(other.acknowledgements[0].acknowledged_bytes, k_datagram);
  EXPECT_EQ(loss_.bytes_in_flight(), 0u);
  EXPECT_FALSE(loss_.has_ack_eliciting_in_flight());
}

// --- spurious loss ------------------------------------------------------------------------------

TEST_F(LossDetectionTest, LateAcknowledgementsOfAllLossesUndoTheResponse) {
  send_many(6, at_ms(0));
  acknowledge({{.first = 4, .last = 5}}, at_ms(100));
  EXPECT_EQ(listener_.lost, (Numbers{0, 1, 2}));
  acknowledge({{.first = 4, .last = 5}, {.first = 0, .last = 1}}, at_ms(101));
  EXPECT_EQ(controller_.spurious, 0);
  EXPECT_EQ(loss_.spurious_losses(), 2u);
  acknowledge({{.first = 0, .last = 5}}, at_ms(102));
  EXPECT_EQ(controller_.spurious, 1);
  // The retransmission can still be stopped.
  EXPECT_EQ(listener_.acknowledged, (Numbers{4, 5, 0, 1, 3, 2}));
  EXPECT_EQ(loss_.bytes_in_flight(), 0u);
}

TEST_F(LossDetectionTest, LateAcknowledgementsOfAnOlderEpisodeUndoNothing) {
  send_many(4, at_ms(0));
  acknowledge({{.first = 1, .last = 3}}, at_ms(100));  // 0 is lost
  send_many(4, at_ms(150));
  acknowledge({{.first = 5, .last = 7}, {.first = 1, .last = 3}}, at_ms(250));  // 4 as well
  ASSERT_EQ(listener_.lost, (Numbers{0, 4}));
  acknowledge({{.first = 5, .last = 7}, {.first = 0, .last = 3}}, at_ms(251));
  EXPECT_EQ(controller_.spurious, 0);
  acknowledge({{.first = 0, .last = 7}}, at_ms(252));
  EXPECT_EQ(controller_.spurious, 1);
}

TEST_F(LossDetectionTest, LossesAreForgottenInTime) {
  send_many(4, at_ms(0));
  acknowledge({{.first = 1, .last = 3}}, at_ms(10));
  send(at_ms(5000));
  acknowledge({{.first = 1, .last = 4}}, at_ms(5010));
  EXPECT_EQ(loss_.sent().oldest(), 5u);
  EXPECT_FALSE(acknowledge({{.first = 0, .last = 4}}, at_ms(5011)));
  EXPECT_EQ(controller_.spurious, 0);
}

// --- persistent congestion (RFC 9002 §7.6) ------------------------------------------------------

class PersistentCongestionTest : public LossDetectionTest {
 protected:
  // The duration is 3 * (100 + 4 * 50 + 25) ms after one sample of 100 ms, and less later.
  void SetUp() override {
    send(at_ms(0));
    acknowledge({{.first = 0, .last = 0}}, at_ms(100));
    ASSERT_EQ(rtt_.probe_timeout(k_max_ack_delay), 325ms);
  }
  bool persistent() const {
    bool any = false;
    for (const LossSample& sample : controller_.losses) any |= sample.persistent;
    return any;
  }
};

TEST_F(PersistentCongestionTest, LongUnbrokenLoss) {
  for (int i = 1; i <= 6; ++i) send(at_ms(200 * i));  // 1 to 6, over 1,000 ms
  send(at_ms(1300));
  EXPECT_FALSE(persistent());
  acknowledge({{.first = 7, .last = 7}}, at_ms(1400));
  EXPECT_EQ(listener_.lost, (Numbers{1, 2, 3, 4, 5, 6}));
  EXPECT_TRUE(persistent());
  EXPECT_EQ(rtt_.minimum(), rtt_.latest());
}

TEST_F(PersistentCongestionTest, ShortLossIsNot) {
  for (int i = 1; i <= 4; ++i) send(at_ms(200 * i));
  send(at_ms(900));
  acknowledge({{.first = 5, .last = 5}}, at_ms(1000));
  EXPECT_EQ(listener_.lost.size(), 4u);
  EXPECT_FALSE(persistent());
}

TEST_F(PersistentCongestionTest, SomethingInBetweenArrived) {
  for (int i = 1; i <= 10; ++i) send(at_ms(200 * i));
  send(at_ms(2100));
  acknowledge({{.first = 11, .last = 11}, {.first = 5, .last = 5}}, at_ms(2200));
  EXPECT_EQ(listener_.lost.size(), 9u);
  EXPECT_FALSE(persistent());
}

TEST_F(PersistentCongestionTest, OnlyAckElicitingPacketsCount) {
  send_acknowledgement(at_ms(200));
  send(at_ms(1000));
  send(at_ms(1100));
  send(at_ms(1300));
  acknowledge({{.first = 4, .last = 4}}, at_ms(1400));
  EXPECT_EQ(listener_.lost.size(), 3u);
  EXPECT_FALSE(persistent());
}

TEST_F(LossDetectionTest, NoPersistentCongestionBeforeTheFirstSample) {
  for (int i = 0; i < 20; ++i) send(at_ms(500 * i));
  acknowledge({{.first = 19, .last = 19}}, at_ms(9600));
  EXPECT_EQ(listener_.lost.size(), 19u);
  ASSERT_EQ(controller_.losses.size(), 1u);
  EXPECT_FALSE(controller_.losses[0].persistent);
}

// --- probe timeout ------------------------------------------------------------------------------

TEST_F(LossDetectionTest, ProbesWithExponentialBackoff) {
  send(at_ms(0));
  acknowledge({{.first = 0, .last = 0}}, at_ms(100));
  EXPECT_EQ(next_timeout(), k_never);
  send(at_ms(1000));
  EXPECT_EQ(next_timeout(), at_ms(1325));
  EXPECT_EQ(loss_.next_timeout({.max_ack_delay = k_max_ack_delay}), k_never);  // §6.2.1
  EXPECT_EQ(on_timeout(at_ms(1324)), Action::kNone);
  EXPECT_EQ(on_timeout(at_ms(1325)), Action::kProbe);
  EXPECT_EQ(loss_.probe_count(), 1u);
  EXPECT_TRUE(listener_.lost.empty());
  send(at_ms(1325));
  EXPECT_EQ(next_timeout(), at_ms(1325 + 650));
  EXPECT_EQ(on_timeout(at_ms(1975)), Action::kProbe);
  EXPECT_EQ(next_timeout(), at_ms(1975 + 1300));
  acknowledge({{.first = 2, .last = 2}}, at_ms(2000));
  EXPECT_EQ(loss_.probe_count(), 0u);
}

TEST_F(LossDetectionTest, ProbesKeepComingWithinTheLongestWait) {
  terms_.longest_probe_wait = 1s;
  send(at_ms(0));
  acknowledge({{.first = 0, .last = 0}}, at_ms(100));
  send(at_ms(1000));
  std::vector<Duration> waits;
  for (Time now = at_ms(1000); waits.size() < 5;) {
    const Time next = next_timeout();
    waits.push_back(next - now);
    now = next;
    EXPECT_EQ(on_timeout(now), Action::kProbe);
  }
  EXPECT_EQ(waits, (std::vector<Duration>{325ms, 650ms, 1s, 1s, 1s}));
  // The wait is never shorter than one probe timeout.
  terms_.longest_probe_wait = 10ms;
  acknowledge({{.first = 1, .last = 1}}, at_ms(9000));
  send(at_ms(10'000));
  EXPECT_GT(next_timeout(), at_ms(10'300));
}

TEST_F(LossDetectionTest, AProbeThatCannotLeaveDoesNotSpin) {
  terms_.longest_probe_wait = 1s;
  send(at_ms(0));
  Time now = at_ms(0);
  for (int i = 0; i < 20; ++i) {
    const Time next = next_timeout();
    ASSERT_GT(next, now);
    now = next;
    on_timeout(now);
  }
}

TEST_F(LossDetectionTest, MtuProbesOfAnotherWayAreNotReported) {
  kind_ = SentFrame::Kind::kMtuProbe;
  const SentPacket probe{
      .bytes = 1452, .ack_eliciting = true, .in_flight = true, .mtu_probe = true};
  send(at_ms(0), probe);
  send(at_ms(0), probe);
  RecordingController controller;
  loss_.set_controller(controller);
  kind_ = SentFrame::Kind::kStream;
  send_many(5, at_ms(1));
  acknowledge({{.first = 1, .last = 6}}, at_ms(100));
  EXPECT_EQ(listener_.acknowledged, (Numbers{2, 3, 4, 5, 6}));
  EXPECT_TRUE(listener_.lost.empty());
}

TEST_F(LossDetectionTest, AcknowledgementsAloneArmNothing) {
  send_acknowledgement(at_ms(0));
  EXPECT_EQ(next_timeout(), k_never);
  EXPECT_FALSE(loss_.has_ack_eliciting_in_flight());
}

TEST_F(LossDetectionTest, AsksForAnAcknowledgementNowAndThen) {
  for (int i = 0; i < 31; ++i) send_acknowledgement(at_ms(i));
  EXPECT_FALSE(loss_.wants_acknowledgement());
  send_acknowledgement(at_ms(31));
  EXPECT_TRUE(loss_.wants_acknowledgement());
  send(at_ms(32));
  EXPECT_FALSE(loss_.wants_acknowledgement());
}

TEST_F(LossDetectionTest, ProbesRepeatOnePacketAfterTheOther) {
  send_many(3, at_ms(0));
  loss_.mark_oldest_for_probe(listener_);
  loss_.mark_oldest_for_probe(listener_);
  EXPECT_EQ(listener_.lost, (Numbers{0, 1}));
  EXPECT_EQ(loss_.bytes_in_flight(), 3u * k_datagram);
  loss_.mark_oldest_for_probe(listener_);
  loss_.mark_oldest_for_probe(listener_);
  EXPECT_EQ(listener_.lost, (Numbers{0, 1, 2, 0}));
  acknowledge({{.first = 0, .last = 0}}, at_ms(10));
  loss_.mark_oldest_for_probe(listener_);
  EXPECT_EQ(listener_.lost.back(), 1u);
}

TEST_F(LossDetectionTest, ProbesDoNotRepeatDatagrams) {
  kind_ = SentFrame::Kind::kDatagram;
  send(at_ms(0));
  loss_.mark_oldest_for_probe(listener_);
  EXPECT_TRUE(listener_.lost.empty());
}

constexpr SentPacket k_jumbo{.bytes = 8952, .ack_eliciting = true, .in_flight = true};
constexpr SentPacket k_small{.bytes = 40, .ack_eliciting = true, .in_flight = true};

MtuDiscovery with_jumbo_frames() {
  MtuDiscovery mtu(1452, 1452, 8952);
  mtu.try_jumbo();
  mtu.on_probe_sent(8952, at_ms(0));
  mtu.on_probe_acknowledged(8952, at_ms(0));
  return mtu;
}

TEST_F(LossDetectionTest, AFlightThatLosesItsJumboFramesIsSuspectedOnce) {
  MtuDiscovery mtu = with_jumbo_frames();
  loss_.set_mtu_discovery(mtu);
  for (int i = 0; i < 8; ++i) {
    send(at_ms(1), k_jumbo);
    send(at_ms(1), k_small);
  }
  for (PacketNumber small = 1; small < 16; small += 2) {
    acknowledge({{.first = small, .last = small}}, at_ms(static_cast<int>(10 + small)));
  }
  EXPECT_EQ(mtu.current(), 8952);
}

TEST_F(LossDetectionTest, JumboFramesThatArriveLateAreNoBlackHole) {
  MtuDiscovery mtu = with_jumbo_frames();
  loss_.set_mtu_discovery(mtu);
  for (int round = 0; round < 6; ++round) {
    const auto jumbo = static_cast<PacketNumber>(4 * round);
    send(at_ms(100 * round + 1), k_jumbo);
    for (int i = 0; i < 3; ++i) send(at_ms(100 * round + 1), k_small);
    acknowledge({{.first = jumbo + 1, .last = jumbo + 3}}, at_ms(100 * round + 10));
    acknowledge({{.first = jumbo, .last = jumbo}}, at_ms(100 * round + 12));
  }
  EXPECT_EQ(mtu.current(), 8952);
}

TEST_F(LossDetectionTest, JumboFramesThatAreLostBesideSmallPacketsSuspectABlackHole) {
  MtuDiscovery mtu = with_jumbo_frames();
  loss_.set_mtu_discovery(mtu);
  PacketNumber number = 0;
  int at = 0;
  const auto round = [&](bool jumbo_arrives) {
    at += 100;
    for (int i = 0; i < 4; ++i) send(at_ms(at), k_jumbo);
    send(at_ms(at), k_small);
    number += 5;
    const PacketNumber first = jumbo_arrives ? number - 2 : number - 1;
    acknowledge({{first, number - 1}}, at_ms(at + 10));
  };
  round(false);
  round(false);
  round(true);
  round(false);
  EXPECT_EQ(mtu.current(), 8952) << "one of them arrived in between";
  round(false);
  EXPECT_EQ(mtu.current(), MtuDiscovery::k_base);
}

TEST_F(LossDetectionTest, ThreeProbesSuspectABlackHole) {
  MtuDiscovery mtu(1400, 1400);
  loss_.set_mtu_discovery(mtu);
  send(at_ms(0));
  for (int i = 0; i < 2; ++i) on_timeout(next_timeout());
  EXPECT_EQ(mtu.current(), 1400);
  on_timeout(next_timeout());
  EXPECT_EQ(mtu.current(), MtuDiscovery::k_base);
}

// --- ECN ----------------------------------------------------------------------------------------

TEST_F(LossDetectionTest, NewCongestionMarksReachTheController) {
  EcnValidation ecn;
  loss_.set_ecn_validation(ecn);
  for (int i = 0; i < 4; ++i) {
    ecn.on_sent(Ecn::kEct0);
    send(at_ms(i),
         {.bytes = k_datagram, .ack_eliciting = true, .in_flight = true, .ecn = Ecn::kEct0});
  }
  acknowledge({{.first = 0, .last = 1}}, at_ms(100), EcnCounts{.ect0 = 2});
  EXPECT_EQ(ecn.state(), EcnValidation::State::kCapable);
  EXPECT_TRUE(controller_.losses.empty());
  acknowledge({{.first = 0, .last = 3}}, at_ms(101), EcnCounts{.ect0 = 3, .ce = 1});
  ASSERT_EQ(controller_.losses.size(), 1u);
  EXPECT_TRUE(controller_.losses[0].ecn);
  EXPECT_EQ(controller_.losses[0].largest_lost, 3u);
  EXPECT_EQ(controller_.losses[0].largest_lost_time_sent, at_ms(3));
}

// --- delivery rate ------------------------------------------------------------------------------

TEST_F(LossDetectionTest, MeasuresTheDeliveryRate) {
  // At 1 MB/s a packet of 1,200 bytes is sent every 1.2 ms, and acknowledged 50 ms later.
  PacketNumber acknowledged = 0;
  for (int tick = 0; tick < 1200; ++tick) {
    const Time now = Time(std::chrono::microseconds(100 * tick));
    if (tick % 12 == 0) send(now);
    if (tick >= 500 && (tick - 500) % 12 == 0) {
      acknowledge({{.first = 0, .last = acknowledged++}}, now);
    }
  }
  ASSERT_GT(controller_.acknowledgements.size(), 50u);
  EXPECT_NEAR(static_cast<double>(controller_.acknowledgements.back().delivery_rate), 1e6, 3e4);
  EXPECT_FALSE(controller_.acknowledgements.back().delivery_rate_application_limited);
}

TEST_F(LossDetectionTest, MarksRatesThatTheApplicationLimited) {
  send(at_ms(0));
  context_.application_limited = true;
  acknowledge({{.first = 0, .last = 0}}, at_ms(50));
  send(at_ms(60));
  context_.application_limited = false;
  acknowledge({{.first = 1, .last = 1}}, at_ms(110));
  EXPECT_TRUE(controller_.acknowledgements[1].delivery_rate_application_limited);
}

TEST_F(LossDetectionTest, RemembersWhatWasDeliveredLostAndInFlightAtSend) {
  send_many(2, at_ms(0));
  acknowledge({{.first = 0, .last = 0}}, at_ms(50));
  send_many(4, at_ms(60));  // 2 to 5
  acknowledge({{.first = 5, .last = 5}}, at_ms(110));
  // The acknowledgement of 5 declared 1 and 2 lost by the packet threshold.
  ASSERT_EQ(controller_.lost_packets.size(), 2u);
  EXPECT_EQ(controller_.lost_packets[0].number, 1u);
  EXPECT_EQ(controller_.lost_packets[0].in_flight_at_send, 2u * k_datagram);
  EXPECT_EQ(controller_.lost_packets[0].lost_since_send, 1u * k_datagram);
  const LostPacket& second = controller_.lost_packets[1];
  EXPECT_EQ(second.number, 2u);
  EXPECT_EQ(second.bytes, k_datagram);
  EXPECT_EQ(second.time_sent, at_ms(60));
  EXPECT_EQ(second.now, at_ms(110));
  EXPECT_EQ(second.in_flight_at_send, 2u * k_datagram);
  EXPECT_EQ(second.lost_since_send, 2u * k_datagram);
  EXPECT_EQ(second.delivered, 2u * k_datagram);
  const AckSample& sample = controller_.acknowledgements.back();
  EXPECT_EQ(sample.delivered, 2u * k_datagram);
  EXPECT_EQ(sample.delivered_at_send, 1u * k_datagram);
  EXPECT_EQ(sample.in_flight_at_send, 5u * k_datagram);
  EXPECT_EQ(sample.lost_since_send, 2u * k_datagram);
  EXPECT_EQ(sample.bytes_in_flight_before, 5u * k_datagram);
  EXPECT_EQ(sample.bytes_in_flight, 2u * k_datagram);
}

TEST_F(LossDetectionTest, LostMtuProbesAreNotReported) {
  send(at_ms(0), {.bytes = 1400, .ack_eliciting = true, .in_flight = true, .mtu_probe = true});
  send_many(4, at_ms(1));
  acknowledge({{.first = 1, .last = 4}}, at_ms(50));
  EXPECT_TRUE(controller_.lost_packets.empty());
  EXPECT_EQ(controller_.acknowledgements.back().lost_since_send, 0u);
}

// Sums exceed 2^32 bytes, while a packet keeps shorter copies of them.
TEST_F(LossDetectionTest, DeliveredBytesAreCountedBeyondFourGigabytes) {
  constexpr std::uint16_t k_large = 60'000;
  const SentPacket large{.bytes = k_large, .ack_eliciting = true, .in_flight = true};
  std::uint64_t delivered = 0;
  for (std::int64_t i = 0; i < 80'000; ++i) {
    const PacketNumber number = send(at_ms(2 * i), large);
    acknowledge({{.first = number, .last = number}}, at_ms(2 * i + 1));
    delivered += k_large;
    const AckSample& sample = controller_.acknowledgements.back();
    ASSERT_EQ(sample.delivered, delivered);
    ASSERT_EQ(sample.delivered_at_send, delivered - k_large);
    controller_.acknowledgements.clear();
  }
  EXPECT_GT(delivered, std::uint64_t{1} << 32);
}

// --- bounds -------------------------------------------------------------------------------------

TEST_F(LossDetectionTest, APeerThatNeverAcknowledgesCannotGrowTheLog) {
  send(at_ms(0));  // in flight for ever, and no acknowledgement behind it can be forgotten
  for (int i = 1; i <= 300'000; ++i) {
    send_acknowledgement(at_ms(i));
    if (next_timeout() <= at_ms(0)) on_timeout(at_ms(i));
  }
  EXPECT_LE(loss_.sent().next_number() - loss_.sent().oldest(), 70'000u);
  EXPECT_LT(loss_.sent().memory_bytes(), 16u << 20);
  EXPECT_EQ(listener_.lost, (Numbers{0}));
  EXPECT_EQ(loss_.bytes_in_flight(), 0u);
}

// Compares with a model, under random loss, reordering and repetition: nothing is settled twice,
// the sums agree, and in the end everything is settled.
TEST_F(LossDetectionTest, RandomNetwork) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SeededRandom random(seed);
    RttEstimator rtt;
    RecordingController controller;
    RecordingListener listener;
    LossDetection loss(PathId{0}, rtt, controller);
    std::vector<bool> received;
    Time now = at_ms(1000);
    const auto send_one = [&](bool arrives) {
      loss.sent().add_frame(numbered(SentFrame::Kind::kStream, loss.sent().next_number()));
      const bool eliciting = random.below(4) != 0;
      const PacketNumber number =
          loss.sent().commit({.time_sent = now,
                              .bytes = static_cast<std::uint16_t>(100 + random.below(1000)),
                              .ack_eliciting = eliciting,
                              .in_flight = eliciting});
      loss.on_packet_sent(number, now);
      received.push_back(arrives);
    };
    const auto acknowledge_received = [&] {
      std::vector<AckRange> ranges;
      for (PacketNumber n = received.size(); n-- > 0 && ranges.size() < 64;) {
        if (!received[n]) continue;
        if (!ranges.empty() && ranges.back().first == n + 1) {
          ranges.back().first = n;
        } else {
          ranges.push_back({n, n});
        }
      }
      if (ranges.empty()) return;
      ASSERT_TRUE(loss.settle(AckBuilder(ranges).frame(), context_, now, listener));
      loss.conclude(now, listener);
    };
    for (int step = 0; step < 2000; ++step) {
      now += std::chrono::microseconds(random.below(3000));
      const std::uint64_t choice = random.below(10);
      if (choice < 6) send_one(random.below(4) != 0);
      // Some packets that seemed lost arrive late.
      if (choice == 6 && !received.empty()) received[random.below(received.size())] = true;
      if (choice > 7) acknowledge_received();
      if (now >= loss.next_timeout(terms_)) loss.on_timeout(terms_, now, listener);
      std::uint64_t in_flight = 0;
      for (PacketNumber n = loss.sent().oldest(); n < loss.sent().next_number(); ++n) {
        const SentPacket& packet = loss.sent().at(n);
        if (packet.state == SentPacket::State::kOutstanding && packet.in_flight) {
          in_flight += packet.bytes;
        }
      }
      ASSERT_EQ(loss.bytes_in_flight(), in_flight);
    }
    for (int i = 0; i < 5; ++i) send_one(true);
    now += 1s;
    acknowledge_received();
    EXPECT_EQ(loss.bytes_in_flight(), 0u);
    std::vector<int> acknowledged(received.size());
    for (std::uint64_t number : listener.acknowledged) {
      ASSERT_TRUE(received[number]);
      ASSERT_EQ(++acknowledged[number], 1) << number;
    }
    std::vector<int> lost(received.size());
    for (std::uint64_t number : listener.lost) ASSERT_EQ(++lost[number], 1) << number;
  }
}

}  // namespace
}  // namespace sheaf::quic
