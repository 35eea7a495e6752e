// Tests RFC 9000 §21.4: a sender leaves packet numbers out, so that a peer cannot invent
// acknowledgements.
#include "connection/raw_server.h"

namespace sheaf::quic {
namespace {

// 0-RTT packets may take the first number that was to be left out.
TEST(SkippedNumbersTest, AClientSkipsAfterEarlyDataToo) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    RawServer server(RawServer::generous(), seed);
    server.start_early();
    const auto stream = server.client.streams().writer().open(Directionality::kUnidirectional);
    ASSERT_TRUE(stream);
    const std::vector<std::uint8_t> data(20'000, 1);
    ASSERT_TRUE(server.client.streams().writer().write(*stream, SendChunk::copy_of(data), false));
    server.collect();
    ASSERT_GT(server.early_packets, 5);
    server.confirm();
    server.acknowledge(0, static_cast<PacketNumber>(server.early_packets) - 1);
    PacketNumber next = static_cast<PacketNumber>(server.early_packets);
    bool skipped = false;
    for (int i = 0; i < 400 && !skipped; ++i) {
      server.client.ping(server.now);
      for (const RawServer::Packet& packet : server.collect()) {
        skipped |= packet.number != next;
        next = packet.number + 1;
        server.acknowledge(packet.number, packet.number);
      }
    }
    EXPECT_TRUE(skipped) << "seed " << seed;
  }
}

}  // namespace
}  // namespace sheaf::quic
