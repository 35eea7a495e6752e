#include <gtest/gtest.h>

#include "serving.h"

namespace sheaf::quic {
namespace {

TEST(FirstComeFirstServed, ServesTheEarliestToItsEnd) {
  const auto scheduler = make_stream_scheduler(StreamSchedulerKind::kFcfs);
  for (std::uint64_t id : {8, 0, 4}) scheduler->activate({id}, 10'000);
  EXPECT_EQ(serve(*scheduler, 3), (Ids{8, 8, 8}));
  // While 8 has nothing, 0 is next. Then 8, which came first, is first again.
  scheduler->deactivate({8});
  EXPECT_EQ(serve(*scheduler, 2), (Ids{0, 0}));
  scheduler->activate({8}, 10'000);
  EXPECT_EQ(serve(*scheduler, 1), (Ids{8}));
  scheduler->forget({8});
  EXPECT_EQ(serve(*scheduler, 1), (Ids{0}));
  // A stream that was forgotten comes last.
  scheduler->activate({8}, 10'000);
  scheduler->forget({0});
  EXPECT_EQ(serve(*scheduler, 1), (Ids{4}));
}

TEST(StreamRoundRobin, ServesAllInTurnWhateverTheirWeights) {
  const auto scheduler = make_stream_scheduler(StreamSchedulerKind::kRoundRobin);
  for (std::uint64_t id : {8, 0, 4}) {
    depend(*scheduler, id, 0, static_cast<std::uint16_t>(1 + 30 * id));
    scheduler->activate({id}, 10'000);
  }
  EXPECT_EQ(serve(*scheduler, 7), (Ids{8, 0, 4, 8, 0, 4, 8}));
  scheduler->deactivate({0});
  EXPECT_EQ(serve(*scheduler, 3), (Ids{4, 8, 4}));
  scheduler->activate({0}, 10'000);
  EXPECT_EQ(serve(*scheduler, 4), (Ids{8, 4, 0, 8}));
}

}  // namespace
}  // namespace sheaf::quic
