#include "multi_end/connection_snapshot.h"

#include <gtest/gtest.h>

#include <functional>

#include "connection/connection.h"
#include "multi_end/backends.h"
#include "sim/known_secret.h"
#include "util/random.h"

namespace sheaf::quic {
namespace {

DirectionKeys keys_of(std::uint8_t secret) {
  return {.secret = known_secret(secret), .header_key = derive_header_key(known_secret(secret))};
}

BackendSeed seed_of_a_backend() {
  BackendSeed seed;
  seed.backend = BackendId{3};
  seed.keys.path = PathId{5};
  seed.keys.send = keys_of(1);
  seed.keys.receive = keys_of(2);
  seed.keys.receive->generation = 3;
  seed.keys.forged = 7;
  seed.local_ids = {{0, ConnectionId(std::vector<std::uint8_t>(8, 1))},
                    {1, ConnectionId(std::vector<std::uint8_t>(8, 2))}};
  for (std::uint8_t i = 0; i < 2; ++i) {
    NewConnectionIdFrame& given = seed.remote_ids.emplace_back();
    given.sequence = i;
    given.id = ConnectionId(std::vector<std::uint8_t>(8, static_cast<std::uint8_t>(0x10 + i)));
    given.reset_token[0] = i;
  }
  seed.peer_parameters.max_udp_payload_size = 1452;
  seed.peer_parameters.initial_max_stream_data_bidi_local = 70000;
  seed.peer_parameters.initial_max_stream_data_bidi_remote = 70001;
  seed.peer_parameters.initial_max_stream_data_uni = 70002;
  seed.peer_parameters.active_connection_id_limit = 4;
  seed.peer_parameters.max_ack_delay = 20ms;
  seed.peer_parameters.ack_delay_exponent = 5;
  seed.peer_parameters.grease_quic_bit = true;
  seed.lease = {.credit = 100'000, .ids = {{{4, 16}, {0, 8}}}};
  seed.initial_stream_window = 262144;
  seed.max_connection_window = 1 << 24;
  seed.max_bidirectional_streams = 1000;
  seed.active_connection_id_limit = 4;
  seed.max_idle_timeout = 30s;
  seed.max_ack_delay = 25ms;
  return seed;
}

std::optional<SnapshotFault> fault_of(Bytes bytes) {
  const auto seed = decode_snapshot(bytes);
  return seed ? std::nullopt : std::optional(seed.error());
}

TEST(ConnectionSnapshot, SurvivesARoundTrip) {
  const BackendSeed seed = seed_of_a_backend();
  const std::vector<std::uint8_t> bytes = encode_snapshot(seed);
  const auto copy = decode_snapshot(bytes);
  ASSERT_TRUE(copy);
  EXPECT_EQ(encode_snapshot(*copy), bytes);
  EXPECT_EQ(copy->backend, seed.backend);
  EXPECT_EQ(copy->keys.path, seed.keys.path);
  EXPECT_EQ(copy->keys.mode, KeyMode::kPerPath);
  EXPECT_TRUE(std::ranges::equal(copy->keys.receive->secret.view(), known_secret(2).view()));
  EXPECT_EQ(copy->keys.receive->generation, 3u);
  EXPECT_EQ(copy->keys.send->header_key.key, seed.keys.send->header_key.key);
  EXPECT_EQ(copy->keys.forged, 7u);
  ASSERT_EQ(copy->local_ids.size(), 2u);
  EXPECT_EQ(copy->local_ids[1].id, seed.local_ids[1].id);
  ASSERT_EQ(copy->remote_ids.size(), 2u);
  EXPECT_EQ(copy->remote_ids[1].id, seed.remote_ids[1].id);
  EXPECT_EQ(copy->remote_ids[1].reset_token, seed.remote_ids[1].reset_token);
  EXPECT_EQ(copy->peer_parameters.initial_max_stream_data_bidi_remote, 70001u);
  EXPECT_EQ(copy->peer_parameters.max_ack_delay, 20ms);
  EXPECT_EQ(copy->lease.credit, 100'000u);
  EXPECT_EQ(copy->lease.ids[0].first, 4u);
  EXPECT_EQ(copy->lease.ids[1].count, 8u);
  EXPECT_EQ(copy->max_idle_timeout, 30s);
}

TEST(ConnectionSnapshot, RefusesEveryTruncationAndWhatIsLeftOver) {
  std::vector<std::uint8_t> bytes = encode_snapshot(seed_of_a_backend());
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_EQ(fault_of(Bytes(bytes).first(length)), SnapshotFault::kMalformed) << length;
  }
  bytes.push_back(0);
  EXPECT_EQ(fault_of(bytes), SnapshotFault::kMalformed);
}

TEST(ConnectionSnapshot, RefusesOtherVersions) {
  std::vector<std::uint8_t> bytes = encode_snapshot(seed_of_a_backend());
  for (const int version : {0, 1, 3, 255}) {
    bytes[0] = static_cast<std::uint8_t>(version);
    EXPECT_EQ(fault_of(bytes), SnapshotFault::kUnknownVersion);
  }
}

TEST(ConnectionSnapshot, RefusesValuesOutsideTheirRange) {
  const auto refused = [](const std::function<void(BackendSeed&)>& change) {
    BackendSeed seed = seed_of_a_backend();
    change(seed);
    return fault_of(encode_snapshot(seed)) == SnapshotFault::kOutOfRange;
  };
  EXPECT_FALSE(refused([](BackendSeed&) {}));
  EXPECT_TRUE(refused([](BackendSeed& seed) { seed.keys.mode = KeyMode{0}; }));
  EXPECT_TRUE(refused([](BackendSeed& seed) { seed.keys.mode = KeyMode{3}; }));
  EXPECT_TRUE(refused([](BackendSeed& seed) { seed.backend.value = 64; }));
  EXPECT_TRUE(refused([](BackendSeed& seed) { seed.keys.path.value = 0; }));
  EXPECT_TRUE(refused([](BackendSeed& seed) { seed.keys.path.value = 4; }));  // not one of backends
  EXPECT_TRUE(refused([](BackendSeed& seed) { seed.local_ids.clear(); }));
  EXPECT_TRUE(refused([](BackendSeed& seed) { seed.remote_ids.clear(); }));
  EXPECT_TRUE(refused([](BackendSeed& seed) { seed.remote_ids.resize(17, seed.remote_ids[0]); }));
  EXPECT_TRUE(refused([](BackendSeed& seed) { seed.local_ids[0].id = {}; }));
  EXPECT_TRUE(refused([](BackendSeed& seed) { seed.peer_parameters.max_udp_payload_size = 1199; }));
  EXPECT_TRUE(refused([](BackendSeed& seed) { seed.peer_parameters.ack_delay_exponent = 21; }));
  EXPECT_TRUE(refused([](BackendSeed& seed) { seed.peer_parameters.max_ack_delay = 17s; }));
  EXPECT_TRUE(
      refused([](BackendSeed& seed) { seed.peer_parameters.active_connection_id_limit = 1; }));
  EXPECT_TRUE(refused([](BackendSeed& seed) { seed.lease.ids[0].first = k_max_varint; }));
  EXPECT_TRUE(refused([](BackendSeed& seed) { seed.lease.ids[1].count = k_max_varint; }));
  EXPECT_TRUE(refused([](BackendSeed& seed) { seed.max_connection_window = 1 << 31; }));
  EXPECT_TRUE(refused([](BackendSeed& seed) { seed.max_bidirectional_streams = 1 << 21; }));
  EXPECT_TRUE(refused([](BackendSeed& seed) { seed.keys.next_number = 1; }))
      << "a path that was used";
  EXPECT_TRUE(refused([](BackendSeed& seed) { seed.keys.forged = k_max_varint; }));
  EXPECT_TRUE(
      refused([](BackendSeed& seed) { seed.keys.send->secret.suite = CipherSuite{0x1377}; }));
  EXPECT_TRUE(refused([](BackendSeed& seed) { seed.keys.send->secret.version = 9; }));
}

std::optional<TransportError> import(const std::function<void(BackendSeed&)>& change) {
  BackendSeed seed = seed_of_a_backend();
  change(seed);
  SeededRandom random(1);
  Connection backend(Role::kServer, seed.adapt({}), random, Time(1s));
  const TransportStatus status = establish_backend(backend, seed, Time(1s));
  return status ? std::nullopt : std::optional(status.error());
}

TEST(ConnectionSnapshot, ImportJudgesKeysAndConnectionIds) {
  EXPECT_FALSE(import([](BackendSeed&) {}));
  EXPECT_TRUE(import([](BackendSeed& seed) { seed.keys.send->secret.length = 31; }));
  EXPECT_TRUE(import([](BackendSeed& seed) { seed.keys.receive->header_key.key_length = 32; }));
  EXPECT_TRUE(import([](BackendSeed& seed) { seed.local_ids[1].sequence = 0; }));
  EXPECT_TRUE(import([](BackendSeed& seed) { seed.local_ids[0].id.length = 7; }));
  EXPECT_TRUE(import([](BackendSeed& seed) { seed.remote_ids[1].id = seed.remote_ids[0].id; }));
}

TEST(ConnectionSnapshot, AnyDamageIsRefusedOrWithinRange) {
  const std::vector<std::uint8_t> whole = encode_snapshot(seed_of_a_backend());
  SeededRandom random(7);
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::uint8_t> bytes = whole;
    for (std::uint64_t i = 0; i <= random.below(4); ++i) {
      bytes[random.below(bytes.size())] = static_cast<std::uint8_t>(random.next());
    }
    const auto seed = decode_snapshot(bytes);
    if (!seed) continue;
    EXPECT_LE(seed->max_connection_window, 1u << 30);
    SeededRandom numbers(1);
    if (round % 50 != 0) continue;
    Connection backend(Role::kServer, seed->adapt({}), numbers, Time(1s));
    static_cast<void>(establish_backend(backend, *seed, Time(1s)));
  }
}

}  // namespace
}  // namespace sheaf::quic
