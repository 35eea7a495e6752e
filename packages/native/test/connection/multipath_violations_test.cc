// Tests what a peer must not do with the frames of RFC 10069, and that it cannot make this side
// keep state.
#include <gtest/gtest.h>
#include <malloc.h>

#include <map>
#include <set>

#include "connection/path_table.h"
#include "connection/raw_peer.h"
#include "util/address_sanitizer.h"

#if defined(SHEAF_ADDRESS_SANITIZER)
// Declared in <sanitizer/allocator_interface.h>, which GCC does not install.
extern "C" std::size_t __sanitizer_get_current_allocated_bytes();
#endif

namespace sheaf::quic {
namespace {

// Returns the bytes in use on the heap.
std::size_t allocated_bytes() {
#if defined(SHEAF_ADDRESS_SANITIZER)
  return __sanitizer_get_current_allocated_bytes();
#else
  return mallinfo2().uordblks;
#endif
}

constexpr std::uint32_t k_maximum = PathIds::k_max_concurrent - 1;

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
  const TransportStatus status = server.establishment().establish(seed, now);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, TransportErrorCode::kProtocolViolation);
}

TEST(MultipathViolations, WhatIsAllowedCostsNothing) {
  EXPECT_EQ(error_after({PathStatusFrame{PathId{k_maximum}, 5, PathStatus::kBackup},
                         PathStatusFrame{PathId{k_maximum}, 4, PathStatus::kAvailable},
                         PathAbandonFrame{PathId{k_maximum}, 0x3e},
                         PathAbandonFrame{PathId{k_maximum}, 0x3e},
                         // Frames about a path that is gone are ignored.
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

TEST(MultipathViolations, NothingIsForgottenForAPeerThatAcknowledgesNothing) {
  RawPeer peer(multipath());
  for (std::uint32_t round = 1; round < 200; ++round) {
    for (std::uint32_t id = 1; id <= k_maximum; ++id) {
      peer.send({PathAbandonFrame{PathId{id}, 0}}, peer.path);
    }
    // Nothing is acknowledged, so nothing may be forgotten.
    peer.collect();
  }
  EXPECT_EQ(peer.server.closed(), nullptr);
  EXPECT_LE(peer.server.paths().stats().size(), 1u);
  std::size_t ids = 0;
  while (const auto change = peer.server.routing().poll_id_change()) ids += change->added;
  EXPECT_LE(ids, 8u + 2 * k_maximum);
}

// This peer keeps opening paths, acknowledging on them, abandoning them and beginning again.
class ChurningPeer {
 public:
  ChurningPeer() : peer_(multipath()) {
    peer_.on_packet = [this](const RawPeer::Packet& packet) {
      received_[packet.path_id].insert(packet.number);
      abandoned_ |= packet.has<PathAbandonFrame>();
      for (const auto& frame : packet.all<PathNewConnectionIdFrame>()) {
        given_.try_emplace(frame.path, frame.issued.id);
      }
    };
    exchange();
  }

  bool can_open(PathId id) const { return given_.contains(id); }
  void open(PathId id) {
    const RawPeer::Target target{id, given_.at(id)};
    NewConnectionIdFrame ours = issued(0, static_cast<std::uint8_t>(id.value));
    ours.id = RawPeer::id_on(id);
    peer_.send({PathNewConnectionIdFrame{id, ours}}, peer_.path);
    peer_.send_on(target, {PathChallengeFrame{PathData{1}}}, RawPeer::address(2), 1200);
    for (const RawPeer::Packet& packet : peer_.collect()) {
      const auto challenge = packet.find<PathChallengeFrame>();
      if (!challenge) continue;
      peer_.send_on(target, {PathResponseFrame{challenge->data}}, RawPeer::address(2), 1200);
    }
    exchange();
  }
  // Runs until the server has forgotten the id, and both sides allow another one.
  void abandon(PathId id) {
    abandoned_ = false;
    peer_.send({PathAbandonFrame{id, 0}}, peer_.path);
    exchange();
    EXPECT_TRUE(abandoned_) << "the server abandons back";
    peer_.sleep(std::chrono::seconds(5));
    received_.erase(id);
    given_.erase(id);
    peer_.forget(id);
    peer_.send({MaxPathIdFrame{PathId{++maximum_}}}, peer_.path);
    exchange();
  }
  std::size_t take_events() {
    std::size_t taken = 0;
    while (peer_.server.poll_event()) ++taken;
    return taken;
  }
  // Returns the server's connection ids that lead to the connection.
  std::ptrdiff_t live_ids() {
    while (const auto change = peer_.server.routing().poll_id_change())
      live_ids_ += change->added ? 1 : -1;
    return live_ids_;
  }
  Connection& server() { return peer_.server; }

 private:
  // Acknowledges packets up to a number that the server left out, and repeats the ranges below it.
  void exchange() {
    for (int round = 0; round < 3; ++round) {
      peer_.collect();
      IntervalSet& first = received_[PathId{0}];
      while (first.size() > 1) first.pop_front();
      if (first.empty()) return;
      AckFrame ack;
      ack.largest = first.back().end - 1;
      ack.first_range = first.back().size() - 1;
      peer_.send({PathAckFrame{PathId{0}, ack}}, peer_.path);
    }
  }

  RawPeer peer_;
  std::map<PathId, ConnectionId> given_;
  std::map<PathId, IntervalSet> received_;
  bool abandoned_ = false;
  std::uint32_t maximum_ = k_maximum;
  std::ptrdiff_t live_ids_ = 0;
};

TEST(MultipathViolations, PathChurnIsBounded) {
  constexpr std::uint32_t k_churned = 1000;
  constexpr std::uint32_t k_warm_up = 100;
  // These ids were never used, so the set of retired ids has holes.
  const std::set<std::uint32_t> left_out{2, 4, 6};
  ChurningPeer peer;
  const std::ptrdiff_t live_ids = peer.live_ids();
  EXPECT_LE(live_ids, static_cast<std::ptrdiff_t>(2 * PathIds::k_max_concurrent));
  std::size_t live_bytes = 0;
  for (std::uint32_t id = 1; id <= k_churned; ++id) {
    SCOPED_TRACE(id);
    if (left_out.contains(id)) continue;
    ASSERT_TRUE(peer.can_open(PathId{id}));
    peer.open(PathId{id});
    ASSERT_EQ(peer.server().paths().stats().size(), 2u);
    EXPECT_TRUE(peer.server().paths().stats().back().validated);
    peer.abandon(PathId{id});
    ASSERT_EQ(peer.server().closed(), nullptr);
    ASSERT_EQ(peer.server().paths().stats().size(), 1u);
    ASSERT_EQ(peer.live_ids(), live_ids);
    // Opened, validated and abandoned.
    ASSERT_LE(peer.take_events(), id == 1 ? 8u : 3u);
    if (id == k_warm_up) live_bytes = allocated_bytes();
  }
  // If something of a path were kept forever, an interval would take at least 16 bytes.
  EXPECT_LE(allocated_bytes(), live_bytes + 4096);
}

TEST(MultipathViolations, BlockedFramesDoNotMakeUsIssueWithoutEnd) {
  RawPeer peer(multipath());
  for (int i = 0; i < 1000; ++i) {
    peer.send({PathCidsBlockedFrame{PathId{1}, 0}, PathsBlockedFrame{PathId{k_maximum}}},
              peer.path);
  }
  EXPECT_EQ(peer.server.closed(), nullptr);
  std::size_t ids = 0;
  while (const auto change = peer.server.routing().poll_id_change()) ids += change->added;
  EXPECT_LE(ids, 8u + 2 * k_maximum);
}

}  // namespace
}  // namespace sheaf::quic
