#pragma once

#include <map>
#include <string>
#include <vector>

#include "http3/memory_transport.h"
#include "http3/session.h"

namespace sheaf::http3 {

inline Bytes bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}
inline SendChunk chunk_of(std::string_view text) { return SendChunk::copy_of(bytes_of(text)); }
inline std::string text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Records what an application saw of one message.
struct Message {
  FieldSection fields;
  std::vector<FieldSection> informational;
  FieldSection trailers;
  std::string body;
  bool finished = false;
  bool early = false;
  bool closed = false;
  bool writable = false;
  std::optional<std::uint64_t> reset;
  std::optional<std::uint64_t> stopped;
};

// Runs a session with an application that reads and keeps everything.
struct Application : DatagramConsumer {
  Application(Transport& transport, const SessionConfig& config, std::uint64_t seed)
      : random(seed), session(transport, config, random) {}

  // Processes the session's events. Returns true when there were any.
  bool take_events() {
    bool any = false;
    while (auto event = session.poll_event()) {
      std::visit([this](auto& value) { handle(value); }, *event);
      any = true;
    }
    return any;
  }
  void read_all(StreamId stream) {
    if (!reading) return;
    std::array<std::uint8_t, 1000> copy;
    while (copying && session.readable_body(stream) > 0) {
      const std::size_t size = session.read_body(stream, copy, now);
      messages[stream].body += text_of(Bytes(copy).first(size));
    }
    while (true) {
      const Bytes bytes = session.peek_body(stream);
      if (bytes.empty()) return;
      messages[stream].body += text_of(bytes);
      session.consume_body(stream, bytes.size(), now);
    }
  }

  void handle(SettingsReceived&) { ready = true; }
  void handle(RequestReceived& event) {
    order.push_back(event.stream);
    messages[event.stream].fields = std::move(event.fields);
    messages[event.stream].early = event.early;
  }
  void handle(ResponseReceived& event) {
    if (event.informational) {
      messages[event.stream].informational.push_back(std::move(event.fields));
    } else {
      messages[event.stream].fields = std::move(event.fields);
    }
  }
  void handle(TrailersReceived& event) {
    messages[event.stream].trailers = std::move(event.fields);
  }
  void handle(BodyReadable& event) { read_all(event.stream); }
  void handle(MessageFinished& event) { messages[event.stream].finished = true; }
  void handle(BodyWritable& event) { messages[event.stream].writable = true; }
  void handle(StreamReset& event) { messages[event.stream].reset = event.error; }
  void handle(WritingStopped& event) { messages[event.stream].stopped = event.error; }
  void handle(StreamClosed& event) { messages[event.stream].closed = true; }
  void handle(StreamsAvailable&) {}
  void handle(GoAwayReceived& event) { go_aways.push_back(event.id); }
  void on_datagram(HttpDatagram datagram) override {
    datagrams.emplace_back(datagram.stream, text_of(datagram.payload));
  }
  void handle(DatagramsWritable&) {}
  void handle(DatagramOutcome& event) { outcomes.push_back(event); }
  void handle(WebTransportStreamOpened& event) { handed_over.push_back(event); }
  void handle(HandedOverStreamEvent&) {}
  void handle(SessionClosed&) { closed = true; }

  quic::SeededRandom random;
  Session session;
  Time now{};
  bool reading = true;
  bool copying = false;  // reads with `read_body`
  bool ready = false;
  bool closed = false;
  std::map<StreamId, Message> messages;
  std::vector<StreamId> order;
  std::vector<std::pair<StreamId, std::string>> datagrams;
  std::vector<DatagramOutcome> outcomes;
  std::vector<WebTransportStreamOpened> handed_over;
  std::vector<std::uint64_t> go_aways;
};

// One side of a network in memory.
struct Peer : Application {
  Peer(MemoryNetwork& network, Role role, const SessionConfig& config, std::uint64_t seed)
      : Application(network.end(role), config, seed), transport(network.end(role)) {}

  // Passes the transport's events to the session and processes the session's events. Returns true
  // when there were any.
  bool drain() {
    bool any = false;
    while (const auto event = transport.poll_event()) {
      session.on_event(*event, now);
      any = true;
    }
    return take_events() || any;
  }

  MemoryNetwork::End& transport;
};

// A client and a server session joined by a network.
struct SessionPair {
  explicit SessionPair(std::uint64_t seed = 1, const SessionConfig& config = {},
                       const MemoryOptions& options = {})
      : network(seed, options),
        client(network, Role::kClient, config, seed + 1),
        server(network, Role::kServer, config, seed + 2) {
    client.session.start(Time{});
    server.session.start(Time{});
  }
  // Runs until nothing moves any more.
  void run() {
    bool more = true;
    while (more) {
      more = network.step();
      more = client.drain() || more;
      more = server.drain() || more;
    }
  }

  MemoryNetwork network;
  Peer client;
  Peer server;
};

inline FieldSection get(std::string_view path) {
  return {{":method", "GET"}, {":scheme", "https"}, {":authority", "localhost"}, {":path", path}};
}
inline FieldSection post(std::string_view path) {
  return {{":method", "POST"}, {":scheme", "https"}, {":authority", "localhost"}, {":path", path}};
}

}  // namespace sheaf::http3
