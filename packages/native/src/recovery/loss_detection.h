#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "congestion/controller.h"
#include "recovery/delivery_rate.h"
#include "recovery/ecn_validation.h"
#include "recovery/mtu_discovery.h"
#include "recovery/persistent_congestion.h"
#include "recovery/reordering_tolerance.h"
#include "recovery/rtt_estimator.h"
#include "recovery/senders.h"
#include "recovery/sent_packets.h"
#include "recovery/spurious_loss.h"
#include "wire/frame_codec.h"
#include "wire/transport_error.h"

namespace sheaf::quic {

// Learns the fate of the frames in a path's packets. A frame may be reported lost more than once,
// since probes repeat frames that are still outstanding, and may be acknowledged after it was
// reported lost. The listener must not send from inside these calls.
class SentFrameListener {
 public:
  virtual ~SentFrameListener() = default;
  virtual void on_frame_acknowledged(PathId path, const SentFrame& frame) = 0;
  virtual void on_frame_lost(PathId path, const SentFrame& frame) = 0;
};

// Loss detection (RFC 9002 §6 and §7.6) for one packet number space. Owns the record of sent
// packets; drives the RTT estimator and the congestion controller.
class LossDetection {
 public:
  LossDetection(PathId path, RttEstimator& rtt, CongestionController& controller);

  // Called when the path leads elsewhere and has a controller and an RTT estimate of its own.
  // Packets sent before are still acknowledged or lost, but say nothing about the new way (RFC 9000
  // §9.4).
  void set_controller(CongestionController& controller);
  // Makes acknowledgements validate their ECN counts and report CE marks to the controller. The
  // sender of packets calls `EcnValidation::next_mark` and `on_sent` itself.
  void set_ecn_validation(EcnValidation& ecn) { ecn_ = &ecn; }
  // Reports signs of black holes to `mtu` from now on. The listener handles the probes.
  void set_mtu_discovery(MtuDiscovery& mtu) { mtu_ = &mtu; }
  SentPackets& sent() { return sent_; }
  const SentPackets& sent() const { return sent_; }

  // Called after `sent().commit()`.
  void on_packet_sent(PacketNumber number, Time now);

  // --- packets that other nodes send (docs/decisions/0022) ---
  // Makes `sender`, from 1 to 8, known before its first run; `initial_rtt` is a guess. An index may
  // be opened again for another node after `abandon_sender`.
  void open_sender(std::uint8_t sender, Duration initial_rtt);
  // Numbers a run of 1 to `k_max_run` packets, each like `packet`, and returns its first number.
  // `packet.sender` is open. `packet.time_sent` is when the run is expected to leave, not before
  // earlier ones of this sender; `now` is when it was ordered.
  PacketNumber number_run(const SentPacket& packet, std::size_t count, const RunData& data,
                          Time now);
  // Called when a sender says that it did not and will not send packets of a run. Their frames are
  // lost, without a sign of congestion. From now on an acknowledgement of these numbers is a
  // PROTOCOL_VIOLATION. Returns how many packets were taken back: fewer than `count` if the peer
  // acknowledged some, or if they are not this sender's.
  std::size_t refuse_run(std::uint8_t sender, PacketNumber first, std::size_t count, Time now,
                         SentFrameListener& listener);
  // Declares everything outstanding of one sender lost without a congestion signal. The peer may
  // still acknowledge it.
  void abandon_sender(std::uint8_t sender, SentFrameListener& listener);
  // Whether packets of other nodes are in flight.
  bool runs_in_flight() const { return senders_ && senders_->others_in_flight(); }
  // The same, for packets with a smaller number.
  bool runs_in_flight_below(PacketNumber number) const {
    return runs_in_flight() && first_outstanding_ < number;
  }
  // The RTT of one sender's packets: from their expected sending to the acknowledgement. 0 is this
  // node. `samples` counts the samples, so that the caller can tell a new `rtt.latest()`.
  struct SenderRtt {
    const RttEstimator& rtt;
    std::uint64_t samples;
    PacketNumber largest_acknowledged;  // k_no_packet_number: none
    // For how long the peer kept back what gave the latest sample; none where nobody knows
    std::optional<Duration> ack_delay;
  };
  // A sender must be open.
  SenderRtt sender_rtt(std::uint8_t sender) const {
    return {senders_->rtt(sender), senders_->rtt_samples(sender),
            senders_->largest_acknowledged(sender), senders_->latest_ack_delay(sender)};
  }

