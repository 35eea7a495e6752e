#include "endpoint/memory_governor.h"

#include <gtest/gtest.h>

#include "endpoint/transfer.h"

namespace {
std::size_t g_times_returned = 0;
}

// Replaces glibc's function, which AddressSanitizer's allocator does not use.
extern "C" int malloc_trim(std::size_t) noexcept {
  ++g_times_returned;
  return 1;
}

namespace sheaf::quic {
namespace {

constexpr std::uint64_t k_mib = 1 << 20;

MemoryGovernor with(std::uint64_t used) {
  MemoryGovernor governor({.connection = 8 * k_mib, .total = 256 * k_mib});
  governor.change(0, used);
  return governor;
}

TEST(MemoryGovernorTest, AConnectionHasItsFullShareUntilHalfIsInUse) {
  EXPECT_EQ(with(0).share(0), 8 * k_mib);
  EXPECT_EQ(with(128 * k_mib).share(0), 8 * k_mib);
  EXPECT_EQ(with(192 * k_mib).share(0), 4 * k_mib);
  EXPECT_EQ(with(255 * k_mib).share(0), MemoryGovernor::k_least);
  EXPECT_EQ(with(1000 * k_mib).share(0), MemoryGovernor::k_least);
}

TEST(MemoryGovernorTest, ANetworkHasAQuarterOfAll) {
  const MemoryGovernor governor = with(64 * k_mib);
  EXPECT_EQ(governor.network_total(), 64 * k_mib);
  EXPECT_EQ(governor.share(32 * k_mib), 8 * k_mib);
  EXPECT_EQ(governor.share(48 * k_mib), 4 * k_mib);
  EXPECT_EQ(governor.share(64 * k_mib), MemoryGovernor::k_least);
  // Other networks are not affected.
  EXPECT_EQ(governor.share(0), 8 * k_mib);
}

TEST(MemoryGovernorTest, AShareIsNeverMoreThanWhatIsConfigured) {
  MemoryGovernor governor({.connection = 64 << 10, .total = k_mib});
  EXPECT_EQ(governor.share(0), 64u << 10);
  governor.change(0, k_mib);
  EXPECT_EQ(governor.share(0), 64u << 10);
}

TEST(MemoryGovernorTest, IsExhaustedBeyondSevenEighthsAndEvictsDownToThreeQuarters) {
  EXPECT_FALSE(with(224 * k_mib).exhausted());
  EXPECT_TRUE(with(224 * k_mib + 1).exhausted());
  EXPECT_EQ(with(0).target(), 192 * k_mib);
  MemoryGovernor governor = with(230 * k_mib);
  governor.change(100 * k_mib, 10 * k_mib);
  EXPECT_EQ(governor.used(), 140 * k_mib);
  EXPECT_FALSE(governor.exhausted());
}

constexpr std::uint64_t k_total = 4 * k_mib;

// A server has a few megabytes of memory, and clients of one network write to it what it does not
// read.
class Eviction : public testing::Test {
 protected:
  static EndpointPair::Options options() {
    EndpointPair::Options options;
    // Half of it is for what the peer sends.
    options.memory = {.connection = 2 * k_mib, .total = k_total};
    options.connection.streams.initial_connection_window = k_mib;
    options.connection.streams.initial_stream_window = k_mib;
    return options;
  }

  ConnectionDriver& connect() {
    ConnectionDriver& driver = pair_.connect();
    EXPECT_TRUE(pair_.run_until([&] { return driver.handshake_completed(); }));
    pair_.run_for(1s);
    return driver;
  }
  // Writes most of what its window allows, until that is sent or a connection was closed.
  void fill(ConnectionDriver& driver) {
    const auto stream = driver.connection().streams().writer().open(Directionality::kBidirectional);
    ASSERT_TRUE(stream);
    for (std::uint64_t part = 0; part < 15; ++part) {
      const auto bytes = pattern(*stream, part * k_part, k_part);
      ASSERT_TRUE(
          driver.connection().streams().writer().write(*stream, SendChunk::copy_of(bytes), false));
    }
    pair_.wake(driver);
    const std::uint64_t before = evicted();
    pair_.run_until([&] { return evicted() > before; }, 2s);
  }
  std::uint64_t evicted() const { return hits(LimitHit::kMemoryEvicted); }
  std::uint64_t hits(LimitHit hit) const {
    return pair_.server->stats().limit_hits[static_cast<std::size_t>(hit)];
  }

