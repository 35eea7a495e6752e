// Tests what goes into packets, and what is sent again (RFC 9000 §2.2, §13.3, §19.8).

#include "stream/stream_end.h"

namespace sheaf::quic {
namespace {

class StreamSending : public testing::Test {
 protected:
  std::vector<StreamFrame> stream_frames(const StreamPacket& packet) {
    return packet.all<StreamFrame>();
  }
  StreamPair pair_;
  StreamEnd& client_ = pair_.client;
  StreamEnd& server_ = pair_.server;
};

TEST_F(StreamSending, FillsPacketsToTheLastByte) {
  const StreamId id = pair_.open();
  client_.write(id, 100'000);
  for (std::size_t size : {1200, 1199, 500, 70, 64, 5, 1452}) {
    const StreamPacket packet = client_.send(size);
    EXPECT_EQ(packet.bytes.size(), size);
    ASSERT_TRUE(server_.receive(packet));
  }
  EXPECT_TRUE(matches_pattern(0, 0, server_.streams.reader().peek(id)));
}

TEST_F(StreamSending, LastFrameHasALengthWhenItDoesNotFillThePacket) {
  const StreamId id = pair_.open();
  client_.write(id, 100, true);
  StreamPacket packet = client_.send();
  EXPECT_EQ(packet.bytes[0], 0x0b);  // STREAM, LEN, FIN
  EXPECT_EQ(packet.bytes.size(), 1u + 1 + 2 + 100);
}

TEST_F(StreamSending, AnySizeOfPacketCarriesAnySizeOfData) {
  // The room is such that the length field just fits, and just does not fit.
  for (std::size_t data = 0; data < 140; data += data == 8 ? 50 : 1) {
    for (std::size_t size = 1; size < 150; ++size) {
      StreamPair pair;
      const StreamId id = pair.open();
      pair.client.write(id, data, true);
      std::size_t packets = 0;
      while (pair.client.wants_to_send()) {
        const StreamPacket packet = pair.client.send(size);
        if (packet.empty()) break;
        ASSERT_LE(packet.bytes.size(), size);
        ASSERT_TRUE(pair.server.receive(packet));
        ++packets;
      }
      if (packets == 0) {
        ASSERT_LE(size, 3u);
        continue;
      }
      if (size < 5) continue;
      const ReadResult result = pair.server.read(id);
      ASSERT_EQ(result.bytes, data) << "packets of " << size;
      ASSERT_TRUE(result.finished) << "packets of " << size;
    }
  }
}

TEST_F(StreamSending, PutsSeveralStreamsIntoOnePacket) {
  for (int i = 0; i < 3; ++i) client_.write(pair_.open(), 100, true);
  const auto frames = stream_frames(client_.send());
  ASSERT_EQ(frames.size(), 3u);
  for (std::uint64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(frames[i].stream.value, 4 * i);
    EXPECT_TRUE(frames[i].fin);
    EXPECT_EQ(frames[i].data.size(), 100u);
  }
}

TEST_F(StreamSending, ObeysPriorities) {
  const StreamId first = pair_.open();
  const StreamId second = pair_.open();
  client_.write(first, 3000);
  client_.write(second, 3000);
  client_.streams.writer().set_priority(second, {.urgency = 1});
  EXPECT_EQ(stream_frames(client_.send())[0].stream, second);
  client_.streams.writer().set_priority(first, {.urgency = 0});
  EXPECT_EQ(stream_frames(client_.send())[0].stream, first);
  client_.streams.writer().set_priority({400}, {.urgency = 0});
}

TEST_F(StreamSending, AStreamWithoutAnEndInSightComesAfterOneThatNamesIt) {
  StreamPair pair({.scheduler = StreamSchedulerKind::kCriticalFirst});
  const StreamId endless = pair.open();
  const StreamId known = pair.open();
  const StreamId complete = pair.open();
  pair.client.streams.writer().set_expected_bytes(known, 60'000'000);
  pair.client.write(endless, 1000);
  pair.client.write(known, 4000);
  pair.client.write(complete, 2000, true);
  std::vector<StreamId> order;
  while (pair.client.wants_to_send()) {
    for (const StreamFrame& frame : stream_frames(pair.client.send())) {
      if (order.empty() || order.back() != frame.stream) order.push_back(frame.stream);
    }
  }
  EXPECT_EQ(order, (std::vector<StreamId>{complete, known, endless}));
}

// RFC 9204 §2.1.2: a message waits for the instructions that it refers to. Streams of instructions
// have no known end, and nothing that a client requests precedes them.
TEST_F(StreamSending, WhatOthersWaitForLeavesFirstWhateverTheScheduler) {
  for (const NamedStreamScheduler& scheduler : k_all_stream_schedulers) {
    SCOPED_TRACE(scheduler.name);
    StreamPair pair({.scheduler = scheduler.kind});
    const StreamId message = pair.open();
    const StreamId instructions = pair.open(k_unidirectional);
    pair.client.streams.writer().set_priority(message, {.urgency = 0});
    pair.client.streams.writer().set_priority(instructions, {.urgency = 0, .ahead = true});
    pair.client.write(message, 5000, true);
    pair.client.write(instructions, 60);
    auto frames = stream_frames(pair.client.send());
    ASSERT_EQ(frames.size(), 2u);
    EXPECT_EQ(frames[0].stream, instructions);
    EXPECT_EQ(frames[1].stream, message);
    pair.client.write(instructions, 60, false, 60);
    pair.client.lose(pair.client.send());
    frames = stream_frames(pair.client.send());
    ASSERT_FALSE(frames.empty());
    EXPECT_EQ(frames[0].stream, instructions);
    pair.client.flush_to(pair.server);
  }
}

TEST_F(StreamSending, AWaitingStreamCanBePutAheadAndBack) {
  const StreamId first = pair_.open();
  const StreamId second = pair_.open();
  client_.write(first, 3000);
  client_.write(second, 3000);
  client_.streams.writer().set_priority(second, {.ahead = true});
  EXPECT_EQ(stream_frames(client_.send())[0].stream, second);
  client_.streams.writer().set_priority(second, {});
  EXPECT_EQ(stream_frames(client_.send())[0].stream, first);
  client_.flush_to(server_);
}

TEST_F(StreamSending, IncrementalStreamsTakeTurns) {
  const StreamId first = pair_.open();
  const StreamId second = pair_.open();
  for (StreamId id : {first, second}) {
    client_.streams.writer().set_priority(id, {.urgency = 3, .incremental = true});
    client_.write(id, 10'000);
  }
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(stream_frames(client_.send())[0].stream, first);
    EXPECT_EQ(stream_frames(client_.send())[0].stream, second);
  }
}

TEST_F(StreamSending, SendsAgainWhatIsLost) {
  const StreamId id = pair_.open(k_unidirectional);
  client_.write(id, 3000, true);
  const StreamPacket first = client_.send();
  const StreamPacket second = client_.send();
  const StreamPacket third = client_.send();
  EXPECT_FALSE(client_.wants_to_send());
  ASSERT_TRUE(server_.receive(third));
  client_.acknowledge(third);
  client_.lose(first);
  client_.lose(second);
  ASSERT_TRUE(client_.streams.outgoing().has_data_to_send());
  client_.flush_to(server_);
  EXPECT_EQ(server_.read(id).bytes, 3000u);
  EXPECT_EQ(client_.event_text(), "acknowledged 2 = 3000, closed 2");
}

TEST_F(StreamSending, SendsLostDataBeforeNewData) {
  const StreamId id = pair_.open();
  client_.write(id, 10'000);
  const StreamPacket lost = client_.send();
  client_.lose(lost);
  const auto frames = stream_frames(client_.send());
  ASSERT_GE(frames.size(), 1u);
  EXPECT_EQ(frames[0].offset, 0u);
}

TEST_F(StreamSending, SendsNothingAgainThatArrivedAfterAll) {
  const StreamId id = pair_.open();
  client_.write(id, 1000, true);
  const StreamPacket packet = client_.send();
  client_.lose(packet);
  EXPECT_TRUE(client_.wants_to_send());
  client_.acknowledge(packet);
  EXPECT_FALSE(client_.wants_to_send());
}

TEST_F(StreamSending, SendsOnlyThePartAgainThatIsMissing) {
  const StreamId id = pair_.open();
  client_.write(id, 1000);
  const StreamPacket whole = client_.send();
  client_.lose(whole);
  const StreamPacket start = client_.send(200);
  client_.acknowledge(start);
  const std::uint64_t got = stream_frames(start)[0].data.size();
  const StreamPacket rest = client_.send();
  client_.lose(rest);
  client_.lose(start);
  const auto frames = stream_frames(client_.send());
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].offset, got);
  EXPECT_EQ(frames[0].data.size(), 1000 - got);
}

TEST_F(StreamSending, SendsALostEndAgain) {
  const StreamId id = pair_.open(k_unidirectional);
  client_.write(id, 100);
  client_.flush_to(server_);
  client_.write(id, 0, true);
  const StreamPacket end = client_.send();
  client_.lose(end);
  const auto frames = stream_frames(client_.send());
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].offset, 100u);
  EXPECT_TRUE(frames[0].fin);
  client_.acknowledge(end);
  EXPECT_EQ(client_.event_text(), "acknowledged 2 = 100, closed 2");
}

