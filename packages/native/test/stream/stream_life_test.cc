// Tests streams between two sides from opening to closing (RFC 9000 §2, §3).

#include "stream/stream_end.h"

namespace sheaf::quic {
namespace {

TEST(StreamLife, NumbersStreamsByInitiatorAndDirectionality) {
  StreamPair pair;
  EXPECT_EQ(pair.open().value, 0u);
  EXPECT_EQ(pair.open().value, 4u);
  EXPECT_EQ(pair.open(k_unidirectional).value, 2u);
  EXPECT_EQ(pair.server.streams.writer().open(Directionality::kBidirectional)->value, 1u);
  EXPECT_EQ(pair.server.streams.writer().open(k_unidirectional)->value, 3u);
}

TEST(StreamLife, CarriesDataBothWaysAndCloses) {
  StreamPair pair;
  const StreamId id = pair.open();
  pair.client.write(id, 5000, true);
  pair.flush();
  EXPECT_EQ(pair.server.event_text(), "opened 0, readable 0");
  const ReadResult request = pair.server.read(id);
  EXPECT_EQ(request.bytes, 5000u);
  EXPECT_TRUE(request.finished);
  EXPECT_FALSE(request.reset);
  pair.server.write(id, 10, true);
  pair.flush();
  EXPECT_EQ(pair.client.event_text(), "acknowledged 0 = 5000, readable 0");
  EXPECT_TRUE(pair.client.read(id).finished);
  EXPECT_EQ(pair.client.event_text(), "closed 0");
  EXPECT_EQ(pair.server.event_text(), "acknowledged 0 = 10, closed 0");
  EXPECT_EQ(pair.client.streams.open_streams(), 0u);
  EXPECT_EQ(pair.server.streams.open_streams(), 0u);
  EXPECT_EQ(pair.server.streams.streams_total(), 1u);
}

TEST(StreamLife, EndsWithAnEmptyFrame) {
  StreamPair pair;
  const StreamId id = pair.open(k_unidirectional);
  pair.client.write(id, 100);
  pair.flush();
  pair.server.read(id);
  pair.server.events();
  pair.client.write(id, 0, true);
  const StreamPacket packet = pair.client.send();
  ASSERT_EQ(packet.all<StreamFrame>().size(), 1u);
  EXPECT_EQ(packet.all<StreamFrame>()[0].offset, 100u);
  EXPECT_TRUE(packet.all<StreamFrame>()[0].data.empty());
  EXPECT_TRUE(packet.all<StreamFrame>()[0].fin);
  ASSERT_TRUE(pair.server.receive(packet));
  EXPECT_EQ(pair.server.event_text(), "readable 2");
  const ReadResult end = pair.server.read(id);
  EXPECT_EQ(end.bytes, 0u);
  EXPECT_TRUE(end.finished);
  EXPECT_EQ(pair.server.event_text(), "closed 2");
  pair.client.acknowledge(packet);
  EXPECT_EQ(pair.client.event_text(), "acknowledged 2 = 100, closed 2");
}

TEST(StreamLife, CarriesAnEmptyStream) {
  StreamPair pair;
  const StreamId id = pair.open(k_unidirectional);
  pair.client.write(id, 0, true);
  pair.flush();
  EXPECT_EQ(pair.server.event_text(), "opened 2, readable 2");
  EXPECT_TRUE(pair.server.read(id).finished);
  EXPECT_EQ(pair.server.event_text(), "closed 2");
}

TEST(StreamLife, PeeksAndConsumesWithoutCopying) {
  StreamPair pair;
  const StreamId id = pair.open();
  pair.client.write(id, 20'000, true);
  pair.flush();
  std::uint64_t offset = 0;
  while (true) {
    const Bytes bytes = pair.server.streams.reader().peek(id);
    ASSERT_FALSE(bytes.empty());
    ASSERT_TRUE(matches_pattern(0, offset, bytes));
    offset += bytes.size();
    const auto result = pair.server.streams.reader().consume(id, bytes.size(), {});
    ASSERT_TRUE(result);
    EXPECT_EQ(result->bytes, bytes.size());
    if (result->finished) break;
  }
  EXPECT_EQ(offset, 20'000u);
}

TEST(StreamLife, ConsumesNoMoreThanIsReadable) {
  StreamPair pair;
  const StreamId id = pair.open();
  pair.client.write(id, 100);
  pair.flush();
  EXPECT_EQ(pair.server.streams.reader().consume(id, 1 << 20, {})->bytes, 100u);
}

TEST(StreamLife, CoalescesReadiness) {
  StreamPair pair;
  const StreamId id = pair.open();
  for (int i = 0; i < 5; ++i) {
    pair.client.write(id, 10, false, 10 * i);
    pair.flush();
  }
  EXPECT_EQ(pair.server.event_text(), "opened 0, readable 0");
  EXPECT_EQ(pair.client.event_text(), "acknowledged 0 = 50");
  pair.client.write(id, 10, false, 50);
  pair.flush();
  pair.server.read(id);
  EXPECT_EQ(pair.server.event_text(), "") << "what was read is no news";
}

TEST(StreamLife, IsNotReadableBeforeTheFirstByteArrives) {
  StreamEnd server(Role::kServer);
  EXPECT_TRUE(server.receive_stream(0, 10, 10, true));
  EXPECT_EQ(server.event_text(), "opened 0");
  EXPECT_TRUE(server.receive_stream(0, 0, 10));
  EXPECT_EQ(server.event_text(), "readable 0");
}

TEST(StreamLife, OpensAllStreamsBelow) {
  // RFC 9000 §3.2.
  StreamEnd server(Role::kServer);
  EXPECT_TRUE(server.receive_stream(8, 0, 1));
  EXPECT_EQ(server.event_text(), "opened 0, opened 4, opened 8, readable 8");
  EXPECT_TRUE(server.receive_stream(4, 0, 1));
  EXPECT_EQ(server.event_text(), "readable 4");
  EXPECT_EQ(server.streams.streams_total(), 3u);
}

TEST(StreamLife, OpensByAnyFrameThatNamesTheStream) {
  StreamEnd server(Role::kServer);
  EXPECT_TRUE(server.streams.incoming().on_max_stream_data({{0}, 10}));
  EXPECT_TRUE(server.streams.incoming().on_stop_sending({{4}, 1}));
  EXPECT_TRUE(server.streams.incoming().on_stream_data_blocked({{8}, 1}));
  EXPECT_TRUE(server.streams.incoming().on_reset_stream({{12}, 1, 0}));
  EXPECT_EQ(server.streams.open_streams(), 4u);
}

TEST(StreamLife, IgnoresLateFramesOfClosedStreams) {
  StreamPair pair;
  const StreamId id = pair.open(k_unidirectional);
  pair.client.write(id, 10, true);
  const StreamPacket packet = pair.client.send();
  ASSERT_TRUE(pair.server.receive(packet));
  pair.client.acknowledge(packet);
  pair.server.read(id);
  pair.server.events();
  pair.client.events();
  EXPECT_TRUE(pair.server.receive(packet));
  EXPECT_TRUE(pair.server.streams.incoming().on_reset_stream({id, 1, 10}));
  EXPECT_TRUE(pair.server.streams.incoming().on_stream_data_blocked({id, 1}));
  EXPECT_TRUE(pair.client.streams.incoming().on_stop_sending({id, 1}));
  EXPECT_TRUE(pair.client.streams.incoming().on_max_stream_data({id, 1}));
  pair.client.lose(packet);
  pair.client.acknowledge(packet);
  EXPECT_EQ(pair.server.event_text() + pair.client.event_text(), "");
  EXPECT_FALSE(pair.client.wants_to_send());
  EXPECT_EQ(pair.server.streams.open_streams(), 0u);
}

TEST(StreamLife, RefusesWhatTheApplicationMayNotDo) {
  StreamPair pair;
  const StreamId receive_only{3};
  ASSERT_TRUE(pair.client.receive_stream(3, 0, 1));
  const StreamId send_only = pair.open(k_unidirectional);
  StreamSet& streams = pair.client.streams;
  EXPECT_EQ(streams.writer().write({40}, {}, true).error(), StreamRefusal::kUnknownStream);
  EXPECT_EQ(streams.writer().write(receive_only, {}, true).error(), StreamRefusal::kWrongDirection);
  EXPECT_EQ(streams.writer().reset({40}, 1).error(), StreamRefusal::kUnknownStream);
  EXPECT_EQ(streams.writer().reset(receive_only, 1).error(), StreamRefusal::kWrongDirection);
  EXPECT_EQ(streams.reader().read({40}, {}, {}).error(), StreamRefusal::kUnknownStream);
  EXPECT_EQ(streams.reader().read(send_only, {}, {}).error(), StreamRefusal::kWrongDirection);
  EXPECT_EQ(streams.reader().consume(send_only, 1, {}).error(), StreamRefusal::kWrongDirection);
  EXPECT_EQ(streams.reader().stop_sending({40}, 1).error(), StreamRefusal::kUnknownStream);
  EXPECT_EQ(streams.reader().stop_sending(send_only, 1).error(), StreamRefusal::kWrongDirection);
  EXPECT_TRUE(streams.reader().peek(send_only).empty());
  EXPECT_TRUE(streams.reader().peek({40}).empty());
  ASSERT_TRUE(streams.writer().write(send_only, {}, true));
  EXPECT_EQ(streams.writer().write(send_only, {}, false).error(), StreamRefusal::kFinished);
}

TEST(StreamLife, ReusesNothingThatBelongedToAnEarlierStream) {
  StreamPair pair;
  for (int round = 0; round < 200; ++round) {
    const StreamId id = pair.open();
    const bool reset = round % 3 == 0;
    pair.client.write(id, 3000, !reset);
    if (reset) {
      ASSERT_TRUE(pair.client.streams.writer().reset(id, 7));
    }
    pair.flush();
    pair.server.events();
    if (!reset) {
      EXPECT_EQ(pair.server.read(id).bytes, 3000u);
    }
    pair.server.write(id, 4000, true);
    pair.flush();
    EXPECT_EQ(pair.client.read(id).bytes, 4000u);
    pair.client.events();
    pair.server.events();
    ASSERT_EQ(pair.client.streams.open_streams(), 0u);
    ASSERT_EQ(pair.server.streams.open_streams(), 0u);
  }
  EXPECT_LT(pair.client.streams.memory().used(), 200u << 10);
}

}  // namespace
}  // namespace sheaf::quic
