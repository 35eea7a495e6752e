#include "webtransport/session_set.h"

#include <gtest/gtest.h>

#include "http3/session_pair.h"
#include "webtransport/error_code.h"

namespace sheaf::webtransport {
namespace {

using http3::bytes_of;
using http3::chunk_of;
using http3::text_of;
using quic::Directionality;
using quic::Time;

struct StreamLog {
  StreamId session;
  std::string data;
  bool finished = false;
  bool closed = false;
  bool writable = false;
  std::optional<StreamReset> reset;
  std::optional<StreamStopped> stopped;
};

// One side: HTTP/3, WebTransport, and an application that records everything.
struct Side : http3::DatagramConsumer {
  Side(http3::MemoryNetwork& network, quic::Role role, std::uint64_t seed,
       const SessionSetConfig& config, std::size_t max_sessions = 256)
      : transport(network.end(role)),
        random(seed),
        http(transport, http_config(max_sessions), random),
        sessions(http, *this, config) {
    http.start(Time{});
  }
  static http3::SessionConfig http_config(std::size_t max_sessions) {
    http3::SessionConfig config;
    config.webtransport = true;
    config.max_webtransport_sessions = max_sessions;
    return config;
  }

  bool drain() {
    bool any = false;
    while (const auto event = transport.poll_event()) {
      http.on_event(*event, Time{});
      any = true;
    }
    while (auto event = http.poll_event()) {
      any = true;
      if (!sessions.on_event(*event, Time{})) {
        if (const auto* request = std::get_if<http3::RequestReceived>(&*event)) {
          plain_requests.push_back(request->stream);
        }
      }
    }
    while (auto event = sessions.poll_event()) {
      any = true;
      std::visit([this](auto& value) { handle(value); }, *event);
    }
    return any;
  }
  void read(StreamId stream) {
    StreamLog& log = streams[stream];
    while (!log.finished) {
      const Bytes bytes = sessions.streams().peek(stream);
      log.data += text_of(bytes);
      const bool starved = bytes.empty();
      const auto result = sessions.streams().consume(stream, bytes.size(), Time{});
      if (!result || result->reset) return;
      log.finished = result->finished;
      if (starved) return;
    }
  }

  void handle(SessionRequested& event) {
    requested.push_back(event.session);
    if (answer == 200) {
      EXPECT_TRUE(sessions.accept(event.session, {{"x-app", "echo"}}, Time{}));
    } else if (answer != 0) {
      EXPECT_TRUE(sessions.reject(event.session, answer));
    }
  }
  void handle(SessionEstablished& event) { established[event.session] = event.fields; }
  void handle(SessionRefused& event) { refused[event.session] = event.status; }
  void handle(SessionDraining& event) { draining = event.session; }
  void handle(SessionClosed& event) { closed[event.session] = event; }
  void handle(StreamOpened& event) { streams[event.stream].session = event.session; }
  void handle(StreamReadable& event) { read(event.stream); }
  void handle(StreamWritable& event) { streams[event.stream].writable = true; }
  void handle(StreamReset& event) { streams[event.stream].reset = event; }
  void handle(StreamStopped& event) { streams[event.stream].stopped = event; }
  void handle(StreamAcknowledged&) {}
  void handle(StreamClosed& event) { streams[event.stream].closed = true; }
  void handle(DatagramsWritable&) { ++datagrams_writable; }
  void on_datagram(http3::HttpDatagram datagram) override {
    datagrams.emplace_back(datagram.stream, text_of(datagram.payload));
  }

