#include "sim/capture.h"

#include <array>
#include <ostream>
#include <string>

#include "sim/ip_packet.h"

namespace sheaf::quic {

namespace {

// Block types and options of draft-ietf-opsawg-pcapng §4
constexpr std::uint32_t k_section_header = 0x0a0d'0d0a;
constexpr std::uint32_t k_interface_description = 1;
constexpr std::uint32_t k_enhanced_packet = 6;
constexpr std::uint32_t k_decryption_secrets = 10;
constexpr std::uint32_t k_byte_order_magic = 0x1a2b'3c4d;
constexpr std::uint32_t k_tls_key_log = 0x544c'534b;
constexpr std::uint16_t k_end_of_options = 0;
constexpr std::uint16_t k_application = 4;
constexpr std::uint16_t k_interface_name = 2;
constexpr std::uint16_t k_time_resolution = 9;
constexpr std::uint16_t k_packet_flags = 2;
constexpr std::uint16_t k_link_type_raw = 101;  // begins with the IP header

Bytes bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace

Capture::Capture(std::ostream& out) : out_(out) {
  begin_block(k_section_header);
  put_u32(k_byte_order_magic);
  put_u16(1);  // version 1.0
  put_u16(0);
  put_u32(UINT32_MAX);  // length of the section: unspecified
  put_u32(UINT32_MAX);
  put_option(k_application, bytes_of("sheaf"));
  put_option(k_end_of_options, {});
  end_block();
}

void Capture::add_secrets(std::string_view lines) {
  std::string text(lines);
  if (!text.ends_with('\n')) text += '\n';
  begin_block(k_decryption_secrets);
  put_u32(k_tls_key_log);
  put_u32(static_cast<std::uint32_t>(text.size()));
  put_bytes(bytes_of(text));
  pad();
  end_block();
}

void Capture::add(const CapturedDatagram& datagram) {
  const std::uint32_t interface = interface_of(datagram.path);
  const bool is_outbound = datagram.direction == CapturedDatagram::Direction::kOutbound;
  const AddressPair& path = datagram.path;
  write_ip_packet({.source = is_outbound ? path.local : path.remote,
                   .destination = is_outbound ? path.remote : path.local,
                   .ecn = datagram.ecn},
                  datagram.payload, packet_);
  const std::uint64_t time = to_nanoseconds(datagram.when);
  begin_block(k_enhanced_packet);
  put_u32(interface);
  put_u32(static_cast<std::uint32_t>(time >> 32));
  put_u32(static_cast<std::uint32_t>(time));
  put_u32(static_cast<std::uint32_t>(packet_.size()));
  put_u32(static_cast<std::uint32_t>(packet_.size()));
  put_bytes(packet_);
  pad();
  const auto flags = static_cast<std::uint8_t>(datagram.direction);
  put_option(k_packet_flags, std::array<std::uint8_t, 4>{flags});
  put_option(k_end_of_options, {});
  end_block();
}

std::uint32_t Capture::interface_of(const AddressPair& path) {
  const auto number = static_cast<std::uint32_t>(interfaces_.size());
  const auto [entry, is_new] = interfaces_.try_emplace(path, number);
  if (!is_new) return entry->second;
  begin_block(k_interface_description);
  put_u16(k_link_type_raw);
  put_u16(0);
  put_u32(0);  // no limit on a packet's length
  put_option(k_interface_name, bytes_of(to_string(path.local) + " " + to_string(path.remote)));
  put_option(k_time_resolution, std::array<std::uint8_t, 1>{9});  // nanoseconds
  put_option(k_end_of_options, {});
  end_block();
  return number;
}

// --- blocks, in little-endian order -------------------------------------------------------------

void Capture::begin_block(std::uint32_t type) {
  block_.clear();
  put_u32(type);
  put_u32(0);  // length, known at the end
}

void Capture::end_block() {
  const auto length = static_cast<std::uint32_t>(block_.size() + 4);
  for (int i = 0; i < 4; ++i) block_[4 + i] = static_cast<std::uint8_t>(length >> 8 * i);
  put_u32(length);
  out_.write(reinterpret_cast<const char*>(block_.data()),
             static_cast<std::streamsize>(block_.size()));
}

void Capture::put_u16(std::uint16_t value) {
  put_u8(static_cast<std::uint8_t>(value));
  put_u8(static_cast<std::uint8_t>(value >> 8));
}

void Capture::put_u32(std::uint32_t value) {
  put_u16(static_cast<std::uint16_t>(value));
  put_u16(static_cast<std::uint16_t>(value >> 16));
}

void Capture::put_bytes(Bytes bytes) { block_.insert(block_.end(), bytes.begin(), bytes.end()); }

void Capture::put_option(std::uint16_t code, Bytes value) {
  put_u16(code);
  put_u16(static_cast<std::uint16_t>(value.size()));
  put_bytes(value);
  pad();
}

void Capture::pad() { block_.resize((block_.size() + 3) / 4 * 4); }

}  // namespace sheaf::quic
