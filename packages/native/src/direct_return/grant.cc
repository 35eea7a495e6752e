#include "direct_return/grant.h"

#include <algorithm>

#include "wire/fixed_fields.h"

namespace sheaf::quic {

namespace {

constexpr std::uint8_t k_grant_version = 3;
// The backend sends what the gateway numbers, on path 0 alone; or it has a path for numbers of its
// own.
constexpr std::uint8_t k_mode_numbered_by_gateway = 1;
constexpr std::uint8_t k_mode_own_recovery = 2;
constexpr std::uint8_t k_grease_fixed_bit = 0x01;
// RFC 9000 §14.1, and the most that UDP over IPv4 carries
constexpr std::uint16_t k_min_datagram = 1200;
constexpr std::uint16_t k_max_datagram = 65507;

void write_key(Writer& out, const PacketKeys& keys) {
  fixed::write_padded(out, Bytes(keys.key).first(keys.key_length), keys.key.size());
}

// Returns whether the bytes behind the key are zeros.
bool read_key(Reader& in, CipherSuite suite, PacketKeys& keys) {
  keys.key_length = key_length(suite);
  const auto key = fixed::read_padded(in, keys.key_length, keys.key.size());
  if (key) std::ranges::copy(*key, keys.key.begin());
  return key.has_value();
}

// Returns whether these can be keys.
bool read_keys(Reader& in, PhaseKeys& keys) {
  keys.suite = static_cast<CipherSuite>(in.read_u16());
  if (!known(keys.suite)) return false;
  const bool key_fits = read_key(in, keys.suite, keys.packet);
  std::ranges::copy(in.read_bytes(keys.packet.iv.size()), keys.packet.iv.begin());
  const bool header_key_fits = read_key(in, keys.suite, keys.header);
  keys.generation = in.read_u32();
  keys.first_number = fixed::read_u48(in);
  return key_fits && header_key_fits;
}

bool mode_fits(const Grant& grant, std::uint8_t mode) {
  if (!is_lent_path(grant.connection)) {
    return mode == k_mode_numbered_by_gateway && grant.keys.path == PathId{0};
  }
  return mode == k_mode_own_recovery && grant.keys.path != PathId{0} &&
         grant.connection == mark_lent_path(lent_path_of(grant.connection));
}

bool is_of_a_request(StreamId stream) {
  return stream.value <= k_max_varint && stream.initiator() == Role::kClient &&
         stream.directionality() == Directionality::kBidirectional;
}

// A packet has a number of these keys, and begins the stream.
bool first_fits(const Grant& grant) {
  const Grant::First& first = grant.first;
  if (first.bytes == 0) return first.number == 0 && first.lifetime == Duration{};
  return !is_lent_path(grant.connection) && first.number >= grant.keys.first_number &&
         grant.first_offset == 0 && first.bytes <= grant.limit && first.bytes < grant.max_datagram;
}

bool in_range(const Grant& grant) {
  return fixed::may_return(grant.addresses) && is_of_a_request(grant.stream) &&
         grant.first_offset <= grant.limit && grant.limit < fixed::k_end_of_48_bits &&
         grant.max_datagram >= k_min_datagram && grant.max_datagram <= k_max_datagram &&
         grant.silence > Duration{} && grant.silence <= Grant::k_max_silence && first_fits(grant);
}

}  // namespace

std::vector<std::uint8_t> encode_grant(const Grant& grant) {
  std::vector<std::uint8_t> bytes(Grant::k_encoded_size);
  Writer out(bytes);
  out.write_u8(k_grant_version);
  fixed::write_u64(out, grant.connection);
  out.write_u32(grant.id);
  fixed::write_u64(out, grant.process);
  out.write_u8(is_lent_path(grant.connection) ? k_mode_own_recovery : k_mode_numbered_by_gateway);
  out.write_u16(static_cast<std::uint16_t>(grant.keys.path.value));
  out.write_u16(static_cast<std::uint16_t>(grant.keys.suite));
  write_key(out, grant.keys.packet);
  out.write_bytes(grant.keys.packet.iv);
  write_key(out, grant.keys.header);
  out.write_u32(static_cast<std::uint32_t>(grant.keys.generation));
  fixed::write_u48(out, grant.keys.first_number);
  fixed::write_addresses(out, grant.addresses);
  fixed::write_connection_id(out, grant.client_id);
  out.write_u8(grant.grease_fixed_bit ? k_grease_fixed_bit : 0);
  fixed::write_u64(out, grant.stream.value);
  fixed::write_u64(out, grant.first_offset);
  fixed::write_u64(out, grant.limit);
  out.write_u16(grant.max_datagram);
  out.write_u16(static_cast<std::uint16_t>(grant.silence / 1ms));
  fixed::write_u48(out, grant.first.number);
  out.write_u16(grant.first.bytes);
  fixed::write_duration(out, grant.first.lifetime);
  return bytes;
}

Result<Grant, GrantFault> decode_grant(Bytes bytes) {
  if (bytes.empty()) return GrantFault::kMalformed;
  if (bytes.front() != k_grant_version) return GrantFault::kUnknownVersion;
  if (bytes.size() != Grant::k_encoded_size) return GrantFault::kMalformed;
  Reader in(bytes.subspan(1));
  Grant grant;
  grant.connection = fixed::read_u64(in);
  grant.id = in.read_u32();
  grant.process = fixed::read_u64(in);
  const std::uint8_t mode = in.read_u8();
  grant.keys.path.value = in.read_u16();
  if (!mode_fits(grant, mode)) return GrantFault::kOutOfRange;
  const bool keys_fit = read_keys(in, grant.keys);
  grant.addresses = fixed::read_addresses(in);
  const auto id = fixed::read_connection_id(in);
  const std::uint8_t flags = in.read_u8();
  if (!keys_fit || !id || flags > k_grease_fixed_bit) {
    return GrantFault::kOutOfRange;
  }
  grant.client_id = *id;
  grant.grease_fixed_bit = flags == k_grease_fixed_bit;
  grant.stream.value = fixed::read_u64(in);
  grant.first_offset = fixed::read_u64(in);
  grant.limit = fixed::read_u64(in);
  grant.max_datagram = in.read_u16();
  grant.silence = std::chrono::milliseconds(in.read_u16());
  grant.first.number = fixed::read_u48(in);
  grant.first.bytes = in.read_u16();
  grant.first.lifetime = fixed::read_duration(in);
  if (!in_range(grant)) return GrantFault::kOutOfRange;
  return grant;
}

}  // namespace sheaf::quic