  http3::MemoryNetwork::End& transport;
  quic::SeededRandom random;
  http3::Session http;
  SessionSet sessions;
  unsigned answer = 200;  // 0: later
  std::vector<StreamId> requested;
  std::vector<StreamId> plain_requests;
  std::map<StreamId, http3::FieldSection> established;
  std::map<StreamId, unsigned> refused;
  std::optional<StreamId> draining;
  std::map<StreamId, SessionClosed> closed;
  std::map<StreamId, StreamLog> streams;
  std::vector<std::pair<StreamId, std::string>> datagrams;
  int datagrams_writable = 0;
};

struct Pair {
  explicit Pair(std::uint64_t seed = 1, const SessionSetConfig& config = {},
                const http3::MemoryOptions& options = {})
      : network(seed, options),
        client(network, quic::Role::kClient, seed + 1, config),
        server(network, quic::Role::kServer, seed + 2, config) {}
  void run() {
    bool more = true;
    while (more) {
      more = network.step();
      more = client.drain() || more;
      more = server.drain() || more;
    }
  }
  StreamId connect(std::string_view path = "/echo") {
    if (!client.http.peer_settings()) run();
    const auto session = client.sessions.connect(
        {{":authority", "localhost"}, {":path", path}, {"origin", "https://localhost"}});
    EXPECT_TRUE(session);
    return session ? *session : StreamId{};
  }
  StreamId open(Side& side, StreamId session, Directionality direction) {
    const auto stream = side.sessions.streams().open(session, direction);
    EXPECT_TRUE(stream);
    return stream ? *stream : StreamId{};
  }

  http3::MemoryNetwork network;
  Side client;
  Side server;
};

TEST(ErrorCodes, MapAndReturn) {
  EXPECT_EQ(to_http_error(0), 0x52e4a40fa8dbu);
  EXPECT_EQ(to_http_error(29), 0x52e4a40fa8f8u);
  EXPECT_EQ(to_http_error(30), 0x52e4a40fa8fau);  // skips 0x…f9, a reserved code
  EXPECT_EQ(to_http_error(0xffffffff), 0x52e5ac983162u);
  for (const std::uint32_t code : {0u, 1u, 29u, 30u, 31u, 59u, 60u, 1000u, 0x7fffffffu, ~0u}) {
    EXPECT_EQ(to_application_error(to_http_error(code)), code);
  }
  EXPECT_FALSE(to_application_error(0x52e4a40fa8da));
  EXPECT_FALSE(to_application_error(0x52e4a40fa8f9));
  EXPECT_FALSE(to_application_error(0x52e5ac983163));
  EXPECT_FALSE(to_application_error(0x100));
}

TEST(SessionSet, ConnectsAndIsAccepted) {
  Pair pair;
  const StreamId session = pair.connect();
  pair.run();
  ASSERT_TRUE(pair.client.established.contains(session));
  EXPECT_EQ(pair.client.established[session].find("x-app"), "echo");
  EXPECT_EQ(pair.client.established[session].find("sec-webtransport-http3-draft"), "draft02");
  EXPECT_EQ(pair.server.requested, std::vector{session});
}

TEST(SessionSet, RejectionReachesTheClient) {
  Pair pair;
  pair.server.answer = 404;
  const StreamId session = pair.connect();
  pair.run();
  EXPECT_EQ(pair.client.refused[session], 404u);
  EXPECT_EQ(pair.client.sessions.open_sessions() + pair.server.sessions.open_sessions(), 0u);
  EXPECT_EQ(pair.client.http.open_requests() + pair.server.http.open_requests(), 0u);
}

TEST(SessionSet, BothKindsOfStreamsBothWays) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    http3::MemoryOptions options;
    options.max_piece = seed % 2 == 0 ? 1 : 64;  // prefixes byte by byte
    Pair pair(seed, {}, options);
    const StreamId session = pair.connect();
    pair.run();
    std::map<StreamId, Side*> readers;
    for (auto [from, to] :
         {std::pair{&pair.client, &pair.server}, std::pair{&pair.server, &pair.client}}) {
      for (const auto direction :
           {Directionality::kBidirectional, Directionality::kUnidirectional}) {
        const StreamId stream = pair.open(*from, session, direction);
        EXPECT_TRUE(from->sessions.streams().write(stream, chunk_of("hello "), false));
        EXPECT_TRUE(from->sessions.streams().write(stream, chunk_of("world"), true));
        readers[stream] = to;
      }
    }
    pair.run();
    for (const auto& [stream, reader] : readers) {
      EXPECT_EQ(reader->streams[stream].data, "hello world");
      EXPECT_EQ(reader->streams[stream].session, session);
      EXPECT_TRUE(reader->streams[stream].finished);
      if (stream.directionality() == Directionality::kBidirectional) {
        EXPECT_TRUE(reader->sessions.streams().write(stream, chunk_of("back"), true));
      }
    }
    pair.run();
    for (const auto& [stream, reader] : readers) {
      Side& opener = reader == &pair.client ? pair.server : pair.client;
      if (stream.directionality() == Directionality::kBidirectional) {
        EXPECT_EQ(opener.streams[stream].data, "back");
      }
      EXPECT_TRUE(opener.streams[stream].closed);
      EXPECT_TRUE(reader->streams[stream].closed);
    }
  }
}

