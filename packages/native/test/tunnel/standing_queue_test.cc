#include "tunnel/standing_queue.h"

#include <gtest/gtest.h>

#include <map>

namespace sheaf::tunnel {
namespace {

using namespace std::chrono_literals;
using quic::Ecn;

struct StandingRun {
  Counts counts;
  std::map<Ecn, int> left;  // packets that left the queue, by their marks
};

// Packets with this mark leave at the rate at which others come, and wait for 40 ms.
StandingRun run_standing_queue(Ecn ecn) {
  SharedRoom room(1 << 20);
  std::size_t used = 0;
  PacketQueue queue(1 << 19, {room, used});
  quic::CoDelLaw law;
  StandingRun run;
  const std::vector<std::uint8_t> payload(1000);
  for (quic::Time now{1s}; now < quic::Time{3s}; now += 4ms) {
    queue.push({payload, ecn}, now);
    if (queue.front_time() + 40ms > now) continue;
    if (!keep_front(queue, law, run.counts, now)) continue;
    ++run.left[queue.front().ecn];
    queue.pop();
  }
  return run;
}

TEST(StandingQueue, MarksPacketsWhoseSendersHearMarks) {
  for (const Ecn ecn : {Ecn::kEct0, Ecn::kEct1}) {
    StandingRun run = run_standing_queue(ecn);
    EXPECT_GT(run.counts.marked, 5u);
    EXPECT_EQ(run.left[Ecn::kCe], static_cast<int>(run.counts.marked));
    EXPECT_GT(run.left[ecn], run.left[Ecn::kCe]);
    EXPECT_EQ(run.counts.dropped(DropReason::kQueueStanding), 0u);
  }
}

TEST(StandingQueue, DropsPacketsWhoseSendersHearNone) {
  StandingRun run = run_standing_queue(Ecn::kNotEct);
  EXPECT_GT(run.counts.dropped(DropReason::kQueueStanding), 5u);
  EXPECT_EQ(run.counts.marked, 0u);
  EXPECT_EQ(run.left[Ecn::kCe], 0);
}

TEST(StandingQueue, NeitherDropsNorCountsWhatCameWithTheMark) {
  StandingRun run = run_standing_queue(Ecn::kCe);
  EXPECT_EQ(run.counts.marked, 0u);
  EXPECT_EQ(run.counts.dropped(DropReason::kQueueStanding), 0u);
  EXPECT_GT(run.left[Ecn::kCe], 400);
}

}  // namespace
}  // namespace sheaf::tunnel
