#include "channel/copy_budget.h"

#include <gtest/gtest.h>

namespace sheaf::quic {
namespace {

constexpr std::size_t k_copy = 1000;
constexpr Time k_begin{1h};

// Takes as many copies as may leave now.
std::size_t take_all(CopyBudget& budget, Time now) {
  std::size_t taken = 0;
  for (; budget.allows(now); ++taken) budget.spend(k_copy, now);
  return taken;
}

TEST(CopyBudget, HasRoomForWhatMayLeave) {
  CopyBudget budget(100 * k_copy, k_copy, 8);
  const std::size_t room = budget.room(k_begin);
  EXPECT_EQ(take_all(budget, k_begin), room);
  EXPECT_EQ(budget.room(k_begin), 0u);
  EXPECT_EQ(take_all(budget, budget.next()), 1u);
  const Time many = budget.many_at();
  EXPECT_EQ(budget.room(many), 5u);
  EXPECT_GT(budget.idle_at(), many);
}

TEST(CopyBudget, HasNoMoreForAPartThanThatPermits) {
  CopyBudget budget(100 * k_copy, k_copy, 8);
  budget.permit(3);
  EXPECT_EQ(take_all(budget, k_begin), 3u);
  EXPECT_EQ(budget.permitted(), 0u);
  EXPECT_GT(budget.room(k_begin), 0u);
  budget.permit(CopyBudget::k_any_number);
  EXPECT_GT(take_all(budget, k_begin), 0u);
  EXPECT_EQ(budget.permitted(), CopyBudget::k_any_number);
}

}  // namespace
}  // namespace sheaf::quic
