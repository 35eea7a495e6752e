// Tests 0-RTT, accepted or rejected, followed by a second path (RFC 9001 §4.6, RFC 10069 §3.1).
// Each scenario runs on 20 seeds with a loss of 2 %.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "endpoint/transfer.h"

namespace sheaf::quic {
namespace {

constexpr std::uint64_t k_seeds = 20;
constexpr std::uint64_t k_request = 3000;
constexpr std::uint64_t k_download = 400'000;
constexpr std::uint64_t k_upload = 200'000;

// A resumed connection whose client has written the beginning of a request before the handshake.
class EarlyWorld {
 public:
  EarlyWorld(std::uint64_t seed, bool accepted)
      : trace_(__FILE__, __LINE__, "seed " + std::to_string(seed)),
        pair(seed, {.loss = 0.02}),
        accepted_(accepted) {
    ConnectionDriver& first = pair.connect();
    EXPECT_TRUE(pair.run_until([&] { return pair.count<SessionTicketEvent>(first) > 0; }));
    const auto session = first.session();
    if (!accepted) pair.restart_server_without_ticket_keys();
    connections_before_ = pair.accepted.size();
    driver = &pair.connect(session);
    EXPECT_TRUE(driver->application_ready());
    const auto opened = client().streams().writer().open(Directionality::kBidirectional);
    EXPECT_TRUE(opened);
    stream = *opened;
  }

  Connection& client() { return driver->connection(); }
  ConnectionDriver& server_driver() { return *pair.accepted[connections_before_]; }

  // Returns the client's side of the stream.
  void write(std::uint64_t bytes, bool fin) {
    EXPECT_TRUE(client().streams().writer().write(
        stream, SendChunk::copy_of(pattern(stream, written_, bytes)), fin));
    written_ += bytes;
    pair.wake(*driver);
  }
  // Everything written is in packets before the handshake has produced 1-RTT keys.
  void expect_sent_early() {
    pair.run_for(1ms);
    EXPECT_FALSE(driver->handshake_completed());
    EXPECT_EQ(client().streams().writer().unsent_bytes(stream), 0u);
  }
  void expect_confirmed() {
    EXPECT_TRUE(pair.run_until([&] { return pair.count<HandshakeConfirmedEvent>(*driver) > 0; }));
    EXPECT_EQ(driver->resumed(), accepted_);
    EXPECT_EQ(driver->early_data_accepted(), accepted_);
  }
  PathId open_second_path() {
    const AddressPair addresses{second_local(), client().paths().stats().front().addresses.remote};
    std::optional<PathId> id;
    EXPECT_TRUE(pair.run_until([&] {
      const auto opened = client().paths().open(addresses, pair.now);
      if (opened) id = *opened;
      pair.wake(*driver);
      return id.has_value();
    }));
    if (!id) return PathId{};
    EXPECT_TRUE(pair.run_until(
        [&] { return validated(client(), *id) && validated(server_driver().connection(), *id); }));
    return *id;
  }
  void expect_upload() {
    EXPECT_TRUE(pair.run_until([&] {
      if (pair.accepted.size() <= connections_before_) return false;
      at_server_.drain(server_driver(), pair.events(server_driver()), pair.now);
      pair.wake(server_driver());
      return at_server_.finished[stream.value];
    }));
    EXPECT_TRUE(at_server_.intact);
    EXPECT_EQ(at_server_.received[stream.value], written_);
    if (!accepted_) {
      EXPECT_FALSE(server_driver().connection().streams().received_early(stream));
    }
  }
  void expect_download() {
    Connection& server = server_driver().connection();
    EXPECT_TRUE(server.streams().writer().write(
        stream, SendChunk::copy_of(pattern(stream, 0, k_download)), true));
    pair.wake(server_driver());
    Receiver receiver;
    EXPECT_TRUE(pair.run_until([&] {
      receiver.drain(*driver, pair.events(*driver), pair.now);
      pair.wake(*driver);
      return receiver.finished[stream.value];
    }));
    EXPECT_TRUE(receiver.intact);
    EXPECT_EQ(receiver.received[stream.value], k_download);
    EXPECT_EQ(pair.closed(driver), nullptr);
  }
  std::uint64_t sent_by_client(PathId id) { return stats(client(), id).bytes_sent; }
  std::uint64_t sent_by_server(PathId id) {
    return stats(server_driver().connection(), id).bytes_sent;
  }