// Prefix and end may arrive together, and then nothing else tells that the stream has ended.
TEST(SessionSet, EmptyStreamsAreSeenToEnd) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Pair pair(seed);
    const StreamId session = pair.connect();
    pair.run();
    for (const auto direction : {Directionality::kBidirectional, Directionality::kUnidirectional}) {
      const StreamId stream = pair.open(pair.client, session, direction);
      EXPECT_TRUE(pair.client.sessions.streams().write(stream, {}, true));
      pair.run();
      EXPECT_TRUE(pair.server.streams[stream].finished);
      EXPECT_EQ(pair.server.streams[stream].data, "");
    }
  }
}

TEST(SessionSet, StreamsAndDatagramsWaitForTheirSession) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Pair pair(seed);
    pair.server.answer = 0;
    const StreamId session = pair.connect();
    // As with 0-RTT, this client does not wait for the response.
    const StreamId early = *pair.client.transport.open_stream(Directionality::kUnidirectional);
    const std::string prefix = {0x40, 0x54, static_cast<char>(session.value)};
    EXPECT_TRUE(pair.client.transport.write(early, chunk_of(prefix + "early"), true));
    EXPECT_TRUE(pair.client.http.datagrams().send(session, bytes_of("datagram"), 1));
    pair.run();
    EXPECT_TRUE(pair.server.streams.empty());
    EXPECT_TRUE(pair.server.datagrams.empty());
    EXPECT_TRUE(pair.server.sessions.accept(session, {}, Time{}));
    pair.run();
    ASSERT_EQ(pair.server.streams.size(), 1u);
    EXPECT_EQ(pair.server.streams[early].data, "early");
    EXPECT_TRUE(pair.server.streams[early].finished);
    ASSERT_EQ(pair.server.datagrams.size(), 1u);
    EXPECT_EQ(pair.server.datagrams[0].second, "datagram");
  }
}

TEST(SessionSet, TooManyWaitingStreamsAreRefused) {
  SessionSetConfig config;
  config.max_waiting_streams = 2;
  Pair pair(1, config);
  pair.server.answer = 0;
  const StreamId session = pair.connect();
  std::vector<StreamId> streams;
  for (int i = 0; i < 4; ++i) {
    streams.push_back(*pair.client.transport.open_stream(Directionality::kBidirectional));
    const std::string prefix = {0x40, 0x41, static_cast<char>(session.value)};
    EXPECT_TRUE(pair.client.transport.write(streams.back(), chunk_of(prefix), false));
    pair.client.http.hand_over(streams.back());
  }
  pair.run();
  EXPECT_TRUE(pair.server.sessions.accept(session, {}, Time{}));
  pair.run();
  EXPECT_EQ(pair.server.streams.size(), 2u);
}

TEST(SessionSet, StreamOfAClosedSessionIsRefusedWithSessionGone) {
  Pair pair;
  const StreamId session = pair.connect();
  pair.run();
  pair.client.sessions.close(session, {7, "bye"});
  pair.run();
  const StreamId late = *pair.client.transport.open_stream(Directionality::kBidirectional);
  const std::string prefix = {0x40, 0x41, static_cast<char>(session.value)};
  EXPECT_TRUE(pair.client.transport.write(late, chunk_of(prefix), false));
  pair.run();
  EXPECT_FALSE(pair.server.streams.contains(late));
  EXPECT_FALSE(pair.server.transport.close_error);
}

