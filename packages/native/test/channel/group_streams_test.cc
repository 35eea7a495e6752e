#include "channel/group_streams.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace sheaf::quic {
namespace {

using Outcome = GroupStreams::Outcome;
using Kind = GroupEvent::Kind;

constexpr Duration k_deadline = 100ms;
constexpr Time k_group_start{1s};

StreamId group(std::uint64_t index) {
  return StreamId::make(Role::kServer, Directionality::kUnidirectional, index);
}

StreamFrame frame(std::uint64_t index, std::uint64_t offset, std::string_view text, bool fin) {
  return {.stream = group(index),
          .offset = offset,
          .data = {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()},
          .fin = fin};
}

std::string read(GroupStreams& groups, std::uint64_t index) {
  std::string text;
  for (Bytes bytes; !(bytes = groups.peek(group(index))).empty();) {
    text.append(bytes.begin(), bytes.end());
    groups.consume(group(index), bytes.size());
  }
  return text;
}

std::optional<Kind> next_kind(GroupStreams& groups) {
  const auto event = groups.poll_event();
  return event ? std::optional(event->kind) : std::nullopt;
}

TEST(GroupStreams, GiveBytesInOrderAndThenTheEnd) {
  GroupStreams groups(k_deadline);
  EXPECT_EQ(groups.on_stream(frame(5, 3, "def", true), k_group_start), Outcome::kTaken);
  EXPECT_EQ(next_kind(groups), std::nullopt);
  EXPECT_EQ(groups.on_stream(frame(5, 0, "abc", false), k_group_start), Outcome::kTaken);
  EXPECT_EQ(next_kind(groups), Kind::kReadable);
  EXPECT_EQ(read(groups, 5), "abcdef");
  EXPECT_EQ(next_kind(groups), Kind::kEnded);
  EXPECT_EQ(groups.on_stream(frame(5, 0, "abc", false), k_group_start), Outcome::kLate);
}

TEST(GroupStreams, AnEmptyGroupEnds) {
  GroupStreams groups(k_deadline);
  EXPECT_EQ(groups.on_stream(frame(0, 0, "", true), k_group_start), Outcome::kTaken);
  EXPECT_EQ(next_kind(groups), Kind::kEnded);
}

TEST(GroupStreams, GroupsBeforeTheFirstMayStillCome) {
  GroupStreams groups(k_deadline);
  groups.on_stream(frame(1, 0, "b", true), k_group_start);
  EXPECT_EQ(next_kind(groups), Kind::kReadable);
  EXPECT_EQ(read(groups, 1), "b");
  EXPECT_EQ(next_kind(groups), Kind::kEnded);
  EXPECT_EQ(groups.on_stream(frame(0, 0, "a", true), k_group_start), Outcome::kTaken);
  EXPECT_EQ(read(groups, 0), "a");
}

TEST(GroupStreams, GroupsBeforeTheFirstThatNeverComeEndSilently) {
  GroupStreams groups(k_deadline);
  groups.on_stream(frame(40, 0, "b", true), k_group_start);
  EXPECT_EQ(next_kind(groups), Kind::kReadable);
  read(groups, 40);
  EXPECT_EQ(next_kind(groups), Kind::kEnded);
  groups.on_timeout(k_group_start + k_deadline);
  EXPECT_EQ(next_kind(groups), std::nullopt);
  EXPECT_EQ(groups.next_timeout(), k_never);
  EXPECT_EQ(groups.on_stream(frame(39, 0, "a", true), k_group_start), Outcome::kLate);
}

TEST(GroupStreams, AGapExpiresAfterTheDeadline) {
  GroupStreams groups(k_deadline);
  groups.on_stream(frame(0, 0, "abc", false), k_group_start);
  EXPECT_EQ(groups.next_timeout(), k_never);
  groups.on_stream(frame(0, 5, "f", true), k_group_start + 10ms);
  EXPECT_EQ(groups.next_timeout(), k_group_start + 110ms);
  groups.on_timeout(k_group_start + 109ms);
  EXPECT_EQ(next_kind(groups), Kind::kReadable);
  groups.on_timeout(k_group_start + 110ms);
  EXPECT_EQ(next_kind(groups), Kind::kExpired);
  EXPECT_EQ(groups.on_stream(frame(0, 3, "de", false), k_group_start), Outcome::kLate);
}

TEST(GroupStreams, AGroupThatGoesOnDoesNotExpire) {
  GroupStreams groups(k_deadline);
  for (int i = 0; i < 10; ++i) {
    const Time now = k_group_start + 60ms * i;
    groups.on_timeout(now);
    // Each piece comes after the one behind it.
    groups.on_stream(frame(0, 2 * static_cast<std::uint64_t>(i) + 1, "b", false), now);
    groups.on_stream(frame(0, 2 * static_cast<std::uint64_t>(i), "a", false), now + 30ms);
  }
  EXPECT_EQ(next_kind(groups), Kind::kReadable);
  EXPECT_EQ(read(groups, 0).size(), 20u);
}

TEST(GroupStreams, AGroupWhoseEndNeverComesExpires) {
  GroupStreams groups(k_deadline);
  groups.on_stream(frame(0, 0, "abc", false), k_group_start);
  next_kind(groups);
  groups.on_packets_expired(k_group_start + 50ms);
  groups.on_timeout(k_group_start + 150ms);
  EXPECT_EQ(next_kind(groups), Kind::kExpired);
}

TEST(GroupStreams, TheSourceMayResetAGroup) {
  GroupStreams groups(k_deadline);
  groups.on_stream(frame(0, 0, "abc", false), k_group_start);
  EXPECT_EQ(groups.on_reset({.stream = group(0), .error = 9, .final_size = 3}, k_group_start),
            Outcome::kTaken);
  const auto event = groups.poll_event();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->kind, Kind::kReset);
  EXPECT_EQ(event->error, 9u);
}

