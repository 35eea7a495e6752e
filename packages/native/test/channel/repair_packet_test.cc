#include "channel/repair_packet.h"

#include <gtest/gtest.h>

#include "channel/messages.h"
#include "wire/hex.h"

namespace sheaf::quic {
namespace {

fec::NamedSet set_named(std::initializer_list<std::uint64_t> numbers) {
  fec::NamedSet set;
  for (const std::uint64_t number : numbers) EXPECT_TRUE(set.add(number));
  return set;
}

RepairStatus example_status() {
  RepairStatus status{.receivers = 1000, .sets = {}};
  status.sets.push_back({set_named({7, 8}), 2});
  status.sets.push_back({set_named({7, 40, 1000}), 255});
  return status;
}

std::vector<std::uint8_t> encoded(const RepairStatus& status) {
  std::vector<std::uint8_t> bytes(k_max_status_length);
  Writer out(bytes);
  write_status(out, status);
  bytes.resize(out.size());
  return bytes;
}

std::vector<std::uint8_t> example_repair() {
  std::vector<std::uint8_t> bytes(k_repair_kind_length + fec::k_max_set_bytes + 2);
  Writer out(bytes);
  write_repair_head(out, set_named({7, 8}), 0x102);
  bytes.resize(out.size());
  bytes.insert(bytes.end(), {0, 1, 0xaa});
  return bytes;
}

TEST(RepairPacket, HasKnownBytes) {
  EXPECT_EQ(example_repair(), from_hex("00 070101 0102 0001aa"));
  EXPECT_EQ(encoded(example_status()), from_hex("01 43e8 02 070101 02 07832043bf ff"));
}

TEST(RepairPacket, ComesBackAsItWas) {
  const auto bytes = example_repair();
  const auto message = read_repair_message(bytes);
  ASSERT_TRUE(message);
  const auto& repair = std::get<ChannelRepair>(*message);
  EXPECT_EQ(repair.set, set_named({7, 8}));
  EXPECT_EQ(repair.row, 0x102);
  EXPECT_TRUE(std::ranges::equal(repair.bytes, from_hex("0001aa")));
  const auto status = read_repair_message(encoded(example_status()));
  ASSERT_TRUE(status);
  EXPECT_EQ(encoded(std::get<RepairStatus>(*status)), encoded(example_status()));
}

TEST(RepairPacket, IsRefusedWhenCutOrLonger) {
  const auto repair = example_repair();
  for (std::size_t size = 0; size < repair.size(); ++size) {
    EXPECT_FALSE(read_repair_message(Bytes(repair).first(size))) << size;
  }
  auto status = encoded(example_status());
  for (std::size_t size = 0; size < status.size(); ++size) {
    EXPECT_FALSE(read_repair_message(Bytes(status).first(size))) << size;
  }
  status.push_back(0);
  EXPECT_FALSE(read_repair_message(status));
  for (const char* text : {"02 00", "01 00 09", "01 00 01 076000 01", "00 070100 0102 0001aa"}) {
    EXPECT_FALSE(read_repair_message(from_hex(text))) << text;
  }
}

TEST(RepairPacket, TheLargestStatusFits) {
  RepairStatus status{.receivers = k_max_varint, .sets = {}};
  for (std::uint64_t i = 0; i < RepairStatus::k_max_sets; ++i) {
    fec::NamedSet set;
    for (std::uint64_t j = 0; j < fec::k_max_set_size; ++j) {
      set.add(k_max_varint - 1000 * (i + 1) + j);
    }
    status.sets.push_back({set, 1});
  }
  EXPECT_LE(encoded(status).size(), k_max_status_length);
  EXPECT_TRUE(read_repair_message(encoded(status)));
  EXPECT_LE(k_max_status_length, k_min_channel_packet_size - k_channel_overhead);
}

TEST(RepairPacket, HasASecretAndAnIdOfItsOwn) {
  const ChannelOffer offer = example_offer();
  const TrafficSecret secret = repair_secret(offer.header);
  EXPECT_EQ(secret.length, offer.header.length);
  EXPECT_TRUE(std::ranges::equal(
      secret.view(), from_hex("8996d0a64b2290402512157b37de962a989f2b083f482734738aa6bba5c7aea6")));
  EXPECT_EQ(repair_id(k_test_channel).back(), k_test_channel.back() + 1);
}

}  // namespace
}  // namespace sheaf::quic
