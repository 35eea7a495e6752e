#include "fec/solver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "fec/packets.h"

namespace sheaf::quic::fec {
namespace {

constexpr std::size_t k_payload = 300;
constexpr std::uint64_t k_reach = 10'000;

// A source's packets, and a receiver that lacks some of them.
struct Exchange {
  explicit Exchange(std::uint64_t seed, std::uint64_t first = 1000, std::size_t count = 400)
      : random(seed), sent(random_packets(first, count, k_payload, random)), has(sent) {}

  void lose(const std::vector<std::uint64_t>& numbers) {
    for (const std::uint64_t number : numbers) has.erase(number);
  }
  RepairOutcome give(const NamedSet& set, RowIndex row) {
    return give(set, row, make_repairs(set, sent, row, 1)[0]);
  }
  RepairOutcome give(const NamedSet& set, RowIndex row, Bytes bytes) {
    return solver.add({.number = next_repair++, .set = set, .row = row, .bytes = bytes}, has);
  }
  // Gives a repair with a byte that is wrong. Returns its number.
  std::uint64_t forge(const NamedSet& set, RowIndex row, std::size_t at = 5) {
    auto bytes = make_repairs(set, sent, row, 1)[0];
    bytes[at % bytes.size()] ^= 1;
    give(set, row, bytes);
    return next_repair - 1;
  }
  std::size_t take() { return take_recovered(solver, sent, has); }

  SeededRandom random;
  PacketMap sent;
  PacketMap has;
  Solver solver{best_kernel(), k_payload, k_reach};
  std::uint64_t next_repair = 1'000'000;
};

std::vector<std::uint64_t> listed(const RepairNumbers& numbers) {
  return {numbers.view().begin(), numbers.view().end()};
}

TEST(Solver, RecoversOnePacketFromOneRow) {
  Exchange exchange(1);
  exchange.lose({1003});
  EXPECT_EQ(exchange.give(run_of(1000, 128), 77), RepairOutcome::kKept);
  EXPECT_EQ(exchange.take(), 1u);
  EXPECT_EQ(exchange.solver.waiting(), 0u);
  EXPECT_EQ(exchange.solver.counts().recovered, 1u);
  EXPECT_EQ(exchange.solver.counts().repairs_used, 1u);
  EXPECT_EQ(exchange.give(run_of(1000, 128), 78), RepairOutcome::kNothingMissing);
}

TEST(Solver, RecoversEveryPatternOfUpToFourLossesInASetOfTwelve) {
  Exchange exchange(1);
  const NamedSet set = run_of(1000, 12);
  std::vector<std::vector<std::uint8_t>> repairs = make_repairs(set, exchange.sent, 0, 4);
  for (unsigned pattern = 1; pattern < 1u << 12; ++pattern) {
    const auto losses = static_cast<std::size_t>(std::popcount(pattern));
    if (losses > 4) continue;
    for (std::uint64_t i = 0; i < 12; ++i) {
      if ((pattern >> i & 1) != 0) exchange.lose({1000 + i});
    }
    // Any rows do: those that come last for odd patterns.
    for (std::size_t i = 0; i < losses; ++i) {
      const std::size_t row = pattern % 2 == 0 ? i : 3 - i;
      ASSERT_EQ(exchange.give(set, static_cast<RowIndex>(row), repairs[row]), RepairOutcome::kKept);
    }
    ASSERT_EQ(exchange.take(), losses) << "pattern " << pattern;
    ASSERT_EQ(exchange.solver.waiting(), 0u);
  }
}

TEST(Solver, RecoversRandomLossesFromAnyCauchyRows) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    Exchange exchange(seed);
    NamedSet set;
    for (std::uint64_t number = 1000; number < 1400;
         number += 1 + exchange.random.below(1 + seed % 4)) {
      if (!set.add(number)) break;
    }
    std::vector<std::uint64_t> lost(set.numbers().begin(), set.numbers().end());
    for (std::size_t i = lost.size() - 1; i > 0; --i) {
      std::swap(lost[i], lost[exchange.random.below(i + 1)]);
    }
    lost.resize(std::min<std::size_t>(lost.size(), 1 + exchange.random.below(32)));
    exchange.lose(lost);
    std::vector<RowIndex> rows(128);
    std::iota(rows.begin(), rows.end(), RowIndex{0});
    for (std::size_t i = 0; i < lost.size(); ++i) {
      std::swap(rows[i], rows[i + exchange.random.below(128 - i)]);
      ASSERT_EQ(exchange.take(), 0u) << "seed " << seed;
      ASSERT_EQ(exchange.give(set, rows[i]), RepairOutcome::kKept) << "seed " << seed;
    }
    ASSERT_EQ(exchange.take(), lost.size()) << "seed " << seed;
    ASSERT_EQ(exchange.solver.waiting(), 0u);
  }
}

