#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <string_view>
#include <vector>

#include "util/address.h"
#include "util/bytes.h"
#include "util/time.h"
#include "wire/types.h"

namespace sheaf::quic {

// A datagram as seen by the host that sends or receives it
struct CapturedDatagram {
  enum class Direction : std::uint32_t { kInbound = 1, kOutbound = 2 };  // epb_flags

  Time when{};
  Direction direction = Direction::kInbound;
  AddressPair path;
  Ecn ecn = Ecn::kNotEct;
  Bytes payload;
};

// Writes what a host sends and receives as a pcapng file (draft-ietf-opsawg-pcapng). It includes
// the TLS secrets, so that Wireshark can decrypt it. Each pair of addresses is an interface. The
// datagrams get IP and UDP headers. Times are those of the simulation, which begins in 1970.
class Capture {
 public:
  // `out` outlives the capture, and knows whether everything was written.
  explicit Capture(std::ostream& out);

  // Adds lines of the TLS key log, before the datagrams that they decrypt. Take them from both
  // sides, since a client learns its secrets only from the datagram that they decrypt.
  void add_secrets(std::string_view lines);
  void add(const CapturedDatagram& datagram);

 private:
  // A block is built in `block_`, then written with its length.
  void begin_block(std::uint32_t type);
  void end_block();
  void put_u8(std::uint8_t value) { block_.push_back(value); }
  void put_u16(std::uint16_t value);
  void put_u32(std::uint32_t value);
  void put_bytes(Bytes bytes);
  void put_option(std::uint16_t code, Bytes value);
  void pad();

  std::uint32_t interface_of(const AddressPair& path);

  std::ostream& out_;
  std::vector<std::uint8_t> block_;
  std::vector<std::uint8_t> packet_;
  std::map<AddressPair, std::uint32_t> interfaces_;
};

}  // namespace sheaf::quic
