// Tests that an extension can make paths different without a change in connection/
// (connection/path_policy.h).
#include "connection/path_policy.h"

#include <gtest/gtest.h>

#include "connection/connection_extension.h"
#include "connection/raw_peer.h"

namespace sheaf::quic {
namespace {

constexpr PathId k_channel{1};

// Records the calls of the policy under test.
struct Record {
  std::vector<std::vector<std::uint8_t>> datagrams;
  std::vector<PathId> abandoned;
  std::vector<PathId> forgotten;
  int violations = 0;
};

// Consumes datagrams itself, makes path 1 a channel for streams alone, and lets a violation cost
// the channel.
class TestPolicy final : public PathPolicy {
 public:
  TestPolicy(ConnectionExtension connection, Record& record) : record_(record) {
    connection.paths().set_rules(
        {.judged = FrameSet::of<DatagramFrame>(), .for_policy = FrameSet::of<DatagramFrame>()});
    PathEntry& channel = *connection.paths().find_or_add(k_channel);
    channel.rules = {
        .apart = true,
        .judged = FrameSet::all(),
        .admitted = FrameSet::of<PaddingFrame, StreamFrame, PathNewConnectionIdFrame>(),
        .for_policy = {}};
    connection.make_path(channel, RawPeer::address(1));
  }
  TransportStatus on_frame(PathEntry&, const Frame& frame, Time) override {
    const Bytes data = std::get<DatagramFrame>(frame).data;
    record_.datagrams.emplace_back(data.begin(), data.end());
    return {};
  }
  bool on_violation(const TransportError&, Time) override { return ++record_.violations > 0; }
  void on_abandoned(PathEntry& entry, Time) override { record_.abandoned.push_back(entry.id); }
  void on_forgotten(PathId path) override { record_.forgotten.push_back(path); }

 private:
  Record& record_;
};

class TestFactory final : public PathPolicyFactory {
 public:
  explicit TestFactory(Record& record) : record_(record) {}
  void offer(TransportParameters& own) const override { own.initial_max_path_id = 3; }
  std::unique_ptr<PathPolicy> agree(ConnectionExtension connection,
                                    const TransportParameters&) const override {
    return std::make_unique<TestPolicy>(connection, record_);
  }

 private:
  Record& record_;
};

class PathPolicies : public testing::Test {
 protected:
  RawPeer::Options options() const {
    RawPeer::Options options;
    options.multipath = true;
    options.config.path_policy = &factory_;
    return options;
  }
  Record record_;
  TestFactory factory_{record_};
};

RawPeer::Target channel_of(RawPeer& peer) {
  return {k_channel, peer.server.extension().paths().find(k_channel)->local_ids.given().at(0).id};
}

TEST_F(PathPolicies, OfferChangesWhatIsAnnounced) {
  RawPeer peer(options());
  EXPECT_EQ(peer.server.local_parameters().initial_max_path_id, 3u);
}

TEST_F(PathPolicies, TakesFramesBeforeTheConnectionDoes) {
  RawPeer peer(options());
  const std::vector<std::uint8_t> payload{1, 2, 3};
  peer.send({DatagramFrame{payload}}, peer.path);
  EXPECT_EQ(record_.datagrams, std::vector<std::vector<std::uint8_t>>{payload});
  EXPECT_FALSE(peer.server.datagrams().receive());
  EXPECT_FALSE(peer.server.closed());
}

TEST_F(PathPolicies, PaysForViolations) {
  RawPeer peer(options());
  peer.send({HandshakeDoneFrame{}}, peer.path);
  EXPECT_EQ(record_.violations, 1);
  EXPECT_FALSE(peer.server.closed());
}

TEST_F(PathPolicies, WithoutOneAViolationEndsTheConnection) {
  RawPeer peer{RawPeer::Options()};
  peer.send({HandshakeDoneFrame{}}, peer.path);
  EXPECT_TRUE(peer.server.closed());
}

TEST_F(PathPolicies, APathApartPaysForItself) {
  RawPeer peer(options());
  const RawPeer::Target channel = channel_of(peer);
  const std::vector<std::uint8_t> data{7, 8};
  const StreamId stream{2};  // the client's first unidirectional one
  peer.send_on(channel, {StreamFrame{.stream = stream, .offset = 0, .data = data}}, peer.path);
  EXPECT_TRUE(record_.abandoned.empty());
  EXPECT_EQ(peer.server.streams().reader().readable_bytes(stream), 2u);
  // A frame that the channel does not admit costs only the channel.
  peer.send_on(channel, {PingFrame{}}, peer.path);
  EXPECT_EQ(record_.abandoned, std::vector{k_channel});
  EXPECT_EQ(record_.violations, 0);
  EXPECT_FALSE(peer.server.closed());
  // Later packets on the channel are ignored.
  peer.send_on(channel, {StreamFrame{.stream = stream, .offset = 2, .data = data}}, peer.path);
  EXPECT_EQ(peer.server.streams().reader().readable_bytes(stream), 2u);
}

TEST_F(PathPolicies, APathApartSpeaksOfItselfAlone) {
  RawPeer peer(options());
  const RawPeer::Target channel = channel_of(peer);
  peer.send_on(channel, {PathNewConnectionIdFrame{PathId{2}, RawPeer::given(1)}}, peer.path);
  EXPECT_EQ(record_.abandoned, std::vector{k_channel});
  EXPECT_FALSE(peer.server.closed());
}

}  // namespace
}  // namespace sheaf::quic