TEST(Solver, NeedsASpareRowOfRandomCoefficientsRarely) {
  constexpr int k_rounds = 2000;
  int redundant = 0;
  Exchange exchange(1);
  const NamedSet set = run_of(1000, 8);
  auto row = k_cauchy_rows;
  for (int round = 0; round < k_rounds; ++round) {
    for (const std::uint64_t number : set.numbers()) exchange.has.erase(number);
    std::size_t taken = 0;
    while (taken < 8) {
      const RepairOutcome outcome = exchange.give(set, row++);
      ASSERT_TRUE(outcome == RepairOutcome::kKept || outcome == RepairOutcome::kRedundant);
      if (outcome == RepairOutcome::kRedundant) ++redundant;
      taken += exchange.take();
    }
  }
  // 1/255 of the rounds, 7.8 of them; the rows are the same in every run.
  EXPECT_GE(redundant, 2);
  EXPECT_LE(redundant, 20);
}

TEST(Solver, JoinsSetsThatOverlap) {
  Exchange exchange(1);
  exchange.lose({1002, 1005, 1010, 1020});
  EXPECT_EQ(exchange.give(set_of({1000, 1002, 1005}), 0), RepairOutcome::kKept);
  EXPECT_EQ(exchange.give(set_of({1005, 1010}), 0), RepairOutcome::kKept);
  EXPECT_EQ(exchange.give(set_of({1010, 1020}), 0), RepairOutcome::kKept);
  EXPECT_EQ(exchange.take(), 0u);
  EXPECT_EQ(exchange.give(run_of(1000, 100), 5), RepairOutcome::kKept);
  EXPECT_EQ(exchange.take(), 4u);
}

TEST(Solver, UsesPacketsThatComeOtherwise) {
  Exchange exchange(1);
  exchange.lose({1002, 1005, 1010});
  const NamedSet set = run_of(1000, 20);
  exchange.give(set, 0);
  exchange.give(set, 1);
  EXPECT_TRUE(exchange.solver.provide(1002, *exchange.sent.find(1002)).empty());
  exchange.has.put(1002, *exchange.sent.find(1002));
  EXPECT_EQ(exchange.take(), 2u);
  EXPECT_EQ(exchange.solver.waiting(), 0u);
}

TEST(Solver, DropsRowsThatBringNothing) {
  Exchange exchange(1);
  exchange.lose({1002, 1005, 1010});
  const NamedSet set = run_of(1000, 20);
  EXPECT_EQ(exchange.give(set, 0), RepairOutcome::kKept);
  EXPECT_EQ(exchange.give(set, 0), RepairOutcome::kRedundant);
  EXPECT_EQ(exchange.give(set, 1), RepairOutcome::kKept);
  EXPECT_EQ(exchange.solver.waiting(), 2u);
  EXPECT_EQ(exchange.give(run_of(1030, 20), 0), RepairOutcome::kNothingMissing);
  // Both become equal when the last but one is known; nothing is left when the last is.
  exchange.solver.provide(1002, *exchange.sent.find(1002));
  exchange.solver.provide(1005, *exchange.sent.find(1005));
  EXPECT_EQ(exchange.solver.waiting(), 1u);
  exchange.solver.provide(1010, *exchange.sent.find(1010));
  EXPECT_EQ(exchange.solver.waiting(), 0u);
  EXPECT_FALSE(exchange.solver.poll_recovered());
}

