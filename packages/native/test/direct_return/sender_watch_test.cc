#include "direct_return/sender_watch.h"

#include <gtest/gtest.h>

namespace sheaf::quic {
namespace {

using Verdict = SenderWatch::Verdict;

constexpr Duration k_probe_timeout = 50ms;

TEST(SenderWatch, TakesABackendForDeadThatIsSilent) {
  const SenderWatch watch;
  const Time word(1s);
  EXPECT_EQ(watch.deadline(word, k_probe_timeout), word + 600ms);
  EXPECT_EQ(watch.verdict(word, k_probe_timeout, word + 599ms), Verdict::kFine);
  EXPECT_EQ(watch.verdict(word, k_probe_timeout, word + 600ms), Verdict::kSilent);
}

TEST(SenderWatch, SeesThatPacketsOfABackendDoNotArrive) {
  SenderWatch watch;
  const Time start(1s);
  watch.on_executed(32, start);
  watch.on_executed(64, start + 100ms);
  watch.on_executed(64, start + 120ms);
  const auto verdict = [&](Duration later) {
    return watch.verdict(start + later, k_probe_timeout, start + later);
  };
  // The client may be gone.
  EXPECT_EQ(verdict(10s), Verdict::kFine);
  watch.on_other_acknowledged(start + 20ms);
  EXPECT_EQ(watch.deadline(start, k_probe_timeout), start + 150ms);
  EXPECT_EQ(verdict(149ms), Verdict::kFine);
  EXPECT_EQ(verdict(150ms), Verdict::kUnreachable);
  watch.on_acknowledged(64);
  EXPECT_EQ(verdict(150ms), Verdict::kFine);
  // What was reported before does not count again.
  watch.on_executed(64, start + 200ms);
  watch.on_other_acknowledged(start + 220ms);
  EXPECT_EQ(verdict(10s), Verdict::kFine);
  watch.on_executed(65, start + 300ms);
  EXPECT_EQ(verdict(10s), Verdict::kFine);  // the others' ACK was before
  watch.on_other_acknowledged(start + 310ms);
  EXPECT_EQ(verdict(2299ms), Verdict::kFine);
  EXPECT_EQ(verdict(2300ms), Verdict::kUnreachable);
}

// The ACK of a near client overtakes the report of the backend, which may then pause.
TEST(SenderWatch, KnowsWhichPacketsTheClientHas) {
  SenderWatch watch;
  const Time start(1s);
  watch.on_executed(32, start);
  watch.on_acknowledged(64);
  watch.on_executed(48, start + 1ms);
  watch.on_executed(64, start + 5ms);
  watch.on_other_acknowledged(start + 10ms);
  EXPECT_EQ(watch.verdict(start + 1s, k_probe_timeout, start + 1s), Verdict::kFine);
  EXPECT_EQ(watch.deadline(start, k_probe_timeout), start + 600ms);
  watch.on_executed(65, start + 1s);
  watch.on_other_acknowledged(start + 1010ms);
  EXPECT_EQ(watch.verdict(start + 3s, k_probe_timeout, start + 3s), Verdict::kUnreachable);
}

}  // namespace
}  // namespace sheaf::quic
