#include "connection/close_state.h"

#include <gtest/gtest.h>

namespace sheaf::quic {
namespace {

const Time k_start{std::chrono::seconds(1)};

TEST(CloseState, AnswersEverMoreSeldomWhileClosing) {
  CloseState close;
  close.start_closing({.error = 7, .frame_type = 0, .reason = "x"}, k_start, 3s);
  int answers = 0;
  for (int packet = 0; packet < 100; ++packet) {
    if (close.frame_due()) ++answers;
    close.frame_sent();
    close.on_packet_received();
  }
  EXPECT_EQ(answers, 8);  // the first, then after packets 1, 2, 4, 8, 16, 32, 64
}

TEST(CloseState, EndsAfterItsTime) {
  CloseState close;
  close.start_closing({}, k_start, 3s);
  close.on_timeout(k_start + 2s);
  EXPECT_EQ(close.phase(), CloseState::Phase::kClosing);
  close.on_timeout(k_start + 3s);
  EXPECT_EQ(close.phase(), CloseState::Phase::kClosed);
}

TEST(CloseState, TheFirstCauseIsTheOneThatCounts) {
  CloseState close;
  close.start_closing({.error = 1, .frame_type = 0, .reason = "first"}, k_start, 3s);
  close.start_draining({.error = 2, .frame_type = 0, .reason = "second"}, k_start, 3s);
  EXPECT_EQ(close.phase(), CloseState::Phase::kDraining);
  EXPECT_EQ(close.closed().reason, "first");
  EXPECT_FALSE(close.frame_due());
}

TEST(CloseState, CutsALongReason) {
  CloseState close;
  close.start_closing({.error = 1, .frame_type = 0, .reason = std::string(5000, 'r')}, k_start, 3s);
  EXPECT_EQ(close.frame().reason.size(), 256u);
}

}  // namespace
}  // namespace sheaf::quic
