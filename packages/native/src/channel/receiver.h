#pragma once

#include <deque>
#include <memory>

#include "channel/group_doubts.h"
#include "channel/group_streams.h"
#include "channel/listen_states.h"
#include "channel/missing_packets.h"
#include "channel/packet_ring.h"
#include "channel/receiver_repairs.h"
#include "channel/report_timer.h"
#include "channel_authentication/verifier.h"
#include "crypto/channel_open_keys.h"

namespace sheaf::quic {

// How a packet reached the receiver
enum class ChannelWay : std::uint8_t {
  kGroup,
  kUnicast,  // as a copy, on the connection of a node that hands copies on
  kSource,   // as a copy, on the connection of the source itself, which proves it
  kRepair,   // recovered from repairs of the group
};

struct ReceiverCounts {
  std::uint64_t from_group = 0;    // different packets that the group brought first
  std::uint64_t from_unicast = 0;  // different packets that copies brought first
  std::uint64_t recovered = 0;     // different packets that repairs brought first
  std::uint64_t duplicates = 0;
  std::uint64_t late = 0;        // forgotten or expired already
  std::uint64_t lost = 0;        // numbers that were missing at some time
  std::uint64_t expired = 0;     // of them, those that did not come in time
  std::uint64_t unreadable = 0;  // not of this channel, or under a key that is not here
  // under a key of the channel, but not the source's, or with a wrong tag
  std::uint64_t forged = 0;
  std::uint64_t refused = 0;      // the verifier had no room, or they came too late to be proven
  std::uint64_t pauses = 0;       // of the group, since what came from it was not the source's
  std::uint64_t malformed = 0;    // with frames that no source sends
  std::uint64_t over_limits = 0;  // frames for which there was no room
};

// A receiver of a channel: stores a packet, authenticates it, opens it, and then reads its frames.
// Sans-IO, as `Connection`. Packets come from the group and, as copies, by unicast.
class ChannelReceiver {
 public:
  // The caller found nothing against the offer (offer_check.h). `verifier`, `random` and `ciphers`
  // live longer.
  ChannelReceiver(const ChannelOffer& offer, Verifier& verifier, Random& random, Time now,
                  PacketCiphers& ciphers = library_ciphers());

  void on_key(const ChannelKey& key, Time now);
  // The socket has joined the group.
  void on_joined() { states_.on_joined(); }
  void receive(Bytes datagram, ChannelWay way, Time now);
  void leave(LeaveReason reason) { states_.leave(reason); }
  // Whether the socket should be a member of the group. It leaves the group while this says no, or
  // the network would go on delivering what the receiver ignores.
  bool wants_group(Time now) const {
    return offer_.has_group() && !states_.left() && !doubts_.paused(now);
  }

  Time next_timeout() const;
  void on_timeout(Time now);

  // Returns what to tell the source: a capsule, and a datagram.
  std::optional<ChannelState> poll_state() { return states_.poll(); }
  std::optional<ChannelReport> poll_report(Time now);

  GroupStreams& groups() { return groups_; }
  ListenState state() const { return states_.state(); }
  LeaveReason reason() const { return states_.reason(); }
  const ReceiverCounts& counts() const { return counts_; }
  // Packets that the group or its repairs brought and that were not refused: the source's, or,
  // while the group brings proven ones, such as wait for their proof. Who forges those that wait
  // makes the caller believe that the source sends often. So this may delay packets by a moment,
  // and nothing else may follow from it.
  std::uint64_t taken() const { return taken_; }
  RepairsReceived repair_counts() const {
    return repairs_ ? repairs_->counts() : RepairsReceived{};
  }

 private:
  // Keys that wait for a place
  static constexpr std::size_t k_max_waiting_keys = 16;

  // Returns whether the packet is the source's.
  Verdict accept(Bytes datagram, ChannelWay way, Time now);
  void take_repair(Bytes datagram, Time now);
  Verdict accept_recovered(const ReceiverRepairs::Recovered& recovered, Time now);
  bool needs_report(Time now);
  // `packet` has no trailer any more.
  Verdict take(const ChannelHeader& header, Bytes packet, ChannelWay way, Time now);
  Verdict authenticate(const ChannelHeader& header, Bytes datagram, ChannelWay way, Time now);
  void count_taken(ChannelWay way);
  void read_proofs(const ChannelHeader& header, Bytes packet, ChannelWay way, Time now);
  void take_waiting(Time now);
  void on_duplicate(PacketNumber number, Bytes packet, ChannelWay way, Time now);
  void on_forged(ChannelWay way, Time now);
  void pause_if_hopeless(Time now);
  void add_waiting_keys(Time now);
  void on_from_group(PacketNumber number, Time now);
  void read_frames(Reader in, bool is_proven, Time now);
  bool read_frame(Reader& in, Time now);
  bool take_outcome(GroupStreams::Outcome outcome);
  void note_number(PacketNumber number, bool recovered, Time now);
  void note_arrival(Time now);
  void expire(Time now);

  ChannelOffer offer_;
  Verifier& verifier_;
  ChannelOpenKeys keys_;
  PacketRing ring_;
  MissingPackets missing_;
  ListenStates states_;
  ReportTimer reports_;
  std::optional<ReceiverRepairs> repairs_;
  GroupStreams groups_;
  GroupDoubts doubts_;
  std::deque<ChannelKey> waiting_keys_;     // by sequence
  std::unique_ptr<std::uint8_t[]> opened_;  // frames of one packet
  ReceiverCounts counts_;
  std::uint64_t taken_ = 0;
  std::uint64_t told_forged_ = 0;  // packets that the verifier found out, of those counted
  PacketNumber group_end_ = 0;     // one above the highest number that the group brought
  std::uint64_t report_sequence_ = 0;
  Time last_arrival_{};
  Duration last_interval_{};
  Duration jitter_{};
};

}  // namespace sheaf::quic
