#include "scheduler/stream/turn_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "util/random.h"

namespace sheaf::quic {
namespace {

// Compares two sets with two sorted lists.
TEST(TurnOrder, AgreesWithSortedLists) {
  constexpr std::uint64_t k_seed = 7;
  constexpr TurnOrder::Index k_indices = 60;
  struct Item {
    TurnOrder::Index index;
    std::uint64_t key;
  };
  SeededRandom random(k_seed);
  TurnOrder order;
  order.reserve(k_indices);
  TurnOrder::Set sets[2] = {{.name = 0}, {.name = 1}};
  std::vector<Item> lists[2];
  const auto insert = [](std::vector<Item>& list, Item item) {
    list.insert(std::ranges::upper_bound(list, item.key, {}, &Item::key), item);
  };
  for (int step = 0; step < 20'000; ++step) {
    SCOPED_TRACE(testing::Message() << "seed " << k_seed << " step " << step);
    const auto index = static_cast<TurnOrder::Index>(random.below(k_indices));
    const std::uint64_t key = random.below(20);
    const std::size_t set = index % 2;
    // Any index may be a hint, of either set, whether or not it is in the set.
    const auto hint = random.below(3) == 0 ? TurnOrder::k_none
                                           : static_cast<TurnOrder::Index>(random.below(k_indices));
    const auto known = std::ranges::find(lists[set], index, &Item::index);
    if (known == lists[set].end()) {
      order.insert(sets[set], index, key, hint);
      insert(lists[set], {index, key});
    } else if (random.below(2) == 0) {
      order.erase(sets[set], index);
      lists[set].erase(known);
    } else {
      order.move(sets[set], index, key, hint);
      lists[set].erase(known);
      insert(lists[set], {index, key});
    }
    std::vector<TurnOrder::Index> expected;
    for (const Item& item : lists[set]) expected.push_back(item.index);
    std::vector<TurnOrder::Index> found;
    for (auto i = sets[set].first; i != TurnOrder::k_none; i = order.after(i)) found.push_back(i);
    ASSERT_EQ(found, expected);
    const auto from = std::ranges::lower_bound(lists[set], key, {}, &Item::key);
    ASSERT_EQ(order.at_least(sets[set], key),
              from == lists[set].end() ? TurnOrder::k_none : from->index);
  }
}

}  // namespace
}  // namespace sheaf::quic