  static constexpr std::uint64_t k_part = 64 << 10;
  EndpointPair pair_{options()};
};

TEST_F(Eviction, ClosesAsManySlowReadersAsItTakesAndNobodyElse) {
  ConnectionDriver& polite = connect();
  // The connections were made while there was room for all, so each has its whole window.
  std::vector<ConnectionDriver*> greedy;
  for (int i = 0; i < 6; ++i) greedy.push_back(&connect());
  for (ConnectionDriver* driver : greedy) {
    fill(*driver);
    EXPECT_LE(pair_.server->memory_bytes(), k_total / 8 * 7);
  }
  pair_.run_for(1s);
  const auto closed = std::ranges::count_if(
      greedy, [&](const ConnectionDriver* driver) { return pair_.closed(driver) != nullptr; });
  EXPECT_EQ(closed, 3);
  EXPECT_EQ(evicted(), 3u);
  // Those that read nothing for the longest time were closed.
  EXPECT_NE(pair_.closed(greedy.front()), nullptr);
  EXPECT_EQ(pair_.closed(greedy.back()), nullptr);
  EXPECT_EQ(pair_.closed(&polite), nullptr);
  EXPECT_EQ(hits(LimitHit::kIdleEvicted), 0u);
}

// Everything that arrived in one turn is read before anything else happens.
TEST_F(Eviction, WhatOneConnectionHoldsIsNotThereForTheNextOne) {
  for (int i = 0; i < 3; ++i) connect();
  Endpoint& server = *pair_.server;
  for (ConnectionDriver* driver : pair_.accepted) server.wake(*driver, pair_.now);
  std::vector<bool> had_room;
  while (ConnectionDriver* driver = server.next_active(pair_.now)) {
    Connection& connection = driver->connection();
    had_room.push_back(connection.streams().memory().has_room_to_hold(k_mib / 2));
    if (had_room.back()) connection.streams().memory().hold(k_mib);
  }
  EXPECT_EQ(had_room, (std::vector{true, false, false}));
}

// The close is repeated for three probe timeouts (RFC 9000 §10.2), and nothing else is kept.
TEST_F(Eviction, WhatAConnectionHeldIsFreeWhileItLingers) {
  std::vector<ConnectionDriver*> greedy;
  for (int i = 0; i < 6; ++i) greedy.push_back(&connect());
  for (ConnectionDriver* driver : greedy) {
    if (evicted() == 0) fill(*driver);
  }
  EXPECT_EQ(pair_.server->connection_count(), greedy.size());
  EXPECT_EQ(evicted(), 1u);
  EXPECT_LE(pair_.server->memory_bytes(), k_total / 4 * 3);
  std::size_t lingering = 0;
  pair_.server->for_each([&](const ConnectionDriver& driver) {
    if (driver.connection().state() != Connection::State::kClosing) return;
    ++lingering;
    EXPECT_LT(driver.connection().streams().memory().used(), k_part);
  });
  EXPECT_EQ(lingering, 1u);
}

// Without the call, glibc would keep the memory, and the process would stay as large as clients
// once made it.
TEST_F(Eviction, GivesWhatItFreedBackToTheSystemOnce) {
  std::vector<ConnectionDriver*> greedy;
  for (int i = 0; i < 6; ++i) greedy.push_back(&connect());
  g_times_returned = 0;
  fill(*greedy[0]);
  fill(*greedy[1]);
  EXPECT_EQ(evicted(), 0u);
  EXPECT_EQ(g_times_returned, 0u);
  for (ConnectionDriver* driver : greedy) {
    if (evicted() == 0 && driver != greedy[0] && driver != greedy[1]) fill(*driver);
  }
  EXPECT_EQ(evicted(), 1u);
  EXPECT_EQ(g_times_returned, 1u);
}

// RFC 9114 §6.2.1: for a client, a critical stream that ends is an error of the server.
TEST_F(Eviction, TellsThatTheConnectionClosesAndNothingOfItsStreams) {
  std::vector<ConnectionDriver*> greedy;
  for (int i = 0; i < 6; ++i) greedy.push_back(&connect());
  for (ConnectionDriver* driver : greedy) {
    if (evicted() == 0) fill(*driver);
  }
  ConnectionDriver& first = *greedy.front();
  ASSERT_TRUE(pair_.run_until([&] { return pair_.closed(&first) != nullptr; }));
  EXPECT_EQ(pair_.closed(&first)->cause, ConnectionClosed::Cause::kPeerApplication);
  const auto ended = std::ranges::count_if(pair_.events(first), [](const Event& event) {
    const auto* stream = std::get_if<StreamEvent>(&event);
    return stream != nullptr && (stream->kind == StreamEvent::Kind::kStopSending ||
                                 stream->kind == StreamEvent::Kind::kReset);
  });
  EXPECT_EQ(ended, 0);
}

}  // namespace
}  // namespace sheaf::quic
