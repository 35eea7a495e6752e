#include "recovery/ecn_validation.h"

#include <gtest/gtest.h>

namespace sheaf::quic {
namespace {

using EcnState = EcnValidation::State;

EcnCounts counts(std::uint64_t ect0, std::uint64_t ce, std::uint64_t ect1 = 0) {
  return {.ect0 = ect0, .ect1 = ect1, .ce = ce};
}

int send(EcnValidation& ecn, int packets) {
  int marked = 0;
  for (int i = 0; i < packets; ++i) {
    const Ecn mark = ecn.next_mark();
    ecn.on_sent(mark);
    if (mark == Ecn::kEct0) ++marked;
  }
  return marked;
}

TEST(EcnValidation, MarksTenPacketsUntilConfirmed) {
  EcnValidation ecn;
  EXPECT_EQ(send(ecn, 25), 10);
  EXPECT_EQ(ecn.on_ack(counts(2, 0), 2), 0u);
  EXPECT_EQ(ecn.state(), EcnState::kCapable);
  EXPECT_EQ(send(ecn, 5), 5);
}

TEST(EcnValidation, ReportsOnlyNewCongestionMarks) {
  EcnValidation ecn;
  send(ecn, 10);
  EXPECT_EQ(ecn.on_ack(counts(3, 1), 4), 1u);
  EXPECT_EQ(ecn.on_ack(counts(4, 1), 1), 0u);
  EXPECT_EQ(ecn.on_ack(counts(4, 3), 2), 2u);
}

// Other nodes' packets have marks, too, once the path is known to carry them.
TEST(EcnValidation, RunsAreMarkedAfterTheTest) {
  EcnValidation ecn;
  EXPECT_EQ(ecn.next_mark_of_run(), Ecn::kNotEct);
  send(ecn, 1);
  EXPECT_EQ(ecn.on_ack(counts(1, 0), 1), 0u);
  ASSERT_EQ(ecn.next_mark_of_run(), Ecn::kEct0);
  ecn.on_sent(ecn.next_mark_of_run(), 32);
  EXPECT_EQ(ecn.on_ack(counts(31, 2), 32), 2u);
  EXPECT_EQ(ecn.state(), EcnState::kCapable);
}

TEST(EcnValidation, NoPeerReceivesARunThatWasRefused) {
  EcnValidation ecn;
  send(ecn, 1);
  ecn.on_ack(counts(1, 0), 1);
  ecn.on_sent(Ecn::kEct0, 8);
  ecn.on_refused(Ecn::kNotEct);
  for (int i = 0; i < 8; ++i) ecn.on_refused(Ecn::kEct0);
  EXPECT_EQ(ecn.state(), EcnState::kCapable);
  ecn.on_ack(counts(2, 0), 0);
  EXPECT_EQ(ecn.state(), EcnState::kFailed);
}

TEST(EcnValidation, FailsWhenCountsDoNotAddUp) {
  struct Case {
    const char* name;
    std::optional<EcnCounts> first, second;
  };
  for (const Case& bad :
       {Case{"missing", counts(2, 0), std::nullopt}, Case{"too few", counts(2, 0), counts(3, 0)},
        Case{"ECT(0) decreases", counts(2, 0), counts(1, 3)},
        Case{"CE decreases", counts(0, 2), counts(4, 0)},
        Case{"ECT(1) was never sent", counts(2, 0), counts(4, 0, 1)},
        Case{"more than was sent", counts(2, 0), counts(11, 0)},
        Case{"overflow", counts(2, 0), counts(5, UINT64_MAX)}}) {
    SCOPED_TRACE(bad.name);
    EcnValidation ecn;
    send(ecn, 10);
    ecn.on_ack(bad.first, 2);
    ASSERT_EQ(ecn.state(), EcnState::kCapable);
    EXPECT_EQ(ecn.on_ack(bad.second, 2), 0u);
    EXPECT_EQ(ecn.state(), EcnState::kFailed);
    EXPECT_EQ(ecn.next_mark(), Ecn::kNotEct);
  }
}

TEST(EcnValidation, UnmarkedPacketsNeedNoCounts) {
  EcnValidation ecn;
  send(ecn, 10);
  ecn.on_ack(std::nullopt, 0);
  EXPECT_EQ(ecn.state(), EcnState::kTesting);
}

TEST(EcnValidation, FailsWhenAllMarkedPacketsAreLost) {
  EcnValidation ecn;
  send(ecn, 10);
  for (int i = 0; i < 9; ++i) ecn.on_lost(Ecn::kEct0);
  ecn.on_lost(Ecn::kNotEct);
  EXPECT_EQ(ecn.state(), EcnState::kTesting);
  ecn.on_lost(Ecn::kEct0);
  EXPECT_EQ(ecn.state(), EcnState::kFailed);
}

TEST(EcnValidation, RestartKeepsThePeersCounts) {
  EcnValidation ecn;
  send(ecn, 10);
  ecn.on_ack(counts(8, 2), 10);
  ecn.restart();
  EXPECT_EQ(send(ecn, 20), 10);
  EXPECT_EQ(ecn.on_ack(counts(18, 2), 10), 0u);
  EXPECT_EQ(ecn.state(), EcnState::kCapable);
}

}  // namespace
}  // namespace sheaf::quic
