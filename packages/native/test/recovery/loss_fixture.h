#pragma once

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "recovery/loss_detection.h"
#include "recovery/times.h"

namespace sheaf::quic {

inline constexpr std::uint16_t k_datagram = 1200;

// Records what it is told.
class RecordingController final : public CongestionController {
 public:
  void on_packet_sent(Time, PacketNumber, std::uint64_t, std::uint64_t) override {}
  void on_acknowledgement(const AckSample& sample) override { acknowledgements.push_back(sample); }
  void on_packet_lost(const LostPacket& packet) override { lost_packets.push_back(packet); }
  void on_congestion(const LossSample& sample) override { losses.push_back(sample); }
  void on_spurious_congestion(Time) override { ++spurious; }
  void on_mtu_change(std::uint64_t) override {}
  std::uint64_t window() const override { return k_unlimited; }
  std::uint64_t pacing_rate() const override { return 0; }
  bool in_slow_start() const override { return false; }
  const char* name() const override { return "recording"; }

  std::vector<AckSample> acknowledgements;
  std::vector<LostPacket> lost_packets;
  std::vector<LossSample> losses;
  int spurious = 0;
};

// A frame of this kind with a number of the test's own.
inline SentFrame numbered(SentFrame::Kind kind, std::uint64_t number) {
  switch (kind) {
    case SentFrame::Kind::kMtuProbe:
      return SentFrame::for_mtu_probe(static_cast<std::uint16_t>(number));
    case SentFrame::Kind::kDatagram:
      return SentFrame::for_datagram(number);
    default:
      return SentFrame::for_data({}, number, 0, false);
  }
}

inline std::uint64_t number_of(const SentFrame& frame) {
  switch (frame.kind()) {
    case SentFrame::Kind::kMtuProbe:
      return frame.probe_size();
    case SentFrame::Kind::kDatagram:
      return frame.identifier();
    default:
      return frame.offset();
  }
}

class RecordingListener final : public SentFrameListener {
 public:
  void on_frame_acknowledged(PathId, const SentFrame& frame) override {
    acknowledged.push_back(number_of(frame));
  }
  void on_frame_lost(PathId, const SentFrame& frame) override { lost.push_back(number_of(frame)); }

  std::vector<std::uint64_t> acknowledged;
  std::vector<std::uint64_t> lost;
};

// An encoded ACK frame, and the bytes that it points into.
class AckBuilder {
 public:
  explicit AckBuilder(const std::vector<AckRange>& ranges,
                      const std::optional<EcnCounts>& ecn = std::nullopt) {
    Writer writer(buffer_);
    EXPECT_EQ(encode_ack(writer, ranges, 0, ecn), ranges.size());
    Reader reader(writer.written());
    frame_ = std::get<AckFrame>(*decode_frame(reader, PacketType::kOneRtt));
  }
  const AckFrame& frame() const { return frame_; }

 private:
  std::array<std::uint8_t, 4096> buffer_;
  AckFrame frame_;
};

// A loss detection, and what it tells of packets.
struct LossParts {
  RttEstimator rtt_;
  RecordingController controller_;
  RecordingListener listener_;
  LossDetection loss_{PathId{0}, rtt_, controller_};
  LossDetection::TimerTerms terms_{.max_ack_delay = k_max_ack_delay, .may_probe = true};
  LossDetection::AckContext context_{.max_ack_delay = k_max_ack_delay, .handshake_confirmed = true};
};

// Packets carry one frame, whose number is the packet number.
class LossDetectionTest : public ::testing::Test, protected LossParts {
 protected:
  PacketNumber send(Time now, SentPacket packet = {}) {
    loss_.sent().add_frame(numbered(kind_, loss_.sent().next_number()));
    packet.time_sent = now;
    if (packet.bytes == 0) {
      packet.bytes = k_datagram;
      packet.ack_eliciting = packet.in_flight = true;
    }
    const PacketNumber number = loss_.sent().commit(packet);
    loss_.on_packet_sent(number, now);
    return number;
  }
  void send_many(int packets, Time now) {
    for (int i = 0; i < packets; ++i) send(now);
  }
  // Orders a run, which leaves at once or at the time given.
  PacketNumber send_run(std::uint8_t sender, std::size_t count, Time now, Time leaves = {}) {
    return loss_.number_run({.time_sent = std::max(now, leaves),
                             .bytes = k_datagram,
                             .ack_eliciting = true,
                             .in_flight = true,
                             .sender = sender},
                            count, {.offset = loss_.sent().next_number(), .bytes_per_packet = 1},
                            now);
  }
  PacketNumber send_acknowledgement(Time now) { return send(now, {.bytes = 40}); }

  // True when something was newly acknowledged.
  bool acknowledge(const std::vector<AckRange>& ranges, Time now,
                   const std::optional<EcnCounts>& ecn = std::nullopt) {
    const AckBuilder ack(ranges, ecn);
    const auto news = loss_.settle(ack.frame(), context_, now, listener_);
    loss_.conclude(now, listener_);
    EXPECT_TRUE(news);
    return news && *news == LossDetection::AckNews::kPackets;
  }
  TransportStatus try_acknowledge(const std::vector<AckRange>& ranges, Time now) {
    const AckBuilder ack(ranges);
    const auto news = loss_.settle(ack.frame(), context_, now, listener_);
    loss_.conclude(now, listener_);
    return news ? TransportStatus{} : news.error();
  }
  Time next_timeout() const { return loss_.next_timeout(terms_); }
  LossDetection::TimeoutAction on_timeout(Time now) {
    return loss_.on_timeout(terms_, now, listener_);
  }

  SentFrame::Kind kind_ = SentFrame::Kind::kStream;
};

}  // namespace sheaf::quic
