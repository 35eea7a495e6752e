// How much of what the application writes a connection holds for a peer that does not take it.

#include "stream/stream_end.h"

namespace sheaf::quic {
namespace {

constexpr std::uint64_t k_budget = 8 << 20;
constexpr int k_budgeted_streams = 900;
constexpr std::uint64_t k_response = 3 << 20;

// A server with a bound, and a client whose streams have such windows.
struct BoundPair {
  explicit BoundPair(std::uint64_t stream_window, std::uint64_t memory = k_budget)
      : client(Role::kClient, {.initial_connection_window = 64 << 20,
                               .max_connection_window = 64 << 20,
                               .initial_stream_window = stream_window,
                               .max_stream_window = stream_window}),
        server(Role::kServer, {.memory = memory}) {
    EXPECT_TRUE(client.streams.set_peer_parameters(server.parameters()));
    EXPECT_TRUE(server.streams.set_peer_parameters(client.parameters()));
  }
  StreamId request() {
    const StreamId id = *client.streams.writer().open(Directionality::kBidirectional);
    client.write(id, 1, true);
    client.flush_to(server);
    server.read(id);
    return id;
  }
  std::vector<StreamId> requests(int count) {
    std::vector<StreamId> ids;
    for (int i = 0; i < count; ++i) ids.push_back(request());
    drain();
    return ids;
  }
  // As many as the connection has memory for, as http3/request_admission.h counts it.
  std::vector<StreamId> admitted_requests() {
    int count = 0;
    for (; server.streams.memory().has_room_to_hold(32 << 10); ++count)
      server.streams.memory().hold(32 << 10);
    EXPECT_GT(count, 100);
    return requests(count);
  }
  std::vector<StreamId> drain() {
    std::vector<StreamId> writable;
    while (const auto event = server.streams.poll_event()) {
      if (event->kind == StreamEvent::Kind::kWritable) writable.push_back(event->stream);
    }
    return writable;
  }
  // As an application does: asks, writes, and waits when it is told to. Returns what was written.
  std::uint64_t respond(StreamId id) {
    const std::uint64_t size = server.streams.writer().reserve(id);
    if (size > 0) server.write(id, size);
    return size;
  }
  void send_all() {
    while (server.streams.outgoing().has_data_to_send()) {
      const StreamPacket packet = server.send();
      if (packet.empty()) return;
      packets.push_back(packet);
    }
  }
  void acknowledge_all() {
    for (const StreamPacket& packet : std::exchange(packets, {})) server.acknowledge(packet);
  }

