// Tests streams that start in 0-RTT packets (RFC 9000 §7.4.1, RFC 9001 §4.6).

#include "stream/stream_end.h"

namespace sheaf::quic {
namespace {

class StreamEarlyData : public testing::Test {
 protected:
  StreamEarlyData() {
    remembered_.initial_max_data = 10'000;
    remembered_.initial_max_stream_data_bidi_local = 5000;
    remembered_.initial_max_stream_data_bidi_remote = 5000;
    remembered_.initial_max_stream_data_uni = 5000;
    remembered_.initial_max_streams_bidi = 5;
    remembered_.initial_max_streams_uni = 5;
    EXPECT_TRUE(client_.streams.set_peer_parameters(remembered_));
    client_.events();
  }
  TransportParameters remembered_;
  StreamEnd client_{Role::kClient};
};

TEST_F(StreamEarlyData, AcceptedMayOnlyRaiseLimits) {
  for (auto limit : {&TransportParameters::initial_max_data,
                     &TransportParameters::initial_max_stream_data_bidi_local,
                     &TransportParameters::initial_max_stream_data_bidi_remote,
                     &TransportParameters::initial_max_stream_data_uni,
                     &TransportParameters::initial_max_streams_bidi,
                     &TransportParameters::initial_max_streams_uni}) {
    TransportParameters real = remembered_;
    real.*limit -= 1;
    const TransportStatus status = client_.streams.set_peer_parameters(real);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, TransportErrorCode::kProtocolViolation);
  }
  EXPECT_TRUE(client_.streams.set_peer_parameters(remembered_));
}

TEST_F(StreamEarlyData, AcceptedContinuesUnderTheRealLimits) {
  const StreamId id = *client_.streams.writer().open(k_bidirectional);
  client_.write(id, 7000);
  while (client_.wants_to_send()) client_.send();
  EXPECT_EQ(client_.streams.writer().unsent_bytes(id), 2000u);
  TransportParameters real = remembered_;
  real.initial_max_stream_data_bidi_remote = 8000;
  real.initial_max_streams_bidi = 6;
  ASSERT_TRUE(client_.streams.set_peer_parameters(real));
  while (client_.wants_to_send()) client_.send();
  EXPECT_EQ(client_.streams.writer().unsent_bytes(id), 0u);
  EXPECT_EQ(client_.streams.writer().streams_available(k_bidirectional), 5u);
}

TEST_F(StreamEarlyData, RejectedStartsOverFromOffsetZero) {
  const StreamId kept = *client_.streams.writer().open(k_bidirectional);
  const StreamId reset = *client_.streams.writer().open(k_bidirectional);
  client_.write(kept, 3000, true);
  client_.write(reset, 1000);
  client_.send();
  client_.send();
  const StreamPacket last = client_.send();
  ASSERT_TRUE(client_.streams.writer().reset(reset, 4));
  client_.send();
  client_.lose(last);
  client_.streams.restart_sending();

  StreamEnd server(Role::kServer);
  ASSERT_TRUE(server.streams.set_peer_parameters(client_.parameters()));
  server.events();
  ASSERT_TRUE(client_.streams.set_peer_parameters(server.parameters()));
  const StreamPacket first = client_.send();
  ASSERT_EQ(first.all<ResetStreamFrame>().size(), 1u);
  EXPECT_EQ(first.all<ResetStreamFrame>()[0].final_size, 0u);
  EXPECT_EQ(first.all<StreamFrame>().at(0).offset, 0u);
  ASSERT_TRUE(server.receive(first));
  client_.acknowledge(first);
  client_.flush_to(server);
  EXPECT_EQ(server.event_text(), "opened 0, opened 4, readable 4, reset 4 = 4, readable 0");
  EXPECT_EQ(server.read(kept).bytes, 3000u);
}

TEST_F(StreamEarlyData, RejectedMayLowerLimits) {
  std::vector<StreamId> ids;
  for (int i = 0; i < 3; ++i) {
    ids.push_back(*client_.streams.writer().open(k_bidirectional));
    client_.write(ids.back(), 2000, true);
  }
  ASSERT_TRUE(client_.streams.reader().stop_sending(ids[2], 1));
  while (client_.wants_to_send()) client_.send();
  client_.streams.restart_sending();

  StreamSetConfig small;
  small.max_bidirectional_streams = 1;
  small.initial_stream_window = small.max_stream_window = 500;
  small.initial_connection_window = small.max_connection_window = 400;
  StreamEnd server(Role::kServer, small);
  ASSERT_TRUE(server.streams.set_peer_parameters(client_.parameters()));
  ASSERT_TRUE(client_.streams.set_peer_parameters(server.parameters()));
  // Streams beyond the limit wait, however much data they have.
  for (int round = 0; round < 500 && client_.streams.open_streams() > 0; ++round) {
    client_.flush_to(server);
    server.flush_to(client_);
    ASSERT_FALSE(testing::Test::HasFatalFailure());
    for (const StreamEvent& event : server.events()) {
      const bool answers = event.stream != ids[2];  // the client stopped that one
      if (event.kind == StreamEvent::Kind::kOpened && answers) server.write(event.stream, 10, true);
      if (event.kind == StreamEvent::Kind::kReadable) server.read(event.stream);
    }
    client_.read_all();
  }
  EXPECT_EQ(client_.streams.open_streams(), 0u);
}

TEST_F(StreamEarlyData, NothingSentNothingChanged) {
  client_.streams.restart_sending();
  TransportParameters real = remembered_;
  real.initial_max_data = 1;
  EXPECT_TRUE(client_.streams.set_peer_parameters(real));
  EXPECT_FALSE(client_.wants_to_send());
}

}  // namespace
}  // namespace sheaf::quic