TEST(Solver, TellsHowManyPacketsAreStillNeeded) {
  Exchange exchange(1);
  exchange.lose({1002, 1005, 1010});
  const std::vector<std::uint64_t> lost = {1002, 1005, 1010};
  exchange.give(run_of(1000, 20), 0);
  exchange.give(run_of(1000, 20), 1);
  NamedSet reported;
  for (const std::uint64_t number : lost) {
    if (!exchange.solver.awaits_another(number)) reported.add(number);
  }
  EXPECT_EQ(reported.size(), 1u);
  EXPECT_FALSE(exchange.solver.awaits_another(1003));
  EXPECT_EQ(exchange.give(reported, 0), RepairOutcome::kKept);
  EXPECT_EQ(exchange.take(), 3u);
}

TEST(Solver, ForgetsBelowAFloorAndKeepsWhatTheOthersTell) {
  Exchange exchange(1);
  exchange.lose({1002, 1005, 1010, 1300});
  const NamedSet set = run_of(1000, 100);
  exchange.give(set, 0);
  exchange.give(set, 1);
  exchange.give(set, 2);
  // Three equations over 1002, 1005 and 1010 were solved: not taken yet, they expire one by one.
  exchange.solver.forget_below(1003);
  EXPECT_EQ(exchange.solver.waiting(), 2u);
  EXPECT_EQ(exchange.take(), 2u);
  // An equation pays for an unknown that is no pivot.
  exchange.lose({1005, 1010});
  EXPECT_EQ(exchange.give(set_of({1005, 1010, 1300}), 0), RepairOutcome::kKept);
  EXPECT_EQ(exchange.give(set_of({1005, 1010, 1300}), 1), RepairOutcome::kKept);
  exchange.solver.forget_below(1011);
  EXPECT_EQ(exchange.solver.waiting(), 0u);
  EXPECT_EQ(exchange.give(set, 3), RepairOutcome::kExpired);
  EXPECT_EQ(exchange.give(set_of({1300}), 0), RepairOutcome::kKept);
  EXPECT_EQ(exchange.take(), 1u);
}

TEST(Solver, PaysForAnExpiredPacketThatIsNoPivot) {
  Exchange exchange(1);
  // 1300 and 1310 take the first columns, so that they are pivots and 1010 is none.
  exchange.lose({1010, 1300, 1310});
  EXPECT_EQ(exchange.give(set_of({1300, 1310}), 0), RepairOutcome::kKept);
  EXPECT_EQ(exchange.give(set_of({1010, 1300, 1310}), 0), RepairOutcome::kKept);
  EXPECT_FALSE(exchange.solver.awaits_another(1010));
  exchange.solver.forget_below(1011);
  EXPECT_EQ(exchange.solver.waiting(), 1u) << "what both tell without 1010";
  EXPECT_EQ(exchange.give(set_of({1300, 1310}), 1), RepairOutcome::kKept);
  EXPECT_EQ(exchange.take(), 2u);
}

TEST(Solver, RefusesWhatIsMalformedOrTooMuch) {
  Exchange exchange(1);
  exchange.has.erase(1000);
  const NamedSet set = run_of(1000, 50);
  EXPECT_EQ(exchange.give({}, 0, std::vector<std::uint8_t>(k_payload)), RepairOutcome::kMalformed);
  EXPECT_EQ(exchange.give(set, 0, std::vector<std::uint8_t>(1)), RepairOutcome::kMalformed);
  EXPECT_EQ(exchange.give(set, 0, std::vector<std::uint8_t>(10)), RepairOutcome::kMalformed)
      << "shorter than packets of its set";
  EXPECT_EQ(exchange.give(set, 0, std::vector<std::uint8_t>(k_payload + 3)),
            RepairOutcome::kMalformed);
  EXPECT_EQ(exchange.give(set_of({k_reach}), 0, std::vector<std::uint8_t>(20)),
            RepairOutcome::kOutOfReach);
  for (std::uint64_t number = 1000; number < 1033; ++number) exchange.has.erase(number);
  EXPECT_EQ(exchange.give(set, 0), RepairOutcome::kTooManyMissing);
  EXPECT_EQ(exchange.give(run_of(1001, 40), 0), RepairOutcome::kKept) << "32 are missing";
}

