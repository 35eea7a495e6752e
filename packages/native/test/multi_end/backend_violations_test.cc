// Tests what a primary must not do with the frames of docs/reference/wire.md, and which frames are
// ignored.
#include <gtest/gtest.h>

#include "crypto/one_rtt_keys.h"
#include "multi_end/backends.h"
#include "sim/known_secret.h"
#include "wire/frame_codec.h"
#include "wire/packet_header.h"

namespace sheaf::quic {
namespace {

// A primary that sends any frames to a client's Connection.
class RawPrimary {
 public:
  explicit RawPrimary(Role role = Role::kClient, bool with_backends = true)
      : receiver(role, config(with_backends), random, now) {
    ConnectionSeed seed;
    seed.send_secret = known_secret(1);
    seed.receive_secret = known_secret(2);
    seed.peer_parameters.initial_max_path_id = 15;
    seed.peer_parameters.active_connection_id_limit = 2;
    if (with_backends) seed.peer_parameters.multi_end = BackendKeyModes::k_shared;
    seed.local_id = to_;
    seed.remote_id = ConnectionId(std::vector<std::uint8_t>(8, 0xaa));
    seed.path = path_;
    receiver.routing().set_id_maker(
        std::make_shared<LocalIdMaker>(std::vector<std::uint8_t>(32, 9)));
    EXPECT_TRUE(receiver.establishment().establish(seed, now));
    if (role == Role::kServer) receiver.establishment().confirm_handshake({}, now);
    keys_.install_send_secret(known_secret(2));
    if (role == Role::kClient) send({HandshakeDoneFrame{}});
  }

  void send(const std::vector<Frame>& frames) {
    std::vector<std::uint8_t> packet(1200);
    Writer writer(packet);
    writer.write_u8(k_fixed_bit | 3);
    writer.write_bytes(to_.view());
    writer.write_u32(static_cast<std::uint32_t>(number_));
    const std::size_t header = writer.size();
    for (const Frame& frame : frames) encode(writer, frame);
    SealJob job;
    job.packet = packet.data();
    job.header_length = static_cast<std::uint16_t>(header);
    job.packet_number_length = 4;
    job.payload_length = static_cast<std::uint32_t>(writer.size() - header);
    job.number = number_++;
    EXPECT_TRUE(keys_.seal({&job, 1}));
    packet.resize(writer.size() + k_aead_tag_length);
    receiver.receive({packet, path_}, now);
  }
  int offers() {
    int found = 0;
    while (const auto event = receiver.poll_event()) {
      found += std::holds_alternative<BackendOfferedEvent>(*event);
    }
    return found;
  }

  static ConnectionConfig config(bool with_backends) {
    ConnectionConfig config;
    if (with_backends) offer_multi_end(config, BackendKeyModes::k_shared);
    return config;
  }
  Time now{std::chrono::seconds(1)};
  SeededRandom random{1};
  Connection receiver;

