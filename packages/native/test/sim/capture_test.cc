#include "sim/capture.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "crypto/test_certificates.h"
#include "emulation/units.h"
#include "sim/addresses.h"
#include "sim/endpoint_host.h"
#include "sim/ip_packet.h"
#include "sim/pcapng_reader.h"
#include "sim/simulation.h"

namespace sheaf::quic {
namespace {

using CaptureDirection = CapturedDatagram::Direction;

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(byte));
    text += digits;
  }
  return text;
}

// RFC 1071: the ones' complement sum of a range with a correct checksum in it is 0xffff.
std::uint32_t ones_complement_sum(const std::vector<std::uint8_t>& bytes) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) sum += i % 2 == 0 ? bytes[i] << 8 : bytes[i];
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return sum;
}

// Returns the pseudo header and the UDP datagram of a packet.
std::vector<std::uint8_t> udp_checked_bytes(const std::vector<std::uint8_t>& packet) {
  const bool is_ipv6 = packet[0] >> 4 == 6;
  const std::size_t addresses = is_ipv6 ? 8 : 12, header = is_ipv6 ? 40 : 20;
  std::vector<std::uint8_t> checked(packet.begin() + static_cast<long>(addresses),
                                    packet.begin() + static_cast<long>(header));
  const std::size_t length = packet.size() - header;
  const std::uint8_t rest[] = {0, 17, static_cast<std::uint8_t>(length >> 8),
                               static_cast<std::uint8_t>(length)};
  checked.insert(checked.end(), std::begin(rest), std::end(rest));
  checked.insert(checked.end(), packet.begin() + static_cast<long>(header), packet.end());
  return checked;
}

TEST(IpPacket, HasCorrectHeaders) {
  std::vector<std::uint8_t> packet;
  const std::vector<std::uint8_t> payload{1, 2, 3};
  write_ip_packet({ipv4({10, 0, 0, 1}, 1000), ipv4({10, 0, 0, 2}, 443), Ecn::kCe}, payload, packet);
  ASSERT_EQ(packet.size(), 31u);
  EXPECT_EQ(packet[0], 0x45);
  EXPECT_EQ(packet[1], 3);
  EXPECT_EQ(ones_complement_sum({packet.begin(), packet.begin() + 20}), 0xffffu);
  EXPECT_EQ(ones_complement_sum(udp_checked_bytes(packet)), 0xffffu);
  write_ip_packet({ipv6(1, 1000), ipv6(2, 443), Ecn::kEct0}, payload, packet);
  ASSERT_EQ(packet.size(), 51u);
  EXPECT_EQ(packet[0], 0x60);
  EXPECT_EQ(packet[1], 0x20);
  EXPECT_EQ(ones_complement_sum(udp_checked_bytes(packet)), 0xffffu);
}

