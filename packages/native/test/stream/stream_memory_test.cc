// Tests how much memory a connection's streams hold at most, whatever the peer sends.

#include "stream/block_pool.h"
#include "stream/receive_cost.h"
#include "stream/stream_end.h"

namespace sheaf::quic {
namespace {

constexpr std::uint64_t k_memory = 8 << 20;  // the gateway's limit for a connection
constexpr std::uint64_t k_streams = 1000;    // of each kind

// The window is as large as it can grow.
StreamSetConfig config(std::uint64_t memory = k_memory) {
  StreamSetConfig config;
  config.memory = memory;
  config.initial_connection_window = config.max_connection_window;
  config.max_bidirectional_streams = config.max_unidirectional_streams = k_streams;
  return ReceiveCost::within(config, memory);
}

std::uint64_t used(const StreamEnd& end) { return end.streams.memory().used(); }

// On one stream after the other, while there is credit, puts a byte into every small block of [0,
// stretch), each behind a gap. Puts one byte behind a gap into all other streams.
void receive_gaps(StreamEnd& server, std::uint64_t stretch) {
  std::uint64_t credit = server.parameters().initial_max_data;
  const std::uint64_t streams = server.parameters().initial_max_streams_bidi;
  std::uint64_t left = 2 * streams;
  for (std::uint64_t index = 0; index < streams; ++index) {
    for (const Directionality kind :
         {Directionality::kBidirectional, Directionality::kUnidirectional}) {
      --left;
      const std::uint64_t id = StreamId::make(Role::kClient, kind, index).value;
      for (std::uint64_t offset = 1; offset < stretch && offset + 1 + 2 * left <= credit;
           offset += Block::k_small) {
        ASSERT_TRUE(server.receive_stream(id, offset, 1));
      }
      const std::uint64_t end =
          std::min((stretch - 1) / Block::k_small * Block::k_small + 2, credit - 2 * left);
      ASSERT_TRUE(server.receive_stream(id, end - 1, 1));
      credit -= end;
    }
  }
}

TEST(StreamMemory, OfGapsOnEveryStreamIsWithinTheLimit) {
  for (const std::uint64_t stretch :
       {2, 513, 1100, 1537, 2050, 4096, 5000, 32'770, 33'000, 36'900, 200'000}) {
    StreamEnd server(Role::kServer, config());
    receive_gaps(server, stretch);
    EXPECT_EQ(server.streams.open_streams(), 2 * k_streams);
    EXPECT_LE(used(server), k_memory) << "a byte in each small block up to " << stretch;
  }
}

TransportParameters taking_all() {
  TransportParameters peer;
  peer.initial_max_data = 256 << 20;
  peer.initial_max_stream_data_bidi_remote = peer.initial_max_stream_data_bidi_local = 64 << 20;
  peer.initial_max_streams_bidi = 1000;
  return peer;
}

// Writes to requests, as many as there is memory for (http3/request_admission.h), and to streams
// that this side opens, until all of them are refused. All of it is sent, nothing is acknowledged.
void write_all(StreamEnd& server, std::vector<StreamPacket>& unacknowledged) {
  constexpr std::uint64_t k_request = 32 << 10;
  std::vector<StreamId> ids;
  for (std::uint64_t index = 0; server.streams.memory().has_room_to_hold(k_request); ++index) {
    if (index == server.parameters().initial_max_streams_bidi) break;
    server.streams.memory().hold(k_request);
    ids.push_back(StreamId::make(Role::kClient, Directionality::kBidirectional, index));
    ASSERT_TRUE(server.receive_stream(ids.back().value, 0, 1));
  }
  for (std::uint64_t i = 0; i < server.streams.memory().total() / (64 << 10); ++i) {
    ids.push_back(*server.streams.writer().open(Directionality::kBidirectional));
  }
  for (const StreamId id : ids) {
    while (const std::uint64_t size = server.streams.writer().reserve(id)) {
      server.write(id, size);
      while (server.streams.outgoing().has_data_to_send()) {
        unacknowledged.push_back(server.send());
      }
    }
  }
}

TEST(StreamMemory, OfGapsAndOfWhatIsSentAtOnceIsWithinTheLimit) {
  for (const std::uint64_t memory : {256 << 10, 1 << 20, 2 << 20, 8 << 20}) {
    for (const std::uint64_t stretch : {2, 513, 2050, 32'770}) {
      for (const bool gaps_first : {false, true}) {
        StreamEnd server(Role::kServer, config(memory));
        ASSERT_TRUE(server.streams.set_peer_parameters(taking_all()));
        std::vector<StreamPacket> unacknowledged;
        if (gaps_first) receive_gaps(server, stretch);
        write_all(server, unacknowledged);
        if (!gaps_first) receive_gaps(server, stretch);
        EXPECT_LE(used(server), memory)
            << "a byte in each small block up to " << stretch << (gaps_first ? "" : ", later");
        EXPECT_GT(used(server), memory / 3);
      }
    }
  }
}

// The window grows as it is read from, over what is held by then.
TEST(StreamMemory, OfAWindowThatGrowsIsWithinTheLimit) {
  StreamSetConfig small = config();
  small.initial_connection_window = small.initial_stream_window = 64 << 10;
  StreamEnd server(Role::kServer, small);
  server.streams.set_rtt(10ms);
  ASSERT_TRUE(server.streams.set_peer_parameters(taking_all()));
  std::vector<StreamPacket> unacknowledged;
  write_all(server, unacknowledged);
  const std::uint64_t id = StreamId::make(Role::kClient, Directionality::kUnidirectional, 0).value;
  std::uint64_t offset = 0;
  std::uint64_t credit = server.parameters().initial_max_data;
  for (int round = 0; round < 100; ++round) {
    while (offset < credit) {
      const std::uint64_t part = std::min<std::uint64_t>(credit - offset, 1000);
      if (!server.receive_stream(id, offset, part)) break;
      offset += part;
    }
    server.read(StreamId{id});
    while (server.wants_to_send()) {
      const StreamPacket packet = server.send();
      if (packet.empty()) break;
      for (const MaxDataFrame& frame : packet.all<MaxDataFrame>()) credit = frame.maximum;
    }
  }
  receive_gaps(server, 2);
  EXPECT_LE(used(server), k_memory);
}

// What a stream had at one time leaves no large table behind.
TEST(StreamMemory, OfTablesOfManyStreamsIsBounded) {
  StreamSetConfig large = config();
  large.initial_stream_window = 1 << 20;
  StreamEnd server(Role::kServer, large);
  const std::vector<std::uint8_t> bytes(1 << 20);
  for (std::uint64_t index = 0; index < k_streams; ++index) {
    const StreamId id = StreamId::make(Role::kClient, Directionality::kUnidirectional, index);
    constexpr std::uint64_t k_end = 900'000;
    ASSERT_TRUE(server.receive_stream(id.value, k_end, 1));
    ASSERT_TRUE(
        server.streams.incoming().on_stream({id, 0, Bytes(bytes).first(k_end)}, server.now));
    // The last byte waits.
    EXPECT_EQ(server.read(id, k_end).bytes, k_end);
    while (server.wants_to_send() && !server.send().empty()) {
    }
  }
  // Each has a large block. Beside these are free blocks, as many as one stream needs.
  EXPECT_LE(used(server),
            k_streams * (ReceiveCost::k_stream + Block::footprint(Block::k_large)) + (1 << 20));
}

// Whoever waits for memory is told at once when a reader gives some back.
TEST(StreamMemory, ThatAReaderGivesBackWakesWhoWaits) {
  StreamSetConfig large = config();
  large.initial_stream_window = 2 << 20;
  StreamEnd server(Role::kServer, large);
  ASSERT_TRUE(server.streams.set_peer_parameters(taking_all()));
  const StreamId received = StreamId::make(Role::kClient, Directionality::kUnidirectional, 0);
  const std::uint64_t credit = server.parameters().initial_max_stream_data_uni;
  for (std::uint64_t offset = 0; offset < credit; offset += 1024) {
    ASSERT_TRUE(server.receive_stream(received.value, offset, 1024));
  }
  server.streams.memory().set_total(2 << 20);
  const StreamId sent = *server.streams.writer().open(Directionality::kBidirectional);
  while (const std::uint64_t size = server.streams.writer().reserve(sent)) server.write(sent, size);
  server.events();
  while (server.read(received).bytes > 0) {
  }
  bool told = false;
  for (const StreamEvent& event : server.events()) {
    told |= event.kind == StreamEvent::Kind::kWritable && event.stream == sent;
  }
  EXPECT_TRUE(told);
}

TEST(StreamMemory, OfGapsIsNotGivenToWhatIsSent) {
  const TransportParameters peer = taking_all();
  std::uint64_t without_gaps = 0;
  for (const bool gaps : {false, true}) {
    StreamEnd server(Role::kServer, config());
    ASSERT_TRUE(server.streams.set_peer_parameters(peer));
    if (gaps) receive_gaps(server, 2100);
    const std::uint64_t before = used(server);
    for (int i = 0; i < 16; ++i) {
      const StreamId id = *server.streams.writer().open(Directionality::kBidirectional);
      while (server.write(id, 16 << 10)) {
      }
    }
    const std::uint64_t sent = used(server) - before;
    // What gaps take is kept free for them.
    if (gaps) {
      EXPECT_EQ(sent, without_gaps);
    }
    without_gaps = sent;
    EXPECT_LE(used(server), k_memory);
  }
}

}  // namespace
}  // namespace sheaf::quic
