#include "connection/connection_ids.h"

#include <gtest/gtest.h>

namespace sheaf::quic {
namespace {

ConnectionId id_of(std::uint8_t value) {
  const std::array<std::uint8_t, 8> bytes = {value, 1, 2, 3, 4, 5, 6, 7};
  return ConnectionId(bytes);
}

NewConnectionIdFrame given(std::uint64_t sequence, std::uint64_t retire_prior_to = 0) {
  StatelessResetToken token{};
  token[0] = static_cast<std::uint8_t>(sequence);
  return {.sequence = sequence,
          .retire_prior_to = retire_prior_to,
          .id = id_of(static_cast<std::uint8_t>(sequence)),
          .reset_token = token};
}

constexpr Time k_until{std::chrono::seconds(5)};

class LocalIds : public testing::Test {
 protected:
  LocalIds() {
    ids_.set_id_maker(std::make_shared<LocalIdMaker>(std::vector<std::uint8_t>(32, 1)));
    ids_.add_initial(id_of(0));
    ids_.issue(4, random_);
  }
  SeededRandom random_{1};
  LocalConnectionIds ids_;
};

TEST_F(LocalIds, IssuesUpToThePeersLimit) {
  int announced = 0;
  for (; ids_.next_pending(); ids_.sent()) ++announced;
  EXPECT_EQ(announced, 3);
}

TEST_F(LocalIds, KeepsFewWhateverThePeerAllows) {
  ids_.issue(1'000'000, random_);
  int announced = 0;
  for (; ids_.next_pending(); ids_.sent()) ++announced;
  EXPECT_EQ(announced, 7);
}

// Packets that were sent with the id before may arrive later.
TEST_F(LocalIds, ReplacesARetiredIdAtOnceAndForgetsItLater) {
  ASSERT_TRUE(ids_.on_retire({.sequence = 0}, k_until));
  ids_.issue(4, random_);
  std::uint64_t last = 0;
  for (; ids_.next_pending(); ids_.sent()) last = ids_.next_pending()->sequence;
  EXPECT_EQ(last, 4u);
  EXPECT_TRUE(ids_.contains(id_of(0).view()));
  EXPECT_EQ(ids_.active_count(), 4u);
  EXPECT_EQ(ids_.next_forgetting_at(), k_until);
  ids_.forget_retired(k_until - Duration(1));
  EXPECT_TRUE(ids_.contains(id_of(0).view()));
  ids_.forget_retired(k_until);
  EXPECT_FALSE(ids_.contains(id_of(0).view()));
  EXPECT_EQ(ids_.next_forgetting_at(), k_never);
}

TEST_F(LocalIds, RetiringAgainChangesNothing) {
  ASSERT_TRUE(ids_.on_retire({.sequence = 0}, k_until));
  ASSERT_TRUE(ids_.on_retire({.sequence = 0}, k_until + Duration(1)));
  EXPECT_EQ(ids_.next_forgetting_at(), k_until);
}

// The peer retires ids as fast as it receives others.
TEST_F(LocalIds, KeepsFewThatWereRetired) {
  int routes = 0;
  for (std::uint64_t sequence = 0; sequence < 100; ++sequence) {
    for (; ids_.next_pending(); ids_.sent()) {
    }
    ASSERT_TRUE(ids_.on_retire({.sequence = sequence}, k_until));
    ids_.issue(4, random_);
    while (const auto change = ids_.poll_change()) routes += change->added ? 1 : -1;
  }
  EXPECT_EQ(routes, 4 + 8);
  ids_.retire_all();
  while (const auto change = ids_.poll_change()) routes += change->added ? 1 : -1;
  EXPECT_EQ(routes, 0);
}

TEST_F(LocalIds, RefusesToRetireWhatWasNeverIssued) {
  const auto status = ids_.on_retire({.sequence = 4}, k_until);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, TransportErrorCode::kProtocolViolation);
}

TEST_F(LocalIds, RefusesToRetireWhatWasNotSentYet) {
  ids_.sent();  // sequence 1
  ASSERT_TRUE(ids_.on_retire({.sequence = 1}, k_until));
  const auto status = ids_.on_retire({.sequence = 2}, k_until);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, TransportErrorCode::kProtocolViolation);
}

TEST_F(LocalIds, ALossThatIsReportedAgainAnnouncesOnce) {
  for (; ids_.next_pending(); ids_.sent()) {
  }
  for (int probe = 0; probe < 5; ++probe) ids_.on_lost(2);
  ids_.sent();
  EXPECT_FALSE(ids_.next_pending());
}

