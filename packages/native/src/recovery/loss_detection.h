#pragma once

#include <optional>

#include "congestion/controller.h"
#include "recovery/delivery_rate.h"
#include "recovery/ecn_validation.h"
#include "recovery/mtu_discovery.h"
#include "recovery/persistent_congestion.h"
#include "recovery/rtt_estimator.h"
#include "recovery/sent_packets.h"
#include "recovery/spurious_loss.h"
#include "wire/frame_codec.h"
#include "wire/transport_error.h"

namespace sheaf::quic {

// Told what became of the frames of a path's packets. A frame may be reported lost more than once
// (probes repeat what is still outstanding), and acknowledged after it was reported lost. Must not
// send from inside.
class SentFrameListener {
 public:
  virtual ~SentFrameListener() = default;
  virtual void on_frame_acknowledged(PathId path, const SentFrame& frame) = 0;
  virtual void on_frame_lost(PathId path, const SentFrame& frame) = 0;
};

// RFC 9002 §6 and §7.6 for one packet number space. Owns what was sent; drives RTT and controller.
class LossDetection {
 public:
  LossDetection(PathId path, RttEstimator& rtt, CongestionController& controller);

  // The path leads elsewhere now, and has a controller and RTT estimate of its own. What was sent
  // before is still acknowledged or lost, but says nothing about the new way (RFC 9000 §9.4).
  void set_controller(CongestionController& controller);
  // From then on ECN counts of acknowledgements are validated and CE marks reach the controller.
  // The sender of packets calls `EcnValidation::next_mark` and `on_sent` itself.
  void set_ecn_validation(EcnValidation& ecn) { ecn_ = &ecn; }
  // From then on it is told what shows black holes. Probes are the listener's affair.
  void set_mtu_discovery(MtuDiscovery& mtu) { mtu_ = &mtu; }
  SentPackets& sent() { return sent_; }
  const SentPackets& sent() const { return sent_; }

  // Called after `sent().commit()`.
  void on_packet_sent(PacketNumber number, Time now);

  struct AckContext {
    Duration ack_delay = Duration::zero();  // decoded
    Duration max_ack_delay = Duration::zero();
    bool handshake_confirmed = false;
    bool application_limited = false;
  };
  enum class AckNews : std::uint8_t { kNone, kPackets };
  // Settles packets, then looks for losses. Returns whether the frame acknowledged anything new.
  // Acknowledging a packet that was not sent is PROTOCOL_VIOLATION.
  Result<AckNews, TransportError> on_ack(const AckFrame& frame, const AckContext& context, Time now,
                                         SentFrameListener& listener);

  // What the timers depend on besides the packets.
  struct TimerTerms {
    Duration max_ack_delay = Duration::zero();
    // Probes come at least this often, unless one probe timeout is longer (docs/decisions/0006).
    Duration longest_probe_wait = Duration::max();
    // RFC 9002 §6.2.1: the handshake is confirmed; §6.2.2.1: anti-amplification lets a packet
    // leave.
    bool may_probe = false;
  };
  // Time threshold loss or probe timeout, whichever the RFC says is armed; k_never when neither.
  Time next_timeout(const TimerTerms& terms) const;
  enum class TimeoutAction : std::uint8_t { kNone, kLossDetected, kProbe };
  // `kProbe`: send up to 2 ack-eliciting packets beyond the window (RFC 9002 §6.2.4).
  TimeoutAction on_timeout(const TimerTerms& terms, Time now, SentFrameListener& listener);
  // Bounds acks seen after an address change etc.: declares everything outstanding lost without a
  // congestion signal.
  void abandon_outstanding(SentFrameListener& listener);
  // For a probe: frames of the oldest outstanding packet are reported lost so that they are sent
  // again, while the packet stays outstanding. Called again before anything was acknowledged, it
  // takes the next packet, so that two probes repeat two packets.
  void mark_oldest_for_probe(SentFrameListener& listener);
  // All that is outstanding and was not marked before: another path carries it.
  void mark_outstanding_for_probe(SentFrameListener& listener);
  // What was sent after `since` and not marked before, up to so many bytes; returns how many.
  std::uint64_t mark_late_for_probe(Time since, std::uint64_t limit, SentFrameListener& listener);

