#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "recovery/rtt_estimator.h"
#include "recovery/sent_packets.h"
#include "util/time.h"
#include "wire/types.h"

namespace sheaf::quic {

// The nodes whose packets share one packet number space (docs/decisions/0022): this one, which is
// sender 0, and those that runs are given to. Their packets reach the peer by ways of different
// lengths, so one sender's packets say nothing about the loss of another's. Each has an RTT and a
// packet threshold of its own.
class Senders {
 public:
  static constexpr std::size_t k_max = 9;  // with this node

  // Takes over the packets that this node sent so far, and the RTT of its way.
  Senders(const RttEstimator& rtt, const SentPackets& sent, PacketNumber largest_acknowledged);

  // Begins anew with a sender that has no packets in flight. `initial_rtt` is a guess for the time
  // before its first sample.
  void open(std::uint8_t sender, Duration initial_rtt);
  void on_sent(const SentPacket& packet);  // in flight
  // Called when a packet in flight was acknowledged, lost or refused.
  void on_left_flight(const SentPacket& packet);

  // Called for each packet that an ACK frame newly acknowledges, in any order.
  void on_acknowledged(PacketNumber number, const SentPacket& packet);
  // What the sample of an ACK frame depends on.
  struct AckTerms {
    PacketNumber largest = 0;        // that the frame acknowledges
    bool gave_rtt = false;           // the largest gave a sample of the path's RTT
    PacketNumber first_current = 0;  // the first number that was sent on the present way
    Duration ack_delay{};
    Duration max_ack_delay{};
    Duration overtaken_ack_delay{};  // how long the peer may delay what was overtaken
    bool handshake_confirmed = false;
  };
  // Called at the end of the frame: takes one sample for each sender.
  void on_ack_end(const AckTerms& terms, const SentPackets& sent, Time now);
  // Called after packets of this sender were refused, which count no longer.
  void on_refused(std::uint8_t sender, const SentPackets& sent);

  // Returns whether the sender sent at least three packets between this one and one that was
  // acknowledged, including the latter (kPacketThreshold of RFC 9002 §6.1.1).
  bool beyond_threshold(PacketNumber number, const SentPacket& packet) const {
    const PacketNumber threshold = of(packet).latest[k_threshold - 1];
    return threshold != k_no_packet_number && number < threshold;
  }
  // Returns how long after its sending a packet is lost, when a later one was acknowledged.
  Duration loss_delay(const SentPacket& packet) const { return of(packet).loss_delay; }
  // Returns the longest probe timeout of the senders with ack-eliciting packets in flight; zero
  // when there are none.
  Duration probe_timeout(Duration max_ack_delay) const;
  // Whether packets of other nodes are in flight.
  bool others_in_flight() const { return others_in_flight_ > 0; }

  // A number below which nothing of this sender is outstanding. The caller raises it.
  PacketNumber& first_outstanding(std::uint8_t sender) {
    return senders_[sender].first_outstanding;
  }

  const RttEstimator& rtt(std::uint8_t sender) const { return senders_[sender].rtt; }
  std::uint64_t rtt_samples(std::uint8_t sender) const { return senders_[sender].samples; }
  // Returns for how long the peer kept back what gave the latest sample; none if nobody knows.
  std::optional<Duration> latest_ack_delay(std::uint8_t sender) const {
    return senders_[sender].ack_delay;
  }
  PacketNumber largest_acknowledged(std::uint8_t sender) const {
    return senders_[sender].latest.front();
  }
  void on_persistent_congestion();
  // Called when the path leads elsewhere: earlier samples say nothing.
  void forget_rtt();

 private:
  static constexpr std::size_t k_threshold = 3;

  struct Newest {
    PacketNumber number = k_no_packet_number;
    Time time_sent{};
  };
  struct Sender {
    RttEstimator rtt;
    std::uint64_t samples = 0;
    std::optional<Duration> ack_delay;  // in the latest of them
    Duration loss_delay{};
    std::uint64_t in_flight = 0;            // packets
    std::uint64_t eliciting_in_flight = 0;  // packets
    PacketNumber first_outstanding = 0;
    // The largest number that was acknowledged, and the two that the sender sent before it.
    std::array<PacketNumber, k_threshold> latest{k_no_packet_number, k_no_packet_number,
                                                 k_no_packet_number};
    Newest newest;  // that the present ACK frame acknowledges
    Newest newest_eliciting;
  };

  const Sender& of(const SentPacket& packet) const { return senders_[packet.sender]; }
  Sender& of(const SentPacket& packet) { return senders_[packet.sender]; }
  void end_frame(std::uint8_t sender, const AckTerms& terms, const SentPackets& sent, Time now);
  void set_latest(std::uint8_t sender, PacketNumber largest, const SentPackets& sent);
  void update_loss_delay(std::uint8_t sender);

  std::array<Sender, k_max> senders_;
  std::uint64_t others_in_flight_ = 0;  // packets
  std::uint32_t acknowledged_ = 0;      // a bit for each sender with news in the present ACK frame
};

}  // namespace sheaf::quic