TEST(Solver, KeepsAtMost64Rows) {
  Exchange exchange(1);
  for (std::uint64_t number = 1000; number < 1130; ++number) exchange.has.erase(number);
  std::size_t kept = 0;
  for (std::uint64_t i = 0; i < 65; ++i) {
    if (exchange.give(set_of({1000 + 2 * i, 1001 + 2 * i}), 0) == RepairOutcome::kKept) ++kept;
  }
  EXPECT_EQ(kept, k_max_equations);
  EXPECT_EQ(exchange.give(set_of({1000, 1001}), 1), RepairOutcome::kNoRoom);
  exchange.solver.forget_below(1001);
  EXPECT_EQ(exchange.give(set_of({1128, 1129}), 0), RepairOutcome::kKept);
}

TEST(Solver, KeepsAtMost128Unknown) {
  Exchange exchange(1);
  for (std::uint64_t number = 1000; number < 1160; ++number) exchange.has.erase(number);
  for (std::uint64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(exchange.give(run_of(1000 + 32 * i, 32), 0), RepairOutcome::kKept);
  }
  EXPECT_EQ(exchange.give(run_of(1120, 10), 0), RepairOutcome::kNoRoom);
  EXPECT_EQ(exchange.give(run_of(1120, 8), 0), RepairOutcome::kKept) << "all are named already";
}

TEST(Solver, BlamesTheRowsOfAPacketThatIsNotGenuine) {
  Exchange exchange(1);
  exchange.lose({1002, 1005, 1302, 1305});
  EXPECT_EQ(exchange.give(set_of({1302, 1305}), 0), RepairOutcome::kKept);
  EXPECT_EQ(exchange.give(run_of(1000, 20), 0), RepairOutcome::kKept);
  const std::uint64_t honest = exchange.next_repair - 1;
  const std::uint64_t forged = exchange.forge(run_of(1000, 20), 1);
  const auto first = exchange.solver.poll_recovered();
  ASSERT_TRUE(first);
  EXPECT_FALSE(std::ranges::equal(first->payload, *exchange.sent.find(first->number)));
  EXPECT_EQ(listed(exchange.solver.refuse(first->number)), (std::vector{honest, forged}));
  EXPECT_FALSE(exchange.solver.poll_recovered()) << "the other packet is gone with it";
  EXPECT_EQ(exchange.solver.waiting(), 1u) << "a row that took no part stays";
  EXPECT_EQ(exchange.solver.counts().refused, 1u);
  EXPECT_EQ(exchange.solver.counts().repairs_used, 0u);
  exchange.give(run_of(1000, 20), 2);
  exchange.give(run_of(1000, 20), 3);
  exchange.give(set_of({1302, 1305}), 1);
  EXPECT_EQ(exchange.take(), 4u);
}

TEST(Solver, TellsASymbolThatCannotBeAPacket) {
  Exchange exchange(1);
  exchange.lose({1002});
  exchange.forge(run_of(1000, 20), 0, 0);  // the high byte of the length
  const auto recovered = exchange.solver.poll_recovered();
  ASSERT_TRUE(recovered);
  EXPECT_TRUE(recovered->payload.empty());
}

TEST(Solver, DropsARowThatContradictsOthers) {
  Exchange exchange(1);
  exchange.lose({1002, 1005});
  exchange.give(set_of({1002, 1005}), 0);
  auto bytes = make_repairs(set_of({1002, 1005}), exchange.sent, 0, 1)[0];
  bytes[7] ^= 1;
  EXPECT_EQ(exchange.give(set_of({1002, 1005}), 0, bytes), RepairOutcome::kContradiction);
  EXPECT_EQ(exchange.solver.counts().contradictions, 1u);
  exchange.give(set_of({1002, 1005}), 1);
  EXPECT_EQ(exchange.take(), 2u);
}

TEST(Solver, TellsRowsThatAPacketProvesWrong) {
  Exchange exchange(1);
  exchange.lose({1002, 1302, 1305});
  exchange.give(set_of({1302, 1305}), 0);
  const std::uint64_t forged = exchange.forge(run_of(1000, 20), 0);
  const RepairNumbers wrong = exchange.solver.provide(1002, *exchange.sent.find(1002));
  EXPECT_EQ(listed(wrong), std::vector{forged});
  EXPECT_EQ(exchange.solver.waiting(), 1u);
}

