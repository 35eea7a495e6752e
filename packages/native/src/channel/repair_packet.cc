#include "channel/repair_packet.h"

#include "crypto/key_schedule.h"

namespace sheaf::quic {
namespace {

enum class RepairKind : std::uint8_t { kRepair = 0, kStatus = 1 };

std::optional<RepairMessage> read_repair(Reader& in) {
  auto set = fec::NamedSet::read(in);
  if (!set) return std::nullopt;
  ChannelRepair repair{.set = *set, .row = in.read_u16(), .bytes = in.read_rest()};
  if (!in.ok() || repair.bytes.size() <= fec::k_symbol_head) return std::nullopt;
  return repair;
}

std::optional<RepairMessage> read_status(Reader& in) {
  RepairStatus status;
  status.receivers = in.read_varint();
  const std::size_t count = in.read_u8();
  if (count > RepairStatus::k_max_sets) return std::nullopt;
  for (std::size_t i = 0; i < count; ++i) {
    const auto set = fec::NamedSet::read(in);
    if (!set) return std::nullopt;
    status.sets.push_back({*set, in.read_u8()});
  }
  if (!in.ok() || !in.empty()) return std::nullopt;
  return status;
}

}  // namespace

TrafficSecret repair_secret(const TrafficSecret& header) {
  TrafficSecret secret = header;
  expand_label(header, "sheaf repair", {}, MutableBytes(secret.bytes).first(secret.length));
  return secret;
}

void write_repair_head(Writer& out, const fec::NamedSet& set, fec::RowIndex row) {
  out.write_u8(static_cast<std::uint8_t>(RepairKind::kRepair));
  set.write(out);
  out.write_u16(row);
}

void write_status(Writer& out, const RepairStatus& status) {
  out.write_u8(static_cast<std::uint8_t>(RepairKind::kStatus));
  out.write_varint(status.receivers);
  out.write_u8(static_cast<std::uint8_t>(status.sets.size()));
  for (const auto& [set, rows] : status.sets.view()) {
    set.write(out);
    out.write_u8(rows);
  }
}

std::optional<RepairMessage> read_repair_message(Bytes opened) {
  Reader in(opened);
  switch (static_cast<RepairKind>(in.read_u8())) {
    case RepairKind::kRepair:
      return read_repair(in);
    case RepairKind::kStatus:
      return read_status(in);
  }
  return std::nullopt;
}

}  // namespace sheaf::quic
