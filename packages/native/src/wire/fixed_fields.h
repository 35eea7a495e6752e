#pragma once

#include <algorithm>
#include <array>
#include <optional>

#include "util/address.h"
#include "util/bytes.h"
#include "util/one_host.h"
#include "util/time.h"
#include "wire/types.h"

// Fields of fixed length that grants, run messages and messages about channels share. Integers are
// big-endian.
namespace sheaf::quic::fixed {

// Offsets and packet numbers have 6 bytes.
inline constexpr std::uint64_t k_end_of_48_bits = std::uint64_t{1} << 48;

// RFC 4291 §2.5.5.2
inline constexpr std::array<std::uint8_t, 12> k_mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

inline void write_u48(Writer& out, std::uint64_t value) {
  out.write_u16(static_cast<std::uint16_t>(value >> 32));
  out.write_u32(static_cast<std::uint32_t>(value));
}

inline std::uint64_t read_u48(Reader& in) {
  const std::uint64_t high = in.read_u16();
  return high << 32 | in.read_u32();
}

inline void write_u64(Writer& out, std::uint64_t value) {
  out.write_u32(static_cast<std::uint32_t>(value >> 32));
  out.write_u32(static_cast<std::uint32_t>(value));
}

inline std::uint64_t read_u64(Reader& in) {
  const std::uint64_t high = in.read_u32();
  return high << 32 | in.read_u32();
}

// Times up to about a second have 2 bytes. They are rounded down.
inline constexpr Duration k_duration_unit = 16us;
inline constexpr Duration k_max_duration = k_duration_unit * 0xffff;

inline void write_duration(Writer& out, Duration duration) {
  const Duration bounded = std::clamp(duration, Duration{}, k_max_duration);
  out.write_u16(static_cast<std::uint16_t>(bounded / k_duration_unit));
}

inline Duration read_duration(Reader& in) { return k_duration_unit * in.read_u16(); }

// Writes bytes that take a field of `length`, with zeros behind them.
inline void write_padded(Writer& out, Bytes bytes, std::size_t length) {
  out.write_bytes(bytes);
  for (std::size_t i = bytes.size(); i < length; ++i) out.write_u8(0);
}

// Reads the first `used` bytes of a field. Returns nothing when the others are not zero, or the
// field is cut.
inline std::optional<Bytes> read_padded(Reader& in, std::size_t used, std::size_t length) {
  const Bytes field = in.read_bytes(length);
  if (!in.ok() || used > length) return std::nullopt;
  const Bytes rest = field.subspan(used);
  if (std::ranges::any_of(rest, [](std::uint8_t byte) { return byte != 0; })) return std::nullopt;
  return field.first(used);
}

// An IPv4 address has the form that IPv6 maps it to, so that all addresses have one length. The
// scope of a link-local address means nothing to another host, and is left out.
inline void write_address(Writer& out, const Address& address) {
  if (address.family == Address::Family::kIpv4) {
    out.write_bytes(k_mapped);
    out.write_bytes(Bytes(address.ip).first(4));
  } else {
    out.write_bytes(address.ip);
  }
  out.write_u16(address.port);
}

inline Address read_address(Reader& in) {
  Address address;
  const Bytes ip = in.read_bytes(address.ip.size());
  address.port = in.read_u16();
  if (!in.ok()) return {};
  if (std::equal(k_mapped.begin(), k_mapped.end(), ip.begin())) {
    address.family = Address::Family::kIpv4;
    std::ranges::copy(ip.last(4), address.ip.begin());
  } else {
    address.family = Address::Family::kIpv6;
    std::ranges::copy(ip, address.ip.begin());
  }
  return address;
}

inline void write_addresses(Writer& out, const AddressPair& pair) {
  write_address(out, pair.local);
  write_address(out, pair.remote);
}

inline AddressPair read_addresses(Reader& in) {
  const Address local = read_address(in);
  return {local, read_address(in)};
}

// Whether packets may go from the first address to the second: both are of one kind, and each
// leads to one host.
inline bool may_return(const AddressPair& pair) {
  return pair.local.family == pair.remote.family && leads_to_one_host(pair.local) &&
         leads_to_one_host(pair.remote) && pair.local.port != 0 && pair.remote.port != 0;
}

inline void write_connection_id(Writer& out, const ConnectionId& id) {
  out.write_u8(id.length);
  write_padded(out, id.view(), ConnectionId::k_max_length);
}

// Returns nothing for an id that is too long or not followed by zeros.
inline std::optional<ConnectionId> read_connection_id(Reader& in) {
  const std::uint8_t length = in.read_u8();
  const auto bytes = read_padded(in, length, ConnectionId::k_max_length);
  return bytes ? std::optional(ConnectionId(*bytes)) : std::nullopt;
}

}  // namespace sheaf::quic::fixed
