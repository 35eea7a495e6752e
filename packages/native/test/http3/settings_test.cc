#include "http3/settings.h"

#include <gtest/gtest.h>

#include "http3/byte_list.h"

namespace sheaf::http3 {
namespace {

TEST(Settings, GoldenBytesAsChromiumNeedsThem) {
  Settings settings;
  settings.qpack_max_table_capacity = 4096;
  settings.qpack_blocked_streams = 16;
  settings.max_field_section_size = 65536;
  settings.enable_connect_protocol = true;
  settings.datagrams = true;
  settings.webtransport = {.draft02 = true,
                           .max_sessions_draft07 = 256,
                           .max_sessions_draft13 = 256,
                           .enabled_draft15 = 1,
                           .flow_control = false};
  EXPECT_EQ(
      encode_settings(settings, 0),
      bytes({0x01, 0x50, 0x00, 0x07, 0x10, 0x06, 0x80, 0x01, 0x00, 0x00, 0x08, 0x01, 0x33, 0x01,
             0xab, 0x60, 0x37, 0x42, 0x01, 0xc0, 0x00, 0x00, 0x00, 0xc6, 0x71, 0x70, 0x6a, 0x41,
             0x00, 0x94, 0xe9, 0xcd, 0x29, 0x41, 0x00, 0xac, 0x7c, 0xf0, 0x00, 0x01, 0x21, 0x00}));
}

TEST(Settings, RoundTrip) {
  Settings settings;
  settings.qpack_max_table_capacity = 100;
  settings.datagrams = true;
  for (std::uint64_t grease = 0; grease < 1000; grease += 7) {
    const auto decoded = decode_settings(encode_settings(settings, grease * 0x9e3779b97f4a7c15));
    ASSERT_TRUE(decoded);
    EXPECT_EQ(decoded->qpack_max_table_capacity, 100u);
    EXPECT_TRUE(decoded->datagrams);
    EXPECT_FALSE(decoded->webtransport.any());
    EXPECT_EQ(decoded->max_field_section_size, quic::k_max_varint);
  }
}

TEST(Settings, TruncatedAtEveryLengthFailsOrIsAWholeNumberOfSettings) {
  const auto payload = bytes({0x01, 0x50, 0x00, 0x33, 0x01, 0xab, 0x60, 0x37, 0x42, 0x01});
  for (std::size_t length = 0; length <= payload.size(); ++length) {
    const bool whole = length == 0 || length == 3 || length == 5 || length == 10;
    EXPECT_EQ(static_cast<bool>(decode_settings(quic::Bytes(payload).first(length))), whole)
        << length;
  }
}

TEST(Settings, EveryWebTransportDraftIsRecognised) {
  for (const auto& payload :
       {bytes({0xab, 0x60, 0x37, 0x42, 0x01}), bytes({0xc0, 0, 0, 0, 0xc6, 0x71, 0x70, 0x6a, 0x05}),
        bytes({0x94, 0xe9, 0xcd, 0x29, 0x01}), bytes({0xac, 0x7c, 0xf0, 0x00, 0x01})}) {
    const auto decoded = decode_settings(payload);
    ASSERT_TRUE(decoded);
    EXPECT_TRUE(decoded->webtransport.any());
  }
  EXPECT_FALSE(decode_settings(bytes({0xab, 0x60, 0x37, 0x42, 0x00}))->webtransport.any());
}

TEST(Settings, FlowControlOfWebTransportIsDeclaredByAnyOfItsLimits) {
  for (const int identifier : {0x61, 0x64, 0x65}) {
    EXPECT_TRUE(decode_settings(bytes({0x6b, identifier, 0x01}))->webtransport.flow_control);
    EXPECT_FALSE(decode_settings(bytes({0x6b, identifier, 0x00}))->webtransport.flow_control);
  }
}

}  // namespace
}  // namespace sheaf::http3
