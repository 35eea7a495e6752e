#include "channel_node/copy_share.h"

#include <gtest/gtest.h>

#include <array>
#include <utility>

namespace sheaf::channel_node {
namespace {

// Two threads, whose receivers need copies
class CopySharesTest : public testing::Test {
 protected:
  using Got = std::array<std::size_t, 2>;

  void need(std::size_t one, std::size_t other) {
    shares[0].needing = one;
    shares[1].needing = other;
  }
  Got divide(std::size_t copies) {
    const std::array<CopyShare*, 2> all{&shares[0], &shares[1]};
    CopyShare::divide(all, copies);
    return {shares[0].copies, shares[1].copies};
  }
  // Divides so many copies again and again, and both take what they get. Returns how many in all.
  Got divide_often(std::size_t copies, int times) {
    Got got{};
    for (int i = 0; i < times; ++i) {
      divide(copies);
      for (std::size_t at : {0u, 1u}) got[at] += std::exchange(shares[at].copies, 0);
    }
    return got;
  }

  std::array<CopyShare, 2> shares;
};

constexpr std::size_t k_any_copies = quic::CopyBudget::k_any_number;

TEST_F(CopySharesTest, GoByTheReceiversThatNeedCopies) {
  need(30, 10);
  EXPECT_EQ(divide(32), (Got{24, 8}));
}

TEST_F(CopySharesTest, OfSingleCopiesGoToOneThreadAfterTheOther) {
  need(1, 1);
  EXPECT_EQ(divide_often(1, 10), (Got{5, 5}));
  need(3, 1);
  EXPECT_EQ(divide_often(1, 40), (Got{30, 10}));
  need(1, 3);
  EXPECT_EQ(divide_often(3, 40), (Got{30, 90}));
}

TEST_F(CopySharesTest, AreNotCountedWhereNobodyNeedsCopies) {
  need(2, 0);
  EXPECT_EQ(divide(5), (Got{5, k_any_copies}));
  need(0, 0);
  EXPECT_EQ(divide(5), (Got{k_any_copies, k_any_copies}));
}

TEST_F(CopySharesTest, AreOwedToAThreadThatComesLate) {
  need(1, 1);
  EXPECT_EQ(divide(2), (Got{1, 1}));
  shares[0].copies = 0;
  // The other one has not come yet.
  EXPECT_EQ(divide(2), (Got{1, 1}));
  shares[0].copies = 0;
  EXPECT_EQ(divide(3), (Got{1, 2}));
}

TEST_F(CopySharesTest, AreKeptForNoThreadThatHangs) {
  need(1, 1);
  std::size_t got = 0;
  for (int i = 0; i < 100; ++i) {
    divide(32);
    got += std::exchange(shares[0].copies, 0);
  }
  EXPECT_GT(got, 100u);
}

TEST_F(CopySharesTest, AreNotSavedUpByWhoNeedsNone) {
  need(1, 0);
  divide_often(8, 10);
  need(1, 1);
  EXPECT_EQ(divide(4), (Got{2, 2}));
}

TEST_F(CopySharesTest, AreNoneWithoutRoom) {
  need(1, 1);
  EXPECT_EQ(divide_often(0, 3), (Got{0, 0}));
}

}  // namespace
}  // namespace sheaf::channel_node