// This client behaves like webtransport-go: it ignores everything that the gateway sends except for
// the reason of the end.
TEST(SessionSet, CloseIsToldBehindStopSendingOnItsStream) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Pair pair(seed);
    const StreamId session = pair.connect();
    pair.run();
    pair.client.transport.stop_sending(session, 1337);
    pair.client.sessions.close(session, {4242, "enough"});
    pair.run();
    ASSERT_TRUE(pair.server.closed.contains(session));
    EXPECT_EQ(pair.server.closed[session].code, 4242u);
    EXPECT_EQ(pair.server.closed[session].reason, "enough");
    EXPECT_EQ(pair.server.sessions.open_sessions(), 0u);
    EXPECT_EQ(pair.server.http.open_requests(), 0u);
  }
}

TEST(SessionSet, SessionWhoseStreamIsNotReadCanBeClosed) {
  Pair pair;
  const StreamId session = pair.connect();
  pair.run();
  pair.client.transport.stop_sending(session, 1337);
  pair.network.step();
  pair.server.drain();
  pair.server.sessions.close(session, {1, "not heard"});
  pair.run();
  EXPECT_TRUE(pair.server.closed.contains(session));
  EXPECT_EQ(pair.server.sessions.open_sessions(), 0u);
}

TEST(SessionSet, PrefixOfAStreamIsReliable) {
  Pair pair;
  const StreamId session = pair.connect();
  pair.run();
  const StreamId both = pair.open(pair.client, session, Directionality::kBidirectional);
  EXPECT_EQ(pair.client.transport.reliable[both], 3u);  // type in two bytes, session in one
  pair.run();
  EXPECT_FALSE(pair.server.transport.reliable.contains(both)) << "the peer wrote the prefix";
}

TEST(SessionSet, ResetAndStopSendingCarryApplicationCodes) {
  Pair pair;
  const StreamId session = pair.connect();
  pair.run();
  const StreamId stream = pair.open(pair.client, session, Directionality::kBidirectional);
  EXPECT_TRUE(pair.client.sessions.streams().write(stream, chunk_of("x"), false));
  pair.run();
  pair.client.sessions.streams().reset(stream, 42);
  pair.client.sessions.streams().stop_sending(stream, 0xffffffff);
  pair.run();
  ASSERT_TRUE(pair.server.streams[stream].reset);
  EXPECT_EQ(pair.server.streams[stream].reset->error, 42u);
  ASSERT_TRUE(pair.server.streams[stream].stopped);
  EXPECT_EQ(pair.server.streams[stream].stopped->error, 0xffffffffu);
  EXPECT_TRUE(pair.client.streams[stream].closed);
  EXPECT_TRUE(pair.server.streams[stream].closed);
}

TEST(SessionSet, CloseEndsTheSessionAndItsStreams) {
  for (const bool by_client : {true, false}) {
    SCOPED_TRACE(by_client);
    Pair pair;
    const StreamId session = pair.connect();
    pair.run();
    const StreamId stream = pair.open(pair.client, session, Directionality::kBidirectional);
    EXPECT_TRUE(pair.client.sessions.streams().write(stream, chunk_of("x"), false));
    pair.run();
    Side& closer = by_client ? pair.client : pair.server;
    Side& other = by_client ? pair.server : pair.client;
    closer.sessions.close(session, {0xdeadbeef, "no more"});
    pair.run();
    ASSERT_TRUE(other.closed.contains(session));
    EXPECT_EQ(other.closed[session].code, 0xdeadbeefu);
    EXPECT_EQ(other.closed[session].reason, "no more");
    EXPECT_TRUE(other.closed[session].clean);
    EXPECT_TRUE(closer.closed.contains(session));
    for (Side* side : {&pair.client, &pair.server}) {
      EXPECT_TRUE(side->streams[stream].closed);
      EXPECT_EQ(side->sessions.open_sessions(), 0u);
      EXPECT_EQ(side->http.open_requests(), 0u);
      EXPECT_FALSE(side->transport.close_error);
    }
    EXPECT_FALSE(closer.sessions.streams().open(session, Directionality::kUnidirectional));
  }
}

