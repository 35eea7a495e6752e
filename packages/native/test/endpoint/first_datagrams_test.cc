#include "endpoint/first_datagrams.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace sheaf::quic {
namespace {

TEST(FirstDatagrams, HaveZerosBehindTheirPacketsUntilSomethingComesBack) {
  std::vector<std::uint8_t> room(1452, 0xff);
  FirstDatagrams datagrams(1350);
  EXPECT_EQ(datagrams.grow(room, 1200), 1350);
  EXPECT_EQ(room[1199], 0xff);
  EXPECT_TRUE(std::all_of(room.begin() + 1200, room.begin() + 1350,
                          [](std::uint8_t byte) { return byte == 0; }));
  EXPECT_EQ(room[1350], 0xff);
  EXPECT_EQ(datagrams.grow(room, 80), 80) << "no Initial packet";
  EXPECT_EQ(datagrams.grow(room, 1400), 1400);
  EXPECT_EQ(datagrams.grow(MutableBytes(room).first(1250), 1200), 1250);
  datagrams.on_received();
  EXPECT_EQ(datagrams.grow(room, 1200), 1200);
  EXPECT_EQ(datagrams.carried(), 1350);
}

TEST(FirstDatagrams, FallBackWhenOneMayBeLost) {
  std::vector<std::uint8_t> room(1452);
  FirstDatagrams silent(1350);
  silent.on_timeout();
  EXPECT_EQ(silent.grow(room, 1200), 1200);
  EXPECT_LT(silent.carried(), 1200);
  FirstDatagrams forged(1350);
  forged.on_received();
  forged.on_timeout();
  EXPECT_LT(forged.carried(), 1200);
}

TEST(FirstDatagrams, OrdinaryOnesStayAsTheyAre) {
  std::vector<std::uint8_t> room(1452);
  EXPECT_EQ(FirstDatagrams(1200).grow(room, 1200), 1200);
}

}  // namespace
}  // namespace sheaf::quic
