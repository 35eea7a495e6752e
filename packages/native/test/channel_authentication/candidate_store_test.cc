#include "channel_authentication/candidate_store.h"

#include <gtest/gtest.h>

#include "channel_authentication/channel_world.h"
#include "stream/allocation_counter.h"

namespace sheaf::quic {
namespace {

using Slots = std::array<CandidateStore::Slot, CandidateStore::k_max_candidates>;

TEST(CandidateStore, KeepsUpToThreeCandidatesOfANumber) {
  SeededRandom random{1};
  CandidateStore store(100'000, 300, random);
  std::vector<TestPacket> packets;
  for (int i = 0; i < 3; ++i) packets.push_back(random_packet(7, random));
  for (const auto& packet : packets) {
    EXPECT_EQ(store.add(packet.received(), 0, k_auth_start), Verdict::kWaiting);
    EXPECT_EQ(store.add(packet.received(), 0, k_auth_start), Verdict::kDuplicate);
  }
  EXPECT_EQ(store.waiting(), 3u);
  Slots slots;
  EXPECT_EQ(store.take(8, slots), 0u);
  ASSERT_EQ(store.take(7, slots), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(std::ranges::equal(store.candidate(slots[i]).datagram, packets[i].datagram));
    store.release(slots[i]);
  }
  EXPECT_EQ(store.waiting(), 0u);
  EXPECT_EQ(store.oldest(), k_never);
}

// Whoever sends n forged packets for a number displaces the genuine one with probability 1 -
// 3/(n+1), whether before or after it, and not with certainty.
TEST(CandidateStore, ChanceDecidesWhichCandidatesStay) {
  SeededRandom random{2};
  constexpr int k_rounds = 4000;
  constexpr int k_forged = 11;
  for (int position : {0, 5, k_forged}) {
    CandidateStore store(100'000, 300, random);
    int kept = 0;
    for (PacketNumber number = 0; number < k_rounds; ++number) {
      const TestPacket genuine = random_packet(number, random);
      for (int i = 0; i <= k_forged; ++i) {
        const TestPacket packet = i == position ? genuine : random_packet(number, random);
        store.add(packet.received(), 0, k_auth_start);
      }
      Slots slots;
      const std::size_t count = store.take(number, slots);
      ASSERT_EQ(count, 3u);
      kept += std::any_of(slots.begin(), slots.end(), [&](auto slot) {
        return std::ranges::equal(store.candidate(slot).datagram, genuine.datagram);
      });
      for (const auto slot : slots) store.release(slot);
    }
    // 3 of 12, with 4000 rounds: a standard deviation is 0.007.
    EXPECT_NEAR(static_cast<double>(kept) / k_rounds, 0.25, 0.035) << position;
  }
}

// One forged number with the same low bits does not displace a genuine one with certainty.
TEST(CandidateStore, ChanceDecidesBetweenNumbersThatShareAnEntry) {
  SeededRandom random{12};
  constexpr int k_rounds = 2000;
  int kept = 0;
  for (int round = 0; round < k_rounds; ++round) {
    CandidateStore store(3000, 300, random);
    store.add(random_packet(7, random).received(), 0, k_auth_start);
    store.add(random_packet(7 + store.reach(), random).received(), 0, k_auth_start);
    Slots slots;
    kept += static_cast<int>(store.take(7, slots));
  }
  EXPECT_NEAR(static_cast<double>(kept) / k_rounds, 0.5, 0.06);
}

TEST(CandidateStore, MemoryIsBoundedWhateverComes) {
  SeededRandom random{3};
  const std::size_t before = allocated_bytes();
  CandidateStore store(std::size_t{1} << 30, 1500, random);
  EXPECT_LE(allocated_bytes() - before, CandidateStore::k_max_bytes + (std::size_t{2} << 20));
  const std::size_t most = CandidateStore::k_max_bytes / 1500;
  for (int i = 0; i < 20'000; ++i) {
    const TestPacket packet = random_packet(random.below(8000), random, 0, 100);
    const std::size_t allocations = allocation_count();
    store.add(packet.received(), 0, k_auth_start);
    ASSERT_EQ(allocation_count(), allocations);
    ASSERT_LE(store.waiting(), most);
  }
  EXPECT_EQ(store.waiting(), most);
  EXPECT_GT(store.evicted(), 0u);
  EXPECT_EQ(store.drop_until(k_auth_start - 1ns), 0u);
  EXPECT_EQ(store.drop_until(k_auth_start), most);
  EXPECT_EQ(store.waiting(), 0u);
}

TEST(CandidateStore, RefusesNumbersOutOfReachAndLongDatagrams) {
  SeededRandom random{4};
  CandidateStore store(100'000, 300, random);
  const auto verdict_of = [&](PacketNumber number, std::size_t length = 200) {
    return store.add(random_packet(number, random, 0, length).received(), 0, k_auth_start);
  };
  EXPECT_EQ(verdict_of(1'000'000), Verdict::kWaiting) << "nothing is proven yet";
  store.set_low(5000);
  EXPECT_EQ(verdict_of(4999), Verdict::kRefused);
  EXPECT_EQ(verdict_of(5000), Verdict::kWaiting);
  EXPECT_EQ(verdict_of(5000 + store.reach() - 1), Verdict::kWaiting);
  EXPECT_EQ(verdict_of(5000 + store.reach()), Verdict::kRefused);
  store.set_low(10);
  EXPECT_EQ(verdict_of(4999), Verdict::kRefused) << "it does not go back";
  EXPECT_EQ(verdict_of(5001, 301), Verdict::kRefused);
}

TEST(CandidateStore, TakesByLabelInTheOrderOfArrival) {
  SeededRandom random{5};
  CandidateStore store(100'000, 300, random);
  for (std::uint32_t i = 0; i < 12; ++i) {
    store.add(random_packet(i, random).received(), i % 4, k_auth_start + i * 1ms);
  }
  std::vector<PacketNumber> taken;
  CandidateStore::Slot cursor = store.oldest_slot();
  for (;;) {
    const auto slot = store.take_labelled(1, cursor);
    if (slot == CandidateStore::k_none) break;
    taken.push_back(store.candidate(slot).number);
    store.release(slot);
  }
  EXPECT_EQ(taken, (std::vector<PacketNumber>{0, 1, 4, 5, 8, 9}));
  EXPECT_EQ(store.oldest(), k_auth_start + 2ms);
  EXPECT_EQ(store.drop_until(k_auth_start + 7ms - 1ns), 3u);
  EXPECT_EQ(store.waiting(), 3u);
}

TEST(CandidateStore, RandomUseLosesNoSlot) {
  constexpr std::uint64_t k_seed = 6;
  SeededRandom random{k_seed};
  CandidateStore store(30'000, 300, random);  // 100 slots
  std::vector<CandidateStore::Slot> held;
  Time now = k_auth_start;
  for (int i = 0; i < 100'000; ++i) {
    now += 1ms;
    const PacketNumber number = random.below(300);
    Slots slots;
    switch (random.below(6)) {
      case 0:
        for (std::size_t j = store.take(number, slots); j > 0; --j) held.push_back(slots[j - 1]);
        break;
      case 1:
        store.drop_until(now - 50ms);
        break;
      case 2:
        while (held.size() > 50) {
          store.release(held.back());
          held.pop_back();
        }
        break;
      default:
        store.add(random_packet(number, random, 0, 20).received(), 0, now);
    }
    ASSERT_LE(store.waiting() + held.size(), 100u) << "seed " << k_seed;
  }
  for (const auto slot : held) store.release(slot);
  store.drop_until(now + 1ms);
  for (PacketNumber number = 0; number < 100; ++number) {
    ASSERT_EQ(store.add(random_packet(number, random, 0, 20).received(), 0, now),
              Verdict::kWaiting);
  }
  EXPECT_EQ(store.waiting(), 100u);
}

}  // namespace
}  // namespace sheaf::quic
