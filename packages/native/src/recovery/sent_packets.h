#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "recovery/sent_frame.h"
#include "util/interval_set.h"
#include "util/time.h"
#include "wire/types.h"

namespace sheaf::quic {

struct SentPacket {
  // `kSkipped` and `kRefused` were never sent: the number was left out, or the node that was to
  // send the packet did not.
  enum class State : std::uint8_t { kSkipped, kRefused, kOutstanding, kAcknowledged, kLost };
  Time time_sent{};
  // For the rate sample (recovery/delivery_rate.h): the state when the packet was sent. Bytes
  // delivered and lost on the path are modulo 2^32, since only differences over one flight count.
  // Bytes in flight include this packet. The last two are the times since the last delivery and
  // since the first packet of the flight.
  std::uint32_t delivered_at_send = 0;
  std::uint32_t lost_at_send = 0;
  std::uint32_t in_flight_at_send = 0;
  std::uint32_t microseconds_since_delivery = 0;
  std::uint32_t microseconds_since_flight_start = 0;
  std::uint32_t first_frame = 0;  // index into the frame log, modulo 2^32
  std::uint16_t frame_count = 0;
  std::uint16_t bytes = 0;
  State state = State::kOutstanding;
  bool ack_eliciting : 1 = false;
  bool in_flight : 1 = false;
  bool mtu_probe : 1 = false;
  bool application_limited : 1 = false;
  bool repeated : 1 = false;   // its frames were sent again before it was settled
  bool abandoned : 1 = false;  // its sender is gone, and the number of its sender may be another's
  bool given_up : 1 = false;   // its datagrams were reported lost before it was settled
  bool untimed : 1 = false;    // another node sends it, or not, at a time that nobody else knows
  Ecn ecn = Ecn::kNotEct;
  std::uint8_t sender = 0;  // the node that sends it: this one, 0, or one that was given a run
};
static_assert(sizeof(SentPacket) == 40, "compact: a whole window of them is walked");

// Packets in a run at most (docs/decisions/0022).
inline constexpr std::size_t k_max_run = 32;

// The stream data of a run: consecutive packets that another node sends, each with one STREAM frame
// (docs/decisions/0022).
struct RunData {
  StreamId stream{};
  std::uint64_t offset = 0;            // of the first packet's data
  std::uint32_t bytes_per_packet = 0;  // of the stream
  bool fin = false;                    // the last packet ends the stream
};

// The packets of one packet number space from the oldest outstanding to the newest. They lie in two
// rings, indexed by packet number and by frame index, that grow to the working set and are then
// reused: nothing is allocated per packet.
class SentPackets {
 public:
  PacketNumber next_number() const { return next_; }
  // Leaves a number unused, to catch optimistic acknowledgements (RFC 9000 §21.4).
  void skip_number();
  // Adds a frame to the packet being built.
  void add_frame(const SentFrame& frame) { pending_.push_back(frame); }
  std::span<const SentFrame> pending_frames() const { return pending_; }
  // Discards the frames added since the last `commit`, when the packet was not built.
  void discard_pending() { pending_.clear(); }
  // Ends the packet being built and gives it the number `next_number()`.
  PacketNumber commit(const SentPacket& packet);
  // Numbers `count` packets that another node sends, at most `k_max_run` and each like `packet`.
  // Returns the first number. No packet is being built.
  PacketNumber commit_run(const SentPacket& packet, std::size_t count, const RunData& data);
  // Marks a packet that is kept, and that its sender did not send.
  void refuse(PacketNumber number);
  // The only frame of a packet that is kept turns out to end its stream.
  void end_stream(PacketNumber number);

  // Returns null for numbers that are no longer kept or were never sent.
  SentPacket* find(PacketNumber number) {
    return number >= oldest_ && number < next_ ? &at(number) : nullptr;
  }
  // `number` must lie in [oldest(), next_number()).
  SentPacket& at(PacketNumber number) { return packets_[number & packet_mask_]; }
  const SentPacket& at(PacketNumber number) const { return packets_[number & packet_mask_]; }
  // Returns whether one of the last few skipped numbers lies in [first, last]. Skipped numbers are
  // remembered longer than packets: a peer that acknowledges packets it did not receive may do so
  // late.
  bool skipped_in(PacketNumber first, PacketNumber last) const;
  // Does the same for numbers that were refused. Those of the highest 64 runs or so are remembered.
  bool refused_in(PacketNumber first, PacketNumber last) const {
    if (refused_.empty()) return false;
    const auto found = refused_.find(first);
    return found != refused_.end() && found->start <= last;
  }
  // Visits the frames of a packet that is kept.
  template <typename Visit>
  void for_each_frame(const SentPacket& packet, Visit&& visit) const {
    for (std::uint32_t i = 0; i < packet.frame_count; ++i) visit(frame_at(packet.first_frame + i));
  }

  // The first number that is kept; `next_number()` when none is.
  PacketNumber oldest() const { return oldest_; }
  // Drops settled packets from the front. Lost packets are dropped only when sent before
  // `keep_lost_since`: the loss of a younger packet may turn out to be spurious. Packets that are
  // not in flight need no acknowledgement and are dropped as soon as more than
  // `k_max_kept_unacknowledged` numbers are kept.
  void prune(Time keep_lost_since);
  static constexpr std::uint64_t k_max_kept_unacknowledged = 1024;
  std::size_t memory_bytes() const;

 private:
  static constexpr std::size_t k_remembered_skips = 4;
  static constexpr std::size_t k_remembered_refusals = 64;

  const SentFrame& frame_at(std::uint32_t index) const { return frames_[index & frame_mask_]; }
  SentFrame& frame_at(std::uint32_t index) { return frames_[index & frame_mask_]; }
  void grow_packets();
  void grow_frames();

  // The size of each ring is a power of two, or 0. A mask is the size less 1: to ask a vector for
  // its size costs a multiplication.
  std::vector<SentPacket> packets_;
  std::vector<SentFrame> frames_;
  std::size_t packet_mask_ = SIZE_MAX;
  std::size_t frame_mask_ = SIZE_MAX;
  std::vector<SentFrame> pending_;  // separate, so that it is contiguous
  PacketNumber oldest_ = 0;
  PacketNumber next_ = 0;
  std::uint32_t frames_begin_ = 0;
  std::uint32_t frames_end_ = 0;
  PacketNumber skipped_[k_remembered_skips] = {k_no_packet_number, k_no_packet_number,
                                               k_no_packet_number, k_no_packet_number};
  std::size_t skips_ = 0;
  IntervalSet refused_;
};

}  // namespace sheaf::quic