TEST(SessionSet, PeerLearnsTheCloseCodeBeforeItsStreamsAreCutOff) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    Pair pair(seed);
    const StreamId session = pair.connect();
    pair.run();
    const StreamId stream = pair.open(pair.client, session, Directionality::kBidirectional);
    EXPECT_TRUE(pair.client.sessions.streams().write(stream, chunk_of("x"), false));
    pair.run();
    pair.server.sessions.close(session, {4, ""});
    EXPECT_FALSE(pair.server.sessions.streams().write(stream, chunk_of("late"), false));
    while (!pair.client.closed.contains(session) && pair.network.step()) pair.client.drain();
    ASSERT_TRUE(pair.client.closed.contains(session));
    EXPECT_EQ(pair.client.closed[session].code, 4u);
    EXPECT_FALSE(pair.client.streams[stream].reset);
    EXPECT_FALSE(pair.client.streams[stream].stopped);
    pair.run();
    EXPECT_TRUE(pair.client.streams[stream].closed);
    EXPECT_TRUE(pair.server.streams[stream].closed);
  }
}

TEST(SessionSet, EndOfTheConnectStreamIsACleanClose) {
  Pair pair;
  const StreamId session = pair.connect();
  pair.run();
  EXPECT_TRUE(pair.client.http.write_body(session, {}, true));
  pair.run();
  ASSERT_TRUE(pair.server.closed.contains(session));
  EXPECT_TRUE(pair.server.closed[session].clean);
  EXPECT_EQ(pair.server.closed[session].code, 0u);
  EXPECT_TRUE(pair.client.closed.contains(session));
}

TEST(SessionSet, ResetOfTheConnectStreamCutsTheSessionOff) {
  Pair pair;
  const StreamId session = pair.connect();
  pair.run();
  pair.client.http.reset(session, http3::value_of(http3::ErrorCode::kRequestCancelled));
  pair.run();
  ASSERT_TRUE(pair.server.closed.contains(session));
  EXPECT_FALSE(pair.server.closed[session].clean);
  EXPECT_EQ(pair.server.sessions.open_sessions(), 0u);
}

TEST(SessionSet, BrokenCapsulesEndTheSessionOnly) {
  const std::string truncated = {0x68, 0x43, 0x04, 0, 0};  // then FIN
  const std::string short_close = {0x68, 0x43, 0x03, 0, 0, 0};
  const std::string too_long = {0x68, 0x43, static_cast<char>(0x80), 0, 0x10, 0};
  const std::string data_after = {0x68, 0x43, 0x04, 0, 0, 0, 1, 'x'};
  for (const std::string& body : {truncated, short_close, too_long}) {
    Pair pair;
    const StreamId session = pair.connect();
    pair.run();
    EXPECT_TRUE(pair.client.http.write_body(session, chunk_of(body), true));
    pair.run();
    ASSERT_TRUE(pair.server.closed.contains(session));
    EXPECT_FALSE(pair.server.closed[session].clean);
    EXPECT_FALSE(pair.server.transport.close_error);
  }
  Pair pair;
  const StreamId session = pair.connect();
  pair.run();
  EXPECT_TRUE(pair.client.http.write_body(session, chunk_of(data_after), true));
  pair.run();
  EXPECT_EQ(pair.server.closed[session].code, 1u);
  EXPECT_EQ(pair.server.http.open_requests(), 0u);
}

TEST(SessionSet, UnknownCapsulesAreSkipped) {
  Pair pair;
  const StreamId session = pair.connect();
  pair.run();
  const std::string grease = {0x40, 0x7b, 0x05, 'h', 'e', 'l', 'l', 'o'};
  EXPECT_TRUE(pair.client.http.write_body(session, chunk_of(grease), false));
  pair.client.sessions.drain(session);
  pair.client.sessions.close(session, {3, ""});
  pair.run();
  EXPECT_EQ(pair.server.draining, session);
  EXPECT_EQ(pair.server.closed[session].code, 3u);
}

