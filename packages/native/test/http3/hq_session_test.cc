#include "http3/hq_session.h"

#include <gtest/gtest.h>

#include "http3/session_pair.h"

namespace sheaf::http3 {
namespace {

struct HqPair {
  explicit HqPair(std::uint64_t seed = 1) : network(seed) {}
  void run() {
    bool more = true;
    while (more) {
      more = network.step();
      for (auto* session : {&client, &server}) {
        auto& end = network.end(session == &client ? Role::kClient : Role::kServer);
        while (const auto event = end.poll_event()) {
          session->on_event(*event, Time{});
          more = true;
        }
        while (auto event = session->poll_event()) {
          note(*session, *event);
          more = true;
        }
      }
    }
  }
  void note(HqSession& session, SessionEvent& event) {
    if (auto* request = std::get_if<RequestReceived>(&event)) {
      requests[request->stream] = request->fields.find(":path");
    } else if (auto* readable = std::get_if<BodyReadable>(&event)) {
      while (session.readable_body(readable->stream) > 0) {
        std::array<std::uint8_t, 4> out;
        const std::size_t size = session.read_body(readable->stream, out, Time{});
        bodies[readable->stream] += text_of(Bytes(out).first(size));
      }
    } else if (auto* finished = std::get_if<MessageFinished>(&event)) {
      if (&session == &client) finished_streams.push_back(finished->stream);
    } else if (auto* reset = std::get_if<StreamReset>(&event)) {
      resets[reset->stream] = reset->error;
    }
  }

  MemoryNetwork network;
  HqSession client{network.end(Role::kClient)};
  HqSession server{network.end(Role::kServer)};
  std::map<StreamId, std::string> requests;
  std::map<StreamId, std::string> bodies;
  std::map<StreamId, std::uint64_t> resets;
  std::vector<StreamId> finished_streams;
};

TEST(HqSession, FetchesAFile) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    HqPair pair(seed);
    const auto stream = pair.client.submit_request(get("/index.html"), false);
    ASSERT_TRUE(stream);
    pair.run();
    EXPECT_EQ(pair.requests[*stream], "/index.html");
    EXPECT_TRUE(pair.server.submit_response(*stream, {{":status", "200"}}, true));
    EXPECT_TRUE(pair.server.write_body(*stream, chunk_of("hello "), false));
    EXPECT_TRUE(pair.server.write_body(*stream, chunk_of("world"), true));
    pair.run();
    EXPECT_EQ(pair.bodies[*stream], "hello world");
    EXPECT_EQ(pair.finished_streams, std::vector{*stream});
    EXPECT_EQ(pair.client.open_requests() + pair.server.open_requests(), 0u);
  }
}

TEST(HqSession, EmptyFileAndMissingFile) {
  HqPair pair;
  const StreamId empty = *pair.client.submit_request(get("/empty"), false);
  const StreamId missing = *pair.client.submit_request(get("/missing"), false);
  pair.run();
  EXPECT_TRUE(pair.server.submit_response(empty, {{":status", "200"}}, false));
  EXPECT_TRUE(pair.server.submit_response(missing, {{":status", "404"}}, true));
  pair.run();
  EXPECT_EQ(pair.finished_streams, std::vector{empty});
  EXPECT_TRUE(pair.resets.contains(missing));
  EXPECT_EQ(pair.client.open_requests() + pair.server.open_requests(), 0u);
}

TEST(HqSession, RefusesWhatIsNoRequest) {
  for (const std::string& line :
       {std::string("POST /\r\n"), std::string("GET nothing\r\n"), std::string("\r\n"),
        std::string("GET "), std::string(9000, 'x')}) {
    HqPair pair;
    const StreamId stream =
        *pair.network.end(Role::kClient).open_stream(Directionality::kBidirectional);
    EXPECT_TRUE(pair.network.end(Role::kClient).write(stream, chunk_of(line), true));
    pair.run();
    EXPECT_TRUE(pair.requests.empty()) << line.substr(0, 20);
    EXPECT_EQ(pair.server.open_requests(), 0u);
  }
  HqPair pair;
  EXPECT_FALSE(pair.client.submit_request(post("/"), true));
  EXPECT_FALSE(pair.client.submit_request(get("/a b"), false));
}

TEST(HqSession, ShutDownRefusesNewRequests) {
  HqPair pair;
  pair.server.shut_down();
  const StreamId stream = *pair.client.submit_request(get("/"), false);
  pair.run();
  EXPECT_EQ(pair.resets[stream], value_of(ErrorCode::kRequestRejected));
}

// A server that drains announces it first. Here no acknowledgement of a GOAWAY leads to
// `shut_down`.
TEST(HqSession, AnAnnouncedShutdownServesWhatHasComeAndRefusesTheRest) {
  HqPair pair;
  const StreamId before = *pair.client.submit_request(get("/before"), false);
  pair.run();
  pair.server.announce_shutdown();
  const StreamId after = *pair.client.submit_request(get("/after"), false);
  pair.run();
  EXPECT_FALSE(pair.requests.contains(after));
  EXPECT_EQ(pair.resets[after], value_of(ErrorCode::kRequestRejected));
  ASSERT_TRUE(pair.server.submit_response(before, {{":status", "200"}}, true));
  ASSERT_TRUE(pair.server.write_body(before, chunk_of("served"), true));
  pair.run();
  EXPECT_EQ(pair.bodies[before], "served");
  EXPECT_EQ(pair.server.open_requests(), 0u);
}

}  // namespace
}  // namespace sheaf::http3