TEST(Solver, GivesEachPacketOnceAndWaitsForItsVerdict) {
  Exchange exchange(1);
  exchange.lose({1002, 1005});
  exchange.give(run_of(1000, 20), 0);
  exchange.give(run_of(1000, 20), 1);
  EXPECT_TRUE(exchange.solver.poll_recovered());
  EXPECT_TRUE(exchange.solver.poll_recovered());
  EXPECT_FALSE(exchange.solver.poll_recovered());
  EXPECT_EQ(exchange.solver.waiting(), 2u);
  EXPECT_EQ(exchange.give(run_of(1000, 20), 2), RepairOutcome::kRedundant);
  exchange.solver.confirm(1005);
  exchange.solver.confirm(1002);
  exchange.solver.confirm(1002);
  EXPECT_EQ(exchange.solver.counts().recovered, 2u);
  EXPECT_EQ(exchange.solver.waiting(), 0u);
}

// Somebody forges a third of all repairs. Whatever is confirmed is genuine, and honest repairs
// recover everything once nothing is forged.
TEST(Solver, OnlyLosesTimeToForgedRepairs) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Exchange exchange(seed);
    std::vector<std::uint64_t> lost;
    for (std::uint64_t number = 1000; number < 1100; ++number) {
      if (lost.size() < 32 && exchange.random.below(5) == 0) lost.push_back(number);
    }
    exchange.lose(lost);
    const NamedSet set = run_of(1000, 100);
    RowIndex row = 0;
    for (int i = 0; i < 60; ++i) {
      if (exchange.random.below(3) == 0) {
        exchange.forge(set, row++, exchange.random.below(k_payload));
      } else {
        exchange.give(set, row++);
      }
      exchange.take();
    }
    for (int i = 0; i < 100 && exchange.give(set, row++) != RepairOutcome::kNothingMissing; ++i) {
      exchange.take();
    }
    for (const std::uint64_t number : lost) {
      ASSERT_TRUE(exchange.has.contains(number)) << "seed " << seed << ", packet " << number;
    }
  }
}

// Losses, repairs that are lost, packets that come late and floors that move: all that is confirmed
// is right, and the bounds hold.
TEST(Solver, AgreesWithTheSourceUnderRandomEvents) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Exchange exchange(seed);
    std::uint64_t floor = 1000;
    for (std::uint64_t number = 1000; number < 1400; ++number) {
      if (exchange.random.below(12) == 0) exchange.lose({number});
    }
    for (int i = 0; i < 300; ++i) {
      NamedSet set;
      std::uint64_t number = floor + exchange.random.below(1400 - floor);
      const std::uint64_t wanted = 1 + exchange.random.below(60);
      while (number < 1400 && set.size() < wanted && set.add(number)) {
        number += 1 + exchange.random.below(8);
      }
      const auto outcome = exchange.give(set, static_cast<RowIndex>(exchange.random.below(400)));
      ASSERT_NE(outcome, RepairOutcome::kContradiction) << "seed " << seed;
      ASSERT_NE(outcome, RepairOutcome::kMalformed) << "seed " << seed;
      if (exchange.random.below(4) == 0) {
        const std::uint64_t late = floor + exchange.random.below(1400 - floor);
        ASSERT_TRUE(exchange.solver.provide(late, *exchange.sent.find(late)).empty());
        exchange.has.put(late, *exchange.sent.find(late));
      }
      if (exchange.random.below(2) == 0) exchange.take();
      if (i % 100 == 99) exchange.solver.forget_below(floor += 100);
      ASSERT_LE(exchange.solver.waiting(), k_max_equations);
    }
    exchange.take();
    ASSERT_EQ(exchange.solver.counts().refused, 0u) << "seed " << seed;
    ASSERT_EQ(exchange.solver.counts().contradictions, 0u) << "seed " << seed;
  }
}

}  // namespace
}  // namespace sheaf::quic::fec