TEST(SessionSet, SeveralSessionsBesidePlainRequests) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    Pair pair(seed);
    const StreamId first = pair.connect("/1");
    const StreamId second = pair.connect("/2");
    const auto plain = pair.client.http.submit_request(http3::get("/plain"), false);
    pair.run();
    EXPECT_EQ(pair.server.plain_requests, std::vector{*plain});
    const StreamId a = pair.open(pair.client, first, Directionality::kUnidirectional);
    const StreamId b = pair.open(pair.client, second, Directionality::kUnidirectional);
    EXPECT_TRUE(pair.client.sessions.streams().write(a, chunk_of("a"), true));
    EXPECT_TRUE(pair.client.sessions.streams().write(b, chunk_of("b"), true));
    EXPECT_TRUE(pair.client.sessions.datagrams().send(second, bytes_of("d")));
    pair.run();
    EXPECT_EQ(pair.server.streams[a].session, first);
    EXPECT_EQ(pair.server.streams[b].session, second);
    ASSERT_EQ(pair.server.datagrams.size(), 1u);
    EXPECT_EQ(pair.server.datagrams[0].first, second);
    pair.client.sessions.close(first, {});
    pair.run();
    EXPECT_EQ(pair.server.sessions.open_sessions(), 1u);
    EXPECT_TRUE(pair.client.sessions.streams().open(second, Directionality::kBidirectional));
  }
}

TEST(SessionSet, SessionIdThatIsNoRequestClosesTheConnection) {
  Pair pair;
  pair.run();
  const StreamId stream = *pair.client.transport.open_stream(Directionality::kUnidirectional);
  EXPECT_TRUE(pair.client.transport.write(stream, chunk_of(std::string{0x40, 0x54, 0x03}), false));
  pair.run();
  EXPECT_EQ(pair.server.transport.close_error, http3::value_of(http3::ErrorCode::kIdError));
}

TEST(SessionSet, PeerWithoutWebTransportIsNotAsked) {
  http3::MemoryNetwork network(1);
  Side client(network, quic::Role::kClient, 2, {});
  quic::SeededRandom random(3);
  http3::Session server(network.end(quic::Role::kServer), {}, random);
  EXPECT_EQ(client.sessions.connect({}).error(), http3::Refusal::kNotReady);
  server.start(Time{});
  while (network.step()) client.drain();
  EXPECT_EQ(client.sessions.connect({}).error(), http3::Refusal::kNotSupported);
}

TEST(SessionSet, BackPressureOfAStream) {
  Pair pair;
  const StreamId session = pair.connect();
  pair.run();
  const StreamId stream = pair.open(pair.client, session, Directionality::kUnidirectional);
  const auto full =
      pair.client.sessions.streams().write(stream, chunk_of(std::string(5000, 'x')), false);
  ASSERT_TRUE(full);
  EXPECT_FALSE(*full);
  pair.run();
  EXPECT_TRUE(pair.client.streams[stream].writable);
  EXPECT_EQ(pair.server.streams[stream].data.size(), 5000u);
}

// A client that writes any bytes; its fields are not compressed (RFC 9204 §4.5.6).
struct RawClient {
  explicit RawClient(std::size_t max_sessions = 256)
      : network(1),
        server(network, quic::Role::kServer, 2, {}, max_sessions),
        transport(network.peer(quic::Role::kServer)) {}

