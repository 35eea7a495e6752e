// Tests how much memory a connection's streams hold at most, whatever the peer sends.

#include "stream/block_pool.h"
#include "stream/stream_end.h"

namespace sheaf::quic {
namespace {

constexpr std::uint64_t k_memory = 8 << 20;             // the gateway's limit for a connection
constexpr std::uint64_t k_streams_of_each_kind = 1000;  // of each kind

// The window is as large as it can grow.
StreamSetConfig config() {
  StreamSetConfig config;
  config.memory = k_memory;
  config.initial_connection_window = config.max_connection_window;
  config.max_bidirectional_streams = config.max_unidirectional_streams = k_streams_of_each_kind;
  return config;
}

std::uint64_t used(const StreamEnd& end) { return end.streams.memory().used(); }

// On one stream after the other, while there is credit, puts a byte into every small block of [0,
// stretch), each behind a gap. Puts one byte behind a gap into all other streams.
void receive_gaps(StreamEnd& server, std::uint64_t stretch) {
  std::uint64_t credit = server.parameters().initial_max_data;
  std::uint64_t left = 2 * k_streams_of_each_kind;
  for (std::uint64_t index = 0; index < k_streams_of_each_kind; ++index) {
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
    EXPECT_EQ(server.streams.open_streams(), 2 * k_streams_of_each_kind);
    EXPECT_LE(used(server), k_memory) << "a byte in each small block up to " << stretch;
  }
}

TEST(StreamMemory, OfGapsIsNotGivenToWhatIsSent) {
  TransportParameters peer;
  peer.initial_max_data = peer.initial_max_stream_data_bidi_remote = 64 << 20;
  peer.initial_max_streams_bidi = 100;
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
    if (gaps) {
      EXPECT_LE(sent + (1 << 20), without_gaps);
    } else {
      without_gaps = sent;
    }
  }
}

}  // namespace
}  // namespace sheaf::quic
