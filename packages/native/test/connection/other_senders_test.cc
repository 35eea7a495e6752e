// Tests a connection some of whose packets other nodes send (docs/decisions/0022).
#include "connection/connection_extension.h"
#include "connection/raw_server.h"

namespace sheaf::quic {
namespace {

class OtherSendersTest : public ::testing::Test {
 protected:
  OtherSendersTest() {
    server_.confirm();
    server_.client.ping(server_.now);
    for (const RawServer::Packet& packet : server_.sleep(100ms)) {
      server_.acknowledge(packet.number, packet.number);
    }
    server_.sleep(100ms);
    path().loss.open_sender(1, 20ms);
  }
  Path& path() { return *server_.client.extension().paths().find(PathId{0})->path; }
  PacketNumber order_run() {
    return path().loss.number_run({.time_sent = server_.now,
                                   .bytes = 1200,
                                   .ack_eliciting = true,
                                   .in_flight = true,
                                   .sender = 1},
                                  4, {}, server_.now);
  }
  // The number of the PING that the client sends now.
  PacketNumber ping() {
    server_.client.ping(server_.now);
    const auto packets = server_.collect();
    EXPECT_EQ(packets.size(), 1u);
    return packets.empty() ? 0 : packets.front().number;
  }
  static std::optional<PacketNumber> acknowledged(const std::vector<RawServer::Packet>& packets) {
    for (const RawServer::Packet& packet : packets) {
      for (const AckFrame& frame : packet.all<AckFrame>()) return frame.largest;
    }
    return std::nullopt;
  }

  RawServer server_;
};

// Packets of runs that are ordered later may arrive sooner, and a short number would be taken for a
// higher one.
TEST_F(OtherSendersTest, ANumberIsReadAlthoughManyOvertookIt) {
  order_run();
  const PacketNumber next = path().loss.sent().next_number();
  server_.receive_elsewhere(next + 1000);
  EXPECT_EQ(ping(), next);
}

// The client ignores packets up to the number whose ACK we confirm, and some are on their way.
TEST_F(OtherSendersTest, AnAckIsConfirmedWhenAllThatItOvertookIsThere) {
  path().received.set_hold(10ms);
  const PacketNumber first = order_run();
  const PacketNumber number = ping();
  const AckFrame ack{.largest = number, .first_range = 0};
  server_.send({ack, PingFrame{}}, server_.path);
  const PacketNumber held = *path().received.largest();
  server_.send({PingFrame{}}, server_.path);
  EXPECT_EQ(*path().received.largest(), held + 1);
  EXPECT_FALSE(acknowledged(server_.collect()));
  EXPECT_FALSE(acknowledged(server_.sleep(9ms)));
  EXPECT_EQ(acknowledged(server_.sleep(1ms)), held + 1);
  // Nothing is on its way any more.
  server_.acknowledge(first, number);
  server_.send({AckFrame{.largest = number, .first_range = number - first}, PingFrame{}},
               server_.path);
  server_.send({PingFrame{}}, server_.path);
  EXPECT_EQ(acknowledged(server_.collect()), held + 4);
}

}  // namespace
}  // namespace sheaf::quic