  std::uint64_t bytes_in_flight() const { return bytes_in_flight_; }
  // When the oldest packet left whose fate is not known; nothing when all is.
  std::optional<Time> oldest_outstanding() const {
    if (first_outstanding_ == sent_.next_number()) return std::nullopt;
    return sent_.at(first_outstanding_).time_sent;
  }
  std::uint32_t probe_count() const { return probe_count_; }
  std::optional<PacketNumber> largest_acknowledged() const {
    return largest_acknowledged_ == k_no_packet_number ? std::nullopt
                                                       : std::optional(largest_acknowledged_);
  }
  std::uint64_t packets_lost() const { return packets_lost_; }
  std::uint64_t spurious_losses() const { return spurious_losses_; }
  // So many packets in a row elicited no acknowledgement that the peer should be asked for one, or
  // it never learns which ranges it needs no more (RFC 9000 §13.2.4).
  bool wants_acknowledgement() const { return packets_since_eliciting_ >= 32; }
  bool has_ack_eliciting_in_flight() const { return ack_eliciting_in_flight_ > 0; }

 private:
  // What one ACK frame settled.
  struct Settled {
    std::uint64_t bytes = 0;
    std::uint64_t marked_ect0 = 0;
    PacketNumber largest = k_no_packet_number;
    Time largest_time_sent{};
    std::uint16_t largest_size = 0;
    bool ack_eliciting = false;
    bool gave_rtt = false;
    bool any() const { return largest != k_no_packet_number; }
  };
  TransportStatus settle_ranges(const AckFrame& frame, Time now, SentFrameListener& listener,
                                Settled& settled);
  void settle(PacketNumber number, Time now, SentFrameListener& listener, Settled& settled);
  void process_ecn(const AckFrame& frame, const Settled& settled, Time now);
  void report_acknowledged(const Settled& settled, const AckContext& context,
                           std::uint64_t in_flight_before, Time now);
  void detect_lost(Duration max_ack_delay, Time now, SentFrameListener& listener);
  void declare_lost(PacketNumber number, SentFrameListener& listener);
  void report_lost(PacketNumber number, Time now);
  void respond_to_loss(const LossSample& sample);
  bool advance_first_outstanding(Duration max_ack_delay);
  bool worth_repeating(PacketNumber number) const;
  void mark_for_probe(PacketNumber number, SentFrameListener& listener);
  void leave_flight(PacketNumber number, const SentPacket& packet);
  // Sent the way that the path leads now, and so of interest to RTT estimate and controller.
  bool is_current(PacketNumber number) const { return number >= first_current_; }
  void prune(Time keep_lost_since);
  bool over_limit() const;
  Time probe_deadline(const TimerTerms& terms) const;
  void report_frames(PacketNumber number, SentFrameListener& listener,
                     void (SentFrameListener::*report)(PathId, const SentFrame&)) const;

  PathId path_;
  RttEstimator* rtt_;
  CongestionController* controller_;
  EcnValidation* ecn_ = nullptr;
  MtuDiscovery* mtu_ = nullptr;
  SentPackets sent_;
  DeliveryRate delivery_rate_;
  std::uint64_t bytes_in_flight_ = 0;
  std::uint64_t packets_in_flight_ = 0;
  std::uint64_t ack_eliciting_in_flight_ = 0;
  std::uint64_t packets_lost_ = 0;
  std::uint64_t spurious_losses_ = 0;
  std::uint32_t probe_count_ = 0;
  std::uint32_t packets_since_eliciting_ = 0;

  PacketNumber largest_acknowledged_ = k_no_packet_number;
  PacketNumber first_outstanding_ = 0;  // everything below is settled
  PacketNumber first_current_ = 0;
  PacketNumber next_probe_ = 0;  // mark_oldest_for_probe goes on from here
  Time loss_time_ = k_never;
  // The last ack-eliciting packet, or the last probe timeout: a probe that could not leave must not
  // fire again at once.
  Time probe_wait_from_{};
  PersistentCongestion persistent_congestion_;
  SpuriousLoss spurious_loss_;
};

}  // namespace sheaf::quic