  StreamEnd client;
  StreamEnd server;
  std::vector<StreamPacket> packets;
};

TEST(SendBudget, StreamsWithoutCreditHoldNoMoreThanTheConnectionMay) {
  BoundPair pair(1024);
  std::uint64_t written = 0;
  std::vector<StreamId> turns = pair.admitted_requests();
  for (int round = 0; round < 10 && !turns.empty(); ++round) {
    for (const StreamId id : turns) written += pair.respond(id);
    pair.send_all();
    pair.acknowledge_all();
    turns = pair.drain();
  }
  EXPECT_GT(written, k_budget / 8);
  EXPECT_LT(pair.server.streams.memory().used(), k_budget + k_budget / 16);
}

// A writer that does not ask first is told to stop after each chunk, as the budget is used up.
TEST(SendBudget, WritersThatAreRefusedHearOfItAtOnce) {
  BoundPair pair(1024);
  const auto ids = pair.requests(k_budgeted_streams);
  std::size_t refused = 0;
  for (const StreamId id : ids) refused += !pair.server.write(id, 16 << 10);
  EXPECT_GT(refused, ids.size() / 2);
}

TEST(SendBudget, AStreamWithCreditGoesOnWhileOthersStall) {
  BoundPair pair(1024);
  for (const StreamId id : pair.requests(k_budgeted_streams)) pair.respond(id);
  pair.send_all();
  pair.acknowledge_all();
  const StreamId wanted = pair.request();
  pair.drain();
  ASSERT_TRUE(pair.server.streams.incoming().on_max_stream_data({wanted, k_response}));
  std::uint64_t written = 0;
  for (int round = 0; round < 1000 && written < k_response; ++round) {
    written += pair.respond(wanted);
    pair.send_all();
    pair.acknowledge_all();
    pair.drain();
  }
  EXPECT_GE(written, k_response);
}

TEST(SendBudget, ThoseWhoWaitAreToldOnceTheirClientTakesMore) {
  BoundPair pair(1024);
  const auto ids = pair.admitted_requests();
  for (const StreamId id : ids) {
    EXPECT_EQ(pair.respond(id), 16u << 10);
    EXPECT_EQ(pair.respond(id), 0u);
  }
  pair.send_all();
  pair.acknowledge_all();
  EXPECT_TRUE(pair.drain().empty());
  ASSERT_TRUE(pair.server.streams.incoming().on_max_stream_data({ids.back(), k_response}));
  pair.send_all();
  const auto writable = pair.drain();
  ASSERT_EQ(writable.size(), 1u);
  EXPECT_EQ(writable.front(), ids.back());
  EXPECT_GT(pair.respond(ids.back()), 0u);
}

TEST(SendBudget, WhatWasResetMakesRoom) {
  BoundPair pair(1024);
  const auto ids = pair.requests(k_budgeted_streams);
  for (const StreamId id : ids) {
    while (pair.respond(id) > 0) {
    }
  }
  EXPECT_TRUE(pair.drain().empty());
  for (std::size_t i = 0; i + 100 < ids.size(); ++i) {
    ASSERT_TRUE(pair.server.streams.writer().reset(ids[i], 0));
  }
  EXPECT_FALSE(pair.drain().empty());
}

// In flight counts: nothing else bounds it for a peer that never acknowledges.
TEST(SendBudget, BytesInFlightCountUntilTheyAreAcknowledged) {
  BoundPair pair(64 << 20);
  const StreamId id = pair.request();
  pair.drain();
  std::uint64_t written = 0;
  // Then it is the small chunks that may always be written.
  while (written < k_budget / 8 * 7) {
    written += pair.respond(id);
    pair.send_all();
  }
  pair.drain();
  EXPECT_GT(pair.respond(id), 0u);
  EXPECT_EQ(pair.respond(id), 0u);
  EXPECT_TRUE(pair.drain().empty());
  pair.acknowledge_all();
  EXPECT_EQ(pair.drain().size(), 1u);
}

TEST(SendBudget, WhatTheApplicationHoldsCountsToo) {
  BoundPair pair(64 << 20);
  StreamSet& streams = pair.server.streams;
  std::uint64_t held = 0;
  while (streams.memory().has_room_to_hold(16 << 10)) {
    streams.memory().hold(16 << 10);
    held += 16 << 10;
  }
  EXPECT_GT(held, k_budget / 2);
  EXPECT_LT(held, k_budget * 3 / 4);
  EXPECT_GE(streams.memory().used(), held);
  // Responses have the rest.
  const StreamId id = pair.request();
  pair.drain();
  EXPECT_GT(pair.respond(id), 0u);
  streams.memory().release(held);
  EXPECT_TRUE(streams.memory().has_room_to_hold(16 << 10));
}

TEST(SendBudget, LessMemoryShrinksWhatThePeerMaySend) {
  BoundPair pair(1024);
  pair.server.streams.memory().set_total(256 << 10);
  TransportParameters before = pair.server.parameters();
  // What was announced stays; nothing is added to it before less than the new window is left.
  const StreamId id = *pair.client.streams.writer().open(Directionality::kBidirectional);
  pair.client.write(id, before.initial_max_data / 4);
  pair.client.flush_to(pair.server);
  pair.server.read(id);
  EXPECT_FALSE(pair.server.streams.outgoing().has_control_to_send() &&
               !pair.server.send().all<MaxDataFrame>().empty());
}

TEST(SendBudget, TheSmallestMemoryServesOneStreamAfterTheOther) {
  BoundPair pair(64 << 20, 0);
  const StreamId id = pair.request();
  pair.drain();
  std::uint64_t written = 0;
  for (int round = 0; round < 1000 && written < k_response; ++round) {
    written += pair.respond(id);
    pair.send_all();
    pair.acknowledge_all();
    pair.drain();
  }
  EXPECT_GE(written, k_response);
}

}  // namespace
}  // namespace sheaf::quic
