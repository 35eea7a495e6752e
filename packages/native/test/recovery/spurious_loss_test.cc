#include "recovery/spurious_loss.h"

#include <gtest/gtest.h>

#include <numeric>

namespace sheaf::quic {
namespace {

using Numbers = std::vector<PacketNumber>;

Numbers numbers_from(PacketNumber first, std::size_t count) {
  Numbers numbers(count);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

Numbers take(SpuriousLoss& losses, PacketNumber first, PacketNumber last) {
  Numbers visited;
  losses.take(first, last, [&](PacketNumber number) { visited.push_back(number); });
  return visited;
}

// A peer may repeat a range in a hundred frames of one datagram.
TEST(SpuriousLoss, VisitsEachLostPacketOnce) {
  SpuriousLoss losses;
  losses.on_lost(numbers_from(0, 5000));
  EXPECT_EQ(take(losses, 1, 4999), numbers_from(1, 4999));
  for (int frame = 0; frame < 100; ++frame) EXPECT_TRUE(take(losses, 1, 4999).empty());
  EXPECT_EQ(take(losses, 0, 10'000), Numbers{0});
  EXPECT_TRUE(losses.empty());
}

TEST(SpuriousLoss, TakesRangesFromTheFrontTheMiddleAndTheEnd) {
  SpuriousLoss losses;
  losses.on_lost(numbers_from(10, 20));
  EXPECT_EQ(take(losses, 0, 12), numbers_from(10, 3));
  EXPECT_EQ(take(losses, 20, 22), numbers_from(20, 3));
  EXPECT_EQ(take(losses, 28, 99), numbers_from(28, 2));
  Numbers rest = numbers_from(13, 7);
  const Numbers behind = numbers_from(23, 5);
  rest.insert(rest.end(), behind.begin(), behind.end());
  EXPECT_EQ(take(losses, 0, 99), rest);
}

// Senders lose packets independently of each other, so later losses may have smaller numbers.
TEST(SpuriousLoss, KeepsTheOrderOfNumbers) {
  SpuriousLoss losses;
  losses.on_lost(Numbers{5, 9, 20});
  losses.on_lost(Numbers{});
  losses.on_lost(Numbers{2, 7, 21});
  losses.on_lost(Numbers{1, 3});
  losses.forget_before(3);
  EXPECT_EQ(take(losses, 0, 99), (Numbers{3, 5, 7, 9, 20, 21}));
}

}  // namespace
}  // namespace sheaf::quic
