// Tests what a peer must not do with streams, and the error that results.

#include "stream/stream_end.h"

namespace sheaf::quic {
namespace {

using Code = TransportErrorCode;

void expect_error(const TransportStatus& status, Code code, FrameType type) {
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, code) << status.error().reason;
  EXPECT_EQ(status.error().frame_type, static_cast<std::uint64_t>(type));
  EXPECT_FALSE(status.error().reason.empty());
}

StreamSetConfig small() {
  StreamSetConfig config;
  config.initial_connection_window = 1500;
  config.initial_stream_window = 1000;
  config.max_bidirectional_streams = 3;
  config.max_unidirectional_streams = 1;
  return config;
}

class StreamViolation : public testing::Test {
 protected:
  StreamEnd server_{Role::kServer, small()};
};

TEST_F(StreamViolation, FinalSizeMayNotChange) {
  // RFC 9000 §4.5.
  ASSERT_TRUE(server_.receive_stream(0, 0, 100, true));
  EXPECT_TRUE(server_.receive_stream(0, 0, 100, true)) << "the same is fine";
  expect_error(server_.receive_stream(0, 0, 99, true), Code::kFinalSizeError, FrameType::kStream);
  expect_error(server_.receive_stream(0, 0, 101), Code::kFinalSizeError, FrameType::kStream);
  expect_error(server_.receive_stream(0, 200, 0, true), Code::kFinalSizeError, FrameType::kStream);
  expect_error(server_.streams.incoming().on_reset_stream({{0}, 0, 101}), Code::kFinalSizeError,
               FrameType::kResetStream);
}

TEST_F(StreamViolation, FinalSizeMayNotBeBelowReceivedData) {
  ASSERT_TRUE(server_.receive_stream(0, 50, 50));
  expect_error(server_.receive_stream(0, 0, 99, true), Code::kFinalSizeError, FrameType::kStream);
  expect_error(server_.streams.incoming().on_reset_stream({{0}, 0, 99}), Code::kFinalSizeError,
               FrameType::kResetStream);
}

TEST_F(StreamViolation, FinalSizeStandsAfterAReset) {
  ASSERT_TRUE(server_.streams.incoming().on_reset_stream({{0}, 0, 100}));
  EXPECT_TRUE(server_.receive_stream(0, 0, 100));
  expect_error(server_.receive_stream(0, 0, 101), Code::kFinalSizeError, FrameType::kStream);
  expect_error(server_.streams.incoming().on_reset_stream({{0}, 0, 99}), Code::kFinalSizeError,
               FrameType::kResetStream);
}

TEST_F(StreamViolation, StreamLimitHoldsForDataAndResets) {
  // RFC 9000 §4.1.
  EXPECT_TRUE(server_.receive_stream(0, 999, 1));
  expect_error(server_.receive_stream(0, 1000, 1), Code::kFlowControlError, FrameType::kStream);
  expect_error(server_.receive_stream(4, 1001, 0, true), Code::kFlowControlError,
               FrameType::kStream);
  expect_error(server_.streams.incoming().on_reset_stream({{4}, 0, 1001}), Code::kFlowControlError,
               FrameType::kResetStream);
}

TEST_F(StreamViolation, ConnectionLimitCountsAllStreams) {
  ASSERT_TRUE(server_.receive_stream(0, 999, 1));
  ASSERT_TRUE(server_.receive_stream(4, 499, 1));
  EXPECT_TRUE(server_.receive_stream(0, 0, 999)) << "no higher offset";
  expect_error(server_.receive_stream(8, 0, 1), Code::kFlowControlError, FrameType::kStream);
  expect_error(server_.streams.incoming().on_reset_stream({{8}, 0, 1}), Code::kFlowControlError,
               FrameType::kResetStream);
}

TEST_F(StreamViolation, StreamCountIsLimited) {
  // RFC 9000 §4.6.
  EXPECT_TRUE(server_.receive_stream(8, 0, 1));
  expect_error(server_.receive_stream(12, 0, 1), Code::kStreamLimitError, FrameType::kStream);
  EXPECT_TRUE(server_.receive_stream(2, 0, 1));
  expect_error(server_.receive_stream(6, 0, 1), Code::kStreamLimitError, FrameType::kStream);
  expect_error(server_.streams.incoming().on_max_stream_data({{k_max_varint - 3}, 1}),
               Code::kStreamLimitError, FrameType::kMaxStreamData);
  EXPECT_EQ(server_.streams.open_streams(), 4u);
}

TEST_F(StreamViolation, DirectionHolds) {
  // RFC 9000 §19.4, §19.5, §19.8, §19.10, §19.13. This side only sends on stream 3, and the peer
  // only on stream 2.
  ASSERT_TRUE(server_.streams.set_peer_parameters(StreamEnd(Role::kClient).parameters()));
  ASSERT_TRUE(server_.streams.writer().open(Directionality::kUnidirectional));
  expect_error(server_.receive_stream(3, 0, 1), Code::kStreamStateError, FrameType::kStream);
  expect_error(server_.streams.incoming().on_reset_stream({{3}, 0, 0}), Code::kStreamStateError,
               FrameType::kResetStream);
  expect_error(server_.streams.incoming().on_stream_data_blocked({{3}, 0}), Code::kStreamStateError,
               FrameType::kStreamDataBlocked);
  expect_error(server_.streams.incoming().on_stop_sending({{2}, 0}), Code::kStreamStateError,
               FrameType::kStopSending);
  expect_error(server_.streams.incoming().on_max_stream_data({{2}, 0}), Code::kStreamStateError,
               FrameType::kMaxStreamData);
}

TEST_F(StreamViolation, StreamsThatWeHaveYetToOpenMayNotBeNamed) {
  expect_error(server_.receive_stream(1, 0, 1), Code::kStreamStateError, FrameType::kStream);
  expect_error(server_.streams.incoming().on_reset_stream({{1}, 0, 0}), Code::kStreamStateError,
               FrameType::kResetStream);
  expect_error(server_.streams.incoming().on_stop_sending({{1}, 0}), Code::kStreamStateError,
               FrameType::kStopSending);
  expect_error(server_.streams.incoming().on_max_stream_data({{1}, 0}), Code::kStreamStateError,
               FrameType::kMaxStreamData);
  expect_error(server_.streams.incoming().on_stream_data_blocked({{1}, 0}), Code::kStreamStateError,
               FrameType::kStreamDataBlocked);
  expect_error(server_.streams.incoming().on_stop_sending({{3}, 0}), Code::kStreamStateError,
               FrameType::kStopSending);
}

TEST_F(StreamViolation, ManySmallFragmentsCostLittleMemory) {
  // Opens all streams that the limits allow, each with single bytes far apart.
  StreamEnd server(Role::kServer);
  const StreamSetConfig config;
  std::uint64_t credit = config.initial_connection_window;
  for (std::uint64_t id = 0; id < 4 * config.max_bidirectional_streams; id += 4) {
    for (std::uint64_t offset = 1; offset < 1000 && credit >= 1000; offset += 2) {
      ASSERT_TRUE(server.receive_stream(id, offset, 1));
    }
    credit -= std::min<std::uint64_t>(credit, 1000);
  }
  EXPECT_LT(server.streams.memory().used(), 8u << 20);
}

}  // namespace
}  // namespace sheaf::quic