  static std::string literal(std::string_view name, std::string_view value) {
    std::string bytes;
    if (name.size() < 7) {
      bytes.push_back(static_cast<char>(0x20 + name.size()));
    } else {
      bytes += {0x27, static_cast<char>(name.size() - 7)};
    }
    bytes.append(name);
    bytes.push_back(static_cast<char>(value.size()));
    return bytes.append(value);
  }
  void settings(std::string_view payload) {
    const StreamId control = *transport.open_stream(Directionality::kUnidirectional);
    const std::string head = {0x00, 0x04, static_cast<char>(payload.size())};
    EXPECT_TRUE(transport.write(control, chunk_of(head + std::string(payload)), false));
    run();
  }
  StreamId connect(std::string_view protocol) {
    std::string section(2, '\0');
    section += literal(":method", "CONNECT") + literal(":protocol", protocol);
    section += literal(":scheme", "https") + literal(":authority", "a") + literal(":path", "/");
    const StreamId stream = *transport.open_stream(Directionality::kBidirectional);
    EXPECT_LT(section.size(), 128u);
    const std::string head = {0x01, 0x40, static_cast<char>(section.size())};
    EXPECT_TRUE(transport.write(stream, chunk_of(head + section), false));
    run();
    return stream;
  }
  // Makes a DATA frame.
  void write(StreamId stream, std::string_view data) {
    const std::string head = {0x00, 0x40, static_cast<char>(data.size())};
    EXPECT_TRUE(transport.write(stream, chunk_of(head + std::string(data)), false));
    run();
  }
  void run() {
    for (bool more = true; more;) {
      more = network.step();
      more = server.drain() || more;
      while (const auto event = transport.poll_event()) {
        const auto* stream = std::get_if<quic::StreamEvent>(&*event);
        if (stream && stream->kind == quic::StreamEvent::Kind::kReset) {
          resets[stream->stream] = stream->value;
        }
      }
    }
  }
  // Returns everything that has arrived on a stream.
  std::string read(StreamId stream) {
    std::string data;
    for (run();; run()) {
      const Bytes bytes = transport.peek(stream);
      if (bytes.empty()) return data;
      data += text_of(bytes);
      EXPECT_TRUE(transport.consume(stream, bytes.size(), Time{}));
    }
  }

  http3::MemoryNetwork network;
  Side server;
  http3::MemoryNetwork::End& transport;
  std::map<StreamId, std::uint64_t> resets;
};

constexpr std::uint64_t k_rejected = 0x10b;
const std::string k_datagrams_setting = {0x33, 0x01};

TEST(SessionSet, SessionsAboveTheLimitAreRejected) {
  RawClient client(2);
  client.settings(k_datagrams_setting);
  const StreamId first = client.connect("webtransport");
  const StreamId second = client.connect("webtransport");
  const StreamId third = client.connect("webtransport");
  EXPECT_EQ(client.server.requested, (std::vector{first, second}));
  EXPECT_EQ(client.resets[third], k_rejected);
  client.server.sessions.close(first, {});
  client.run();
  const StreamId fourth = client.connect("webtransport");
  EXPECT_EQ(client.server.requested.back(), fourth);
  EXPECT_FALSE(client.server.transport.close_error);
}

// draft-ietf-webtrans-http3-16 §5.1: sessions have no flow control.
TEST(SessionSet, OneSessionOfTheNewDialectHasItsConnectionForItself) {
  RawClient client;
  client.settings(k_datagrams_setting);
  const StreamId first = client.connect("webtransport-h3");
  EXPECT_EQ(client.server.requested, std::vector{first});
  for (const char* protocol : {"webtransport-h3", "webtransport"}) {
    EXPECT_EQ(client.resets[client.connect(protocol)], k_rejected);
  }
  // The response names the draft when the `:protocol` of the request does not.
  EXPECT_EQ(client.read(first).find("draft02"), std::string::npos);
  client.server.sessions.close(first, {});
  client.run();
  const StreamId old = client.connect("webtransport");
  EXPECT_EQ(client.server.requested.back(), old);
  EXPECT_EQ(client.resets[client.connect("webtransport-h3")], k_rejected);
}

TEST(SessionSet, RequestsWaitForTheSettingsOfTheClient) {
  RawClient client;
  const StreamId session = client.connect("webtransport-h3");
  EXPECT_TRUE(client.server.requested.empty());
  client.settings(k_datagrams_setting);
  EXPECT_EQ(client.server.requested, std::vector{session});
}

TEST(SessionSet, DatagramsComeAsCapsules) {
  RawClient client;
  client.settings(k_datagrams_setting);
  const StreamId session = client.connect("webtransport");
  client.write(session, std::string({0x00, 0x03}) + "abc");
  for (const char byte : std::string({0x00, 0x02}) + "de") client.write(session, {&byte, 1});
  ASSERT_EQ(client.server.datagrams.size(), 2u);
  EXPECT_EQ(client.server.datagrams[0], std::pair(session, std::string("abc")));
  EXPECT_EQ(client.server.datagrams[1], std::pair(session, std::string("de")));
}