TEST_F(StreamSending, TellsWhenTheBufferHasRoomAgain) {
  StreamSetConfig config;
  config.send_buffer = 10'000;
  StreamPair pair(config);
  const StreamId id = pair.open();
  EXPECT_TRUE(pair.client.write(id, 9999));
  EXPECT_FALSE(pair.client.write(id, 5000, false, 9999)) << "taken, but full";
  EXPECT_EQ(pair.client.streams.writer().unsent_bytes(id), 14'999u);
  while (pair.client.streams.writer().unsent_bytes(id) > 5000) {
    EXPECT_EQ(pair.client.event_text(), "");
    ASSERT_TRUE(pair.server.receive(pair.client.send()));
  }
  EXPECT_EQ(pair.client.event_text(), "writable 0");
  pair.flush();
  EXPECT_EQ(pair.server.read(id).bytes, 14'999u);
}

TEST_F(StreamSending, AFullBufferHasNoEndInSight) {
  StreamSetConfig config;
  config.send_buffer = 10'000;
  StreamPair pair(config);
  StreamSet& streams = pair.client.streams;
  const StreamId id = pair.open();
  pair.client.write(id, 5000);
  EXPECT_FALSE(streams.outgoing().open_ended()) << "the application could have written more";
  pair.client.write(id, 5000, false, 5000);
  EXPECT_TRUE(streams.outgoing().open_ended());
  pair.client.send();
  EXPECT_TRUE(streams.outgoing().open_ended())
      << "the application has yet to hear that there is room";
  pair.client.write(id, 100'000, true, 10'000);
  EXPECT_FALSE(streams.outgoing().open_ended()) << "this is the end";

  const StreamId other = pair.open();
  pair.client.write(other, 10'000);
  EXPECT_TRUE(streams.outgoing().open_ended());
  ASSERT_TRUE(streams.writer().reset(other, 0));
  EXPECT_FALSE(streams.outgoing().open_ended());

  const StreamId last = pair.open();
  pair.client.write(last, 10'000);
  while (streams.outgoing().unsent_bytes() > 0) pair.client.send();
  EXPECT_FALSE(streams.outgoing().open_ended()) << "nothing is left, and nobody wrote more";
}

TEST_F(StreamSending, RepeatsOnlyTheNewestLimits) {
  // RFC 9000 §13.3.
  StreamSetConfig config;
  config.initial_stream_window = config.max_stream_window = 1000;
  config.initial_connection_window = config.max_connection_window = 1000;
  StreamEnd server(Role::kServer, config);
  ASSERT_TRUE(server.receive_stream(0, 0, 1000));
  server.read({0}, 600);
  const StreamPacket first = server.send();
  EXPECT_EQ(first.all<MaxDataFrame>().at(0).maximum, 1600u);
  EXPECT_EQ(first.all<MaxStreamDataFrame>().at(0).maximum, 1600u);
  ASSERT_TRUE(server.receive_stream(0, 1000, 600));
  server.read({0}, 900);
  const StreamPacket second = server.send();
  EXPECT_EQ(second.all<MaxDataFrame>().at(0).maximum, 2500u);
  server.lose(first);
  EXPECT_FALSE(server.wants_to_send());
  server.lose(second);
  const StreamPacket third = server.send();
  EXPECT_EQ(third.all<MaxDataFrame>().at(0).maximum, 2500u);
  EXPECT_EQ(third.all<MaxStreamDataFrame>().at(0).maximum, 2500u);
}

TEST_F(StreamSending, KeepsControlFramesThatFindNoRoom) {
  for (std::uint64_t i = 0; i < 100; ++i) {
    const StreamId id = pair_.open();
    ASSERT_TRUE(client_.streams.writer().reset(id, 1u << 20));
  }
  std::size_t resets = 0;
  while (client_.wants_to_send()) {
    const StreamPacket packet = client_.send(64);
    ASSERT_FALSE(packet.empty());
    resets += packet.all<ResetStreamFrame>().size();
  }
  EXPECT_EQ(resets, 100u);
}

}  // namespace
}  // namespace sheaf::quic