  struct AckContext {
    Duration ack_delay = Duration::zero();  // decoded from the frame
    Duration max_ack_delay = Duration::zero();
    // How long the peer may delay the acknowledgement of a packet that was overtaken. RFC 9000
    // §13.2.1 has it acknowledged at once, unless the peer was asked for less.
    Duration overtaken_ack_delay = Duration::zero();
    bool handshake_confirmed = false;
    bool application_limited = false;
  };
  enum class AckNews : std::uint8_t { kNone, kPackets };
  // Settles the packets that a frame acknowledges, and takes its RTT sample. Returns whether the
  // frame acknowledged anything new; then `conclude` must follow before the next packet is sent or
  // a timer is asked for. Several frames may come before it: a batch. A frame that acknowledges a
  // packet that was not sent is a PROTOCOL_VIOLATION (RFC 9000 §13.1).
  Result<AckNews, TransportError> settle(const AckFrame& frame, const AckContext& context, Time now,
                                         SentFrameListener& listener);
  // Ends a batch: looks for losses, and tells the controller of both. Does nothing when no frame
  // waits for it.
  void conclude(Time now, SentFrameListener& listener);

  // The conditions that the timers depend on besides the packets.
  struct TimerTerms {
    Duration max_ack_delay = Duration::zero();
    // Upper bound of the time between probes, unless one probe timeout is longer
    // (docs/decisions/0006).
    Duration longest_probe_wait = Duration::max();
    // Whether the handshake is confirmed (RFC 9002 §6.2.1) and the anti-amplification limit lets a
    // packet leave (§6.2.2.1).
    bool may_probe = false;
  };
  // Returns the deadline of the time threshold or of the probe timeout, whichever RFC 9002 arms;
  // k_never when neither is armed.
  Time next_timeout(const TimerTerms& terms) const;
  enum class TimeoutAction : std::uint8_t { kNone, kLossDetected, kProbe };
  // `kProbe` asks for up to 2 ack-eliciting packets beyond the window (RFC 9002 §6.2.4).
  TimeoutAction on_timeout(const TimerTerms& terms, Time now, SentFrameListener& listener);
  // Declares everything outstanding lost without a congestion signal.
  void abandon_outstanding(SentFrameListener& listener);
  // For a probe: reports the frames of the oldest outstanding packet lost, so that they are sent
  // again, while the packet stays outstanding. A second call before an acknowledgement takes the
  // next packet, so that two probes repeat two packets.
  void mark_oldest_for_probe(SentFrameListener& listener);
  // Marks every outstanding packet that was not marked before, because another path carries its
  // frames. Datagrams are reported lost, too.
  void mark_outstanding_for_probe(SentFrameListener& listener);
  // Marks packets that were sent after `since` and not marked before, up to `limit` bytes. Returns
  // the number of bytes marked.
  std::uint64_t mark_late_for_probe(Time since, std::uint64_t limit, SentFrameListener& listener);

  // Returns the probe timeout of RFC 9002 §6.2.1 without backoff: the longest of all senders that
  // have something in flight.
  Duration probe_timeout(Duration max_ack_delay) const {
    const Duration of_path = rtt_->probe_timeout(max_ack_delay);
    return senders_ ? std::max(of_path, senders_->probe_timeout(max_ack_delay)) : of_path;
  }
  std::uint64_t bytes_in_flight() const { return bytes_in_flight_; }
  // Returns when the oldest packet of unknown fate left; nothing when every fate is known.
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
  // Returns whether so many consecutive packets elicited no acknowledgement that the peer should be
  // asked for one. Otherwise the peer never learns which ranges it need not report any more (RFC
  // 9000 §13.2.4).
  bool wants_acknowledgement() const { return packets_since_eliciting_ >= 32; }
  bool has_ack_eliciting_in_flight() const { return ack_eliciting_in_flight_ > 0; }

  ReorderingTolerance reordering;

