#include "channel/packet_ring.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sheaf::quic {
namespace {

constexpr Time k_then{1s};

void keep(PacketRing& ring, PacketNumber number, std::size_t length) {
  std::ranges::fill(ring.room(number).first(length), static_cast<std::uint8_t>(number));
  ring.keep(number, length, k_then + 1ms * static_cast<int>(number));
}

TEST(PacketRing, GivesBackWhatItKeeps) {
  PacketRing ring(100, 8);
  keep(ring, 3, 60);
  EXPECT_EQ(ring.find(3).size(), 60u);
  EXPECT_EQ(ring.find(3)[59], 3);
  EXPECT_EQ(ring.kept_at(3), k_then + 3ms);
  EXPECT_TRUE(ring.find(2).empty());
  EXPECT_TRUE(ring.find(4).empty());
  EXPECT_EQ(ring.end(), 4u);
}

TEST(PacketRing, ForgetsWhatIsOutOfReach) {
  PacketRing ring(100, 8);
  for (PacketNumber number = 0; number < 20; ++number) keep(ring, number, 50);
  EXPECT_EQ(ring.oldest(), 12u);
  EXPECT_FALSE(ring.contains(11));
  EXPECT_TRUE(ring.room(11).empty());
  EXPECT_TRUE(ring.contains(12));
  keep(ring, 1'000'000, 50);
  EXPECT_EQ(ring.oldest(), 1'000'000u - 7);
  EXPECT_FALSE(ring.contains(999'999));
  EXPECT_EQ(ring.find(1'000'000).size(), 50u);
}

TEST(PacketRing, ForgetsWhatItIsTold) {
  PacketRing ring(100, 8);
  for (PacketNumber number = 0; number < 5; ++number) keep(ring, number, 50);
  ring.forget_before(3);
  EXPECT_FALSE(ring.contains(2));
  EXPECT_TRUE(ring.contains(3));
  ring.forget_before(2);
  EXPECT_EQ(ring.oldest(), 3u);
  ring.forget_before(100);
  EXPECT_EQ(ring.oldest(), 100u);
  keep(ring, 100, 10);
  EXPECT_EQ(ring.find(100).size(), 10u);
  // A slot that was used before holds no packet of a number that it stands for now.
  EXPECT_FALSE(ring.contains(104));
}

TEST(PacketRing, PacketsOfFullSizeLieSideBySide) {
  PacketRing ring(100, 8);
  for (PacketNumber number = 0; number < 6; ++number) keep(ring, number, number == 3 ? 40 : 100);
  const Bytes run = ring.side_by_side(0, 8);
  ASSERT_EQ(run.size(), 340u);
  EXPECT_EQ(run[299], 2);
  EXPECT_EQ(run[339], 3);
  EXPECT_EQ(ring.side_by_side(0, 2).size(), 200u);
  EXPECT_EQ(ring.side_by_side(4, 8).size(), 200u);  // there is no packet 6
  for (PacketNumber number = 6; number < 12; ++number) keep(ring, number, 100);
  EXPECT_EQ(ring.side_by_side(6, 8).size(), 200u);  // 8 begins at the front again
  EXPECT_EQ(ring.side_by_side(8, 8).size(), 400u);
}

}  // namespace
}  // namespace sheaf::quic
