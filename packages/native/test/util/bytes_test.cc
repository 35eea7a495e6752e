#include "util/bytes.h"

#include <gtest/gtest.h>

#include <vector>

namespace sheaf::quic {
namespace {

struct VarintExample {
  std::uint64_t value;
  std::vector<std::uint8_t> encoded;
};

// RFC 9000 §A.1, and the limits of every length.
const VarintExample k_varints[] = {
    {151288809941952652, {0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c}},
    {494878333, {0x9d, 0x7f, 0x3e, 0x7d}},
    {15293, {0x7b, 0xbd}},
    {37, {0x25}},
    {0, {0x00}},
    {63, {0x3f}},
    {64, {0x40, 0x40}},
    {16383, {0x7f, 0xff}},
    {16384, {0x80, 0x00, 0x40, 0x00}},
    {(1u << 30) - 1, {0xbf, 0xff, 0xff, 0xff}},
    {1u << 30, {0xc0, 0x00, 0x00, 0x00, 0x40, 0x00, 0x00, 0x00}},
    {k_max_varint, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}},
};

TEST(Bytes, ReadsVarints) {
  for (const auto& [value, encoded] : k_varints) {
    Reader reader{encoded};
    EXPECT_EQ(reader.read_varint(), value);
    EXPECT_TRUE(reader.ok());
    EXPECT_TRUE(reader.empty());
  }
}

TEST(Bytes, ReadsVarintsThatAreLongerThanNeeded) {
  const std::vector<std::uint8_t> encoded{0x40, 0x25};  // RFC 9000 §A.1
  Reader reader{encoded};
  EXPECT_EQ(reader.read_varint(), 37u);
}

TEST(Bytes, WritesVarints) {
  for (const auto& [value, encoded] : k_varints) {
    std::vector<std::uint8_t> buffer(8);
    Writer writer{buffer};
    writer.write_varint(value);
    buffer.resize(writer.size());
    EXPECT_EQ(buffer, encoded);
    EXPECT_EQ(varint_size(value), encoded.size());
  }
}

TEST(Bytes, WritesVarintsOfAChosenLength) {
  for (std::size_t length : {2u, 4u, 8u}) {
    std::vector<std::uint8_t> buffer(length);
    Writer writer{buffer};
    writer.write_varint(37, length);
    Reader reader{buffer};
    EXPECT_EQ(reader.read_varint(), 37u);
    EXPECT_TRUE(reader.empty());
  }
}

TEST(Bytes, FailsOnTruncatedVarints) {
  for (const auto& [value, encoded] : k_varints) {
    for (std::size_t length = 0; length < encoded.size(); ++length) {
      Reader reader{Bytes(encoded).first(length)};
      EXPECT_EQ(reader.read_varint(), 0u);
      EXPECT_FALSE(reader.ok());
    }
  }
}

TEST(Bytes, ReadsAndWritesFixedIntegersInNetworkOrder) {
  std::vector<std::uint8_t> buffer(7);
  Writer writer{buffer};
  writer.write_u8(0x01);
  writer.write_u16(0x0203);
  writer.write_u32(0x04050607);
  EXPECT_EQ(buffer, (std::vector<std::uint8_t>{1, 2, 3, 4, 5, 6, 7}));
  Reader reader{buffer};
  EXPECT_EQ(reader.read_u8(), 0x01);
  EXPECT_EQ(reader.read_u16(), 0x0203);
  EXPECT_EQ(reader.read_u32(), 0x04050607u);
  EXPECT_TRUE(reader.ok());
}

TEST(Bytes, TheFirstFailureSticks) {
  const std::vector<std::uint8_t> buffer{1, 2, 3};
  Reader reader{buffer};
  EXPECT_TRUE(reader.read_bytes(4).empty());
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.read_u8(), 0);
  EXPECT_EQ(reader.read_u16(), 0);
  EXPECT_EQ(reader.read_u32(), 0u);
  EXPECT_FALSE(reader.ok());
}

TEST(Bytes, HugeLengthsDoNotWrap) {
  const std::vector<std::uint8_t> buffer{1, 2, 3};
  Reader reader{buffer};
  EXPECT_TRUE(reader.read_bytes(UINT64_MAX).empty());
  EXPECT_FALSE(reader.ok());
}

TEST(Bytes, WriterGivesBackRoomAtTheEnd) {
  std::vector<std::uint8_t> buffer(10);
  Writer writer{buffer};
  writer.truncate(4);
  writer.write_bytes(std::vector<std::uint8_t>{1, 2});
  EXPECT_EQ(writer.remaining(), 4u);
  EXPECT_EQ(writer.written().size(), 2u);
}

}  // namespace
}  // namespace sheaf::quic
