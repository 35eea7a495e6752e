#pragma once

#include <memory>
#include <vector>

#include "channel/byte_rate.h"
#include "channel/copy_admission.h"
#include "channel/copy_budget.h"
#include "channel/group_breaker.h"
#include "channel/group_streams.h"
#include "channel/held_receivers.h"
#include "channel/rate_control.h"
#include "channel/receiver_copies.h"
#include "channel/reception_totals.h"
#include "channel/source_log.h"
#include "channel/source_repairs.h"

namespace sheaf::quic {

struct SourceConfig {
  ChannelOffer offer;
  // Bytes per second to the group, below the offer's `max_rate`, at which receivers are left to
  // copies rather than slow it down more; 0: the rate never changes
  std::uint64_t slowest_rate = 0;
  Duration key_interval = 10s;
  // Whether who left, or was removed, is to read nothing more soon
  bool new_key_on_leaving = false;
  // Bytes per second for copies by unicast, to all receivers together
  std::uint64_t copy_rate = 12'500'000;
  std::size_t max_receivers = 100'000;
};

struct SourceCounts {
  std::uint64_t rate = 0;  // bytes per second to the group, now, at most
  std::uint64_t packets = 0;
  std::uint64_t copies = 0;
  std::uint64_t copies_lost = 0;
  std::uint64_t refused_reports = 0;
  std::uint64_t dropped_proofs = 0;  // packets stay without a proof
  std::uint64_t refused_states = 0;
  std::uint64_t group_pauses = 0;
};

// How receivers get the channel now
struct ServedReceivers {
  std::size_t by_group = 0;  // hear the group, and rely on it
  std::size_t held = 0;      // get copies although the group reaches them
  std::size_t waiting = 0;   // lost the group, and wait until the budget has room for them
};

// The source of a channel. Sans-IO, as `Connection`. The caller sends what `poll_transmit` returns
// to the group, and carries the messages of each receiver on its request.
class ChannelSource {
 public:
  using ReceiverId = std::uint32_t;

  // `authenticator` and `random` live longer. A channel without a group has no repairs, and neither
  // has one whose packets have a trailer: what is recovered lacks it.
  ChannelSource(const SourceConfig& config, Authenticator& authenticator, Random& random);

  const ChannelOffer& offer() const { return config_.offer; }
  // The offer for a receiver that joins now
  const ChannelOffer& offer_at(Time now) {
    config_.offer.authentication = authenticator_.offer(now);
    return config_.offer;
  }
  // What a receiver is told that asks for this source's time; nothing where its scheme needs no
  // clock
  std::optional<SourceClock> clock(Time now) { return authenticator_.clock(now); }
  const SourceCounts& counts() const { return counts_; }
  const PacketRing& ring() const { return log_.ring(); }
  // Of a full packet of the log. Repairs are up to the offer's packet size.
  std::size_t packet_size() const { return packet_size_; }
  RepairCounts repair_counts() const { return repairs_ ? repairs_->counts() : RepairCounts{}; }
  // What receivers said of packets from the group
  const Reception& reception() const { return reception_.sum(); }
  // Receivers that get copies although the group reaches them
  const HeldReceivers& held() const { return held_; }
  ServedReceivers served() const;
  // Keys or proofs have ended. Nothing is sent any more, and the channel needs another source.
  bool stopped() const { return log_.stopped(); }
  // Whether packets wait to be sent
  bool has_due() const { return log_.has_due(); }

  // --- streams: each is a group of objects. Ids rise. -----------------------------------------
  // Returns nothing while the oldest open group is so far below that receivers would give it up.
  std::optional<StreamId> open_group();
  // Returns what was taken: a group has at most GroupStreams::k_max_group bytes. The rest can be
  // written once packets were sent.
  SourceLog::Written write(StreamId group, Bytes data, bool fin);
  // Returns false when the log has no room now.
  bool reset(StreamId group, std::uint64_t error);

  // --- packets to the group -------------------------------------------------------------------
  // Returns a packet with a repair or with the status of repairs, which goes before others. It
  // stays until the next call. Empty: none is due.
  Bytes poll_repair(Time now);
  // Returns packets that lie side by side, all of `packet_size` except for the last. They stay
  // where they are while `ring` reaches them. Empty: none is due.
  Bytes poll_transmit(std::size_t most, Time now);
  // Whether what these return now goes to the group, or is for copies alone
  bool feeds_group(Time now);
  Time next_timeout() const;
  void on_timeout(Time now);

  // --- receivers ------------------------------------------------------------------------------
  // Adds a receiver, which begins with the newest group. Returns nothing when there are too many.
  std::optional<ReceiverId> add_receiver();
  // Nothing is known of a receiver that was removed: what is still said of it changes nothing.
  void remove_receiver(ReceiverId id);
  void on_state(ReceiverId id, const ChannelState& state, Time now);
  // `round_trip`: of its connection, now
  void on_report(ReceiverId id, const ChannelReport& report, Time now,
                 Duration round_trip = k_usual_round_trip);
  // Returns a key that the receiver needs and does not have yet.
  std::optional<ChannelKey> poll_key(ReceiverId id);
  // Returns the next sealed packet that the receiver needs by unicast. Empty: none, or the budget
  // of all is used up.
  Bytes poll_copy(ReceiverId id, Time now);
  CopyBudget& copy_budget() { return copy_budget_; }
  // What `poll_key` and `poll_copy` may have, if the budget of all permits the copy
  struct Due {
    bool key = false;
    bool copy = false;
  };
  Due due_to(ReceiverId id) const;
  // The datagram with this copy was lost.
  void on_copy_lost(ReceiverId id, PacketNumber number);
  // The number of the packet that `poll_copy` returned last
  PacketNumber last_copy() const { return last_copy_; }

 private:
  struct Group {
    StreamId id;
    std::uint64_t offset = 0;
    bool ended = false;
  };
  Group* find(StreamId group);
  // Null: the receiver needs none, or has all of them.
  const SourceKeys::Key* next_key(ReceiverId id) const;
  // Null for one that was removed
  ReceiverCopies* receiver(ReceiverId id) const {
    return id < receivers_.size() ? receivers_[id].get() : nullptr;
  }
  void forget_expired(Time now);
  void hold(ReceiverId id);
  void follow_rate(Time now);
  void follow(ReceiverId id, ListenState before, Time now);

  SourceConfig config_;
  std::size_t packet_size_;
  Authenticator& authenticator_;
  Random& random_;
  SourceLog log_;
  RateControl control_;
  ByteRate rate_;
  std::uint64_t pace_;  // bytes that leave together when more wait
  CopyBudget copy_budget_;
  std::optional<SourceRepairs> repairs_;
  std::vector<Group> groups_;  // open ones, by id
  std::uint64_t next_group_ = 0;
  Time last_sent_{};
  std::vector<std::unique_ptr<ReceiverCopies>> receivers_;
  ReceptionTotals reception_;
  HeldReceivers held_;
  CopyAdmission admission_;
  GroupBreaker breaker_;
  PacketNumber last_copy_ = k_no_packet_number;
  SourceCounts counts_;
};

}  // namespace sheaf::quic
