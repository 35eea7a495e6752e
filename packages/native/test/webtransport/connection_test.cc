// WebTransport over the engine itself, through links that lose, reorder and duplicate.

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "http3/connection_pair.h"
#include "webtransport/session_set.h"

namespace sheaf::webtransport {
namespace {

using quic::Time;
using namespace quic;  // NOLINT: literals
using Outcome = quic::Simulation::Outcome;

// The server side echoes as the gateway's built-in application does: bidirectional streams on the
// same stream, unidirectional ones on a new one, datagrams as datagrams.
class EchoApplication : public http3::DatagramConsumer {
 public:
  explicit EchoApplication(http3::Transport& transport)
      : random(9), http(transport, {.webtransport = true}, random), sessions(http, *this) {}
  void start(Time at) { http.start(at); }
  void on_event(const quic::Event& event, Time at) {
    http.on_event(event, at);
    lost_datagrams += std::holds_alternative<quic::DatagramLostEvent>(event);
  }
  void settle(Time at) {
    now = at;
    while (auto event = http.poll_event()) sessions.on_event(*event, now);
    while (auto event = sessions.poll_event()) {
      std::visit([this](auto& value) { handle(value); }, *event);
    }
    for (const auto& [of, payload] : std::exchange(to_echo, {})) {
      sessions.datagrams().send(of, payload);
    }
  }

  void handle(SessionRequested& event) {
    server = true;
    session = event.session;
    EXPECT_TRUE(sessions.accept(session, {}, now));
  }
  void handle(SessionEstablished& event) {
    session = event.session;
    established = true;
  }
  void handle(StreamOpened& event) {
    if (server && event.stream.directionality() == Directionality::kUnidirectional) {
      const auto answer = sessions.streams().open(session, Directionality::kUnidirectional);
      ASSERT_TRUE(answer);
      answers[event.stream] = *answer;
    }
  }
  void handle(StreamReadable& event) {
    const StreamId stream = event.stream;
    while (true) {
      const Bytes bytes = sessions.streams().peek(stream);
      const std::size_t size = bytes.size();
      if (server && size > 0) {
        EXPECT_TRUE(sessions.streams().write(target(stream), SendChunk::copy_of(bytes), false));
      } else {
        data[stream].append(reinterpret_cast<const char*>(bytes.data()), size);
      }
      const auto result = sessions.streams().consume(stream, size, now);
      if (!result) return;
      if (result->finished) {
        ++finished;
        if (server) {
          EXPECT_TRUE(sessions.streams().write(target(stream), {}, true));
        }
        return;
      }
      if (size == 0) return;
    }
  }
  StreamId target(StreamId stream) {
    return answers.contains(stream) ? answers.at(stream) : stream;
  }
  void on_datagram(http3::HttpDatagram datagram) override {
    if (server) {
      const Bytes payload = datagram.payload;
      to_echo.push_back({datagram.stream, {payload.begin(), payload.end()}});
    } else {
      ++datagrams;
    }
  }
  void handle(SessionClosed& event) { closed = event; }
  void handle(StreamReset& event) { reset[event.stream] = event.error; }
  template <typename Other>
  void handle(Other&) {}

  quic::SeededRandom random;
  http3::Session http;
  SessionSet sessions;
  Time now{};
  bool server = false;
  bool established = false;
  StreamId session;
  std::map<StreamId, StreamId> answers;
  std::map<StreamId, std::string> data;
  int finished = 0;
  int datagrams = 0;
  std::vector<std::pair<StreamId, std::vector<std::uint8_t>>> to_echo;
  int lost_datagrams = 0;
  std::optional<SessionClosed> closed;
  std::map<StreamId, std::optional<std::uint32_t>> reset;
};

using EchoPair = http3::ConnectionPair<EchoApplication>;

struct Weather {
  const char* name;
  quic::LinkConfig link;
};
void PrintTo(const Weather& weather, std::ostream* out) { *out << weather.name; }

class WebTransportUnderWeather : public testing::TestWithParam<Weather> {};

TEST_P(WebTransportUnderWeather, EchoesStreamsAndDatagramsThenCloses) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    quic::ConnectionConfig config;
    config.max_idle_timeout = std::chrono::minutes(10);
    EchoPair pair(seed, GetParam().link, config);
    EchoApplication& client = pair.client.application;
    const auto limit = std::chrono::minutes(10);
    ASSERT_EQ(
        pair.simulation.run_until([&] { return client.http.peer_settings().has_value(); }, limit),
        Outcome::kReached);
    ASSERT_TRUE(client.sessions.connect({{":authority", "localhost"}, {":path", "/echo"}}));
    ASSERT_EQ(pair.simulation.run_until([&] { return client.established; }, limit),
              Outcome::kReached);
    std::map<StreamId, std::string> sent;
    for (int i = 0; i < 10; ++i) {
      const auto direction =
          i % 2 == 0 ? Directionality::kBidirectional : Directionality::kUnidirectional;
      const auto stream = client.sessions.streams().open(client.session, direction);
      ASSERT_TRUE(stream);
      sent[*stream] = std::string(1 + i * 3000, static_cast<char>('a' + i));
      const std::string& text = sent[*stream];
      EXPECT_TRUE(client.sessions.streams().write(
          *stream,
          SendChunk::copy_of({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}),
          true));
      EXPECT_TRUE(
          client.sessions.datagrams().send(client.session, std::array<std::uint8_t, 3>{1, 2, 3}));
    }
    ASSERT_EQ(pair.simulation.run_until([&] { return client.finished == 10; }, limit),
              Outcome::kReached);
    std::multiset<std::string> expected;
    std::multiset<std::string> received;
    for (const auto& [stream, text] : sent) expected.insert(text);
    for (const auto& [stream, text] : client.data) received.insert(text);
    EXPECT_EQ(received, expected);
    for (const auto& [stream, text] : sent) {
      if (stream.directionality() == Directionality::kBidirectional) {
        EXPECT_EQ(client.data[stream], text);
      }
    }
    EXPECT_LE(client.datagrams, 10 * (GetParam().link.duplication > 0 ? 2 : 1));
    if (GetParam().link.loss == 0) {
      EXPECT_GE(client.datagrams, 10);
    }
    // Each one's fate becomes known; what was thought lost may still be acknowledged.
    const auto told = [&] {
      const auto counts = client.sessions.datagrams().counts(client.session);
      return counts && counts->acknowledged + counts->lost >= 10;
    };
    ASSERT_EQ(pair.simulation.run_until(told, limit), Outcome::kReached);
    const auto counts = *client.sessions.datagrams().counts(client.session);
    EXPECT_EQ(counts.sent, 10u);
    EXPECT_EQ(counts.expired, 0u);
    if (GetParam().link.loss == 0) {
      EXPECT_GT(counts.acknowledged, 0u);
    }
    client.sessions.close(client.session, {5, "done"});
    EchoApplication& server = pair.server.application;
    ASSERT_EQ(pair.simulation.run_until(
                  [&] {
                    return server.closed && client.sessions.open_sessions() == 0 &&
                           server.sessions.open_sessions() == 0;
                  },
                  limit),
              Outcome::kReached);
    EXPECT_EQ(server.closed->code, 5u);
    EXPECT_EQ(server.closed->reason, "done");
    EXPECT_FALSE(pair.client.close_error) << pair.client.close_reason;
    EXPECT_FALSE(pair.server.close_error) << pair.server.close_reason;
  }
}