TEST(SessionSet, DatagramsGoAsCapsulesToAClientThatTakesNoOthers) {
  RawClient client;
  client.settings("");
  const StreamId session = client.connect("webtransport");
  SessionSet& sessions = client.server.sessions;
  EXPECT_EQ(sessions.datagrams().max_payload(session), http3::k_max_capsule_datagram);
  EXPECT_TRUE(sessions.datagrams().send(session, bytes_of("abc")));
  EXPECT_TRUE(client.read(session).ends_with(std::string({0x00, 0x05, 0x00, 0x03}) + "abc"));
  const std::string large(http3::k_max_capsule_datagram + 1, 'x');
  EXPECT_FALSE(sessions.datagrams().send(session, bytes_of(large)));
  // A client that does not read does not make the server keep datagrams.
  int taken = 0;
  while (taken < 1000 && sessions.datagrams().send(session, bytes_of(std::string(1000, 'x'))))
    ++taken;
  EXPECT_LT(taken, 100);
  EXPECT_EQ(client.server.datagrams_writable, 0);
  EXPECT_FALSE(client.read(session).empty());
  EXPECT_TRUE(sessions.datagrams().send(session, bytes_of("again")));
  EXPECT_EQ(client.server.datagrams_writable, 1);
}

TEST(SessionSet, MalformedCapsulesCostTheirSession) {
  const std::pair<std::string, std::uint64_t> cases[] = {
      {{0x68, 0x43, 0x03, 0, 0, 0}, 0x10e},             // close that is too short
      {{0x68, 0x43, 0x44, 0x05}, 0x10e},                // one whose reason has 1,025 bytes
      {{0x68, 0x43, 0x05, 0, 0, 0, 0, '\xff'}, 0x10e},  // one whose reason is not UTF-8
      {{'\x80', 0x00, 0x78, '\xae', 0x20}, 0x10e},      // drain with a value beyond measure
      {{'\x99', 0x0b, 0x4d, 0x3e, 0x00}, 0x045d4487},   // WT_MAX_STREAM_DATA
      {{'\x99', 0x0b, 0x4d, 0x42, 0x00}, 0x045d4487},   // WT_STREAM_DATA_BLOCKED
  };
  for (const auto& [capsule, error] : cases) {
    RawClient client;
    client.settings(k_datagrams_setting);
    const StreamId session = client.connect("webtransport");
    client.write(session, capsule);
    EXPECT_EQ(client.resets[session], error);
    EXPECT_FALSE(client.server.closed[session].clean);
    EXPECT_FALSE(client.server.transport.close_error);
  }
}

TEST(SessionSet, CapsulesOfFlowControlMeanNothing) {
  RawClient client;
  client.settings(k_datagrams_setting);
  const StreamId session = client.connect("webtransport-h3");
  for (const char type : std::string_view("\x3d\x3f\x40\x41\x43\x44")) {
    client.write(session, std::string{'\x99', 0x0b, 0x4d, type, 0x01, 0x00});
  }
  client.write(session, std::string{0x00, 0x01, 'x'});
  EXPECT_EQ(client.server.datagrams.size(), 1u);
}

// Safari 26 counts streams and bytes, and waits for these limits.
TEST(SessionSet, AClientThatCountsHearsThatThereIsNoLimit) {
  RawClient client;
  client.settings(k_datagrams_setting + std::string({0x6b, 0x61, 0x08}));
  const StreamId session = client.connect("webtransport");
  const std::string limits = text_of(encode_no_limits());
  EXPECT_EQ(limits.size(), 3u * 13u);
  EXPECT_TRUE(client.read(session).ends_with(limits));
}

TEST(SessionSet, AReasonIsCutBetweenCharacters) {
  Pair pair;
  const StreamId session = pair.connect();
  pair.run();
  std::string reason(1023, 'x');
  pair.client.sessions.close(session, {7, reason + "\xc3\xa4"});
  pair.run();
  EXPECT_EQ(pair.server.closed[session].reason, reason);
}

}  // namespace
}  // namespace sheaf::webtransport
