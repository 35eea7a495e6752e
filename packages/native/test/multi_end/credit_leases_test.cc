// Tests credit and stream ids of one connection at a primary and several backends. The client is
// real: it refuses a server that sends more than it granted.
#include "multi_end/credit_leases.h"

#include <gtest/gtest.h>

#include <memory>

#include "stream/stream_end.h"
#include "util/random.h"

namespace sheaf::quic {
namespace {

constexpr std::size_t k_backends = 4;
constexpr Time k_start{std::chrono::seconds(1)};

StreamSetConfig config() {
  StreamSetConfig config;
  config.initial_connection_window = 200'000;
  config.max_connection_window = 400'000;
  config.initial_stream_window = 100'000;
  config.max_stream_window = 100'000;
  config.max_unidirectional_streams = 40;
  return config;
}

PathId path_of(std::size_t backend) { return PathId{static_cast<std::uint32_t>(2 * backend + 1)}; }
BackendId id_of(std::size_t backend) { return BackendId{static_cast<std::uint32_t>(backend)}; }

struct Backend {
  explicit Backend(const StreamLease& lease)
      : stream_end(Role::kServer, config()), holder(stream_end.streams.leased_limits(), lease) {}
  StreamEnd stream_end;
  LeaseHolder holder;
  bool lives = true;
  bool drains = false;
};

// One connection whose messages between the servers are lost, repeated and out of order.
class Leases {
 public:
  explicit Leases(std::uint64_t seed)
      : trace_(__FILE__, __LINE__, "seed " + std::to_string(seed)),
        random(seed),
        client(Role::kClient, config()),
        primary(Role::kServer, config()),
        grantor(primary.streams.shared_limits()) {
    EXPECT_TRUE(client.streams.set_peer_parameters(primary.parameters()));
    EXPECT_TRUE(primary.streams.set_peer_parameters(client.parameters()));
    client_limit = client.parameters().initial_max_data;
    client.streams.share();
    primary.streams.share();
    for (std::size_t i = 0; i < k_backends; ++i) {
      const StreamLease lease =
          primary.streams.shared_limits().lease_out({.credit = 20'000, .ids = {{{0, 2}, {0, 2}}}});
      grantor.add(id_of(i), path_of(i), lease);
      TransportParameters parameters = client.parameters();
      parameters.initial_max_data = 0;
      parameters.initial_max_streams_bidi = parameters.initial_max_streams_uni = 0;
      backends.push_back(std::make_unique<Backend>(lease));
      EXPECT_TRUE(backends[i]->stream_end.streams.set_peer_parameters(parameters));
      backends[i]->stream_end.streams.leased_limits().start(lease);
    }
  }

  void step() {
    now += std::chrono::milliseconds(1 + random.below(40));
    switch (random.below(8)) {
      case 0:
      case 1:
        return send(random.below(k_backends + 1));
      case 2:
      case 3:
        return let_client_read();
      case 4:
      case 5:
        return poll(random.below(k_backends));
      default:
        return deliver();
    }
  }
  // Emulates an application that writes as fast as it may.
  void send(std::size_t server) {
    StreamEnd* from = &primary;
    if (server < k_backends) {
      if (!backends[server]->lives) return;
      from = &backends[server]->stream_end;
    }
    if (const auto stream = from->streams.writer().open(Directionality::kUnidirectional)) {
      const std::vector<std::uint8_t> data(1 + random.below(60'000), 7);
      ASSERT_TRUE(from->streams.writer().write(*stream, SendChunk::copy_of(data), true));
    }
    for (std::uint64_t packets = 1 + random.below(30); packets > 0; --packets) {
      const StreamPacket packet = from->send();
      if (packet.empty()) break;
      for (const SentFrame& frame : packet.frames)
        sent += frame.kind() == SentFrame::Kind::kStream ? frame.length() : 0;
      from->acknowledge(packet);
      client.streams.pinned().set_arrival(server < k_backends ? std::optional(path_of(server))
                                                              : std::nullopt);
      const TransportStatus status = client.receive(packet);
      client.streams.pinned().set_arrival(std::nullopt);
      ASSERT_TRUE(status) << status.error().reason;
    }
    while (from->streams.poll_event()) {
    }
  }
  void let_client_read() {
    std::vector<std::uint8_t> buffer(1 + random.below(100'000));
    while (const auto event = client.streams.poll_event()) {
      if (event->kind != StreamEvent::Kind::kReadable) continue;
      readable.push_back(event->stream);
    }
    if (!readable.empty()) {
      const std::size_t which = random.below(readable.size());
      const auto result = client.streams.reader().read(readable[which], buffer, now);
      if (!result || result->finished) {
        readable.erase(readable.begin() + static_cast<std::ptrdiff_t>(which));
      }
    }
    while (client.streams.poll_event()) {
    }
    const StreamPacket packet = client.send();
    for (const MaxDataFrame& frame : packet.all<MaxDataFrame>()) {
      client_limit = std::max(client_limit, frame.maximum);
    }
    ASSERT_TRUE(primary.receive(packet));
    client.acknowledge(packet);
    for (std::size_t i = 0; i < k_backends; ++i) {
      const StreamPacket pinned = client.send_pinned(path_of(i));
      client.acknowledge(pinned);
      if (!backends[i]->lives) continue;
      ASSERT_TRUE(backends[i]->stream_end.receive(pinned));
      // A MAX_DATA that arrives at a backend is reported to the primary, and raises no limit at the
      // backend.
      if (random.below(4) == 0) {
        ASSERT_TRUE(backends[i]->stream_end.streams.incoming().on_max_data({client_limit}));
      }
    }
  }
  void poll(std::size_t which) {
    Backend& backend = *backends[which];
    if (!backend.lives) return;
    if (const auto request = backend.holder.poll_request(now)) post(which, *request);
    if (const auto report = backend.holder.poll_report(now)) post(which, *report);
    for (const auto& [to, grant] : grantor.poll_grants()) post(to.value, grant);
  }
  template <typename Message>
  void post(std::size_t backend, const Message& message) {
    const std::uint64_t fate = random.below(10);
    if (fate < 2) return;
    messages.push_back({backend, message});
    if (fate == 9) messages.push_back({backend, message});
  }
  void deliver() {
    if (messages.empty()) return;
    const std::size_t which = random.below(messages.size());
    const auto [index, message] = messages[which];
    messages.erase(messages.begin() + static_cast<std::ptrdiff_t>(which));
    Backend& backend = *backends[index];
    if (const auto* request = std::get_if<LeaseRequest>(&message)) {
      if (const auto grant = grantor.on_request(id_of(index), *request)) post(index, *grant);
    } else if (const auto* grant = std::get_if<LeaseGrant>(&message)) {
      if (backend.lives) backend.holder.on_grant(*grant);
      // After the backend drains, credit that arrives late is returned, too.
      if (backend.lives && backend.drains) post(index, backend.holder.give_up());
    } else if (const auto* given_up = std::get_if<LeaseReturn>(&message)) {
      grantor.on_return(id_of(index), *given_up);
    } else {
      grantor.on_report(id_of(index), std::get<ReceivedReport>(message), now);
    }
  }
  // No server can ever send more than the client granted.
  void check() {
    std::uint64_t sum = sent + primary.streams.outgoing().connection_credit();
    for (const auto& backend : backends) {
      if (backend->lives) sum += backend->stream_end.streams.outgoing().connection_credit();
    }
    ASSERT_LE(sum, client_limit);
  }

 private:
  ::testing::ScopedTrace trace_;

 public:
  SeededRandom random;
  StreamEnd client;
  StreamEnd primary;
  LeaseGrantor grantor;
  std::vector<std::unique_ptr<Backend>> backends;
  using Message = std::variant<LeaseRequest, LeaseGrant, LeaseReturn, ReceivedReport>;
  std::vector<std::pair<std::size_t, Message>> messages;
  std::vector<StreamId> readable;
  std::uint64_t client_limit = 0;
  std::uint64_t sent = 0;
  Time now = k_start;
};

TEST(CreditLeases, TogetherAreNeverMoreThanTheGrant) {
  std::uint64_t most = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Leases leases(seed);
    for (int i = 0; i < 1500; ++i) {
      leases.step();
      leases.check();
      if (::testing::Test::HasFatalFailure()) return;
    }
    most = std::max(most, leases.sent);
  }
  EXPECT_GT(most, 4 * config().initial_connection_window) << "leases were extended many times";
}

TEST(CreditLeases, SurviveCrashesAndDrains) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Leases leases(seed);
    for (int i = 0; i < 1000; ++i) {
      leases.step();
      leases.check();
      if (::testing::Test::HasFatalFailure()) return;
      if (i == 300) {
        leases.backends[0]->lives = false;
        leases.grantor.remove(id_of(0));
      }
      if (i == 400) {
        leases.grantor.settle(path_of(0), leases.client.streams.pinned().lose(path_of(0)),
                              leases.now);
      }
      if (i == 500) {
        Backend& backend = *leases.backends[1];
        backend.drains = true;
        leases.post(1, backend.holder.give_up());
        EXPECT_EQ(backend.stream_end.streams.outgoing().connection_credit(), 0u);
      }
    }
  }
}

TEST(CreditLeases, ABackendThatReturnsMoreThanItHadGivesBackWhatItHad) {
  Leases leases(1);
  const std::uint64_t own = leases.primary.streams.outgoing().connection_credit();
  leases.grantor.on_return(id_of(0), {.credit = UINT64_MAX});
  EXPECT_EQ(leases.primary.streams.outgoing().connection_credit(), own + 20'000);
  leases.grantor.on_return(id_of(0), {.credit = UINT64_MAX});
  EXPECT_EQ(leases.primary.streams.outgoing().connection_credit(), own + 20'000) << "once";
}

TEST(CreditLeases, ABackendThatAsksForEverythingGetsWhatThereIs) {
  Leases leases(1);
  const auto grant = leases.grantor.on_request(id_of(0), {.credit = UINT64_MAX, .id_leases = {}});
  ASSERT_TRUE(grant);
  EXPECT_LE(grant->credit, leases.client_limit);
  EXPECT_EQ(leases.primary.streams.outgoing().connection_credit(), 0u);
  EXPECT_EQ(leases.grantor.leased(), leases.client_limit);
}

TEST(CreditLeases, BackendsThatWaitShareWhatThereIsWithThePrimary) {
  Leases leases(1);
  const auto own = leases.primary.streams.writer().open(Directionality::kBidirectional);
  ASSERT_TRUE(own);
  const std::vector<std::uint8_t> data(1'000'000, 7);
  ASSERT_TRUE(leases.primary.streams.writer().write(*own, SendChunk::copy_of(data), true));
  for (std::size_t i = 0; i < 2; ++i) {
    const std::uint64_t before = leases.primary.streams.outgoing().connection_credit();
    const auto held = leases.grantor.totals(id_of(i));
    const auto grant = leases.grantor.on_request(id_of(i), {.credit = UINT64_MAX, .id_leases = {}});
    ASSERT_TRUE(grant && held);
    // The first backend keeps waiting, and counts beside the second one.
    EXPECT_EQ(grant->credit - held->granted, before / (i + 2));
  }
  const std::uint64_t left = leases.primary.streams.outgoing().connection_credit();
  EXPECT_GT(left, 0u);
  EXPECT_EQ(leases.grantor.poll_grants().size(), 2u);
  EXPECT_EQ(leases.primary.streams.outgoing().connection_credit(),
            left - left / 3 - (left - left / 3) / 2);
  // A primary without data of its own keeps no credit back.
  EXPECT_TRUE(leases.primary.streams.writer().reset(*own, 0));
  EXPECT_EQ(leases.grantor.poll_grants().size(), 2u);
  EXPECT_EQ(leases.primary.streams.outgoing().connection_credit(), 0u);
}

TEST(CreditLeases, ABackendThatReportsTooMuchMovesTheLimitByWhatWasAllowed) {
  Leases leases(1);
  const std::uint64_t announced = config().initial_connection_window;
  leases.grantor.on_report(id_of(0), {.consumed = k_max_varint, .streams_closed = k_max_varint},
                           leases.now);
  const auto frames = leases.primary.send().all<MaxDataFrame>();
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_LE(frames[0].maximum, announced + config().max_connection_window);
}

TEST(CreditLeases, WhatACrashedBackendDidNotUseComesBackWithTheClientsAccount) {
  Leases leases(1);
  const std::uint64_t own = leases.primary.streams.outgoing().connection_credit();
  leases.grantor.remove(id_of(0));
  EXPECT_EQ(leases.primary.streams.outgoing().connection_credit(), own) << "nobody knows yet";
  leases.grantor.settle(path_of(0), {.received = 5'000}, leases.now);
  EXPECT_EQ(leases.primary.streams.outgoing().connection_credit(), own + 15'000);
  leases.grantor.settle(path_of(0), {}, leases.now);
  EXPECT_EQ(leases.primary.streams.outgoing().connection_credit(), own + 15'000) << "once";
}

TEST(CreditLeases, WhatABackendUsedBeyondItsLeaseIsTheConnections) {
  Leases leases(1);
  const std::uint64_t own = leases.primary.streams.outgoing().connection_credit();
  leases.grantor.settle(path_of(0), {.received = 50'000}, leases.now);
  EXPECT_EQ(leases.primary.streams.outgoing().connection_credit(), own - 30'000);
  leases.grantor.settle(path_of(1), {.received = UINT64_MAX}, leases.now);
  EXPECT_EQ(leases.primary.streams.outgoing().connection_credit(), 0u);
}

TEST(CreditLeases, WhatTheClientSentToACrashedBackendIsGivenBackToIt) {
  Leases leases(1);
  const std::uint64_t announced = config().initial_connection_window;
  leases.grantor.on_report(id_of(0), {.consumed = 50'000}, leases.now);
  leases.grantor.settle(path_of(0), {.sent = 150'000}, leases.now);
  const auto frames = leases.primary.send().all<MaxDataFrame>();
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_GE(frames[0].maximum, announced + 150'000);
}

TEST(CreditLeases, AStrangerGetsNothing) {
  Leases leases(1);
  EXPECT_FALSE(leases.grantor.on_request(BackendId{60}, {.credit = 1}));
  leases.grantor.remove(id_of(2));
  EXPECT_FALSE(leases.grantor.on_request(id_of(2), {.credit = 1}));
}

TEST(CreditLeases, ARequestThatComesTwiceGivesTheSameIds) {
  Leases leases(1);
  const auto first = leases.grantor.on_request(id_of(0), {.credit = 0, .id_leases = {1, 1}});
  const auto second = leases.grantor.on_request(id_of(0), {.credit = 0, .id_leases = {1, 1}});
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->ids[1].first, second->ids[1].first);
  EXPECT_EQ(first->ids[1].count, second->ids[1].count);
  const auto other = leases.grantor.on_request(id_of(1), {.credit = 0, .id_leases = {1, 1}});
  ASSERT_TRUE(other);
  EXPECT_GE(other->ids[1].first, first->ids[1].first + first->ids[1].count);
}

}  // namespace
}  // namespace sheaf::quic
