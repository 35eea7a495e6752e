#include "tunnel/relay_header.h"

#include <gtest/gtest.h>

#include <vector>

namespace sheaf::tunnel {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes of_name(std::string_view name, std::uint16_t port) {
  Bytes bytes{0, 0, 0, 3, static_cast<std::uint8_t>(name.size())};
  bytes.insert(bytes.end(), name.begin(), name.end());
  bytes.push_back(static_cast<std::uint8_t>(port >> 8));
  bytes.push_back(static_cast<std::uint8_t>(port));
  return bytes;
}

const Bytes k_four{0, 0, 0, 1, 192, 0, 2, 7, 1, 187};
const Bytes k_six{0, 0, 0, 4, 0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0, 53};

TEST(RelayHeaders, NameATargetInEachForm) {
  const auto expect = [](Bytes header, std::string_view host, std::uint16_t port) {
    const std::size_t size = header.size();
    header.push_back('x');
    const auto read = read_relay_header(header);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->size, size);
    EXPECT_EQ(read->host_text(), host);
    EXPECT_EQ(read->port, port);
  };
  expect(k_four, "192.0.2.7", 443);
  expect(k_six, "2001:db8:0:0:0:0:0:7", 53);
  expect(of_name("www.example.org", 8443), "www.example.org", 8443);
  expect(of_name(std::string(255, 'a'), 1), std::string(255, 'a'), 1);
}

TEST(RelayHeaders, MayStandAloneAndAreRefusedAtEachShorterLength) {
  for (const Bytes& header : {k_four, k_six, of_name("a.example", 443)}) {
    EXPECT_TRUE(read_relay_header(header));
    for (std::size_t size = 0; size < header.size(); ++size) {
      const auto read = read_relay_header(quic::Bytes(header).first(size));
      ASSERT_FALSE(read);
      EXPECT_EQ(read.error(), RelayHeaderError::kMalformed);
    }
  }
}

TEST(RelayHeaders, AreRefusedWhereSomethingIsWrong) {
  const auto error = [](Bytes header, std::size_t at, std::uint8_t value) {
    header[at] = value;
    const auto read = read_relay_header(header);
    EXPECT_FALSE(read);
    return read ? RelayHeaderError{} : read.error();
  };
  EXPECT_EQ(error(k_four, 2, 1), RelayHeaderError::kFragment);
  EXPECT_EQ(error(k_four, 2, 0x80), RelayHeaderError::kFragment);
  EXPECT_EQ(error(k_four, 0, 1), RelayHeaderError::kMalformed);
  EXPECT_EQ(error(k_four, 1, 1), RelayHeaderError::kMalformed);
  EXPECT_EQ(error(k_four, 3, 2), RelayHeaderError::kMalformed);
  for (const std::uint8_t letter : Bytes{'/', ' ', '%', ':', '\r', '\0', 0xe4}) {
    EXPECT_EQ(error(of_name("a.example", 443), 6, letter), RelayHeaderError::kMalformed);
  }
  EXPECT_FALSE(read_relay_header(of_name("", 443)));
  EXPECT_FALSE(read_relay_header(of_name("a.example", 0)));
}

}  // namespace
}  // namespace sheaf::tunnel
