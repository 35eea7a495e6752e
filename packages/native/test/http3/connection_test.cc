// Tests HTTP/3 over the engine itself, through links that lose, reorder and duplicate.

#include <gtest/gtest.h>

#include "http3/connection_pair.h"
#include "http3/session_pair.h"

namespace sheaf::http3 {
namespace {

using namespace quic;  // NOLINT: literals
using Outcome = quic::Simulation::Outcome;

std::string body_of(std::string_view path, std::size_t size) {
  std::string body(size, 0);
  for (std::size_t i = 0; i < size; ++i) {
    body[i] = static_cast<char>(path[i % path.size()] + i / 251);
  }
  return body;
}

// A server that answers each request with as many bytes as its path says, after echoing an upload.
class WebApplication : public Application {
 public:
  explicit WebApplication(Transport& transport) : Application(transport, {}, 7) {}
  void start(Time at) { session.start(at); }
  void on_event(const quic::Event& event, Time at) {
    now = at;
    session.on_event(event, at);
  }
  void settle(Time at) {
    now = at;
    take_events();
    for (; served < order.size() && answering; ++served) answer(order[served]);
    for (auto& [stream, rest] : unsent) send(stream, rest);
  }
  void answer(StreamId stream) {
    const std::string path(messages[stream].fields.find(":path"));
    ASSERT_TRUE(session.submit_response(stream, {{":status", "200"}}, true));
    unsent[stream] = body_of(path, std::stoul(path.substr(1)));
  }
  // Writes the body in pieces, only as far as the session accepts them.
  void send(StreamId stream, std::string& rest) {
    if (finished_sending.contains(stream)) return;
    if (waiting.contains(stream) && !std::exchange(messages[stream].writable, false)) return;
    waiting.erase(stream);
    while (true) {
      const std::string piece = rest.substr(0, 16'000);
      rest.erase(0, piece.size());
      const bool last = rest.empty();
      const auto more = session.write_body(stream, chunk_of(piece), last);
      if (!more || last) {
        finished_sending.insert(stream);
        return;
      }
      if (!*more) {
        waiting.insert(stream);
        return;
      }
    }
  }
  bool answering = true;
  std::size_t served = 0;
  std::map<StreamId, std::string> unsent;
  std::set<StreamId> waiting;
  std::set<StreamId> finished_sending;
};

using WebPair = ConnectionPair<WebApplication>;

struct Weather {
  const char* name;
  quic::LinkConfig link;
};

// GoogleTest prints this instead of the bytes of the structure.
void PrintTo(const Weather& weather, std::ostream* out) { *out << weather.name; }

class HttpUnderWeather : public testing::TestWithParam<Weather> {};

TEST_P(HttpUnderWeather, ServesAPage) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    // Long enough for several lost probes in a row, whose timeouts double (RFC 9002 §6.2.1).
    quic::ConnectionConfig config;
    config.max_idle_timeout = std::chrono::minutes(10);
    WebPair pair(seed, GetParam().link, config);
    std::map<StreamId, std::string> expected;
    for (int i = 0; i < 20; ++i) {
      const std::string path = "/" + std::to_string(1 + i * i * 500);
      const auto stream = pair.client.application.session.submit_request(get(path), false);
      ASSERT_TRUE(stream);
      expected[*stream] = path;
    }
    auto& messages = pair.client.application.messages;
    const Outcome outcome = pair.simulation.run_until(
        [&] {
          for (const auto& [stream, path] : expected) {
            if (!messages[stream].closed) return false;
          }
          return true;
        },
        std::chrono::minutes(10));
    EXPECT_EQ(outcome, Outcome::kReached);
    for (const auto& [stream, path] : expected) {
      EXPECT_EQ(messages[stream].fields.find(":status"), "200");
      EXPECT_TRUE(messages[stream].body == body_of(path, std::stoul(path.substr(1)))) << path;
      EXPECT_TRUE(messages[stream].finished);
    }
    EXPECT_FALSE(pair.client.close_error) << pair.client.close_reason;
    EXPECT_FALSE(pair.server.close_error) << pair.server.close_reason;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Weather, HttpUnderWeather,
    testing::Values(Weather{"Fine", {.rate = 20_mbps, .delay = 10ms}},
                    Weather{"Loss5", {.rate = 20_mbps, .loss = 0.05, .delay = 10ms}},
                    Weather{"Loss30", {.loss = 0.3, .delay = 10ms}},
                    Weather{"Reordering",
                            {.delay = 10ms, .reordering = 0.2, .reordering_delay = 20ms}},
                    Weather{"Everything",
                            {.rate = 20_mbps,
                             .loss = 0.05,
                             .duplication = 0.05,
                             .delay = 10ms,
                             .jitter = 5ms,
                             .reordering = 0.1,
                             .reordering_delay = 10ms}}),
    [](const auto& parameter) { return parameter.param.name; });

// RFC 9218 §10: the response with the higher urgency comes first, although the other was requested
// earlier and its body was written before.
TEST(HttpOverConnection, UrgentResponseOvertakes) {
  WebPair pair(1, {.rate = 5_mbps, .delay = 20ms});
  pair.server.application.answering = false;
  FieldSection slow = get("/400000");
  slow.add({"priority", "u=7"});
  FieldSection urgent = get("/100000");
  urgent.add({"priority", "u=0"});
  auto& session = pair.client.application.session;
  const StreamId first = *session.submit_request(slow, false);
  const StreamId second = *session.submit_request(urgent, false);
  auto& server = pair.server.application;
  ASSERT_EQ(pair.simulation.run_until([&] { return server.order.size() == 2; }, 10s),
            Outcome::kReached);
  server.answering = true;
  auto& messages = pair.client.application.messages;
  ASSERT_EQ(pair.simulation.run_until([&] { return messages[second].finished; }, 60s),
            Outcome::kReached);
  EXPECT_LT(messages[first].body.size(), 50'000u);
  ASSERT_EQ(pair.simulation.run_until([&] { return messages[first].finished; }, 60s),
            Outcome::kReached);
}

TEST(HttpOverConnection, PriorityUpdateTurnsARunningResponse) {
  WebPair pair(1, {.rate = 5_mbps, .delay = 20ms});
  auto& session = pair.client.application.session;
  const StreamId first = *session.submit_request(get("/2000000"), false);
  const StreamId second = *session.submit_request(get("/2000000"), false);
  auto& messages = pair.client.application.messages;
  ASSERT_EQ(pair.simulation.run_until([&] { return messages[first].body.size() > 200'000; }, 60s),
            Outcome::kReached);
  const std::size_t before = messages[second].body.size();
  EXPECT_LT(before, 50'000u);
  EXPECT_TRUE(session.request_priority(second, {1, false}));
  ASSERT_EQ(pair.simulation.run_until([&] { return messages[second].finished; }, 60s),
            Outcome::kReached);
  EXPECT_FALSE(messages[first].finished);
}

// A reader that stops fills the sender's window, not the memory of this side.
TEST(HttpOverConnection, UnreadResponseStaysWithinTheWindow) {
  quic::ConnectionConfig config;
  config.streams.initial_stream_window = 32_kib;
  config.streams.max_stream_window = 32_kib;
  config.streams.send_buffer = 64_kib;
  WebPair pair(1, {.delay = 10ms}, config);
  auto& client = pair.client.application;
  client.reading = false;
  const StreamId stream = *client.session.submit_request(get("/1000000"), false);
  pair.simulation.run_for(5s);
  EXPECT_EQ(client.messages[stream].body.size(), 0u);
  const auto [request, rest] = *pair.server.application.unsent.begin();
  EXPECT_GT(rest.size(), 800'000u);  // the session took no more than its buffer
  client.reading = true;
  client.read_all(stream);
  ASSERT_EQ(pair.simulation.run_until([&] { return client.messages[stream].finished; }, 60s),
            Outcome::kReached);
  EXPECT_EQ(client.messages[stream].body.size(), 1'000'000u);
}

TEST(HttpOverConnection, ErrorReachesThePeerWithItsCode) {
  WebPair pair(1, {.delay = 10ms});
  pair.simulation.run_for(1s);
  // DATA precedes HEADERS on a request stream.
  const auto stream =
      pair.client.connection.streams().writer().open(Directionality::kBidirectional);
  ASSERT_TRUE(stream);
  EXPECT_TRUE(pair.client.connection.streams().writer().write(
      *stream, SendChunk::copy_of(std::array<std::uint8_t, 3>{0, 1, 'x'}), true));
  pair.simulation.run_for(1s);
  EXPECT_EQ(pair.client.close_error, value_of(ErrorCode::kFrameUnexpected));
}

}  // namespace
}  // namespace sheaf::http3
