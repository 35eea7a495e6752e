#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "channel/channel_messages.h"
#include "channel/missing_packets.h"
#include "channel/packet_ring.h"
#include "channel/repair_packet.h"
#include "crypto/channel_open_keys.h"
#include "fec/solver.h"

namespace sheaf::quic {

struct RepairsReceived {
  std::uint64_t packets = 0;  // with repairs or a status
  std::uint64_t unreadable = 0;
  std::uint64_t malformed = 0;
  std::uint64_t refused = 0;  // packets that repairs brought and that were not genuine
  std::uint64_t ignored = 0;  // while repairs are not trusted
};

// The receiver's end of forward erasure correction. What repairs bring is a claim: the caller
// restores its header, authenticates it like any other packet, and says what came of it. Every
// member can forge repairs and the status, so neither hides a missing packet from reports for
// longer than half of the deadline.
class ReceiverRepairs {
 public:
  explicit ReceiverRepairs(const ChannelOffer& offer);

  bool is_repair(Bytes datagram) const { return may_be_of_channel(id_, datagram); }
  void receive(Bytes datagram, const PacketRing& log, Time now);

  // A packet that followed from repairs. Its header is missing. It stays until the next call.
  struct Recovered {
    PacketNumber number;
    MutableBytes packet;
  };
  std::optional<Recovered> poll_recovered(Time now);
  // The packet that was polled is not the source's. After a few of these, repairs count for
  // nothing for a while.
  void refuse(PacketNumber number, Time now);
  // A packet is authenticated. `recovered` says that its bytes are those that were polled last.
  // Returns whether repairs had brought it.
  bool on_packet(PacketNumber number, Bytes packet, bool recovered, Time now);
  // Packets below are not wanted any more.
  void forget_below(PacketNumber floor);

  // Whether the report may leave out a packet that is missing since `since`
  bool is_hidden(PacketNumber number, Time since, Time now) const {
    return now < since + patience_ && solver_.awaits_another(number);
  }
  // Returns until when repairs that wait or are on their way may bring all that is missing.
  // Nothing: a report is needed.
  std::optional<Time> covered_until(const MissingPackets& missing, Time now);
  // For how many receivers the source says that it sends; at least 1
  std::uint64_t receivers() const { return receivers_; }
  const RepairsReceived& counts() const { return counts_; }

 private:
  // What a status has announced and has not come yet
  struct Announced {
    fec::NamedSet set;
    std::size_t rows;
    Time until;
  };
  static constexpr std::size_t k_seen = 64;
  static constexpr std::uint64_t k_max_refusals = 8;
  static constexpr Duration k_distrust = 10s;
  static constexpr std::size_t k_max_covered = fec::k_max_unknown;

  fec::Solver make_solver() const;
  bool is_new(PacketNumber number);
  void on_repair(const ChannelRepair& repair, PacketNumber number, const PacketRing& log, Time now);
  void on_status(const RepairStatus& status, Time now);
  void distrust(Time now);

  ChannelId id_;
  std::size_t packet_size_;
  std::uint64_t reach_;
  Duration patience_;  // for which repairs hide packets
  Duration hold_;      // for which a status stands for repairs that do not come
  ChannelOpenKeys keys_;
  fec::Solver solver_;
  PacketNumber floor_ = 0;
  std::vector<Announced> announced_;
  std::vector<PacketNumber> claims_;  // polled, and neither authenticated nor refused
  IntervalSet uncovered_;             // of covered_until: no repair waits in place of these
  std::array<PacketNumber, k_seen> seen_;
  std::unique_ptr<std::uint8_t[]> opened_;
  std::unique_ptr<std::uint8_t[]> packet_;
  std::uint64_t receivers_ = 1;
  std::uint64_t refusals_ = 0;
  Time distrusted_until_{};
  RepairsReceived counts_;
};

}  // namespace sheaf::quic
