// What a peer may not do with the frames of RFC 10069, and what it cannot make us keep.
#include <gtest/gtest.h>

#include "connection/path_table.h"
#include "connection/raw_peer.h"

namespace sheaf::quic {
namespace {

constexpr std::uint32_t k_maximum = PathTable::k_max_concurrent - 1;

RawPeer::Options multipath() {
  RawPeer::Options options;
  options.multipath = true;
  return options;
}

NewConnectionIdFrame issued(std::uint64_t sequence, std::uint8_t value) {
  NewConnectionIdFrame frame{
      .sequence = sequence, .retire_prior_to = 0, .id = {}, .reset_token = {}};
  frame.id = ConnectionId(std::vector<std::uint8_t>(8, value));
  frame.reset_token = {value};
  return frame;
}

AckFrame with_ecn(PacketNumber largest = 0) { return {.largest = largest, .ecn = EcnCounts{}}; }

FrameType type_of(const Frame& frame) {
  std::vector<std::uint8_t> bytes(encoded_size(frame));
  Writer writer(bytes);
  encode(writer, frame);
  return static_cast<FrameType>(Reader(bytes).read_varint());
}

std::optional<TransportErrorCode> error_after(const std::vector<Frame>& frames,
                                              const RawPeer::Options& options = multipath()) {
  RawPeer peer(options);
  peer.send(frames, peer.path);
  const ConnectionClosed* closed = peer.server.closed();
  if (!closed) return std::nullopt;
  EXPECT_EQ(closed->cause, ConnectionClosed::Cause::kLocalError);
  // The last frame is the one that breaks a rule.
  EXPECT_EQ(static_cast<FrameType>(closed->frame_type), type_of(frames.back()));
  EXPECT_FALSE(peer.collect().empty()) << "the peer is told";
  return static_cast<TransportErrorCode>(closed->error);
}

TEST(MultipathViolations, FramesDoNotExistWithoutNegotiation) {
  for (const Frame& frame : std::vector<Frame>{
           PathAckFrame{PathId{0}, {}}, PathAckFrame{PathId{0}, with_ecn()},
           PathAbandonFrame{PathId{0}, 0}, PathStatusFrame{PathId{0}, 1, PathStatus::kBackup},
           PathStatusFrame{PathId{0}, 1, PathStatus::kAvailable},
           PathNewConnectionIdFrame{PathId{1}, issued(0, 7)},
           PathRetireConnectionIdFrame{PathId{0}, 0}, MaxPathIdFrame{PathId{9}},
           PathsBlockedFrame{PathId{0}}, PathCidsBlockedFrame{PathId{0}, 0}}) {
    EXPECT_EQ(error_after({frame}, {}), TransportErrorCode::kFrameEncodingError) << frame.index();
  }
}

TEST(MultipathViolations, PathIdsAboveTheMaximum) {
  const PathId above{k_maximum + 1};
  for (const Frame& frame : std::vector<Frame>{
           PathAckFrame{above, {}}, PathAckFrame{above, with_ecn()}, PathAbandonFrame{above, 0},
           PathStatusFrame{above, 1, PathStatus::kAvailable},
           PathStatusFrame{above, 1, PathStatus::kBackup},
           PathNewConnectionIdFrame{above, issued(0, 7)}, PathRetireConnectionIdFrame{above, 0},
           PathsBlockedFrame{above}, PathCidsBlockedFrame{above, 0}}) {
    EXPECT_EQ(error_after({frame}), TransportErrorCode::kProtocolViolation) << frame.index();
  }
}

TEST(MultipathViolations, AcknowledgementsOfWhatWasNotSent) {
  EXPECT_EQ(error_after({PathAckFrame{PathId{0}, {.largest = 1'000'000}}}),
            TransportErrorCode::kProtocolViolation);
  EXPECT_EQ(error_after({PathAckFrame{PathId{0}, with_ecn(1'000'000)}}),
            TransportErrorCode::kProtocolViolation);
  EXPECT_EQ(error_after({PathAckFrame{PathId{3}, {.largest = 0}}}),
            TransportErrorCode::kProtocolViolation);
}

TEST(MultipathViolations, AMaximumBelowTheTransportParameter) {
  EXPECT_EQ(error_after({MaxPathIdFrame{PathId{0}}}), TransportErrorCode::kProtocolViolation);
}

TEST(MultipathViolations, ConnectionIdsThatAreNotUnique) {
  EXPECT_EQ(error_after({PathNewConnectionIdFrame{PathId{1}, issued(0, 7)},
                         PathNewConnectionIdFrame{PathId{2}, issued(0, 7)}}),
            TransportErrorCode::kProtocolViolation);
}

TEST(MultipathViolations, ConnectionIdsThatAreNotUniqueInTheOldFrame) {
  EXPECT_EQ(error_after({PathNewConnectionIdFrame{PathId{1}, issued(0, 7)}, Frame{issued(1, 7)}}),
            TransportErrorCode::kProtocolViolation);
}

TEST(MultipathViolations, MoreConnectionIdsThanTheLimitOfAPath) {
  std::vector<Frame> frames;
  for (std::uint8_t i = 0; i < 6; ++i) {
    frames.push_back(
        PathNewConnectionIdFrame{PathId{1}, issued(i, static_cast<std::uint8_t>(i + 1))});
  }
  EXPECT_EQ(error_after(frames), TransportErrorCode::kConnectionIdLimitError);
}

TEST(MultipathViolations, RetirementOfIdsThatWereNotIssued) {
  EXPECT_EQ(error_after({PathRetireConnectionIdFrame{PathId{1}, 2}}),
            TransportErrorCode::kProtocolViolation);
}

TEST(MultipathViolations, BlockedByAnIdThatIsNotNext) {
  EXPECT_EQ(error_after({PathCidsBlockedFrame{PathId{1}, 1000}}),
            TransportErrorCode::kProtocolViolation);
}

// RFC 10069 §2.1.
TEST(MultipathViolations, AZeroLengthConnectionId) {
  SeededRandom random(1);
  const Time now{std::chrono::seconds(1)};
  Connection server(Role::kServer, {}, random, now);
  ConnectionSeed seed;
  seed.send_secret = seed.receive_secret = known_secret(1);
  seed.peer_parameters.initial_max_path_id = 2;
  seed.local_id = RawPeer::id(0);
  seed.path = RawPeer::address(1);
  const TransportStatus status = server.establish(seed, now);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, TransportErrorCode::kProtocolViolation);
}

TEST(MultipathViolations, WhatIsAllowedCostsNothing) {
  EXPECT_EQ(error_after({PathStatusFrame{PathId{k_maximum}, 5, PathStatus::kBackup},
                         PathStatusFrame{PathId{k_maximum}, 4, PathStatus::kAvailable},
                         PathAbandonFrame{PathId{k_maximum}, 0x3e},
                         PathAbandonFrame{PathId{k_maximum}, 0x3e},
                         // Of a path that is gone: not a word.
                         PathAckFrame{PathId{k_maximum}, {.largest = 77}},
                         PathsBlockedFrame{PathId{2}}, MaxPathIdFrame{PathId{100}}}),
            std::nullopt);
}

TEST(MultipathViolations, TheLastPathCannotBeAbandonedWithoutAnEnd) {
  RawPeer peer(multipath());
  peer.send({PathAbandonFrame{PathId{0}, 0x3e}}, peer.path);
  ASSERT_NE(peer.server.closed(), nullptr);
  EXPECT_FALSE(peer.collect().empty());
}

// A peer that opens and abandons paths for ever gets new ids only as old ones are forgotten.
TEST(MultipathViolations, PathChurnIsBounded) {
  RawPeer peer(multipath());
  for (std::uint32_t round = 1; round < 200; ++round) {
    for (std::uint32_t id = 1; id <= k_maximum; ++id) {
      peer.send({PathAbandonFrame{PathId{id}, 0}}, peer.path);
    }
    // Nothing is acknowledged, so nothing may be forgotten.
    peer.collect();
  }
  EXPECT_EQ(peer.server.closed(), nullptr);
  EXPECT_LE(peer.server.path_stats().size(), 1u);
  std::size_t ids = 0;
  while (const auto change = peer.server.poll_id_change()) ids += change->added;
  EXPECT_LE(ids, 8u + 2 * k_maximum);
}

TEST(MultipathViolations, BlockedFramesDoNotMakeUsIssueWithoutEnd) {
  RawPeer peer(multipath());
  for (int i = 0; i < 1000; ++i) {
    peer.send({PathCidsBlockedFrame{PathId{1}, 0}, PathsBlockedFrame{PathId{k_maximum}}},
              peer.path);
  }
  EXPECT_EQ(peer.server.closed(), nullptr);
  std::size_t ids = 0;
  while (const auto change = peer.server.poll_id_change()) ids += change->added;
  EXPECT_LE(ids, 8u + 2 * k_maximum);
}

}  // namespace
}  // namespace sheaf::quic