// Their prefix is lost with one of ten packets, and arrives all the same.
TEST_P(WebTransportUnderWeather, StreamsThatAreResetAtOnceReachTheirSession) {
  EchoPair pair(1, GetParam().link);
  EchoApplication& client = pair.client.application;
  EchoApplication& server = pair.server.application;
  constexpr auto k_limit = 10min;
  ASSERT_EQ(
      pair.simulation.run_until([&] { return client.http.peer_settings().has_value(); }, k_limit),
      Outcome::kReached);
  ASSERT_TRUE(client.sessions.connect({{":authority", "localhost"}, {":path", "/echo"}}));
  ASSERT_EQ(pair.simulation.run_until([&] { return client.established; }, k_limit),
            Outcome::kReached);
  std::map<StreamId, std::uint32_t> codes;
  const std::vector<std::uint8_t> bytes(5000);
  for (std::uint32_t i = 0; i < 100; ++i) {
    const auto stream = client.sessions.streams().open(
        client.session,
        i % 2 == 0 ? Directionality::kBidirectional : Directionality::kUnidirectional);
    ASSERT_TRUE(stream);
    codes[*stream] = i;
    EXPECT_TRUE(client.sessions.streams().write(*stream, SendChunk::copy_of(bytes), false));
    // Some are reset when part of them is in flight.
    if (i % 3 == 0) pair.simulation.run_for(3ms);
    client.sessions.streams().reset(*stream, i);
  }
  const auto all_reset = [&] { return server.reset.size() == codes.size(); };
  ASSERT_EQ(pair.simulation.run_until(all_reset, k_limit), Outcome::kReached)
      << server.reset.size();
  for (const auto& [stream, code] : codes) EXPECT_EQ(server.reset[stream], code);
  EXPECT_FALSE(pair.server.close_error) << pair.server.close_reason;
}

// The session's close is not overtaken by the connection's.
TEST(WebTransportConnection, TellsASessionsCloseBeforeItsOwn) {
  EchoPair pair(1, {.delay = 10ms});
  EchoApplication& client = pair.client.application;
  EchoApplication& server = pair.server.application;
  ASSERT_EQ(
      pair.simulation.run_until([&] { return client.http.peer_settings().has_value(); }, 1min),
      Outcome::kReached);
  ASSERT_TRUE(client.sessions.connect({{":authority", "localhost"}, {":path", "/echo"}}));
  ASSERT_EQ(pair.simulation.run_until([&] { return client.established; }, 1min), Outcome::kReached);
  server.sessions.close(server.session, {5, "done"});
  pair.server.connection.close(value_of(http3::ErrorCode::kNoError), "", pair.simulation.now());
  ASSERT_EQ(pair.simulation.run_until([&] { return pair.client.close_error.has_value(); }, 1min),
            Outcome::kReached);
  ASSERT_TRUE(client.closed);
  EXPECT_TRUE(client.closed->clean);
  EXPECT_EQ(client.closed->code, 5u);
  EXPECT_EQ(client.closed->reason, "done");
}

INSTANTIATE_TEST_SUITE_P(
    Weather, WebTransportUnderWeather,
    testing::Values(Weather{"Fine", {.delay = 10ms}},
                    Weather{"Loss10", {.loss = 0.1, .delay = 10ms}},
                    Weather{"Reordering",
                            {.delay = 10ms, .reordering = 0.3, .reordering_delay = 20ms}},
                    Weather{"Everything",
                            {.rate = 20_mbps,
                             .loss = 0.05,
                             .duplication = 0.05,
                             .delay = 10ms,
                             .jitter = 5ms,
                             .reordering = 0.1,
                             .reordering_delay = 10ms}}),
    [](const auto& parameter) { return parameter.param.name; });

}  // namespace
}  // namespace sheaf::webtransport
