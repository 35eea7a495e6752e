// Tests RESET_STREAM and STOP_SENDING (RFC 9000 §3.5, §4.5, §19.4, §19.5).

#include "stream/stream_end.h"

namespace sheaf::quic {
namespace {

class StreamAbort : public testing::Test {
 protected:
  StreamAbort() { pair_.open(k_unidirectional); }
  StreamPair pair_;
  StreamEnd& client_ = pair_.client;
  StreamEnd& server_ = pair_.server;
  const StreamId id_{2};
};

TEST_F(StreamAbort, ResetTellsWhatWasSent) {
  client_.write(id_, 500);
  const StreamPacket data = client_.send();
  client_.write(id_, 500, true, 500);
  ASSERT_TRUE(client_.streams.writer().reset(id_, 77));
  EXPECT_FALSE(client_.streams.outgoing().has_data_to_send());
  EXPECT_EQ(client_.streams.writer().unsent_bytes(id_), 0u);
  const StreamPacket reset = client_.send();
  ASSERT_EQ(reset.all<ResetStreamFrame>().size(), 1u);
  EXPECT_EQ(reset.all<ResetStreamFrame>()[0].final_size, 500u);
  EXPECT_EQ(reset.all<ResetStreamFrame>()[0].error, 77u);
  ASSERT_TRUE(server_.receive(reset));
  EXPECT_EQ(server_.event_text(), "opened 2, readable 2, reset 2 = 77, closed 2");
  EXPECT_TRUE(server_.receive(data)) << "data that the reset overtook";
  client_.acknowledge(reset);
  EXPECT_EQ(client_.event_text(), "closed 2");
}

TEST_F(StreamAbort, ResetIsReadOnce) {
  client_.write(id_, 500);
  ASSERT_TRUE(server_.receive(client_.send()));
  ASSERT_TRUE(client_.streams.writer().reset(id_, 77));
  ASSERT_TRUE(server_.receive(client_.send()));
  const ReadResult result = server_.read(id_);
  EXPECT_EQ(result.bytes, 0u) << "buffered data goes with the reset";
  EXPECT_EQ(result.reset, 77u);
  EXPECT_FALSE(result.finished);
  EXPECT_EQ(server_.event_text(), "opened 2, reset 2 = 77, closed 2");
}

TEST_F(StreamAbort, ResetReleasesWhatWasLent) {
  bool released = false;
  const std::vector<std::uint8_t> bytes(100);
  const auto release = [](void* owner) { *static_cast<bool*>(owner) = true; };
  ASSERT_TRUE(client_.streams.writer().write(id_, SendChunk(bytes, release, &released), false));
  ASSERT_TRUE(client_.streams.writer().reset(id_, 1));
  EXPECT_TRUE(released);
}

TEST_F(StreamAbort, ResetIsRepeatedUntilAcknowledged) {
  ASSERT_TRUE(client_.streams.writer().reset(id_, 1));
  ASSERT_TRUE(client_.streams.writer().reset(id_, 2)) << "the first one stands";
  const StreamPacket first = client_.send();
  EXPECT_FALSE(client_.wants_to_send());
  client_.lose(first);
  const StreamPacket second = client_.send();
  ASSERT_EQ(second.all<ResetStreamFrame>().size(), 1u);
  EXPECT_EQ(second.all<ResetStreamFrame>()[0].error, 1u);
  client_.acknowledge(first);
  EXPECT_EQ(client_.event_text(), "closed 2");
  client_.lose(second);
  EXPECT_FALSE(client_.wants_to_send());
}

TEST_F(StreamAbort, ResetChangesNothingOnceEverythingIsAcknowledged) {
  const StreamId id = pair_.open();
  client_.write(id, 10, true);
  client_.flush_to(server_);
  EXPECT_TRUE(client_.streams.writer().reset(id, 1));
  EXPECT_FALSE(client_.wants_to_send());
}

TEST_F(StreamAbort, ResetIsIgnoredWhenAllDataArrived) {
  client_.write(id_, 100, true);
  client_.flush_to(server_);
  EXPECT_TRUE(server_.streams.incoming().on_reset_stream({id_, 5, 100}));
  const ReadResult result = server_.read(id_);
  EXPECT_EQ(result.bytes, 100u);
  EXPECT_TRUE(result.finished);
  EXPECT_EQ(server_.event_text(), "opened 2, closed 2");
}

TEST_F(StreamAbort, StopSendingIsAnsweredWithAReset) {
  client_.write(id_, 100);
  client_.flush_to(server_);
  server_.events();
  client_.events();
  ASSERT_TRUE(server_.streams.reader().stop_sending(id_, 9));
  const StreamPacket stop = server_.send();
  ASSERT_EQ(stop.all<StopSendingFrame>().size(), 1u);
  ASSERT_TRUE(client_.receive(stop));
  EXPECT_EQ(client_.event_text(), "stop_sending 2 = 9");
  EXPECT_EQ(client_.streams.writer().write(id_, {}, true).error(), StreamRefusal::kFinished);
  EXPECT_TRUE(client_.streams.writer().reset(id_, 10)) << "the application may still ask for it";
  const StreamPacket reset = client_.send();
  ASSERT_EQ(reset.all<ResetStreamFrame>().size(), 1u);
  EXPECT_EQ(reset.all<ResetStreamFrame>()[0].error, 9u);
  ASSERT_TRUE(server_.receive(reset));
  EXPECT_EQ(server_.event_text(), "reset 2 = 9, closed 2");
  ASSERT_TRUE(client_.receive(stop)) << "a copy that comes late";
  client_.acknowledge(reset);
  EXPECT_EQ(client_.event_text(), "closed 2");
}

TEST_F(StreamAbort, StopSendingIsRepeatedUntilTheResetArrives) {
  client_.write(id_, 100);
  client_.flush_to(server_);
  ASSERT_TRUE(server_.streams.reader().stop_sending(id_, 9));
  const StreamPacket first = server_.send();
  server_.lose(first);
  const StreamPacket second = server_.send();
  EXPECT_EQ(second.all<StopSendingFrame>().size(), 1u);
  ASSERT_TRUE(server_.streams.incoming().on_reset_stream({id_, 9, 100}));
  server_.lose(second);
  EXPECT_FALSE(server_.wants_to_send());
}

TEST_F(StreamAbort, StopSendingIsNotSentWhenEverythingArrived) {
  client_.write(id_, 100, true);
  client_.flush_to(server_);
  ASSERT_TRUE(server_.streams.reader().stop_sending(id_, 9));
  EXPECT_FALSE(server_.wants_to_send());
  EXPECT_EQ(server_.event_text(), "opened 2, closed 2");
}

TEST_F(StreamAbort, StoppedStreamIsForgottenAfterItsEnd) {
  ASSERT_TRUE(server_.receive_stream(2, 0, 100));
  ASSERT_TRUE(server_.streams.reader().stop_sending(id_, 9));
  const StreamPacket stop = server_.send();
  ASSERT_TRUE(server_.receive_stream(2, 200, 100, true));
  EXPECT_EQ(server_.event_text(), "opened 2") << "STOP_SENDING may be lost yet";
  server_.acknowledge(stop);
  EXPECT_EQ(server_.event_text(), "closed 2");
}

TEST_F(StreamAbort, StoppedStreamIsNotReadable) {
  ASSERT_TRUE(server_.receive_stream(2, 0, 100));
  ASSERT_TRUE(server_.streams.reader().stop_sending(id_, 9));
  EXPECT_EQ(server_.event_text(), "opened 2");
  EXPECT_EQ(server_.streams.reader().read(id_, {}, {}).error(), StreamRefusal::kFinished);
  EXPECT_TRUE(server_.streams.reader().peek(id_).empty());
  ASSERT_TRUE(server_.receive_stream(2, 100, 100));
  EXPECT_EQ(server_.event_text(), "");
  EXPECT_LT(server_.streams.memory().used(), 100u << 10);
}

TEST_F(StreamAbort, StoppedStreamGivesNothingAfterClosed) {
  ASSERT_TRUE(server_.receive_stream(2, 0, 10));
  ASSERT_TRUE(server_.streams.reader().stop_sending(id_, 9));
  server_.acknowledge(server_.send());
  ASSERT_TRUE(server_.receive_stream(2, 10, 10, true));
  // kClosed is now in the queue; a reset arrives after the end.
  ASSERT_TRUE(server_.streams.incoming().on_reset_stream({id_, 1, 20}));
  EXPECT_EQ(server_.event_text(), "opened 2, closed 2");
}

TEST_F(StreamAbort, ResetOneSideLeavesTheOtherOpen) {
  const StreamId id = pair_.open();
  client_.write(id, 10);
  ASSERT_TRUE(client_.streams.writer().reset(id, 3));
  pair_.flush();
  EXPECT_EQ(server_.event_text(), "opened 0, readable 0, reset 0 = 3");
  server_.write(id, 50, true);
  pair_.flush();
  EXPECT_EQ(client_.event_text(), "readable 0");
  EXPECT_TRUE(client_.read(id).finished);
  EXPECT_EQ(client_.event_text(), "closed 0");
}

TEST_F(StreamAbort, UnsentStreamIsResetWithSizeZero) {
  client_.write(id_, 100);
  ASSERT_TRUE(client_.streams.writer().reset(id_, 1));
  const StreamPacket packet = client_.send();
  ASSERT_EQ(packet.all<ResetStreamFrame>().size(), 1u);
  EXPECT_EQ(packet.all<ResetStreamFrame>()[0].final_size, 0u);
}

}  // namespace
}  // namespace sheaf::quic
