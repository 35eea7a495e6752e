#include "io/deadline_timer.h"

#include <gtest/gtest.h>

#include <vector>

#include "io/monotonic_clock.h"

namespace sheaf::io {
namespace {

using namespace std::chrono_literals;
using quic::Time;

class DeadlineTimerTest : public testing::Test {
 protected:
  void SetUp() override {
    uv_loop_init(&uv_);
    timer_ = std::move(*DeadlineTimer::open(&uv_, [this] { rang_.push_back(monotonic_now()); }));
    // The timer does not keep the loop alive.
    uv_timer_init(&uv_, &end_);
  }
  void TearDown() override {
    timer_->close({});
    uv_close(reinterpret_cast<uv_handle_t*>(&end_), nullptr);
    uv_run(&uv_, UV_RUN_DEFAULT);
    EXPECT_EQ(uv_loop_close(&uv_), 0);
  }
  void run_for(std::uint64_t milliseconds) {
    uv_update_time(&uv_);
    uv_timer_start(
        &end_, [](uv_timer_t* end) { uv_stop(end->loop); }, milliseconds, 0);
    uv_run(&uv_, UV_RUN_DEFAULT);
  }

  uv_loop_t uv_;
  uv_timer_t end_;
  std::unique_ptr<DeadlineTimer> timer_;
  std::vector<Time> rang_;
};

TEST_F(DeadlineTimerTest, RingsOnceAndNeverTooSoon) {
  const Time due = monotonic_now() + 10ms;
  timer_->set(due);
  run_for(60);
  ASSERT_EQ(rang_.size(), 1u);
  EXPECT_GE(rang_.front(), due);
}

TEST_F(DeadlineTimerTest, RingsAtADeadlineThatMovedAway) {
  const Time due = monotonic_now() + 40ms;
  timer_->set(due - 30ms);
  timer_->set(due - 20ms);
  timer_->set(due);
  run_for(100);
  ASSERT_EQ(rang_.size(), 1u);
  EXPECT_GE(rang_.front(), due);
}

TEST_F(DeadlineTimerTest, RingsAtADeadlineThatCameNearer) {
  const Time due = monotonic_now() + 10ms;
  timer_->set(due + 10s);
  timer_->set(due);
  run_for(60);
  ASSERT_EQ(rang_.size(), 1u);
  EXPECT_GE(rang_.front(), due);
}

TEST_F(DeadlineTimerTest, DoesNotRingAfterItWasStopped) {
  timer_->set(monotonic_now() + 10ms);
  timer_->set(quic::k_never);
  run_for(40);
  EXPECT_TRUE(rang_.empty());
}

TEST_F(DeadlineTimerTest, RingsAgainAtADeadlineThatIsOver) {
  const Time due = monotonic_now() + 5ms;
  timer_->set(due);
  run_for(30);
  timer_->set(due);
  run_for(30);
  EXPECT_EQ(rang_.size(), 2u);
}

}  // namespace
}  // namespace sheaf::io
