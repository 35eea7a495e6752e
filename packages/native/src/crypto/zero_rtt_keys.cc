#include "crypto/zero_rtt_keys.h"

#include "wire/packet_header.h"

namespace sheaf::quic {
namespace {

constexpr std::uint8_t k_packet_number_length = 4;
constexpr std::uint8_t k_length_field_length = 2;
constexpr std::uint8_t k_reserved_bits = 0x0c;

// First byte of a 0-RTT packet (RFC 9000 §17.2.3, RFC 9369 §3.2)
std::uint8_t first_byte(std::uint32_t version) {
  const std::uint8_t type = version == k_version_2 ? 0x02 : 0x01;
  return k_long_header_bit | k_fixed_bit | type << 4 | (k_packet_number_length - 1);
}

}  // namespace

struct ZeroRttKeys::State {
  std::uint32_t version;
  std::unique_ptr<Aead> aead;
  std::unique_ptr<HeaderProtection> header_protection;
};

ZeroRttKeys::ZeroRttKeys(const TrafficSecret& secret, CryptoProvider provider)
    : state_(new State{secret.version, make_aead(secret, provider),
                       make_header_protection(secret, provider)}) {}
ZeroRttKeys::~ZeroRttKeys() = default;
ZeroRttKeys::ZeroRttKeys(ZeroRttKeys&&) noexcept = default;
ZeroRttKeys& ZeroRttKeys::operator=(ZeroRttKeys&&) noexcept = default;

SealJob ZeroRttKeys::begin(Writer& writer, const ConnectionId& destination,
                           const ConnectionId& source, PacketNumber number) {
  SealJob job;
  job.packet = writer.position();
  job.number = number;
  job.packet_number_length = k_packet_number_length;
  writer.write_u8(first_byte(state_->version));
  writer.write_u32(state_->version);
  for (const ConnectionId& id : {destination, source}) {
    writer.write_u8(id.length);
    writer.write_bytes(id.view());
  }
  writer.write_varint(0, k_length_field_length);
  writer.write_u32(static_cast<std::uint32_t>(number));
  job.header_length = static_cast<std::uint16_t>(writer.position() - job.packet);
  return job;
}

void ZeroRttKeys::seal(const SealJob& job) {
  const std::size_t field_offset =
      job.header_length - job.packet_number_length - k_length_field_length;
  Writer length{{job.packet + field_offset, k_length_field_length}};
  length.write_varint(job.packet_number_length + job.payload_length + k_aead_tag_length,
                      k_length_field_length);
  state_->aead->seal({&job, 1});
  state_->header_protection->protect({&job, 1});
}

OpenedPacket ZeroRttKeys::open(MutableBytes packet, PacketNumber largest_received) {
  OpenedPacket opened;
  const auto header = decode_long_header(packet);
  if (!header || header->type != LongPacketType::kZeroRtt || header->version != state_->version ||
      header->packet_length != packet.size()) {
    return opened;
  }
  const auto unprotected =
      remove_header_protection(*state_->header_protection, packet, header->packet_number_offset);
  if (!unprotected) return opened;
  const std::size_t header_length =
      header->packet_number_offset + unprotected->packet_number_length;
  opened.number = decode_packet_number(largest_received, unprotected->truncated_packet_number,
                                       unprotected->packet_number_length);
  const MutableBytes payload = packet.subspan(header_length);
  if (!state_->aead->open_in_place(packet.first(header_length), payload, PathId{}, opened.number)) {
    return opened;
  }
  // RFC 9000 §17.2: the reserved bits are checked after packet protection was removed.
  if ((packet[0] & k_reserved_bits) != 0) {
    opened.outcome = OpenedPacket::Outcome::kError;
    opened.error = TransportErrorCode::kProtocolViolation;
    return opened;
  }
  opened.outcome = OpenedPacket::Outcome::kOpened;
  opened.payload = payload.first(payload.size() - k_aead_tag_length);
  return opened;
}

}  // namespace sheaf::quic
