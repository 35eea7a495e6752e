// Tests that nothing is allocated per packet or per stream once the memory has reached its working
// size.

#include <gtest/gtest.h>

#include <array>

#include "stream/allocation_counter.h"
#include "stream/stream_set.h"
#include "wire/frame_codec.h"

namespace sheaf::quic {
namespace {

class StreamAllocation : public testing::Test {
 protected:
  StreamAllocation() {
    TransportParameters parameters;
    server_.fill_local_parameters(parameters);
    EXPECT_TRUE(client_.set_peer_parameters(parameters));
    client_.fill_local_parameters(parameters);
    EXPECT_TRUE(server_.set_peer_parameters(parameters));
  }

  // Sends everything that one side has, acknowledged at once; the other side reads it.
  void flush(StreamSet& from, StreamSet& to, SentPackets& sent) {
    while (from.outgoing().has_control_to_send() || from.outgoing().has_data_to_send()) {
      Writer writer(packet_);
      from.outgoing().write_control(writer, sent);
      from.outgoing().write_data(writer, sent, {});
      Reader reader(writer.written());
      while (!reader.empty()) receive(to, reader);
      for (const SentFrame& frame : sent.pending_frames()) from.outgoing().on_acknowledged(frame);
      sent.discard_pending();
    }
    while (const auto event = to.poll_event()) {
      if (event->kind == StreamEvent::Kind::kReadable) {
        ASSERT_TRUE(to.reader().read(event->stream, read_, Time{}));
      }
    }
    while (from.poll_event()) {
    }
  }
  void receive(StreamSet& to, Reader& reader) {
    StreamFrame data;
    if (read_stream_frame(reader, data)) {
      ASSERT_TRUE(to.incoming().on_stream(data, Time{}));
      return;
    }
    const auto frame = decode_frame(reader, PacketType::kOneRtt);
    ASSERT_TRUE(frame);
    if (const auto* max_data = std::get_if<MaxDataFrame>(&*frame)) {
      ASSERT_TRUE(to.incoming().on_max_data(*max_data));
    } else if (const auto* max_stream_data = std::get_if<MaxStreamDataFrame>(&*frame)) {
      ASSERT_TRUE(to.incoming().on_max_stream_data(*max_stream_data));
    } else if (const auto* max_streams = std::get_if<MaxStreamsFrame>(&*frame)) {
      ASSERT_TRUE(to.incoming().on_max_streams(*max_streams));
    }
  }
  void write(StreamSet& from, StreamId id, std::size_t length, bool fin) {
    ASSERT_TRUE(
        from.writer().write(id, SendChunk(Bytes(lent_).first(length), nullptr, nullptr), fin));
  }

  StreamSet client_{Role::kClient, {}};
  StreamSet server_{Role::kServer, {}};
  SentPackets client_sent_;
  SentPackets server_sent_;
  std::array<std::uint8_t, 1350> packet_;
  std::array<std::uint8_t, 100'000> read_;
  std::array<std::uint8_t, 50'000> lent_{};
};

TEST_F(StreamAllocation, NoneWhileOneStreamCarriesData) {
  const StreamId id = *client_.writer().open(Directionality::kBidirectional);
  std::size_t before = 0;
  for (int round = 0; round < 500; ++round) {
    if (round == 100) before = allocation_count();
    write(client_, id, lent_.size(), false);
    flush(client_, server_, client_sent_);
    flush(server_, client_, server_sent_);
  }
  EXPECT_GT(before, 0u) << "the counter works";
  EXPECT_EQ(allocation_count() - before, 0u) << "in about 15,000 packets";
}

TEST_F(StreamAllocation, NoneWhileMuchIsReadAtATime) {
  const StreamId id = *client_.writer().open(Directionality::kBidirectional);
  std::size_t before = 0;
  for (int round = 0; round < 300; ++round) {
    if (round == 100) before = allocation_count();
    write(client_, id, lent_.size(), false);
    write(client_, id, lent_.size(), false);
    flush(client_, server_, client_sent_);
    flush(server_, client_, server_sent_);
  }
  EXPECT_EQ(allocation_count() - before, 0u) << "in about 15,000 packets";
}

TEST_F(StreamAllocation, NoneWhileStreamsComeAndGo) {
  std::size_t before = 0;
  for (int round = 0; round < 3000; ++round) {
    if (round == 1000) before = allocation_count();
    const auto id = client_.writer().open(Directionality::kBidirectional);
    ASSERT_TRUE(id);
    write(client_, *id, 200, true);
    flush(client_, server_, client_sent_);
    write(server_, *id, 5000, true);
    flush(server_, client_, server_sent_);
    flush(client_, server_, client_sent_);
  }
  EXPECT_EQ(client_.open_streams() + server_.open_streams(), 0u);
  EXPECT_EQ(allocation_count() - before, 0u) << "in 2000 requests";
}

}  // namespace
}  // namespace sheaf::quic
