// Tests RESET_STREAM_AT (draft-ietf-quic-reliable-stream-reset-09).

#include "stream/stream_end.h"

namespace sheaf::quic {
namespace {

class StreamResetAt : public testing::Test {
 protected:
  explicit StreamResetAt(bool announced = true, const StreamSetConfig& server_config = {})
      : server_(Role::kServer, server_config) {
    TransportParameters to_client = server_.parameters();
    to_client.reset_stream_at = announced;
    EXPECT_TRUE(client_.streams.set_peer_parameters(to_client));
    EXPECT_TRUE(server_.streams.set_peer_parameters(client_.parameters()));
    client_.events();
    server_.events();
    EXPECT_TRUE(client_.streams.writer().open(k_unidirectional));
  }
  // The first three bytes must arrive in any case.
  void write_with_prefix(std::size_t written) {
    client_.write(id_, 3);
    client_.streams.writer().keep_reliable(id_, 3);
    if (written > 3) client_.write(id_, written - 3, false, 3);
  }
  StreamEnd client_{Role::kClient};
  StreamEnd server_;
  const StreamId id_{2};
};

TEST_F(StreamResetAt, PrefixGoesBeforeTheReset) {
  write_with_prefix(500);
  ASSERT_TRUE(client_.streams.writer().reset(id_, 77));
  EXPECT_EQ(client_.streams.writer().unsent_bytes(id_), 3u);
  while (client_.wants_to_send()) {
    const StreamPacket packet = client_.send();
    ASSERT_FALSE(packet.empty());
    for (const ResetStreamFrame& frame : packet.all<ResetStreamFrame>()) {
      EXPECT_EQ(frame.final_size, 3u);
      EXPECT_EQ(frame.reliable_size, 3u);
    }
    ASSERT_TRUE(server_.receive(packet));
    client_.acknowledge(packet);
  }
  EXPECT_EQ(server_.event_text(), "opened 2, readable 2");
  EXPECT_EQ(server_.read(id_).bytes, 3u);
  EXPECT_EQ(server_.event_text(), "readable 2, reset 2 = 77, closed 2");
  EXPECT_EQ(client_.event_text(), "closed 2");
}

TEST_F(StreamResetAt, NothingBecomesReliableBehindTheReset) {
  ASSERT_TRUE(client_.streams.writer().reset(id_, 77));
  client_.streams.writer().keep_reliable(id_, 3);
  const StreamPacket packet = client_.send();
  ASSERT_EQ(packet.all<ResetStreamFrame>().size(), 1u);
  EXPECT_EQ(packet.all<ResetStreamFrame>()[0].final_size, 0u);
  EXPECT_EQ(packet.all<ResetStreamFrame>()[0].reliable_size, 0u);
}

TEST_F(StreamResetAt, PrefixIsRepeatedAndTheRestIsNot) {
  write_with_prefix(500);
  const StreamPacket data = client_.send();
  ASSERT_TRUE(client_.streams.writer().reset(id_, 77));
  const StreamPacket reset = client_.send();
  ASSERT_EQ(reset.all<ResetStreamFrame>().size(), 1u);
  EXPECT_EQ(reset.all<ResetStreamFrame>()[0].final_size, 500u);
  EXPECT_EQ(reset.all<ResetStreamFrame>()[0].reliable_size, 3u);
  client_.lose(data);
  client_.lose(reset);
  const StreamPacket again = client_.send();
  ASSERT_EQ(again.all<StreamFrame>().size(), 1u);
  EXPECT_EQ(again.all<StreamFrame>()[0].offset, 0u);
  EXPECT_EQ(again.all<StreamFrame>()[0].data.size(), 3u);
  EXPECT_FALSE(again.all<StreamFrame>()[0].fin);
  EXPECT_EQ(again.all<ResetStreamFrame>().size(), 1u);
  EXPECT_FALSE(client_.wants_to_send());
}

TEST_F(StreamResetAt, StreamEndsWhenPrefixAndResetAreAcknowledged) {
  for (const bool reset_first : {true, false}) {
    const StreamId id = *client_.streams.writer().open(Directionality::kUnidirectional);
    client_.write(id, 3);
    client_.streams.writer().keep_reliable(id, 3);
    const StreamPacket prefix = client_.send();
    client_.write(id, 100, true, 3);
    const StreamPacket rest = client_.send();
    ASSERT_TRUE(client_.streams.writer().reset(id, 1));
    const StreamPacket reset = client_.send();
    client_.acknowledge(rest);
    EXPECT_EQ(client_.event_text(), "") << "the end was taken back";
    client_.acknowledge(reset_first ? reset : prefix);
    EXPECT_EQ(client_.event_text(), "");
    client_.lose(reset_first ? reset : prefix);
    EXPECT_FALSE(client_.wants_to_send()) << "acknowledged before it seemed lost";
    client_.acknowledge(reset_first ? prefix : reset);
    EXPECT_EQ(client_.event_text(), "closed " + std::to_string(id.value));
    client_.lose(reset);
    EXPECT_FALSE(client_.wants_to_send());
  }
}

TEST_F(StreamResetAt, WhatWasLentBehindThePrefixComesBackAtOnce) {
  client_.write(id_, 3);
  client_.streams.writer().keep_reliable(id_, 3);
  bool released = false;
  const std::vector<std::uint8_t> bytes(100);
  const auto release = [](void* owner) { *static_cast<bool*>(owner) = true; };
  ASSERT_TRUE(client_.streams.writer().write(id_, SendChunk(bytes, release, &released), true));
  client_.send();
  ASSERT_TRUE(client_.streams.writer().reset(id_, 1));
  EXPECT_TRUE(released);
}

TEST_F(StreamResetAt, StopSendingNeedsNoPrefix) {
  write_with_prefix(3);
  client_.flush_to(server_);
  ASSERT_TRUE(server_.streams.reader().stop_sending(id_, 9));
  ASSERT_TRUE(client_.receive(server_.send()));
  const StreamPacket reset = client_.send();
  ASSERT_EQ(reset.all<ResetStreamFrame>().size(), 1u);
  EXPECT_EQ(reset.all<ResetStreamFrame>()[0].reliable_size, 0u);
}

class StreamResetAtUnknown : public StreamResetAt {
 protected:
  StreamResetAtUnknown() : StreamResetAt(false) {}
};

TEST_F(StreamResetAtUnknown, PeerWithoutItGetsAPlainReset) {
  write_with_prefix(500);
  ASSERT_TRUE(client_.streams.writer().reset(id_, 77));
  const StreamPacket reset = client_.send();
  EXPECT_TRUE(reset.all<StreamFrame>().empty());
  ASSERT_EQ(reset.all<ResetStreamFrame>().size(), 1u);
  EXPECT_EQ(reset.all<ResetStreamFrame>()[0].final_size, 0u);
  EXPECT_EQ(reset.all<ResetStreamFrame>()[0].reliable_size, 0u);
}

StreamSetConfig one_byte() {
  StreamSetConfig config;
  config.initial_stream_window = 1;
  return config;
}

class StreamResetAtBlocked : public StreamResetAt {
 protected:
  StreamResetAtBlocked() : StreamResetAt(true, one_byte()) {}
};

TEST_F(StreamResetAtBlocked, ResetWaitsForTheCreditOfItsPrefix) {
  write_with_prefix(500);
  client_.send();
  ASSERT_TRUE(client_.streams.writer().reset(id_, 77));
  while (client_.wants_to_send()) EXPECT_TRUE(client_.send().all<ResetStreamFrame>().empty());
  ASSERT_TRUE(client_.streams.incoming().on_max_stream_data({id_, 1000}));
  std::vector<ResetStreamFrame> resets;
  while (client_.wants_to_send()) {
    for (const auto& frame : client_.send().all<ResetStreamFrame>()) resets.push_back(frame);
  }
  ASSERT_EQ(resets.size(), 1u);
  EXPECT_EQ(resets[0].final_size, 3u);
}

TEST_F(StreamResetAt, ResetIsToldBehindWhatIsReliable) {
  ASSERT_TRUE(server_.streams.incoming().on_reset_stream({id_, 77, 500, 100}));
  EXPECT_EQ(server_.event_text(), "opened 2");
  ASSERT_TRUE(server_.receive_stream(2, 40, 60));
  EXPECT_EQ(server_.event_text(), "");
  ASSERT_TRUE(server_.receive_stream(2, 0, 40));
  EXPECT_EQ(server_.event_text(), "readable 2");
  const ReadResult first = server_.read(id_, 99);
  EXPECT_EQ(first.bytes, 99u);
  EXPECT_FALSE(first.reset);
  const ReadResult second = server_.read(id_);
  EXPECT_EQ(second.bytes, 1u);
  EXPECT_FALSE(second.reset) << "bytes and reset come apart";
  const ReadResult third = server_.read(id_);
  EXPECT_EQ(third.bytes, 0u);
  EXPECT_EQ(third.reset, 77u);
  EXPECT_FALSE(third.finished);
  EXPECT_EQ(server_.event_text(), "reset 2 = 77, closed 2");
}

TEST_F(StreamResetAt, ResetThatComesAfterItsPrefixWasReadIsToldAtOnce) {
  ASSERT_TRUE(server_.receive_stream(2, 0, 100));
  EXPECT_EQ(server_.read(id_, 50).bytes, 50u);
  ASSERT_TRUE(server_.streams.incoming().on_reset_stream({id_, 77, 500, 50}));
  EXPECT_EQ(server_.event_text(), "opened 2, readable 2, reset 2 = 77, closed 2");
}

TEST_F(StreamResetAt, WholeFinalSizeMayBeReliable) {
  ASSERT_TRUE(server_.receive_stream(2, 0, 50));
  ASSERT_TRUE(server_.streams.incoming().on_reset_stream({id_, 77, 100, 100}));
  ASSERT_TRUE(server_.receive_stream(2, 50, 50));
  EXPECT_EQ(server_.read(id_).bytes, 100u);
  EXPECT_EQ(server_.read(id_).reset, 77u);
}

TEST_F(StreamResetAt, ReliableSizeShrinksAndDoesNotGrow) {
  ASSERT_TRUE(server_.receive_stream(2, 0, 20));
  ASSERT_TRUE(server_.streams.incoming().on_reset_stream({id_, 77, 500, 100}));
  ASSERT_TRUE(server_.streams.incoming().on_reset_stream({id_, 77, 500, 20}));
  ASSERT_TRUE(server_.streams.incoming().on_reset_stream({id_, 77, 500, 100}))
      << "one that was overtaken";
  EXPECT_EQ(server_.event_text(), "opened 2, readable 2");
  EXPECT_EQ(server_.read(id_).bytes, 20u);
  EXPECT_EQ(server_.event_text(), "readable 2, reset 2 = 77, closed 2");
}

TEST_F(StreamResetAt, PlainResetMakesNothingReliable) {
  ASSERT_TRUE(server_.receive_stream(2, 0, 20));
  ASSERT_TRUE(server_.streams.incoming().on_reset_stream({id_, 77, 500, 100}));
  ASSERT_TRUE(server_.streams.incoming().on_reset_stream({id_, 77, 500}));
  EXPECT_EQ(server_.event_text(), "opened 2, readable 2, reset 2 = 77, closed 2");
}

TEST_F(StreamResetAt, CreditComesBackForWhatIsNeverDelivered) {
  const std::uint64_t window = StreamSetConfig{}.initial_connection_window;
  std::uint64_t announced = window;
  for (std::uint64_t i = 0; announced == window && i < 20; ++i) {
    const StreamId id{2 + 4 * i};
    ASSERT_TRUE(server_.streams.incoming().on_reset_stream({id, 1, 200'000, 10}));
    ASSERT_TRUE(server_.receive_stream(id.value, 0, 10));
    EXPECT_EQ(server_.read_all(), 10u);
    while (server_.wants_to_send()) {
      for (const auto& frame : server_.send().all<MaxDataFrame>()) announced = frame.maximum;
    }
  }
  EXPECT_GT(announced, window);
}

TEST_F(StreamResetAt, GivingUpReadingEndsIt) {
  ASSERT_TRUE(server_.receive_stream(2, 0, 20));
  ASSERT_TRUE(server_.streams.incoming().on_reset_stream({id_, 77, 500, 100}));
  ASSERT_TRUE(server_.streams.reader().stop_sending(id_, 5));
  EXPECT_FALSE(server_.wants_to_send()) << "the peer has ended it already";
  EXPECT_EQ(server_.event_text(), "opened 2, closed 2");
}

TEST_F(StreamResetAt, NoMoreCreditForTheStream) {
  ASSERT_TRUE(server_.streams.incoming().on_reset_stream({id_, 77, 200'000, 200'000}));
  ASSERT_TRUE(server_.receive_stream(2, 0, 200'000));
  EXPECT_EQ(server_.read(id_, 190'000).bytes, 190'000u);
  while (server_.wants_to_send()) EXPECT_TRUE(server_.send().all<MaxStreamDataFrame>().empty());
}

void expect_error(const TransportStatus& status, TransportErrorCode code) {
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, code) << status.error().reason;
}

TEST_F(StreamResetAt, NeitherErrorNorFinalSizeMayChange) {
  ASSERT_TRUE(server_.streams.incoming().on_reset_stream({id_, 77, 500, 100}));
  expect_error(server_.streams.incoming().on_reset_stream({id_, 78, 500, 100}),
               TransportErrorCode::kStreamStateError);
  expect_error(server_.streams.incoming().on_reset_stream({id_, 78, 500}),
               TransportErrorCode::kStreamStateError);
  expect_error(server_.streams.incoming().on_reset_stream({id_, 77, 501, 100}),
               TransportErrorCode::kFinalSizeError);
  expect_error(server_.receive_stream(2, 0, 400, true), TransportErrorCode::kFinalSizeError);
  expect_error(server_.receive_stream(2, 400, 101), TransportErrorCode::kFinalSizeError);
}

TEST_F(StreamResetAt, FinalSizeIsSubjectToFlowControl) {
  const std::uint64_t window = StreamSetConfig{}.initial_stream_window;
  expect_error(server_.streams.incoming().on_reset_stream({id_, 77, window + 1, 1}),
               TransportErrorCode::kFlowControlError);
}

TEST_F(StreamResetAt, ServerMayNotForgetItAfterEarlyData) {
  const TransportStatus status = client_.streams.set_peer_parameters(server_.parameters());
  expect_error(status, TransportErrorCode::kProtocolViolation);
}

TEST_F(StreamResetAt, RejectedEarlyDataLeavesAPlainReset) {
  write_with_prefix(500);
  client_.send();
  ASSERT_TRUE(client_.streams.writer().reset(id_, 77));
  client_.send();
  client_.streams.restart_sending();
  ASSERT_TRUE(client_.streams.set_peer_parameters(server_.parameters()));
  client_.events();
  const StreamPacket reset = client_.send();
  EXPECT_TRUE(reset.all<StreamFrame>().empty());
  ASSERT_EQ(reset.all<ResetStreamFrame>().size(), 1u);
  EXPECT_EQ(reset.all<ResetStreamFrame>()[0].final_size, 0u);
  EXPECT_EQ(reset.all<ResetStreamFrame>()[0].reliable_size, 0u);
  client_.acknowledge(reset);
  EXPECT_EQ(client_.event_text(), "closed 2");
}

}  // namespace
}  // namespace sheaf::quic