 private:
  ::testing::ScopedTrace trace_;

 public:
  EndpointPair pair;
  ConnectionDriver* driver = nullptr;
  StreamId stream{};

 private:
  static Address second_local() {
    Address address;
    address.family = Address::Family::kIpv4;
    address.ip = {10, 0, 1, 1};
    address.port = 50'001;
    return address;
  }
  static PathStats stats(const Connection& connection, PathId id) {
    for (const PathStats& stats : connection.paths().stats()) {
      if (stats.id == id) return stats;
    }
    return {};
  }
  static bool validated(const Connection& connection, PathId id) {
    const PathStats found = stats(connection, id);
    return found.id == id && found.validated;
  }

  bool accepted_;
  std::size_t connections_before_ = 0;
  std::uint64_t written_ = 0;
  Receiver at_server_;
};

void expect_both_paths_carry_a_download(EarlyWorld& world) {
  world.write(k_request, true);
  world.expect_sent_early();
  world.expect_confirmed();
  world.expect_upload();
  const PathId second = world.open_second_path();
  world.expect_download();
  // Losses at the start of a path leave it a small share: 8.5 % with one of 40 seeds, 20 to 80 %
  // with most.
  for (const PathId id : {PathId{0}, second}) {
    EXPECT_GT(world.sent_by_server(id), k_download / 20) << "path " << id.value;
  }
}

// The second path carries the rest of what began in 0-RTT.
void expect_pinned_to_the_second_path_later(EarlyWorld& world) {
  world.write(k_request, false);
  world.expect_sent_early();
  world.expect_confirmed();
  const PathId second = world.open_second_path();
  EXPECT_TRUE(world.client().paths().pin(world.stream, second));
  const std::uint64_t before = world.sent_by_client(PathId{0});
  world.write(k_upload, true);
  world.expect_upload();
  EXPECT_GE(world.sent_by_client(second), k_upload);
  EXPECT_LT(world.sent_by_client(PathId{0}) - before, k_upload / 10);
  world.expect_download();
}

// Data pinned to path 0 leaves in 0-RTT packets, and stays on this path when those were rejected.
void expect_pinned_to_the_first_path_from_the_start(EarlyWorld& world) {
  EXPECT_TRUE(world.client().paths().pin(world.stream, PathId{0}));
  world.write(k_request, false);
  world.expect_sent_early();
  world.expect_confirmed();
  const PathId second = world.open_second_path();
  const std::uint64_t before = world.sent_by_client(second);
  world.write(k_upload, true);
  world.expect_upload();
  EXPECT_GE(world.sent_by_client(PathId{0}), k_upload);
  EXPECT_LT(world.sent_by_client(second) - before, k_upload / 10);
  world.expect_download();
}

struct EarlyScenario {
  std::string name;
  bool accepted;
  void (*run)(EarlyWorld&);
};
std::ostream& operator<<(std::ostream& out, const EarlyScenario& scenario) {
  return out << scenario.name;
}

class EarlyPaths : public ::testing::TestWithParam<EarlyScenario> {};

TEST_P(EarlyPaths, HoldOnEverySeed) {
  std::printf("%s, seeds:", GetParam().name.c_str());
  for (std::uint64_t seed = 1; seed <= k_seeds; ++seed) {
    std::printf(" %llu", static_cast<unsigned long long>(seed));
    EarlyWorld world(seed, GetParam().accepted);
    if (!HasFailure()) GetParam().run(world);
    if (HasFailure()) break;
  }
  std::printf("\n");
}

INSTANTIATE_TEST_SUITE_P(
    Endpoint, EarlyPaths,
    ::testing::Values(
        EarlyScenario{"accepted_then_open_path", true, expect_both_paths_carry_a_download},
        EarlyScenario{"rejected_then_open_path", false, expect_both_paths_carry_a_download},
        EarlyScenario{"accepted_then_pinned_to_second", true,
                      expect_pinned_to_the_second_path_later},
        EarlyScenario{"rejected_then_pinned_to_second", false,
                      expect_pinned_to_the_second_path_later},
        EarlyScenario{"pinned_to_first_then_accepted", true,
                      expect_pinned_to_the_first_path_from_the_start},
        EarlyScenario{"pinned_to_first_then_rejected", false,
                      expect_pinned_to_the_first_path_from_the_start}),
    [](const auto& parameter) { return parameter.param.name; });

}  // namespace
}  // namespace sheaf::quic
