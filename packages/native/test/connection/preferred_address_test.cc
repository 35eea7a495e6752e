// Tests RFC 9000 §9.6: a client tries the address that the server prefers, and moves there.
#include "connection/raw_server.h"

namespace sheaf::quic {
namespace {

const AddressPair k_preferred = RawServer::addresses(9);

TransportParameters with_preferred(std::array<std::uint8_t, 4> ip = {10, 1, 0, 9},
                                   std::uint16_t port = 443) {
  TransportParameters parameters = RawServer::generous();
  parameters.preferred_address.emplace();
  parameters.preferred_address->ipv4 = ip;
  parameters.preferred_address->ipv4_port = port;
  parameters.preferred_address->id = RawServer::id(1);
  parameters.preferred_address->reset_token = {1};
  return parameters;
}

// Returns the challenge for the preferred address, if it is sent now.
std::optional<PathChallengeFrame> challenge(const std::vector<RawServer::Packet>& packets) {
  for (const RawServer::Packet& packet : packets) {
    if (packet.path != k_preferred) continue;
    EXPECT_EQ(packet.destination, RawServer::id(1));
    EXPECT_EQ(packet.size, 1200u);
    const auto frames = packet.all<PathChallengeFrame>();
    EXPECT_EQ(frames.size(), 1u);
    if (!frames.empty()) return frames.front();
  }
  return std::nullopt;
}

AddressPair where(const RawServer& server) { return server.client.paths().stats()[0].addresses; }

TEST(PreferredAddressTest, TheClientMovesWhenItIsAnsweredThere) {
  RawServer server(with_preferred());
  server.establish();
  EXPECT_FALSE(challenge(server.collect())) << "not before the handshake is confirmed";
  server.send({HandshakeDoneFrame{}}, server.path);
  const auto sent = challenge(server.collect());
  ASSERT_TRUE(sent);
  EXPECT_EQ(where(server), server.path);
  server.send({PathResponseFrame{sent->data}}, k_preferred);
  EXPECT_EQ(where(server), k_preferred);
  bool more_than_a_probe = false;
  for (const RawServer::Packet& packet : server.collect()) {
    EXPECT_EQ(packet.path, k_preferred);
    EXPECT_EQ(packet.destination, RawServer::id(1));
    more_than_a_probe |= !packet.all<PingFrame>().empty() || !packet.all<AckFrame>().empty();
  }
  EXPECT_TRUE(more_than_a_probe);
  // Packets from the previous address are still in flight.
  server.send({PingFrame{}}, server.path);
  EXPECT_EQ(server.client.paths().stats()[0].packets_received, 3u);
  std::vector<std::uint64_t> retired;
  for (const RawServer::Packet& packet : server.sleep(5s)) {
    for (const auto& frame : packet.all<RetireConnectionIdFrame>()) {
      retired.push_back(frame.sequence);
    }
  }
  ASSERT_FALSE(retired.empty());
  EXPECT_EQ(retired.front(), 0u);
  EXPECT_EQ(server.client.state(), Connection::State::kEstablished);
}

TEST(PreferredAddressTest, WithoutAResponseItStays) {
  RawServer server(with_preferred());
  server.confirm();
  int challenges = challenge(server.collect()) ? 1 : 0;
  std::vector<std::uint64_t> retired;
  for (const RawServer::Packet& packet : server.sleep(10s)) {
    challenges += packet.path == k_preferred;
    for (const auto& frame : packet.all<RetireConnectionIdFrame>()) {
      retired.push_back(frame.sequence);
    }
  }
  EXPECT_EQ(challenges, 3);
  EXPECT_EQ(where(server), server.path);
  ASSERT_FALSE(retired.empty()) << "its id is for no other address";
  EXPECT_EQ(retired.front(), 1u);
  server.send({PingFrame{}}, k_preferred);
  EXPECT_EQ(server.client.paths().stats()[0].packets_received, 1u) << "nobody known";
}

TEST(PreferredAddressTest, AddressesThatCannotBeOneServersAreNotTried) {
  for (const auto& [ip, port] : std::vector<std::pair<std::array<std::uint8_t, 4>, std::uint16_t>>{
           {{0, 0, 0, 0}, 443},
           {{224, 0, 0, 1}, 443},
           {{255, 255, 255, 255}, 443},
           {{10, 1, 0, 9}, 0},
           {{10, 1, 0, 1}, 443}}) {
    RawServer server(with_preferred(ip, port));
    server.confirm();
    for (const RawServer::Packet& packet : server.collect()) {
      EXPECT_EQ(packet.path, server.path);
      EXPECT_TRUE(packet.all<PathChallengeFrame>().empty());
    }
  }
}

TEST(PreferredAddressTest, ItsIdCountsAmongTheServers) {
  RawServer server(with_preferred());
  server.confirm();
  NewConnectionIdFrame again{
      .sequence = 1, .retire_prior_to = 0, .id = RawServer::id(7), .reset_token = {7}};
  server.send({again}, server.path);
  ASSERT_NE(server.client.closed(), nullptr);
  EXPECT_EQ(server.client.closed()->error,
            static_cast<std::uint64_t>(TransportErrorCode::kProtocolViolation));
}

}  // namespace
}  // namespace sheaf::quic