TEST(GroupStreams, RefuseWhatNoSourceSends) {
  GroupStreams groups(k_deadline);
  const StreamId others[] = {
      StreamId::make(Role::kClient, Directionality::kUnidirectional, 0),
      StreamId::make(Role::kServer, Directionality::kBidirectional, 0),
  };
  for (const StreamId id : others) {
    StreamFrame other = frame(0, 0, "a", false);
    other.stream = id;
    EXPECT_EQ(groups.on_stream(other, k_group_start), Outcome::kViolation);
  }
  EXPECT_EQ(groups.on_stream(frame(0, GroupStreams::k_max_group, "a", false), k_group_start),
            Outcome::kViolation);
  EXPECT_EQ(groups.on_stream(frame(0, 0, "abc", true), k_group_start), Outcome::kTaken);
  EXPECT_EQ(groups.on_stream(frame(0, 3, "d", false), k_group_start), Outcome::kViolation);
  EXPECT_EQ(groups.on_stream(frame(0, 0, "ab", true), k_group_start), Outcome::kViolation);
}

TEST(GroupStreams, HoldFewGroupsAtATime) {
  GroupStreams groups(k_deadline);
  EXPECT_EQ(groups.on_stream(frame(0, 1, "b", false), k_group_start), Outcome::kTaken);
  EXPECT_EQ(groups.on_stream(frame(63, 0, "a", false), k_group_start), Outcome::kTaken);
  // The lowest group makes room, and its application is told.
  EXPECT_EQ(groups.on_stream(frame(64, 0, "a", false), k_group_start), Outcome::kTaken);
  const auto event = groups.poll_event();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->kind, Kind::kExpired);
  EXPECT_EQ(event->group, group(0));
  EXPECT_EQ(groups.on_stream(frame(0, 0, "a", false), k_group_start), Outcome::kLate);
  // Groups that were skipped expire like one with a gap.
  groups.on_timeout(k_group_start + k_deadline);
  int expired = 0;
  while (const auto kind = next_kind(groups)) expired += *kind == Kind::kExpired ? 1 : 0;
  EXPECT_EQ(expired, 62);
  // A group that is far away, as after a long pause
  EXPECT_EQ(groups.on_stream(frame(std::uint64_t{1} << 40, 0, "far", true), k_group_start),
            Outcome::kTaken);
  std::set<std::uint64_t> given_up;
  while (const auto late = groups.poll_event()) {
    if (late->kind == Kind::kExpired) given_up.insert(late->group.index());
  }
  EXPECT_EQ(given_up, (std::set<std::uint64_t>{63, 64}));
  EXPECT_EQ(read(groups, std::uint64_t{1} << 40), "far");
}

TEST(GroupStreams, AGroupThatFindsNoRoomEnds) {
  GroupStreams groups(k_deadline);
  const std::string piece(4096, 'x');
  groups.on_stream(frame(0, 0, "first", false), k_group_start);
  for (std::uint64_t index = 1; index < 6 && groups.memory_bytes() <= GroupStreams::k_max_memory;
       ++index) {
    for (std::uint64_t at = 4096; at + 4096 <= GroupStreams::k_max_group &&
                                  groups.memory_bytes() <= GroupStreams::k_max_memory;
         at += 8192) {
      groups.on_stream(frame(index, at, piece, false), k_group_start);
    }
  }
  while (groups.poll_event()) {
  }
  EXPECT_EQ(groups.on_stream(frame(0, 5, piece, true), k_group_start), Outcome::kLimit);
  const auto event = groups.poll_event();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->group.index(), 0u);
  EXPECT_EQ(event->kind, Kind::kExpired);
}

TEST(GroupStreams, MemoryIsBounded) {
  GroupStreams groups(k_deadline);
  const std::string piece(4096, 'x');
  for (std::uint64_t index = 0; index < 4; ++index) {
    // Every other piece, so that nothing can be read
    for (std::uint64_t at = 4096; at + 4096 <= GroupStreams::k_max_group; at += 8192) {
      groups.on_stream(frame(index, at, piece, false), k_group_start);
    }
  }
  EXPECT_LE(groups.memory_bytes(), GroupStreams::k_max_memory + 2 * piece.size());
  // The lowest group made room, and the latest one is whole.
  const auto event = groups.poll_event();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->kind, Kind::kExpired);
  EXPECT_EQ(event->group, group(0));
  EXPECT_EQ(groups.on_stream(frame(3, 0, piece, false), k_group_start), Outcome::kTaken);
  EXPECT_FALSE(groups.peek(group(3)).empty());
}

}  // namespace
}  // namespace sheaf::quic