 private:
  // The packets that one ACK frame settled.
  struct Settled {
    std::uint64_t bytes = 0;
    std::uint64_t marked_ect0 = 0;
    std::uint64_t revisited = 0;  // packets that were looked at although their fate was known
    PacketNumber largest = k_no_packet_number;
    Time largest_time_sent{};
    std::uint16_t largest_size = 0;
    bool ack_eliciting = false;
    bool timed = true;  // it is known when the largest was sent
    bool any() const { return largest != k_no_packet_number; }
  };
  // What the frames since the last `conclude` settled.
  struct Batch {
    std::uint64_t bytes = 0;
    std::uint64_t in_flight_before = 0;
    std::uint64_t revisited = 0;
    PacketNumber largest = k_no_packet_number;
    Time largest_time_sent{};
    Duration smallest_rtt = Duration::max();
    Duration max_ack_delay = Duration::zero();
    std::uint32_t rtt_samples = 0;
    std::uint16_t largest_size = 0;
    bool application_limited = false;
    bool persistent_congestion = false;
    bool open() const { return largest != k_no_packet_number; }
    void add(const Settled& settled);
  };
  TransportStatus settle_ranges(const AckFrame& frame, Time now, SentFrameListener& listener,
                                Settled& settled);
  void settle_packet(PacketNumber number, Time now, SentFrameListener& listener, Settled& settled);
  void take_rtt_sample(const AckFrame& frame, const Settled& settled, const AckContext& context,
                       Time now);
  void process_ecn(const AckFrame& frame, const Settled& settled, Time now);
  void report_acknowledged(const Batch& batch, Time now);
  // `persistent` says that settled packets have established persistent congestion already.
  void detect_lost(Duration max_ack_delay, bool persistent, Time now, SentFrameListener& listener);
  // Gathers the packets that are lost now in `newly_lost_`, and sets `loss_time_` for the others.
  void find_lost(Time now);
  void find_lost_of(std::uint8_t sender, PacketNumber from, Time now);
  bool outstanding_of(std::uint8_t sender, PacketNumber number) const {
    const SentPacket& packet = sent_.at(number);
    return packet.state == SentPacket::State::kOutstanding && packet.sender == sender;
  }
  void declare_lost(PacketNumber number, SentFrameListener& listener);
  void report_lost(PacketNumber number, Time now);
  void respond_to_loss(const LossSample& sample);
  void report_frames_lost(PacketNumber number, const SentPacket& packet,
                          SentFrameListener& listener);
  void take_back_loss(PacketNumber number, const SentPacket& packet, Time now);
  // Whether the packet threshold of RFC 9002 §6.1.1 is reached.
  bool beyond_threshold(PacketNumber number, const SentPacket& packet) const;
  // `of_path`: the time threshold by the path's RTT.
  Duration loss_delay_of(const SentPacket& packet, Duration of_path) const;
  // Returns whether the packets that it passes establish persistent congestion.
  bool advance_first_outstanding(Duration max_ack_delay);
  // Does the same with the duration of RFC 9002 §7.6.1.
  bool pass_settled(Duration persistent_after);
  bool worth_repeating(PacketNumber number) const;
  void mark_for_probe(PacketNumber number, SentFrameListener& listener);
  void give_up_datagrams(PacketNumber number, SentFrameListener& listener);
  static bool is_settled(const SentPacket& packet, const SentFrame& frame);
  void leave_flight(PacketNumber number, const SentPacket& packet);
  // Returns whether the packet took the way that the path leads now, and so matters to the RTT
  // estimate and the controller.
  bool is_current(PacketNumber number) const { return number >= first_current_; }
  void prune(Time keep_lost_since);
  bool over_limit() const;
  Time probe_deadline(const TimerTerms& terms) const;
  // Calls `report` with each frame of the packet that says something about the present way.
  template <typename Report>
  void for_each_frame(PacketNumber number, const SentPacket& packet, Report&& report) const {
    // An MTU probe of the way before a migration says nothing about the present one
    // (RFC 9000 §9.4).
    if (packet.mtu_probe && !is_current(number)) return;
    sent_.for_each_frame(packet, report);
  }

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
  PacketNumber first_outstanding_ = 0;  // all packets below are settled
  PacketNumber first_current_ = 0;
  PacketNumber next_probe_ = 0;  // where mark_oldest_for_probe goes on
  Time loss_time_ = k_never;
  // The time of the last ack-eliciting packet or of the last probe timeout. The latter counts
  // because a probe that could not leave must not fire again at once.
  Time probe_wait_from_{};
  Batch batch_;
  PersistentCongestion persistent_congestion_;
  SpuriousLoss spurious_loss_;
  std::vector<PacketNumber> newly_lost_;  // empty between calls
  std::unique_ptr<Senders> senders_;      // null while this node sends everything
  Duration overtaken_ack_delay_{};
};

}  // namespace sheaf::quic