TEST(IpPacket, ChecksumsHoldForAnyPayload) {
  constexpr std::uint64_t k_seed = 3;
  SCOPED_TRACE("seed " + std::to_string(k_seed));
  SeededRandom random(k_seed);
  std::vector<std::uint8_t> packet;
  for (int i = 0; i < 300; ++i) {
    std::vector<std::uint8_t> payload(random.below(i % 10 == 0 ? 65'500 : 1500));
    if (i % 7 == 0) {
      payload.assign(payload.size(), 0xff);
    } else {
      random.fill(payload);
    }
    const bool is_ipv6 = i % 2 == 0;
    write_ip_packet({is_ipv6 ? ipv6(1, 1) : ipv4({255, 255, 255, 255}, 65535),
                     is_ipv6 ? ipv6(2, 2) : ipv4({255, 255, 255, 254}, 65535)},
                    payload, packet);
    EXPECT_EQ(ones_complement_sum(udp_checked_bytes(packet)), 0xffffu) << i;
  }
}

TEST(Capture, IsByteExact) {
  std::ostringstream out;
  Capture capture(out);
  capture.add_secrets("CLIENT_RANDOM 00 11");
  const std::vector<std::uint8_t> payload{0xde, 0xad, 0xbe};
  capture.add({.when = Time(5s + 1ns),
               .direction = CaptureDirection::kOutbound,
               .path = {ipv4({10, 0, 0, 1}, 1000), ipv4({10, 0, 0, 2}, 443)},
               .ecn = Ecn::kEct0,
               .payload = payload});
  const std::string expected =
      // Section header, with the application.
      "0a0d0d0a"
      "2c000000"
      "4d3c2b1a"
      "01000000"
      "ffffffffffffffff"
      "04000500"
      "7368656166000000"
      "00000000"
      "2c000000"
      // Secrets: 20 bytes of key log.
      "0a000000"
      "28000000"
      "4b534c54"
      "14000000"
      "434c49454e545f52414e444f4d2030302031310a"
      "28000000"
      // Interface: "10.0.0.1:1000 10.0.0.2:443", nanoseconds.
      "01000000"
      "40000000"
      "6500"
      "0000"
      "00000000"
      "02001a00"
      "31302e302e302e313a313030302031302e302e302e323a3434330000"
      "09000100"
      "09000000"
      "00000000"
      "40000000"
      // Packet: interface 0, 5,000,000,001 ns, 31 bytes twice; IPv4, UDP, three bytes, one byte of
      // padding; outbound.
      "06000000"
      "4c000000"
      "00000000"
      "01000000"
      "01f2052a"
      "1f000000"
      "1f000000"
      "4502001f"
      "00004000"
      "401126ca"
      "0a000001"
      "0a000002"
      "03e801bb"
      "000b4984"
      "deadbe"
      "00"
      "02000400"
      "02000000"
      "00000000"
      "4c000000";
  EXPECT_EQ(hex(out.str()), expected);
}

TEST(Capture, EveryPairOfAddressesIsAnInterface) {
  std::ostringstream out;
  Capture capture(out);
  const AddressPair first{ipv4({10, 0, 0, 1}, 1), ipv4({10, 0, 0, 9}, 443)};
  const AddressPair second{ipv6(1, 2), ipv6(9, 443)};
  const std::vector<std::uint8_t> payload(1200, 7);
  const auto inbound = CaptureDirection::kInbound, outbound = CaptureDirection::kOutbound;
  capture.add({.when = Time(1s), .direction = outbound, .path = first, .payload = payload});
  capture.add({.when = Time(2s), .direction = outbound, .path = second, .payload = payload});
  capture.add({.when = Time(3s), .direction = inbound, .path = first, .payload = payload});
  const PcapngFile file = PcapngReader(out.str()).read();
  EXPECT_EQ(file.interfaces,
            (std::vector<std::string>{"10.0.0.1:1 10.0.0.9:443", "[fd00::1]:2 [fd00::9]:443"}));
  ASSERT_EQ(file.packets.size(), 3u);
  EXPECT_EQ(file.packets[1].interface, 1u);
  EXPECT_EQ(file.packets[2].interface, 0u);
  EXPECT_EQ(file.packets[0].flags, 2u);
  EXPECT_EQ(file.packets[2].flags, 1u);
  EXPECT_EQ(file.packets[2].nanoseconds, 3'000'000'000u);
  // An incoming packet has the other side's address as its source.
  EXPECT_EQ(file.packets[2].bytes[15], 9);
  EXPECT_EQ(file.packets[2].bytes.size(), 20u + 8 + 1200);
}

// A handshake and a datagram as the client sees them. SHEAF_CAPTURE names a file for Wireshark.
TEST(Capture, HoldsAConnectionWithItsSecrets) {
  constexpr std::uint64_t k_seed = 8;
  SCOPED_TRACE("seed " + std::to_string(k_seed));
  std::ostringstream out;
  Capture capture(out);
  Simulation simulation(k_seed);
  const TestCertificate certificate = make_certificate();
  TlsServerConfig server_tls;
  server_tls.certificate_pem = certificate.certificate_pem;
  server_tls.private_key_pem = certificate.private_key_pem;
  server_tls.alpn = {"test"};
  TlsClientConfig client_tls;
  client_tls.alpn = {"test"};
  client_tls.certificate_authority_pem = certificate.authority_pem;
  EndpointConfig config;
  config.key_log = [&](std::string_view line) { capture.add_secrets(line); };
  Endpoint client(config, simulation.random());
  config.server_tls = *make_tls_server_context(server_tls);
  Endpoint server(config, simulation.random());
  EndpointHost client_host(client), server_host(server);
  simulation.add_host("client", client_host);
  simulation.add_host("server", server_host);
  simulation.capture("client", capture);
  const Address near = ipv4({10, 0, 0, 1}, 50'000), far = ipv4({10, 0, 0, 2}, 443);
  NetworkPath& path = simulation.connect({"client", near}, {"server", far}, {.delay = 10ms});
  ClientHandshakeConfig handshake;
  handshake.tls = *make_tls_client_context(client_tls);
  handshake.server_name = "localhost";
  handshake.path = {near, far};
  ConnectionDriver* driver = *client.connect(std::move(handshake), {}, simulation.now());
  simulation.run_for(200ms);
  driver->close(0, "done", simulation.now());
  client.wake(*driver, simulation.now());
  simulation.run_for(200ms);
  const PcapngFile file = PcapngReader(out.str()).read();
  EXPECT_EQ(file.packets.size(), path.there.stats().sent + path.back.stats().delivered);
  EXPECT_GT(file.packets.size(), 4u);
  for (const char* label : {"CLIENT_HANDSHAKE_TRAFFIC_SECRET", "SERVER_HANDSHAKE_TRAFFIC_SECRET",
                            "CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0"}) {
    EXPECT_NE(file.secrets.find(label), std::string::npos) << label;
  }
  if (const char* name = std::getenv("SHEAF_CAPTURE")) {
    std::ofstream(name, std::ios::binary) << out.str();
  }
}

}  // namespace
}  // namespace sheaf::quic
