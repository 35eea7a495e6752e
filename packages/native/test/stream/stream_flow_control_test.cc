// Tests credit for data and for streams (RFC 9000 §4).

#include "stream/stream_end.h"

namespace sheaf::quic {
namespace {

StreamSetConfig windows(std::uint64_t connection, std::uint64_t stream) {
  StreamSetConfig config;
  config.initial_connection_window = config.max_connection_window = connection;
  config.initial_stream_window = config.max_stream_window = stream;
  return config;
}

TEST(StreamFlowControl, AnnouncesEachLimitWhereItBelongs) {
  StreamSetConfig config = windows(5000, 700);
  config.max_bidirectional_streams = 11;
  config.max_unidirectional_streams = 12;
  const TransportParameters parameters = StreamEnd(Role::kServer, config).parameters();
  EXPECT_EQ(parameters.initial_max_data, 5000u);
  EXPECT_EQ(parameters.initial_max_stream_data_bidi_local, 700u);
  EXPECT_EQ(parameters.initial_max_stream_data_bidi_remote, 700u);
  EXPECT_EQ(parameters.initial_max_stream_data_uni, 700u);
  EXPECT_EQ(parameters.initial_max_streams_bidi, 11u);
  EXPECT_EQ(parameters.initial_max_streams_uni, 12u);
}

TEST(StreamFlowControl, UsesThePeersLimitOfEachKindOfStream) {
  TransportParameters peer;
  peer.initial_max_data = 1 << 20;
  peer.initial_max_stream_data_bidi_local = 100;   // for streams that the peer opens
  peer.initial_max_stream_data_bidi_remote = 200;  // for streams that we open
  peer.initial_max_stream_data_uni = 300;
  peer.initial_max_streams_bidi = peer.initial_max_streams_uni = 1;
  StreamEnd server(Role::kServer);
  ASSERT_TRUE(server.streams.set_peer_parameters(peer));
  ASSERT_TRUE(server.receive_stream(0, 0, 1));
  const StreamId ours = *server.streams.writer().open(k_bidirectional);
  const StreamId ours_one_way = *server.streams.writer().open(k_unidirectional);
  for (StreamId id : {StreamId{0}, ours, ours_one_way}) {
    server.write(id, 1000);
    while (server.streams.outgoing().has_data_to_send()) server.send();
  }
  EXPECT_EQ(server.streams.writer().unsent_bytes({0}), 900u);
  EXPECT_EQ(server.streams.writer().unsent_bytes(ours), 800u);
  EXPECT_EQ(server.streams.writer().unsent_bytes(ours_one_way), 700u);
}

TEST(StreamFlowControl, StopsAtTheStreamsLimitAndSaysSo) {
  StreamPair pair({}, windows(1 << 20, 1000));
  const StreamId id = pair.open();
  pair.client.write(id, 1500, true);
  const StreamPacket data = pair.client.send();
  EXPECT_EQ(data.all<StreamFrame>().at(0).data.size(), 1000u);
  EXPECT_FALSE(data.all<StreamFrame>().at(0).fin);
  EXPECT_FALSE(pair.client.streams.outgoing().has_data_to_send());
  const StreamPacket blocked = pair.client.send();
  EXPECT_EQ(blocked.all<StreamDataBlockedFrame>().at(0).limit, 1000u);
  EXPECT_FALSE(pair.client.wants_to_send());
  pair.client.lose(blocked);
  EXPECT_EQ(pair.client.send().all<StreamDataBlockedFrame>().size(), 1u);
  ASSERT_TRUE(pair.client.streams.incoming().on_max_stream_data({id, 1200}));
  EXPECT_EQ(pair.client.send().all<StreamFrame>().at(0).data.size(), 200u);
  EXPECT_EQ(pair.client.send().all<StreamDataBlockedFrame>().at(0).limit, 1200u);
  pair.client.lose(blocked);
  EXPECT_FALSE(pair.client.wants_to_send()) << "that limit is past";
}

TEST(StreamFlowControl, StopsAtTheConnectionsLimitAndSaysSo) {
  StreamPair pair({}, windows(1000, 1000));
  const StreamId first = pair.open();
  const StreamId second = pair.open();
  pair.client.write(first, 600);
  pair.client.write(second, 600, true);
  const StreamPacket data = pair.client.send();
  EXPECT_EQ(data.all<StreamFrame>().at(1).data.size(), 400u);
  EXPECT_FALSE(pair.client.streams.outgoing().has_data_to_send());
  EXPECT_EQ(pair.client.send().all<DataBlockedFrame>().at(0).limit, 1000u);
  EXPECT_FALSE(pair.client.wants_to_send());
  ASSERT_TRUE(pair.client.streams.incoming().on_max_data({900}));
  EXPECT_FALSE(pair.client.wants_to_send()) << "limits only grow";
  ASSERT_TRUE(pair.client.streams.incoming().on_max_data({5000}));
  const StreamPacket rest = pair.client.send();
  EXPECT_EQ(rest.all<StreamFrame>().at(0).data.size(), 200u);
  EXPECT_TRUE(rest.all<StreamFrame>().at(0).fin);
}

TEST(StreamFlowControl, LostDataNeedsNoCredit) {
  StreamPair pair({}, windows(1000, 1000));
  const StreamId first = pair.open();
  const StreamId second = pair.open();
  pair.client.write(first, 1000);
  const StreamPacket data = pair.client.send();
  pair.client.write(second, 100);
  pair.client.write(first, 100, false, 1000);
  EXPECT_FALSE(pair.client.streams.outgoing().has_data_to_send());
  pair.client.lose(data);
  ASSERT_TRUE(pair.client.streams.outgoing().has_data_to_send());
  const StreamPacket again = pair.client.send();
  ASSERT_EQ(again.all<StreamFrame>().size(), 1u);
  EXPECT_EQ(again.all<StreamFrame>().at(0).data.size(), 1000u);
  EXPECT_FALSE(pair.client.streams.outgoing().has_data_to_send());
}

TEST(StreamFlowControl, AnEndNeedsNoCredit) {
  StreamPair pair({}, windows(1000, 1000));
  const StreamId first = pair.open();
  const StreamId second = pair.open();
  pair.client.write(first, 1000);
  pair.client.send();
  pair.client.write(second, 0, true);
  pair.client.write(first, 0, true);
  EXPECT_EQ(pair.client.send().all<StreamFrame>().size(), 2u);
}

TEST(StreamFlowControl, ServesAllStreamsThatWaitedForTheConnection) {
  StreamPair pair({}, windows(100, 1 << 20));
  std::vector<StreamId> ids;
  for (int i = 0; i < 50; ++i) {
    ids.push_back(pair.open());
    pair.client.write(ids.back(), 100, true);
  }
  for (int round = 0; round < 2000 && pair.client.streams.open_streams() > 0; ++round) {
    pair.flush();
    for (const StreamEvent& event : pair.server.events()) {
      if (event.kind != StreamEvent::Kind::kReadable) continue;
      pair.server.read(event.stream);
      ASSERT_TRUE(pair.server.streams.writer().reset(event.stream, 0));
    }
    pair.client.read_all();
  }
  EXPECT_EQ(pair.client.streams.open_streams(), 0u);
  EXPECT_EQ(pair.server.streams.open_streams(), 0u);
}

TEST(StreamFlowControl, GivesCreditBackAsTheApplicationReads) {
  StreamPair pair({}, windows(10'000, 4000));
  const StreamId id = pair.open();
  pair.client.write(id, 100'000, true);
  std::uint64_t total = 0;
  for (int round = 0; round < 1000 && total < 100'000; ++round) {
    pair.flush();
    total += pair.server.read(id, 1500).bytes;
  }
  EXPECT_EQ(total, 100'000u);
}

TEST(StreamFlowControl, GivesConnectionCreditBackForAReset) {
  // RFC 9000 §4.5: the final size counts as consumed.
  StreamEnd server(Role::kServer, windows(10'000, 10'000));
  ASSERT_TRUE(server.receive_stream(0, 0, 1000));
  ASSERT_TRUE(server.streams.incoming().on_reset_stream({{0}, 1, 8000}));
  const StreamPacket packet = server.send();
  EXPECT_EQ(packet.all<MaxDataFrame>().at(0).maximum, 18'000u);
  EXPECT_TRUE(packet.all<MaxStreamDataFrame>().empty());
}

TEST(StreamFlowControl, GivesConnectionCreditBackForStoppedStreams) {
  StreamEnd server(Role::kServer, windows(10'000, 10'000));
  ASSERT_TRUE(server.receive_stream(0, 0, 3000));
  server.read({0}, 1000);
  ASSERT_TRUE(server.streams.reader().stop_sending({0}, 1));
  EXPECT_TRUE(server.send().all<MaxDataFrame>().empty()) << "3000 of 10000 are not half";
  ASSERT_TRUE(server.receive_stream(0, 3000, 3000));
  EXPECT_EQ(server.send().all<MaxDataFrame>().at(0).maximum, 16'000u);
}

TEST(StreamFlowControl, GivesNoStreamCreditOnceTheSizeIsKnown) {
  StreamEnd server(Role::kServer, windows(100'000, 1000));
  ASSERT_TRUE(server.receive_stream(0, 0, 1000, true));
  server.read({0}, 900);
  EXPECT_FALSE(server.wants_to_send());
}

TEST(StreamFlowControl, WindowsGrowWithTheirUse) {
  StreamSetConfig config;
  config.initial_stream_window = 10'000;
  config.max_stream_window = 60'000;
  config.initial_connection_window = 10'000;
  config.max_connection_window = 200'000;
  StreamEnd server(Role::kServer, config);
  server.streams.set_rtt(100ms);
  std::uint64_t offset = 0;
  std::uint64_t limit = 10'000;
  std::uint64_t window = 0;
  std::uint64_t connection_window = 0;
  for (int round = 0; round < 10; ++round) {
    server.now += 100ms;
    ASSERT_TRUE(server.receive_stream(0, offset, limit - offset));
    offset = limit;
    server.read({0});
    const StreamPacket packet = server.send();
    ASSERT_FALSE(packet.empty());
    limit = packet.all<MaxStreamDataFrame>().at(0).maximum;
    window = limit - offset;
    if (!packet.all<MaxDataFrame>().empty()) {
      connection_window = packet.all<MaxDataFrame>().at(0).maximum - offset;
    }
  }
  EXPECT_EQ(window, 60'000u);
  EXPECT_GE(connection_window, 90'000u);
}

TEST(StreamFlowControl, WindowsGrowOverAGap) {
  StreamSetConfig config;
  config.initial_stream_window = 10'000;
  config.max_stream_window = 60'000;
  config.initial_connection_window = 15'000;
  config.max_connection_window = 200'000;
  StreamEnd server(Role::kServer, config);
  ASSERT_TRUE(server.receive_stream(0, 1000, 5000));
  EXPECT_FALSE(server.wants_to_send()) << "half of the window is left";
  ASSERT_TRUE(server.receive_stream(0, 6000, 1));
  StreamPacket packet = server.send();
  EXPECT_EQ(packet.all<MaxStreamDataFrame>().at(0).maximum, 20'000u);
  EXPECT_EQ(packet.all<MaxDataFrame>().at(0).maximum, 30'000u);
  // The window grows to the maximum and not beyond it.
  for (std::uint64_t end = 6001; end < 60'000; end += 1000) {
    ASSERT_TRUE(server.receive_stream(0, end, std::min<std::uint64_t>(1000, 60'000 - end)));
    if (server.wants_to_send()) packet = server.send();
  }
  EXPECT_EQ(packet.all<MaxStreamDataFrame>().at(0).maximum, 60'000u);
  EXPECT_EQ(packet.all<MaxDataFrame>().at(0).maximum, 90'000u);
  EXPECT_FALSE(server.receive_stream(0, 60'000, 1));
}

TEST(StreamFlowControl, WindowsDoNotGrowForFewBytesFarAway) {
  StreamEnd server(Role::kServer);
  for (std::uint64_t offset = 1000; offset < (256 << 10); offset += 1000) {
    ASSERT_TRUE(server.receive_stream(0, offset, 1));
  }
  EXPECT_FALSE(server.wants_to_send());
}

// --- streams -------------------------------------------------------------------------------------

TEST(StreamLimits, OpenWaitsForThePeer) {
  StreamSetConfig config;
  config.max_bidirectional_streams = 2;
  StreamPair pair({}, config);
  EXPECT_EQ(pair.client.streams.writer().streams_available(k_bidirectional), 2u);
  pair.open();
  pair.open();
  EXPECT_EQ(pair.client.streams.writer().streams_available(k_bidirectional), 0u);
  EXPECT_EQ(pair.client.streams.writer().open(k_bidirectional).error(),
            StreamRefusal::kStreamLimit);
  EXPECT_EQ(pair.client.streams.writer().open(k_bidirectional).error(),
            StreamRefusal::kStreamLimit);
  const StreamPacket blocked = pair.client.send();
  ASSERT_EQ(blocked.all<StreamsBlockedFrame>().size(), 1u);
  EXPECT_EQ(blocked.all<StreamsBlockedFrame>()[0].limit, 2u);
  ASSERT_TRUE(pair.client.streams.incoming().on_max_streams({k_bidirectional, 2}));
  EXPECT_EQ(pair.client.event_text(), "");
  ASSERT_TRUE(pair.client.streams.incoming().on_max_streams({k_bidirectional, 3}));
  EXPECT_EQ(pair.client.event_text(), "available 0");
  pair.client.lose(blocked);
  EXPECT_FALSE(pair.client.wants_to_send());
  EXPECT_EQ(pair.open().value, 8u);
}

TEST(StreamLimits, NothingOpensBeforeThePeersParameters) {
  StreamEnd client(Role::kClient);
  EXPECT_EQ(client.streams.writer().open(k_unidirectional).error(), StreamRefusal::kStreamLimit);
  ASSERT_TRUE(client.streams.set_peer_parameters(StreamEnd(Role::kServer).parameters()));
  EXPECT_EQ(client.event_text(), "available 0, available 2");
  EXPECT_TRUE(client.streams.writer().open(k_unidirectional));
  EXPECT_FALSE(client.wants_to_send());
}

TEST(StreamLimits, AreExtendedBeforeThePeerIsBlocked) {
  StreamSetConfig config;
  config.max_unidirectional_streams = 20;
  StreamPair pair({}, config);
  for (int i = 0; i < 500; ++i) {
    ASSERT_GE(pair.client.streams.writer().streams_available(k_unidirectional), 10u);
    const StreamId id = pair.open(k_unidirectional);
    pair.client.write(id, 10, true);
    pair.flush();
    pair.server.read(id);
    pair.server.events();
    pair.client.events();
    pair.flush();
  }
}

TEST(StreamLimits, AreExtendedOnlyAsTheApplicationTakesNote) {
  StreamSetConfig config;
  config.max_unidirectional_streams = 4;
  StreamEnd server(Role::kServer, config);
  for (std::uint64_t i = 0; i < 4; ++i) {
    ASSERT_TRUE(server.streams.incoming().on_reset_stream({{2 + 4 * i}, 0, 0}));
  }
  EXPECT_FALSE(server.wants_to_send());
  EXPECT_EQ(server.streams.open_streams(), 4u);
  server.events();
  EXPECT_EQ(server.streams.open_streams(), 0u);
  const StreamPacket packet = server.send();
  ASSERT_EQ(packet.all<MaxStreamsFrame>().size(), 1u);
  EXPECT_EQ(packet.all<MaxStreamsFrame>()[0].maximum, 8u);
  EXPECT_EQ(packet.all<MaxStreamsFrame>()[0].directionality, k_unidirectional);
  server.lose(packet);
  EXPECT_EQ(server.send().all<MaxStreamsFrame>().size(), 1u);
}

}  // namespace
}  // namespace sheaf::quic
