#include "crypto/datagram.h"

#include <ngtcp2/ngtcp2_crypto.h>

#include <algorithm>

#include "crypto/ngtcp2_types.h"
#include "wire/packet_header.h"
#include "wire/transport_error.h"

namespace sheaf::quic {
namespace {

constexpr std::size_t k_max_parts = 16;

// Returns whether a packet fills the rest of the datagram, as Retry and Version Negotiation do,
// which have no length.
bool fills_datagram(Bytes packet) {
  ngtcp2_pkt_hd header;
  if (ngtcp2_pkt_decode_hd_long(&header, packet.data(), packet.size()) < 0) return false;
  return header.type == NGTCP2_PKT_RETRY || header.type == NGTCP2_PKT_VERSION_NEGOTIATION;
}

struct Walk {
  bool handshake = false;
  std::vector<Bytes> zero_rtt;
  std::size_t end = 0;  // end of the last long header packet
};

Walk walk_long_headers(Bytes datagram) {
  Walk walk;
  while (walk.end < datagram.size() && (datagram[walk.end] & k_long_header_bit) != 0) {
    const Bytes rest = datagram.subspan(walk.end);
    const auto header = decode_long_header(rest);
    if (!header) {
      // Garbage behind a packet is ignored, and hides what follows.
      walk.handshake |= fills_datagram(rest);
      walk.end = datagram.size();
      break;
    }
    if (header->type != LongPacketType::kZeroRtt) {
      walk.handshake = true;
    } else if (walk.zero_rtt.size() < k_max_parts) {
      walk.zero_rtt.push_back(rest.first(header->packet_length));
    }
    walk.end += header->packet_length;
  }
  return walk;
}

bool all_zero(Bytes bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t byte) { return byte == 0; });
}

}  // namespace

DatagramHeader peek_datagram(Bytes datagram, std::size_t short_id_length) {
  DatagramHeader header;
  if (datagram.empty()) return header;
  ngtcp2_version_cid ids{};
  const int result =
      ngtcp2_pkt_decode_version_cid(&ids, datagram.data(), datagram.size(), short_id_length);
  if (result != 0 && result != NGTCP2_ERR_VERSION_NEGOTIATION) return header;
  const bool is_long = (datagram[0] & k_long_header_bit) != 0;
  header.kind = result != 0 ? DatagramHeader::Kind::kUnsupportedVersion
                : is_long   ? DatagramHeader::Kind::kLong
                            : DatagramHeader::Kind::kShort;
  header.first_byte = datagram[0];
  header.version = ids.version;
  header.destination = {ids.dcid, ids.dcidlen};
  header.source = {ids.scid, ids.scidlen};
  return header;
}

bool DatagramHeader::may_open() const {
  if (kind != Kind::kLong) return kind == Kind::kUnsupportedVersion;
  // RFC 9000 §17.2, RFC 9369 §3.2: Initial and 0-RTT follow each other in both versions.
  const unsigned type = first_byte >> 4 & 3;
  const unsigned initial = version == k_version_2 ? 1 : 0;
  return type == initial || type == initial + 1;
}

std::optional<InitialHeader> accept_initial(Bytes datagram) {
  ngtcp2_pkt_hd header;
  if (ngtcp2_accept(&header, datagram.data(), datagram.size()) != 0) return std::nullopt;
  // A packet longer than its datagram would never reach the handshake.
  if (!decode_long_header(datagram)) return std::nullopt;
  return InitialHeader{.version = header.version,
                       .destination = from_ngtcp2(header.dcid),
                       .source = from_ngtcp2(header.scid),
                       .token = {header.token, header.token + header.tokenlen}};
}

DatagramParts split_datagram(MutableBytes datagram) {
  const Walk walk = walk_long_headers(datagram);
  DatagramParts parts{.handshake = walk.handshake, .packets = {}};
  for (const Bytes packet : walk.zero_rtt) parts.packets.emplace_back(packet.begin(), packet.end());
  const MutableBytes tail = datagram.subspan(walk.end);
  // Some stacks pad with zeros behind the long headers instead of with PADDING frames.
  if (!all_zero(tail)) {
    if (parts.packets.size() < k_max_parts) parts.packets.emplace_back(tail.begin(), tail.end());
    std::fill(tail.begin(), tail.end(), std::uint8_t{0});
  }
  return parts;
}

std::size_t short_packet_offset(Bytes datagram) {
  const std::size_t end = walk_long_headers(datagram).end;
  return all_zero(datagram.subspan(end)) ? datagram.size() : end;
}

std::size_t write_retry(MutableBytes out, std::uint32_t version, const ConnectionId& client_source,
                        const ConnectionId& retry_source, const ConnectionId& original_destination,
                        Bytes token) {
  const ngtcp2_cid destination = to_ngtcp2(client_source);
  const ngtcp2_cid source = to_ngtcp2(retry_source);
  const ngtcp2_cid original = to_ngtcp2(original_destination);
  return length_or_zero(ngtcp2_crypto_write_retry(out.data(), out.size(), version, &destination,
                                                  &source, &original, token.data(), token.size()));
}

std::size_t write_version_negotiation(MutableBytes out, std::uint8_t unused_random,
                                      Bytes client_source, Bytes client_destination) {
  // RFC 9000 §6.3: a reserved version exercises the clients' rule to ignore unknown versions.
  const std::uint32_t reserved = 0x0a0a0a0au | (unused_random & 0x0fu) * 0x10101010u;
  const std::uint32_t versions[] = {reserved, k_version_1, k_version_2};
  return length_or_zero(ngtcp2_pkt_write_version_negotiation(
      out.data(), out.size(), unused_random, client_source.data(), client_source.size(),
      client_destination.data(), client_destination.size(), versions, std::size(versions)));
}

std::size_t write_refusal(MutableBytes out, const RefusedInitial& refused) {
  const ngtcp2_cid destination = to_ngtcp2(refused.client_source);
  const ngtcp2_cid source = to_ngtcp2(refused.client_destination);
  return length_or_zero(ngtcp2_crypto_write_connection_close(
      out.data(), out.size(), refused.version, &destination, &source,
      static_cast<std::uint64_t>(refused.code), nullptr, 0));
}

}  // namespace sheaf::quic
