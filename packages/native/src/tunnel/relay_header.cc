#include "tunnel/relay_header.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace sheaf::tunnel {

namespace {

// RSV, FRAG and ATYP
constexpr std::size_t k_fixed_bytes = 4;
constexpr std::size_t k_port_bytes = 2;

// Letters, digits, `-`, `_` and `.`: what may stand in a name of DNS, and needs no care elsewhere.
bool is_name(quic::Bytes text) {
  return !text.empty() && std::ranges::all_of(text, [](std::uint8_t each) {
    return (each >= '0' && each <= '9') || (each >= 'a' && each <= 'z') ||
           (each >= 'A' && each <= 'Z') || each == '-' || each == '_' || each == '.';
  });
}

// Returns the bytes of the host, behind those of its length; nothing for an unknown type.
std::optional<quic::Bytes> host_of(quic::Bytes datagram, RelayHeader::Host type) {
  const quic::Bytes rest = datagram.subspan(k_fixed_bytes);
  const auto take = [](quic::Bytes from, std::size_t size) -> std::optional<quic::Bytes> {
    if (from.size() < size) return std::nullopt;
    return from.first(size);
  };
  switch (type) {
    case RelayHeader::Host::kIpv4:
      return take(rest, 4);
    case RelayHeader::Host::kIpv6:
      return take(rest, 16);
    case RelayHeader::Host::kName:
      return rest.empty() ? std::nullopt : take(rest.subspan(1), rest[0]);
  }
  return std::nullopt;
}

}  // namespace

quic::Result<RelayHeader, RelayHeaderError> read_relay_header(quic::Bytes datagram) {
  if (datagram.size() < k_fixed_bytes || datagram[0] != 0 || datagram[1] != 0) {
    return RelayHeaderError::kMalformed;
  }
  if (datagram[2] != 0) return RelayHeaderError::kFragment;
  RelayHeader header;
  header.type = static_cast<RelayHeader::Host>(datagram[3]);
  const auto host = host_of(datagram, header.type);
  if (!host) return RelayHeaderError::kMalformed;
  if (header.type == RelayHeader::Host::kName && !is_name(*host)) {
    return RelayHeaderError::kMalformed;
  }
  header.host = *host;
  const auto behind = static_cast<std::size_t>(host->data() - datagram.data()) + host->size();
  if (datagram.size() < behind + k_port_bytes) return RelayHeaderError::kMalformed;
  header.port = static_cast<std::uint16_t>(datagram[behind] << 8 | datagram[behind + 1]);
  if (header.port == 0) return RelayHeaderError::kMalformed;
  header.size = behind + k_port_bytes;
  return header;
}

std::string RelayHeader::host_text() const {
  if (type == Host::kName) return {host.begin(), host.end()};
  const bool six = type == Host::kIpv6;
  std::string text;
  for (std::size_t at = 0; at < host.size(); at += six ? 2 : 1) {
    std::array<char, 8> digits{};
    const int value = six ? host[at] << 8 | host[at + 1] : host[at];
    const auto end =
        std::to_chars(digits.data(), digits.data() + digits.size(), value, six ? 16 : 10).ptr;
    if (at > 0) text += six ? ':' : '.';
    text.append(digits.data(), end);
  }
  return text;
}

}  // namespace sheaf::tunnel
