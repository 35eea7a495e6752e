#include <gtest/gtest.h>

#include <iostream>

#include "channel/world.h"

namespace sheaf::quic {
namespace {

constexpr std::uint64_t k_repair_seeds = 50;
constexpr std::size_t k_repaired_frame = 5000;  // bytes

struct RepairTotals {
  std::uint64_t lost = 0;
  std::uint64_t recovered = 0;
  std::uint64_t copies = 0;
  std::uint64_t repairs = 0;
  std::uint64_t statuses = 0;
};

// Twelve members lose a share of the packets, half of it at the branches. Adds what that costs. A
// gateway sets a deadline of eight report intervals. A shorter one permits fewer attempts, and all
// of them may be lost.
void run_lossy(ChannelWorld::Settings settings, double loss, RepairTotals& totals,
               double intervals = 8) {
  settings.branch_loss = settings.leaf_loss = loss / 2;
  settings.unicast_loss = 0.01;
  settings.key_interval = 1h;  // a change sends many empty packets
  settings.deadline = share_of(settings.report_interval, intervals);
  ChannelWorld world(settings);
  for (int i = 0; i < 12; ++i) world.add_member();
  world.publish_for(200ms, 500);
  const std::uint64_t copied = world.source().source().counts().copies;
  const Time start = world.simulation().now();
  world.publish_for(2s, k_repaired_frame);
  world.simulation().run_for(settings.deadline + 150ms);
  for (const auto& member : world.members()) {
    EXPECT_EQ(world.late_frames(*member, start), 0u) << member->name;
    EXPECT_FALSE(member->wrong_bytes);
    const ReceiverCounts& counts = member->host->receiver().counts();
    EXPECT_EQ(counts.expired, 0u);
    EXPECT_EQ(counts.forged, 0u);
    EXPECT_EQ(member->host->receiver().repair_counts().refused, 0u);
    totals.lost += counts.lost;
    totals.recovered += counts.recovered;
  }
  totals.copies += world.source().source().counts().copies - copied;
  totals.repairs += world.source().source().repair_counts().repairs;
  totals.statuses += world.source().source().repair_counts().statuses;
}

TEST(RepairNetwork, RepairsReplaceCopiesAndEverythingComesInTime) {
  for (const double loss : {0.01, 0.05}) {
    RepairTotals without;
    RepairTotals with;
    for (std::uint64_t seed = 1; seed <= k_repair_seeds; ++seed) {
      run_lossy({.seed = seed}, loss, without);
      run_lossy({.seed = seed, .repairs = true}, loss, with);
    }
    std::cout << "loss " << loss << ": " << without.copies << " copies without repairs; with them "
              << with.copies << " copies, " << with.repairs << " repairs, " << with.statuses
              << " statuses, " << with.recovered << " of " << with.lost << " recovered\n";
    EXPECT_EQ(without.repairs, 0u);
    EXPECT_LT(with.copies, without.copies / 2);
    EXPECT_LT(with.copies + with.repairs, without.copies * 3 / 4);
  }
}

// With seed 24 a report comes just before the time of repairs is over, and the next one is lost.
TEST(RepairNetwork, EverythingComesInTimeWithAShortDeadline) {
  RepairTotals totals;
  for (std::uint64_t seed = 21; seed <= 28; ++seed) {
    run_lossy({.seed = seed, .repairs = true}, 0.05, totals, 3.5);
  }
  EXPECT_GT(totals.recovered, totals.lost / 2);
}

// Proofs of flights are packets of the log as well, and what repairs bring waits for them.
TEST(RepairNetwork, RepairsBringSignedPackets) {
  RepairTotals totals;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    run_lossy({.seed = seed, .scheme = AuthenticationScheme::kSigned, .repairs = true}, 0.05,
              totals);
  }
  std::cout << "signed: " << totals.copies << " copies, " << totals.repairs << " repairs, "
            << totals.recovered << " of " << totals.lost << " recovered\n";
  EXPECT_GT(totals.recovered, totals.lost / 2);
}

// A thousand members on ten branches lose what is lost at the root. Returns how many reports named
// it for each packet that was lost.
double reports_for_each_loss(bool repairs, Duration duration) {
  ChannelWorld world({.seed = 31,
                      .branches = 10,
                      .root_loss = 0.03,
                      .key_interval = 1h,
                      .repairs = repairs,
                      .report_share = 0,
                      .reach = 64});
  for (int i = 0; i < 1000; ++i) world.add_member();
  // Members know how many they are from the first status.
  world.publish_for(1100ms, 800);
  const auto total = [&](auto&& count) {
    std::uint64_t sum = 0;
    for (const auto& member : world.members()) sum += count(*member->host);
    return sum;
  };
  const auto reports = [&] {
    return total([](const MemberHost& host) { return host.loss_reports(); });
  };
  const auto lost = [&] {
    return total([](const MemberHost& host) { return host.receiver().counts().lost; });
  };
  const ChannelSource& source = world.source().source();
  const std::uint64_t copies_before = source.counts().copies;
  const std::uint64_t repairs_before = source.repair_counts().repairs;
  const std::uint64_t reports_before = reports();
  const std::uint64_t lost_before = lost();
  const Time start = world.simulation().now();
  world.publish_for(duration, 800);
  world.simulation().run_for(500ms);
  for (const auto& member : world.members()) {
    EXPECT_EQ(world.late_frames(*member, start), 0u) << member->name;
  }
  const auto losses = static_cast<double>(lost() - lost_before) / 1000;
  const auto named = static_cast<double>(reports() - reports_before);
  std::cout << losses << " packets lost at the root of 1000, " << named << " reports, "
            << source.repair_counts().repairs - repairs_before << " repairs, "
            << source.counts().copies - copies_before << " copies\n";
  return named / losses;
}

TEST(RepairNetwork, AThousandReceiversDoNotImplode) {
  EXPECT_GT(reports_for_each_loss(false, 1s), 500);
  EXPECT_LT(reports_for_each_loss(true, 5s), 25);
}

}  // namespace
}  // namespace sheaf::quic