 private:
  ConnectionId to_ = ConnectionId(std::vector<std::uint8_t>(8, 0x55));
  AddressPair path_;
  OneRttKeys keys_;
  PacketNumber number_ = 0;
};

Address address(std::uint8_t last = 1) {
  Address address;
  address.family = Address::Family::kIpv4;
  address.ip = {192, 0, 2, last};
  address.port = 443;
  return address;
}

BackendOfferFrame offer(std::uint32_t backend, std::uint64_t sequence, std::uint32_t path) {
  return {BackendId{backend}, sequence, PathId{path}, address()};
}

std::optional<TransportErrorCode> error_after(const std::vector<Frame>& frames,
                                              Role role = Role::kClient,
                                              bool with_backends = true) {
  RawPrimary primary(role, with_backends);
  primary.send(frames);
  const ConnectionClosed* closed = primary.receiver.closed();
  if (!closed) return std::nullopt;
  EXPECT_EQ(closed->cause, ConnectionClosed::Cause::kLocalError);
  return static_cast<TransportErrorCode>(closed->error);
}

constexpr auto k_violation = TransportErrorCode::kProtocolViolation;

TEST(BackendViolations, FramesDoNotExistWithoutNegotiation) {
  constexpr auto k_encoding = TransportErrorCode::kFrameEncodingError;
  EXPECT_EQ(error_after({offer(1, 1, 1)}, Role::kClient, false), k_encoding);
  EXPECT_EQ(error_after({BackendWithdrawFrame{BackendId{1}, 1, 0}}, Role::kClient, false),
            k_encoding);
}

TEST(BackendViolations, OnlyThePrimarySendsThem) {
  EXPECT_EQ(error_after({offer(1, 1, 1)}, Role::kServer), k_violation);
  EXPECT_EQ(error_after({BackendWithdrawFrame{BackendId{1}, 1, 0}}, Role::kServer), k_violation);
}

TEST(BackendViolations, PathIdsThatAreNotOfBackends) {
  EXPECT_EQ(error_after({offer(1, 1, 2)}), k_violation);
  EXPECT_EQ(error_after({offer(1, 1, 17)}), k_violation);
  EXPECT_EQ(error_after({offer(1, 1, 15)}), std::nullopt);
}

TEST(BackendViolations, TwoBackendsAtOnePath) {
  EXPECT_EQ(error_after({offer(1, 1, 3), offer(2, 1, 3)}), k_violation);
  EXPECT_EQ(error_after({offer(1, 1, 3), BackendWithdrawFrame{BackendId{1}, 2, 1}, offer(2, 1, 3)}),
            std::nullopt);
}

TEST(BackendViolations, OneSequenceNumberForTwoThings) {
  BackendOfferFrame other = offer(1, 1, 3);
  other.address = address(2);
  EXPECT_EQ(error_after({offer(1, 1, 3), other}), k_violation);
  EXPECT_EQ(error_after({offer(1, 1, 3), BackendWithdrawFrame{BackendId{1}, 1, 0}}), k_violation);
  EXPECT_EQ(error_after({BackendWithdrawFrame{BackendId{1}, 1, 0}, offer(1, 1, 3)}), k_violation);
  EXPECT_EQ(error_after({offer(1, 1, 3), offer(1, 1, 3)}), std::nullopt) << "repeated";
}

TEST(BackendOffers, WhatIsOlderIsIgnored) {
  RawPrimary primary;
  primary.send({BackendWithdrawFrame{BackendId{1}, 2, 1}, offer(1, 1, 3)});
  EXPECT_EQ(primary.offers(), 0);
  EXPECT_FALSE(open_backend(primary.receiver, BackendId{1}, address(9), primary.now));
  primary.send({offer(1, 3, 3)});
  EXPECT_EQ(primary.offers(), 1);
  EXPECT_FALSE(primary.receiver.closed());
}

TEST(BackendOffers, WithoutConnectionIdsThereIsNoPath) {
  RawPrimary primary;
  primary.send({offer(1, 1, 3)});
  const auto opened = open_backend(primary.receiver, BackendId{1}, address(9), primary.now);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error(), BackendRefusal::kNoPath);
  EXPECT_EQ(open_backend(primary.receiver, BackendId{2}, address(9), primary.now).error(),
            BackendRefusal::kUnknownBackend);
}

TEST(BackendOffers, NegotiationNeedsAModeInCommon) {
  ConnectionConfig config;
  offer_multi_end(config, BackendKeyModes::k_per_path);
  SeededRandom random(1);
  Connection client(Role::kClient, config, random, Time(1s));
  EXPECT_EQ(client.local_parameters().multi_end, BackendKeyModes::k_per_path);
  EXPECT_EQ(client.local_parameters().initial_max_path_id, 15u);
  ConnectionSeed seed;
  seed.send_secret = seed.receive_secret = known_secret(1);
  seed.local_id = seed.remote_id = ConnectionId(std::vector<std::uint8_t>(8, 1));
  seed.peer_parameters.initial_max_path_id = 15;
  seed.peer_parameters.multi_end = BackendKeyModes::k_shared;
  client.routing().set_id_maker(std::make_shared<LocalIdMaker>(std::vector<std::uint8_t>(32, 9)));
  ASSERT_TRUE(client.establishment().establish(seed, Time(1s)));
  EXPECT_TRUE(client.paths().enabled());
  EXPECT_FALSE(multi_end_negotiated(client));
}

}  // namespace
}  // namespace sheaf::quic
