#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "util/bytes.h"

namespace sheaf::quic {

struct PcapngPacket {
  std::uint32_t interface = 0;
  std::uint64_t nanoseconds = 0;
  std::uint32_t flags = 0;
  std::vector<std::uint8_t> bytes;
};

struct PcapngFile {
  std::vector<std::string> interfaces;  // names
  std::string secrets;
  std::vector<PcapngPacket> packets;
};

// Reads the blocks that Capture writes, on a little-endian machine, and checks their form.
class PcapngReader {
 public:
  explicit PcapngReader(const std::string& text) : rest_(text) {}

  PcapngFile read() {
    while (!rest_.empty()) read_block();
    return std::move(file_);
  }

 private:
  template <typename Value>
  Value take(std::string& from) {
    Value value{};
    EXPECT_GE(from.size(), sizeof value);
    if (from.size() < sizeof value) return value;
    std::memcpy(&value, from.data(), sizeof value);
    from.erase(0, sizeof value);
    return value;
  }
  // The length includes the padding.
  std::string take_bytes(std::string& from, std::size_t length) {
    std::string bytes = from.substr(0, length);
    EXPECT_EQ(bytes.size(), length);
    from.erase(0, (length + 3) / 4 * 4);
    return bytes;
  }
  // Returns the value of an option, or an empty one when it is missing.
  std::string find_option(std::string options, std::uint16_t wanted) {
    std::string found;
    while (!options.empty()) {
      const auto code = take<std::uint16_t>(options);
      const std::string value = take_bytes(options, take<std::uint16_t>(options));
      if (code == 0) break;
      if (code == wanted) found = value;
    }
    EXPECT_TRUE(options.empty());
    return found;
  }

  void read_block() {
    const auto type = take<std::uint32_t>(rest_);
    const auto length = take<std::uint32_t>(rest_);
    ASSERT_EQ(length % 4, 0u);
    ASSERT_GE(length, 12u);
    ASSERT_GE(rest_.size() + 8, length);
    std::string body = rest_.substr(0, length - 12);
    rest_.erase(0, length - 12);
    EXPECT_EQ(take<std::uint32_t>(rest_), length);
    if (type == 0x0a0d0d0a) {
      EXPECT_EQ(take<std::uint32_t>(body), 0x1a2b3c4du);
    } else if (type == 1) {
      EXPECT_EQ(take<std::uint32_t>(body), 101u);
      EXPECT_EQ(take<std::uint32_t>(body), 0u);
      EXPECT_EQ(find_option(body, 9), "\x09");
      file_.interfaces.push_back(find_option(body, 2));
    } else if (type == 10) {
      EXPECT_EQ(take<std::uint32_t>(body), 0x544c534bu);
      file_.secrets += take_bytes(body, take<std::uint32_t>(body));
    } else if (type == 6) {
      read_packet(std::move(body));
    } else {
      ADD_FAILURE() << "block of type " << type;
    }
  }
  void read_packet(std::string body) {
    PcapngPacket packet;
    packet.interface = take<std::uint32_t>(body);
    EXPECT_LT(packet.interface, file_.interfaces.size());
    packet.nanoseconds = std::uint64_t{take<std::uint32_t>(body)} << 32;
    packet.nanoseconds |= take<std::uint32_t>(body);
    const auto captured = take<std::uint32_t>(body);
    EXPECT_EQ(take<std::uint32_t>(body), captured);
    const std::string bytes = take_bytes(body, captured);
    packet.bytes.assign(bytes.begin(), bytes.end());
    std::string flags = find_option(body, 2);
    packet.flags = take<std::uint32_t>(flags);
    file_.packets.push_back(std::move(packet));
  }

  std::string rest_;
  PcapngFile file_;
};

}  // namespace sheaf::quic