TEST_F(LocalIds, AnnouncesALostIdAgainUnlessItIsGone) {
  for (; ids_.next_pending(); ids_.sent()) {
  }
  ids_.on_lost(2);
  ASSERT_TRUE(ids_.next_pending());
  EXPECT_EQ(ids_.next_pending()->sequence, 2u);
  ids_.sent();
  ASSERT_TRUE(ids_.on_retire({.sequence = 2}, k_until));
  ids_.on_lost(2);
  EXPECT_FALSE(ids_.next_pending());
}

class RemoteIds : public testing::Test {
 protected:
  RemoteIds() { ids_.set_initial(id_of(0)); }
  RemoteConnectionIds ids_{4};
};

TEST_F(RemoteIds, RotatesToTheOldestSpareAndRetiresTheOldOne) {
  ASSERT_TRUE(ids_.on_new(given(2)));
  ASSERT_TRUE(ids_.on_new(given(1)));
  ASSERT_TRUE(ids_.rotate());
  EXPECT_EQ(ids_.current(), id_of(1));
  ASSERT_TRUE(ids_.has_retirements());
  EXPECT_EQ(ids_.next_retirement(), 0u);
}

TEST_F(RemoteIds, DoesNotRotateWithoutASpare) { EXPECT_FALSE(ids_.rotate()); }

TEST_F(RemoteIds, ARepeatedFrameChangesNothing) {
  ASSERT_TRUE(ids_.on_new(given(1)));
  ASSERT_TRUE(ids_.on_new(given(1)));
  ASSERT_TRUE(ids_.rotate());
  EXPECT_FALSE(ids_.rotate());
}

TEST_F(RemoteIds, ARepeatedFrameOfARetiredIdChangesNothing) {
  ASSERT_TRUE(ids_.on_new(given(1)));
  ASSERT_TRUE(ids_.on_new(given(2)));
  ASSERT_TRUE(ids_.rotate());
  ASSERT_TRUE(ids_.rotate());
  // Late copies of retired ids arrive while 2 is in use.
  EXPECT_TRUE(ids_.on_new(given(1)));
  EXPECT_FALSE(ids_.rotate());
  EXPECT_EQ(ids_.current(), id_of(2));
}

TEST_F(RemoteIds, RefusesAnotherIdUnderARetiredSequence) {
  ASSERT_TRUE(ids_.on_new(given(1)));
  ASSERT_TRUE(ids_.on_new(given(2)));
  ASSERT_TRUE(ids_.rotate());
  ASSERT_TRUE(ids_.rotate());
  auto other = given(1);
  other.id = id_of(99);
  const auto status = ids_.on_new(other);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, TransportErrorCode::kProtocolViolation);
}

TEST_F(RemoteIds, RefusesAnotherResetTokenForAKnownId) {
  ASSERT_TRUE(ids_.on_new(given(1)));
  auto other = given(1);
  other.reset_token[1] ^= 1;
  const auto status = ids_.on_new(other);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, TransportErrorCode::kProtocolViolation);
}

TEST_F(RemoteIds, SequencesFullOfGapsEndTheConnection) {
  TransportStatus status;
  for (std::uint64_t sequence = 2; sequence < 1000 && status; sequence += 2) {
    NewConnectionIdFrame frame = given(sequence % 200, sequence);
    frame.sequence = sequence;
    frame.id.bytes[1] = static_cast<std::uint8_t>(sequence >> 8);
    frame.id.bytes[2] = static_cast<std::uint8_t>(sequence);
    status = ids_.on_new(frame);
    // The peer is informed at once.
    for (std::uint64_t retired = 0; retired < sequence; ++retired) {
      ids_.on_retirement_acknowledged(retired);
    }
  }
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, TransportErrorCode::kProtocolViolation);
}

TEST_F(RemoteIds, RefusesAnotherIdUnderAKnownSequence) {
  ASSERT_TRUE(ids_.on_new(given(1)));
  auto other = given(1);
  other.id = id_of(99);
  const auto status = ids_.on_new(other);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, TransportErrorCode::kProtocolViolation);
}

TEST_F(RemoteIds, RetirePriorToMovesToANewerId) {
  ASSERT_TRUE(ids_.on_new(given(1)));
  ASSERT_TRUE(ids_.on_new(given(2, 2)));
  EXPECT_EQ(ids_.current(), id_of(2));
}

TEST_F(RemoteIds, MoreThanTheLimitIsAnError) {
  for (std::uint64_t sequence = 1; sequence < 4; ++sequence) {
    ASSERT_TRUE(ids_.on_new(given(sequence)));
  }
  const auto status = ids_.on_new(given(4));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, TransportErrorCode::kConnectionIdLimitError);
}

