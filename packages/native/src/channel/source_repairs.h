#pragma once

#include <memory>
#include <vector>

#include "channel/byte_rate.h"
#include "channel/channel_messages.h"
#include "channel/packet_ring.h"
#include "channel/repair_packet.h"
#include "crypto/channel_seal_keys.h"
#include "fec/kernel.h"
#include "fec/repair_planner.h"

namespace sheaf::quic {

struct RepairCounts {
  std::uint64_t repairs = 0;
  std::uint64_t statuses = 0;
  std::uint64_t bytes = 0;  // of both
};

// The source's end of forward erasure correction: what reports name as missing becomes repairs for
// the group, or copies where that is less. Packets are repaired in the first half of their
// deadline; what is missing longer is copied, so that nobody depends on repairs that never come.
class SourceRepairs {
 public:
  explicit SourceRepairs(const ChannelOffer& offer);

  // Repairs take a part of the channel's rate, which is `rate` from now on: bytes per second.
  void follow_rate(std::uint64_t rate) { rate_.change(rate / k_rate_part, k_burst * packet_size_); }
  // Keys are the lowest that are free.
  fec::ReceiverKey add_receiver();
  void remove_receiver(fec::ReceiverKey key);
  // The group does not reach this receiver now.
  void forget_needs(fec::ReceiverKey key) { planner_.forget_needs(key); }
  // Takes what a report names as missing. Returns the number below which copies have to bring it.
  PacketNumber on_report(fec::ReceiverKey key, const ChannelReport& report, const PacketRing& log,
                         PacketNumber sent_end, Time now);

  // Returns the next packet for the group. It stays until the next call. Empty: none is due.
  Bytes poll(const PacketRing& log, PacketNumber sent_end, Time now);
  Time next_timeout() const;

  struct Copy {
    fec::ReceiverKey receiver;
    PacketNumber number;
  };
  // What copies bring, since few receivers miss it. Valid until the next call of another function.
  std::span<const Copy> copies() const { return copies_; }
  void clear_copies() { copies_.clear(); }
  const RepairCounts& counts() const { return counts_; }

 private:
  // Repairs take at most this part of the channel's rate, and a few go at once.
  static constexpr std::uint64_t k_rate_part = 4;
  static constexpr std::uint64_t k_burst = 16;
  // With fewer receivers, copies are no more packets than repairs.
  static constexpr std::size_t k_min_receivers = 2;
  // Ranges of a report that are repaired; the others wait for the next report.
  static constexpr std::size_t k_max_ranges = 16;
  static constexpr std::size_t k_max_named = 256;
  static constexpr int k_status_intervals = 10;

  std::uint8_t* buffer(std::size_t row) { return buffers_.get() + row * packet_size_; }
  // Lets the planner forget what is too old to be planned.
  void advance(const PacketRing& log, PacketNumber sent_end, Time now);
  void plan(const PacketRing& log, PacketNumber sent_end, Time now);
  bool has_planned() const { return next_set_ < planned_.size(); }
  Bytes next_packet(const PacketRing& log, PacketNumber sent_end, Time now);
  void finish_set();
  Bytes next_status(Time now);
  Bytes next_repair(const PacketRing& log);
  bool encode(const PacketRing& log);
  Bytes seal(std::uint8_t* packet, std::size_t length);
  void copy_set(const fec::NamedSet& set);

  ChannelId id_;
  std::size_t packet_size_;
  Duration patience_;  // for which packets are repaired
  Duration gather_;    // of reports, before a decision
  Duration status_interval_;
  ChannelSealKeys keys_;
  bool exhausted_ = false;  // no repair can be sealed any more
  ByteRate rate_;
  fec::RepairPlanner planner_;
  std::uint64_t receivers_ = 0;
  PacketNumber young_ = 0;         // the first packet that reports leave to repairs
  PacketNumber planned_from_ = 0;  // the first one that is still planned, `gather_` later
  IntervalSet named_;              // since the last plan
  Time plan_at_ = k_never;
  Time status_at_{};
  std::span<const fec::PlannedRepairs> planned_;
  bool more_ = false;           // than the rate had room for
  std::size_t next_set_ = 0;    // of those planned
  std::size_t next_row_ = 0;    // of this set
  std::size_t row_length_ = 0;  // of a packet with a row of this set, without its tag
  std::unique_ptr<std::uint8_t[]> buffers_;
  std::vector<Copy> copies_;
  RepairCounts counts_;
};

}  // namespace sheaf::quic
