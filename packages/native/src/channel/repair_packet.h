#pragma once

#include <optional>
#include <variant>

#include "channel/packet_format.h"
#include "fec/named_set.h"
#include "fec/rows.h"
#include "fec/symbol.h"

namespace sheaf::quic {

// Packets beside the log of a channel: repairs, and which repairs are on their way. They have
// numbers of their own, so that a repair which is lost is not a packet which is missing. Their
// header is that of the channel's packets, with the last bit of the id set. docs/reference/wire.md
// has their bytes.

// A packet of the channel is so much shorter than the offer's packet size: a repair holds its set,
// and the longest packet of this set behind the number.
inline constexpr std::size_t k_repair_kind_length = 1;
inline constexpr std::size_t k_repair_overhead = k_repair_kind_length + fec::k_max_set_bytes +
                                                 sizeof(fec::RowIndex) + fec::k_symbol_head +
                                                 k_aead_tag_length;

// The id in these packets. The id of the channel is even.
inline ChannelId repair_id(ChannelId channel) {
  channel.back() |= 1;
  return channel;
}

// The secret of their keys, which follows from the one that protects headers. They contain nothing
// but sealed packets, so it need not change when members leave.
TrafficSecret repair_secret(const TrafficSecret& header);

struct ChannelRepair {
  fec::NamedSet set;
  fec::RowIndex row = 0;
  Bytes bytes;  // in the packet that was read
};

// STATUS: for how many receivers the source sends, and which repairs it is about to send
struct RepairStatus {
  struct Announced {
    fec::NamedSet set;
    std::uint8_t rows = 0;
  };
  static constexpr std::size_t k_max_sets = 8;
  std::uint64_t receivers = 0;
  InplaceVector<Announced, k_max_sets> sets;
};
inline constexpr std::size_t k_max_status_length =
    k_repair_kind_length + 8 + 1 + RepairStatus::k_max_sets * (fec::k_max_set_bytes + 1);

// Writes what precedes the bytes of a repair.
void write_repair_head(Writer& out, const fec::NamedSet& set, fec::RowIndex row);
// Needs room for k_max_status_length bytes.
void write_status(Writer& out, const RepairStatus& status);

// Reads what such a packet contains, once it is opened. Returns nothing for what no source sends.
using RepairMessage = std::variant<ChannelRepair, RepairStatus>;
std::optional<RepairMessage> read_repair_message(Bytes opened);

}  // namespace sheaf::quic