TEST_F(RemoteIds, AFloodOfRetirementsEndsTheConnection) {
  bool refused = false;
  for (std::uint64_t sequence = 1; sequence < 1000 && !refused; ++sequence) {
    NewConnectionIdFrame frame = given(sequence % 200 + 1, sequence);
    frame.sequence = sequence;
    frame.id.bytes[1] = static_cast<std::uint8_t>(sequence >> 8);
    frame.id.bytes[2] = static_cast<std::uint8_t>(sequence);
    refused = !ids_.on_new(frame);
  }
  EXPECT_TRUE(refused);
}

TEST_F(RemoteIds, ARetirementThatIsLostAndAcknowledgedTwiceCountsOnce) {
  ASSERT_TRUE(ids_.on_new(given(1)));
  ASSERT_TRUE(ids_.rotate());
  ids_.retirement_sent();
  ids_.on_retirement_lost(0);
  EXPECT_TRUE(ids_.has_retirements());
  ids_.on_retirement_acknowledged(0);
  EXPECT_FALSE(ids_.has_retirements());
  ids_.on_retirement_acknowledged(0);
  ids_.on_retirement_lost(0);
  EXPECT_FALSE(ids_.has_retirements());
  EXPECT_TRUE(ids_.on_new(given(2)));
}

TEST_F(RemoteIds, ARetirementReportedLostAgainIsSentOnce) {
  ASSERT_TRUE(ids_.on_new(given(1)));
  ASSERT_TRUE(ids_.rotate());
  ids_.retirement_sent();
  for (int probe = 0; probe < 5; ++probe) ids_.on_retirement_lost(0);
  ids_.retirement_sent();
  EXPECT_FALSE(ids_.has_retirements());
}

TEST_F(RemoteIds, AReservedIdCountsAndIsRetiredLikeOthers) {
  for (std::uint64_t sequence = 1; sequence < 4; ++sequence) {
    ASSERT_TRUE(ids_.on_new(given(sequence)));
  }
  ASSERT_TRUE(ids_.reserve());
  EXPECT_EQ(*ids_.reserved(), id_of(1));
  EXPECT_EQ(ids_.current(), id_of(0));
  // Four ids are active already.
  RemoteConnectionIds copy = ids_;
  EXPECT_FALSE(copy.on_new(given(4)));
  ASSERT_TRUE(ids_.on_new(given(5, 3)));
  EXPECT_EQ(ids_.reserved(), nullptr);
  EXPECT_EQ(ids_.current(), id_of(3));
}

TEST_F(RemoteIds, AnIdThatWasLeftStaysInUseUntilItsTime) {
  for (std::uint64_t sequence = 1; sequence < 4; ++sequence) {
    ASSERT_TRUE(ids_.on_new(given(sequence)));
  }
  const Time at{1s};
  ASSERT_TRUE(ids_.rotate(at));
  ASSERT_TRUE(ids_.rotate(at + 1s));
  EXPECT_TRUE(ids_.in_use(id_of(0)) && ids_.in_use(id_of(1)) && ids_.in_use(id_of(2)));
  EXPECT_TRUE(ids_.is_reset_token(given(1).reset_token));
  EXPECT_FALSE(ids_.has_retirements());
  RemoteConnectionIds copy = ids_;
  EXPECT_FALSE(copy.on_new(given(4))) << "the peer gives no other before";
  EXPECT_EQ(ids_.next_retirement_at(), at);
  ids_.retire_left(at);
  EXPECT_EQ(ids_.next_retirement(), 0u);
  EXPECT_FALSE(ids_.in_use(id_of(0)));
  EXPECT_EQ(ids_.next_retirement_at(), at + 1s);
  ASSERT_TRUE(ids_.on_new(given(4, 2)));
  EXPECT_FALSE(ids_.in_use(id_of(1)));
  EXPECT_EQ(ids_.next_retirement_at(), k_never);
  EXPECT_EQ(ids_.current(), id_of(2));
}

TEST_F(RemoteIds, KnowsItsResetToken) {
  ASSERT_TRUE(ids_.on_new(given(1)));
  EXPECT_FALSE(ids_.is_reset_token(given(1).reset_token));
  ASSERT_TRUE(ids_.rotate());
  EXPECT_TRUE(ids_.is_reset_token(given(1).reset_token));
  EXPECT_FALSE(ids_.is_reset_token(given(2).reset_token));
}

}  // namespace
}  // namespace sheaf::quic
