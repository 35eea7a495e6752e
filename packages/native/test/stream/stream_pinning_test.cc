#include "stream/stream_end.h"

namespace sheaf::quic {
namespace {

constexpr PathId k_path{3};
constexpr PathId k_other{5};

class StreamPinning : public testing::Test {
 protected:
  static std::vector<StreamId> streams_of(const StreamPacket& packet) {
    std::vector<StreamId> ids;
    for (const StreamFrame& frame : packet.all<StreamFrame>()) ids.push_back(frame.stream);
    return ids;
  }

  StreamPair pair_;
  StreamEnd& client_ = pair_.client;
  using Ids = std::vector<StreamId>;
};

TEST_F(StreamPinning, APinnedStreamLeavesOnItsPathOnly) {
  const StreamId free = pair_.open();
  const StreamId pinned = pair_.open();
  ASSERT_TRUE(client_.streams.pinned().pin(pinned, k_path));
  EXPECT_TRUE(client_.streams.pinned().contains(pinned));
  EXPECT_FALSE(client_.streams.pinned().contains(free));
  client_.write(pinned, 100, true);
  EXPECT_FALSE(client_.streams.outgoing().has_data_to_send());
  EXPECT_EQ(client_.streams.outgoing().unsent_bytes(), 0u);
  EXPECT_FALSE(client_.streams.outgoing().has_pinned_to_send(k_other));
  EXPECT_TRUE(client_.streams.outgoing().has_pinned_to_send(k_path));
  client_.write(free, 100, true);
  EXPECT_EQ(streams_of(client_.send()), Ids{free});
  EXPECT_TRUE(client_.send_pinned(k_other).empty());
  EXPECT_EQ(streams_of(client_.send_pinned(k_path)), Ids{pinned});
  EXPECT_FALSE(client_.streams.outgoing().has_pinned_to_send(k_path));
}

TEST_F(StreamPinning, LostDataAndResetsStayOnThePath) {
  const StreamId pinned = pair_.open();
  ASSERT_TRUE(client_.streams.pinned().pin(pinned, k_path));
  client_.write(pinned, 100);
  client_.lose(client_.send_pinned(k_path));
  EXPECT_FALSE(client_.streams.outgoing().has_data_to_send());
  EXPECT_EQ(streams_of(client_.send_pinned(k_path)), Ids{pinned});
  ASSERT_TRUE(client_.streams.writer().reset(pinned, 7));
  EXPECT_FALSE(client_.streams.outgoing().has_control_to_send());
  const StreamPacket reset = client_.send_pinned(k_path);
  EXPECT_EQ(reset.all<ResetStreamFrame>().size(), 1u);
  client_.lose(reset);
  EXPECT_FALSE(client_.streams.outgoing().has_control_to_send());
  EXPECT_EQ(client_.send_pinned(k_path).all<ResetStreamFrame>().size(), 1u);
}

TEST_F(StreamPinning, WhatWaitsMovesWithTheStream) {
  const StreamId stream = pair_.open();
  client_.write(stream, 100);
  ASSERT_TRUE(client_.streams.reader().stop_sending(stream, 1));
  ASSERT_TRUE(client_.streams.pinned().pin(stream, k_path));
  EXPECT_FALSE(client_.wants_to_send());
  ASSERT_TRUE(client_.streams.pinned().pin(stream, k_other));
  EXPECT_FALSE(client_.streams.outgoing().has_pinned_to_send(k_path));
  const StreamPacket packet = client_.send_pinned(k_other);
  EXPECT_EQ(packet.all<StopSendingFrame>().size(), 1u);
  EXPECT_EQ(streams_of(packet), Ids{stream});
}

TEST_F(StreamPinning, TheEndOfThePathFreesItsStreams) {
  const StreamId first = pair_.open();
  const StreamId second = pair_.open();
  const StreamId elsewhere = pair_.open();
  for (const StreamId id : {first, second}) ASSERT_TRUE(client_.streams.pinned().pin(id, k_path));
  ASSERT_TRUE(client_.streams.pinned().pin(elsewhere, k_other));
  for (const StreamId id : {first, second, elsewhere}) client_.write(id, 100, true);
  client_.streams.pinned().unpin_all(k_path);
  EXPECT_EQ(client_.streams.outgoing().unsent_bytes(), 200u);
  EXPECT_EQ(streams_of(client_.send()), (Ids{first, second}));
  EXPECT_EQ(streams_of(client_.send_pinned(k_other)), Ids{elsewhere});
}

TEST_F(StreamPinning, PrioritiesHoldAmongTheStreamsOfAPath) {
  const StreamId first = pair_.open();
  const StreamId second = pair_.open();
  client_.streams.writer().set_priority(second, {.urgency = 1});
  for (const StreamId id : {first, second}) {
    ASSERT_TRUE(client_.streams.pinned().pin(id, k_path));
    client_.write(id, 3000);
  }
  EXPECT_EQ(streams_of(client_.send_pinned(k_path)), Ids{second});
  client_.streams.writer().set_priority(first, {.urgency = 0});
  EXPECT_EQ(streams_of(client_.send_pinned(k_path)), Ids{first});
}

TEST_F(StreamPinning, WaitsForCreditOfTheConnectionLikeAllOthers) {
  StreamPair pair({}, {.initial_connection_window = 1000});
  const StreamId stream = pair.open();
  ASSERT_TRUE(pair.client.streams.pinned().pin(stream, k_path));
  pair.client.write(stream, 2000);
  pair.client.send_pinned(k_path, 5000);
  EXPECT_FALSE(pair.client.streams.outgoing().has_pinned_to_send(k_path));
  EXPECT_EQ(pair.client.send().all<DataBlockedFrame>().size(), 1u);
  ASSERT_TRUE(pair.client.streams.incoming().on_max_data({5000}));
  EXPECT_TRUE(pair.client.streams.outgoing().has_pinned_to_send(k_path));
}

TEST_F(StreamPinning, RefusesAStreamThatIsNotThere) {
  EXPECT_FALSE(client_.streams.pinned().pin({400}, k_path));
  client_.streams.pinned().unpin_all(k_path);
  EXPECT_FALSE(client_.streams.pinned().contains({400}));
}

}  // namespace
}  // namespace sheaf::quic
