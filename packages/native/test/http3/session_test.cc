#include "http3/session.h"

#include <gtest/gtest.h>

#include "http3/session_pair.h"

namespace sheaf::http3 {
namespace {

std::string pattern(std::size_t size) {
  std::string text(size, 0);
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + i * 7 % 26);
  return text;
}

StreamId request(Peer& client, const FieldSection& fields, bool has_body = false) {
  const auto stream = client.session.submit_request(fields, has_body);
  EXPECT_TRUE(stream);
  return stream ? *stream : StreamId{};
}

TEST(Session, ExchangesSettings) {
  SessionConfig config;
  config.webtransport = true;
  SessionPair pair(1, config);
  pair.run();
  for (Peer* peer : {&pair.client, &pair.server}) {
    ASSERT_TRUE(peer->session.peer_settings());
    EXPECT_TRUE(peer->session.peer_settings()->datagrams);
    EXPECT_TRUE(peer->session.peer_settings()->webtransport.any());
    EXPECT_EQ(peer->session.peer_settings()->max_field_section_size, 65536u);
  }
  EXPECT_TRUE(pair.client.session.peer_settings()->enable_connect_protocol);
  EXPECT_FALSE(pair.server.session.peer_settings()->enable_connect_protocol);
}

TEST(Session, AnswersARequestWithoutBodies) {
  SessionPair pair;
  const StreamId stream = request(pair.client, get("/a"));
  pair.run();
  ASSERT_TRUE(pair.server.messages.contains(stream));
  EXPECT_EQ(pair.server.messages[stream].fields.find(":path"), "/a");
  EXPECT_TRUE(pair.server.messages[stream].finished);
  EXPECT_TRUE(pair.server.session.submit_response(stream, {{":status", "204"}}, false));
  pair.run();
  EXPECT_EQ(pair.client.messages[stream].fields.find(":status"), "204");
  EXPECT_TRUE(pair.client.messages[stream].finished);
  EXPECT_TRUE(pair.client.messages[stream].closed);
  EXPECT_TRUE(pair.server.messages[stream].closed);
  EXPECT_EQ(pair.server.session.open_requests(), 0u);
}

TEST(Session, CarriesBodiesAndTrailersBothWays) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    SessionPair pair(seed);
    pair.client.copying = pair.server.copying = seed % 2 == 0;
    const StreamId stream = request(pair.client, post("/upload"), true);
    const std::string upload = pattern(20'000);
    EXPECT_TRUE(pair.client.session.write_body(stream, chunk_of(upload.substr(0, 1)), false));
    EXPECT_TRUE(pair.client.session.write_body(stream, chunk_of(upload.substr(1)), false));
    EXPECT_TRUE(pair.client.session.submit_trailers(stream, {{"digest", "abc"}}));
    pair.run();
    EXPECT_EQ(pair.server.messages[stream].body, upload);
    EXPECT_EQ(pair.server.messages[stream].trailers.find("digest"), "abc");
    EXPECT_TRUE(pair.server.messages[stream].finished);

    EXPECT_TRUE(pair.server.session.submit_informational(stream, {{":status", "103"}}));
    EXPECT_TRUE(pair.server.session.submit_response(stream, {{":status", "200"}}, true));
    const std::string answer = pattern(30'000);
    for (std::size_t i = 0; i < answer.size(); i += 1000) {
      EXPECT_TRUE(pair.server.session.write_body(stream, chunk_of(answer.substr(i, 1000)), false));
    }
    EXPECT_TRUE(pair.server.session.write_body(stream, {}, true));
    pair.run();
    const Message& response = pair.client.messages[stream];
    ASSERT_EQ(response.informational.size(), 1u);
    EXPECT_EQ(response.informational[0].find(":status"), "103");
    EXPECT_EQ(response.body, answer);
    EXPECT_TRUE(response.finished);
    EXPECT_TRUE(response.closed);
    EXPECT_FALSE(pair.client.transport.close_error) << pair.client.transport.close_reason;
  }
}

TEST(Session, ManyRequestsAtOnceWithCompressedFields) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    SessionPair pair(seed);
    if (seed % 2 == 0) pair.run();  // else requests overtake SETTINGS
    std::map<StreamId, std::string> expected;
    for (int round = 0; round < 3; ++round) {
      for (int i = 0; i < 20; ++i) {
        const std::string path = "/" + std::to_string(round) + "/" + std::to_string(i);
        FieldSection fields = get(path);
        fields.add({"x-token", "a value that repeats and is worth a place in the table"});
        fields.add({"user-agent", "test client of this library 1.0"});
        fields.add({"cookie", "secret", true});
        expected[request(pair.client, fields)] = path;
      }
      for (int i = 0; i < 200; ++i) {
        pair.network.step();
        pair.client.drain();
        pair.server.drain();
      }
    }
    pair.run();
    ASSERT_EQ(pair.server.order.size(), expected.size());
    for (const auto& [stream, path] : expected) {
      EXPECT_EQ(pair.server.messages[stream].fields.find(":path"), path);
      EXPECT_EQ(pair.server.messages[stream].fields.find("cookie"), "secret");
      EXPECT_TRUE(pair.server.session.submit_response(
          stream, {{":status", "200"}, {"server", "sheaf"}, {"x-path", path}}, true));
      EXPECT_TRUE(pair.server.session.write_body(stream, chunk_of(path), true));
    }
    pair.run();
    for (const auto& [stream, path] : expected) {
      EXPECT_EQ(pair.client.messages[stream].fields.find("x-path"), path);
      EXPECT_EQ(pair.client.messages[stream].body, path);
      EXPECT_TRUE(pair.client.messages[stream].closed);
    }
    EXPECT_EQ(pair.client.session.open_requests(), 0u);
    EXPECT_EQ(pair.server.session.open_requests(), 0u);
  }
}

TEST(Session, OneReadTakesWhatCameInManyPiecesAndFrames) {
  SessionPair pair;
  pair.server.reading = false;
  const StreamId stream = request(pair.client, post("/upload"), true);
  const std::string upload = pattern(6000);
  for (std::size_t i = 0; i < upload.size(); i += 1000) {
    EXPECT_TRUE(pair.client.session.write_body(stream, chunk_of(upload.substr(i, 1000)), false));
  }
  pair.run();
  std::vector<std::uint8_t> out(8000);
  EXPECT_GE(pair.server.session.readable_body(stream), upload.size());
  const std::size_t size = pair.server.session.read_body(stream, out, Time{});
  EXPECT_EQ(text_of(Bytes(out).first(size)), upload);
  EXPECT_EQ(pair.server.session.readable_body(stream), 0u);

  // The rest is announced, since everything before it was read.
  pair.server.reading = pair.server.copying = true;
  EXPECT_TRUE(pair.client.session.write_body(stream, chunk_of("rest"), true));
  pair.run();
  EXPECT_EQ(pair.server.messages[stream].body, "rest");
  EXPECT_TRUE(pair.server.messages[stream].finished);
}

// Bytes left after a read are not announced again, because the reader knows them and reads again.
TEST(Session, APartialReadIsNotAnnouncedAgain) {
  SessionPair pair;
  pair.server.reading = false;
  const StreamId stream = request(pair.client, post("/upload"), true);
  EXPECT_TRUE(pair.client.session.write_body(stream, chunk_of(pattern(3000)), true));
  pair.run();
  std::vector<std::uint8_t> out(1000);
  for (const bool last : {false, false, true}) {
    EXPECT_EQ(pair.server.session.read_body(stream, out, Time{}), out.size());
    const auto event = pair.server.session.poll_event();
    EXPECT_EQ(event.has_value(), last);
    EXPECT_EQ(last, event && std::holds_alternative<MessageFinished>(*event));
  }
}

TEST(Session, UnreadBodyHoldsTheSenderBack) {
  SessionPair pair;
  pair.server.reading = false;
  const StreamId stream = request(pair.client, post("/"), true);
  const std::string body = pattern(200'000);
  std::size_t written = 0;
  // Writes as long as the session accepts. Returns false when the session never asked to continue.
  const auto write_while_wanted = [&] {
    bool any = false;
    while (std::exchange(pair.client.messages[stream].writable, false)) {
      any = true;
      bool more = true;
      while (more && written < body.size()) {
        more = *pair.client.session.write_body(stream, chunk_of(body.substr(written, 1000)), false);
        written += 1000;
      }
      pair.run();
    }
    return any;
  };
  pair.client.messages[stream].writable = true;
  write_while_wanted();
  EXPECT_LT(written, 20'000u);
  EXPECT_LE(pair.server.transport.unread(stream), 8192u + 64u);
  // When reading starts, the writer is told to continue, and all data arrives.
  pair.server.reading = true;
  pair.server.read_all(stream);
  pair.run();
  EXPECT_TRUE(write_while_wanted());
  EXPECT_EQ(written, body.size());
  EXPECT_TRUE(pair.client.session.write_body(stream, {}, true));
  pair.server.read_all(stream);
  pair.run();
  EXPECT_EQ(pair.server.messages[stream].body, body);
  EXPECT_TRUE(pair.server.messages[stream].finished);
}

TEST(Session, BodyChunksAreReleasedAndNeverCopied) {
  static int released = 0;
  released = 0;
  const std::string body = pattern(5000);
  {
    SessionPair pair;
    const StreamId stream = request(pair.client, post("/"), true);
    for (int i = 0; i < 5; ++i) {
      SendChunk chunk(
          bytes_of(body).subspan(1000 * i, 1000), [](void*) { ++released; }, nullptr);
      EXPECT_TRUE(pair.client.session.write_body(stream, std::move(chunk), i == 4));
    }
    EXPECT_EQ(released, 0);
    pair.run();
    EXPECT_EQ(pair.server.messages[stream].body, body);
    EXPECT_EQ(released, 5);
    const StreamId cancelled = request(pair.client, post("/"), true);
    SendChunk chunk(
        bytes_of(body), [](void*) { ++released; }, nullptr);
    EXPECT_TRUE(pair.client.session.write_body(cancelled, std::move(chunk), false));
    pair.client.session.reset(cancelled, value_of(ErrorCode::kRequestCancelled));
    EXPECT_EQ(released, 6);
  }
  EXPECT_EQ(released, 6);
}

TEST(Session, ResetsTravelBothWays) {
  SessionPair pair;
  const StreamId cancelled = request(pair.client, post("/c"), true);
  EXPECT_TRUE(pair.client.session.write_body(cancelled, chunk_of(pattern(100)), false));
  pair.run();
  pair.client.session.reset(cancelled, value_of(ErrorCode::kRequestCancelled));
  pair.run();
  EXPECT_EQ(pair.server.messages[cancelled].reset, value_of(ErrorCode::kRequestCancelled));
  EXPECT_TRUE(pair.server.messages[cancelled].stopped);

  const StreamId failed = request(pair.client, get("/f"));
  pair.run();
  EXPECT_TRUE(pair.server.session.submit_response(failed, {{":status", "200"}}, true));
  EXPECT_TRUE(pair.server.session.write_body(failed, chunk_of("half"), false));
  pair.run();
  pair.server.session.reset(failed, value_of(ErrorCode::kInternalError));
  pair.run();
  EXPECT_EQ(pair.client.messages[failed].body, "half");
  EXPECT_EQ(pair.client.messages[failed].reset, value_of(ErrorCode::kInternalError));
  EXPECT_FALSE(pair.client.messages[failed].finished);
  EXPECT_TRUE(pair.client.messages[failed].closed);
  EXPECT_EQ(pair.client.session.open_requests() + pair.server.session.open_requests(), 0u);
}

TEST(Session, ServerNeedsNoRequestBodyToAnswer) {
  SessionPair pair;
  const StreamId stream = request(pair.client, post("/"), true);
  EXPECT_FALSE(*pair.client.session.write_body(stream, chunk_of(pattern(6000)), false));
  pair.server.reading = false;
  pair.run();
  // RFC 9114 §4.1: H3_NO_ERROR asks the client to stop the upload; the response stays valid.
  pair.server.session.stop_reading(stream, value_of(ErrorCode::kNoError));
  EXPECT_TRUE(pair.server.session.submit_response(stream, {{":status", "413"}}, false));
  pair.run();
  EXPECT_EQ(pair.client.messages[stream].fields.find(":status"), "413");
  EXPECT_EQ(pair.client.messages[stream].stopped, value_of(ErrorCode::kNoError));
  EXPECT_TRUE(pair.client.messages[stream].finished);
  EXPECT_TRUE(pair.server.messages[stream].closed);
}

TEST(Session, PriorityFieldReachesTheTransport) {
  SessionPair pair;
  FieldSection fields = get("/image");
  fields.add({"priority", "u=5, i"});
  const StreamId stream = request(pair.client, fields);
  pair.run();
  EXPECT_EQ(pair.server.transport.priorities[stream], (StreamPriority{5, true}));
  EXPECT_EQ(pair.client.transport.priorities[stream], (StreamPriority{5, true}));
}

// RFC 9204 §2.1.2: fields wait for the instructions that they refer to. A browser requests a page
// with the highest urgency.
TEST(Session, NoRequestComesBeforeTheControlAndQpackStreams) {
  SessionPair pair;
  FieldSection fields = get("/");
  fields.add({"priority", "u=0"});
  const StreamId stream = request(pair.client, fields);
  pair.run();
  for (auto* end : {&pair.client, &pair.server}) {
    const Role role = end->transport.role();
    EXPECT_FALSE(end->transport.priorities[stream].ahead);
    for (std::uint64_t index = 0; index < 3; ++index) {
      const StreamId own = StreamId::make(role, Directionality::kUnidirectional, index);
      EXPECT_TRUE(end->transport.priorities[own].ahead) << own.value;
    }
  }
}

TEST(Session, ContentLengthReachesTheTransport) {
  SessionPair pair;
  const StreamId known = request(pair.client, get("/known"));
  const StreamId unknown = request(pair.client, get("/unknown"));
  pair.run();
  ASSERT_TRUE(pair.server.session.submit_response(
      known, {{":status", "200"}, {"content-length", "12345"}}, true));
  ASSERT_TRUE(pair.server.session.submit_response(
      unknown, {{":status", "200"}, {"content-length", "12x"}}, true));
  EXPECT_EQ(pair.server.transport.expected, (std::map<StreamId, std::uint64_t>{{known, 12345}}));
}

TEST(Session, PriorityUpdateOverridesTheFieldWhicheverComesFirst) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    SessionPair pair(seed);
    FieldSection fields = get("/");
    fields.add({"priority", "u=5"});
    const StreamId stream = request(pair.client, fields);
    EXPECT_TRUE(pair.client.session.request_priority(stream, {1, true}));
    pair.run();
    EXPECT_EQ(pair.server.transport.priorities[stream], (StreamPriority{1, true}));
  }
}

TEST(Session, FinalGoAwayFollowsTheAnnouncementAfterARoundTrip) {
  SessionPair pair;
  const StreamId served = request(pair.client, get("/early"));
  pair.run();
  const StreamId crossing = request(pair.client, get("/crossing"));
  pair.server.session.announce_shutdown();
  pair.server.session.announce_shutdown();
  pair.run();
  const std::vector<std::uint64_t> announced = {quic::k_max_varint - 3, crossing.value + 4};
  EXPECT_EQ(pair.client.go_aways, announced);
  EXPECT_FALSE(pair.client.session.submit_request(get("/no"), false));
  for (const StreamId stream : {served, crossing}) {
    EXPECT_TRUE(pair.server.session.submit_response(stream, {{":status", "200"}}, false));
  }
  pair.run();
  EXPECT_TRUE(pair.client.messages[served].finished);
  EXPECT_TRUE(pair.client.messages[crossing].finished);
  EXPECT_EQ(pair.server.session.open_requests(), 0u);
  // This client continues all the same.
  const StreamId late = *pair.client.transport.open_stream(Directionality::kBidirectional);
  EXPECT_TRUE(pair.client.transport.write(late, chunk_of({"\x01\x00", 2}), false));
  pair.run();
  EXPECT_FALSE(pair.server.messages.contains(late));
  EXPECT_EQ(pair.server.session.open_requests(), 0u);
}

TEST(Session, RequestsThatCrossGoAwayAreRejected) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    SessionPair pair(seed);
    const StreamId first = request(pair.client, get("/first"));
    pair.run();
    const StreamId late = request(pair.client, get("/late"));
    pair.server.session.shut_down();
    pair.run();
    EXPECT_EQ(pair.client.messages[late].reset, value_of(ErrorCode::kRequestRejected));
    EXPECT_FALSE(pair.server.messages.contains(late));
    EXPECT_TRUE(pair.server.session.submit_response(first, {{":status", "200"}}, false));
    pair.run();
    EXPECT_TRUE(pair.client.messages[first].finished);
    EXPECT_EQ(pair.client.session.open_requests() + pair.server.session.open_requests(), 0u);
  }
}

TEST(Session, RefusesWhatTheApplicationGetsWrong) {
  SessionPair pair;
  pair.run();
  const FieldSection invalid = {{":method", "GET"}, {"Upper-Case", "x"}};
  EXPECT_EQ(pair.client.session.submit_request(invalid, false).error(), Refusal::kInvalidField);
  FieldSection newline = get("/");
  newline.add({"x", "a\r\nb"});
  EXPECT_EQ(pair.client.session.submit_request(newline, false).error(), Refusal::kInvalidField);
  FieldSection large = get("/");
  large.add({"x", std::string(70'000, 'x')});
  EXPECT_EQ(pair.client.session.submit_request(large, false).error(), Refusal::kFieldsTooLarge);
  EXPECT_EQ(pair.server.session.submit_request(get("/"), false).error(), Refusal::kNotSupported);
  EXPECT_EQ(pair.server.session.submit_response({0}, {{":status", "200"}}, false).error(),
            Refusal::kUnknownStream);
  const StreamId stream = request(pair.client, get("/"));
  EXPECT_EQ(pair.client.session.write_body(stream, {}, true).error(), Refusal::kWrongState);
  pair.run();
  EXPECT_EQ(pair.server.session.write_body(stream, {}, true).error(), Refusal::kWrongState);
  EXPECT_FALSE(pair.client.transport.close_error);
  EXPECT_FALSE(pair.server.transport.close_error);
}

TEST(Session, WaitsForStreamCredit) {
  MemoryOptions options;
  options.max_bidirectional = 2;
  SessionPair pair(1, {}, options);
  request(pair.client, get("/1"));
  request(pair.client, get("/2"));
  EXPECT_EQ(pair.client.session.submit_request(get("/3"), false).error(), Refusal::kStreamLimit);
}

TEST(Session, OversizedFieldSectionCostsTheRequestOnly) {
  SessionConfig config;
  config.max_field_section_size = 1000;
  SessionPair pair(1, config);
  FieldSection fields = get("/");
  fields.add({"x", std::string(5000, 'x')});
  // Before SETTINGS arrive, the client does not know the limit.
  const StreamId stream = request(pair.client, fields);
  pair.run();
  EXPECT_EQ(pair.client.messages[stream].reset, value_of(ErrorCode::kExcessiveLoad));
  EXPECT_FALSE(pair.server.messages.contains(stream) &&
               !pair.server.messages[stream].fields.empty());
  const StreamId next = request(pair.client, get("/next"));
  pair.run();
  EXPECT_EQ(pair.server.messages[next].fields.find(":path"), "/next");
  EXPECT_FALSE(pair.server.transport.close_error);
}

TEST(Session, EarlyRequestsAreMarked) {
  SessionPair pair;
  pair.server.transport.early = true;
  const StreamId stream = request(pair.client, get("/"));
  pair.run();
  EXPECT_TRUE(pair.server.messages[stream].early);
}

SessionConfig with_datagrams() {
  SessionConfig config;
  config.extended_connect = true;
  config.datagrams = true;
  return config;
}

FieldSection extended_connect(std::string_view protocol) {
  return {{":method", "CONNECT"},
          {":protocol", protocol},
          {":scheme", "https"},
          {":authority", "localhost"},
          {":path", "/"}};
}

TEST(Session, ExtendedConnectAndDatagramsNeedNoWebTransport) {
  SessionPair pair(1, with_datagrams());
  EXPECT_EQ(pair.client.session.submit_request(extended_connect("x"), true).error(),
            Refusal::kNotReady);
  pair.run();
  EXPECT_TRUE(pair.client.session.peer_settings()->enable_connect_protocol);
  EXPECT_TRUE(pair.client.session.peer_settings()->datagrams);
  EXPECT_FALSE(pair.client.session.peer_settings()->webtransport.any());
  const StreamId stream = request(pair.client, extended_connect("connect-udp"), true);
  pair.run();
  EXPECT_EQ(pair.server.messages[stream].fields.find(":protocol"), "connect-udp");

  SessionPair plain;
  plain.run();
  EXPECT_EQ(plain.client.session.submit_request(extended_connect("x"), true).error(),
            Refusal::kNotSupported);
}

TEST(Session, HttpDatagramsFindTheirConsumer) {
  SessionPair pair(1, with_datagrams());
  EXPECT_FALSE(pair.client.session.datagrams().send({0}, bytes_of("too early"), 1));
  pair.run();
  const StreamId stream = request(pair.client, extended_connect("x"), true);
  const StreamId other = request(pair.client, extended_connect("x"), true);
  EXPECT_EQ(pair.client.session.datagrams().max_payload(stream), 1199u);
  // The first ones overtake their requests, which are not written yet.
  EXPECT_TRUE(pair.client.session.datagrams().send(stream, bytes_of("one"), 1));
  EXPECT_TRUE(pair.client.session.datagrams().send(other, bytes_of("other"), 2));
  EXPECT_TRUE(pair.client.session.datagrams().send({stream.value + 400}, bytes_of("none"), 3));
  pair.run();
  EXPECT_TRUE(pair.server.datagrams.empty());
  EXPECT_TRUE(pair.server.session.submit_response(stream, {{":status", "200"}}, true));
  pair.server.session.datagrams().claim(stream, pair.server);
  EXPECT_TRUE(pair.client.session.datagrams().send(stream, bytes_of("two"), 4));
  pair.run();
  ASSERT_EQ(pair.server.datagrams.size(), 2u);
  EXPECT_EQ(pair.server.datagrams[0], std::pair(stream, std::string("one")));
  EXPECT_EQ(pair.server.datagrams[1], std::pair(stream, std::string("two")));
}

// RFC 9297 §2.
TEST(Session, DatagramsThatNobodyUnderstandsCostTheirRequest) {
  SessionPair pair(1, with_datagrams());
  pair.run();
  const StreamId plain = request(pair.client, get("/"), true);
  const StreamId unclaimed = request(pair.client, extended_connect("x"), true);
  const StreamId ended = request(pair.client, get("/"), false);
  pair.run();
  EXPECT_TRUE(pair.server.session.submit_response(unclaimed, {{":status", "200"}}, true));
  EXPECT_TRUE(pair.server.session.submit_response(ended, {{":status", "200"}}, true));
  for (const StreamId stream : {plain, unclaimed, ended}) {
    EXPECT_TRUE(pair.client.session.datagrams().send(stream, bytes_of("?"), 1));
  }
  pair.run();
  for (const StreamId stream : {plain, unclaimed}) {
    EXPECT_EQ(pair.client.messages[stream].reset, value_of(ErrorCode::kDatagramError));
    EXPECT_EQ(pair.server.messages[stream].reset, value_of(ErrorCode::kDatagramError));
  }
  EXPECT_FALSE(pair.client.messages[ended].reset);
  EXPECT_FALSE(pair.server.transport.close_error);
}

TEST(Session, DatagramsThatWaitAreBounded) {
  SessionPair pair(1, with_datagrams());
  pair.run();
  const StreamId stream = request(pair.client, extended_connect("x"), true);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(pair.client.session.datagrams().send(stream, bytes_of("flood"), 1));
  }
  pair.run();
  EXPECT_TRUE(pair.server.session.submit_response(stream, {{":status", "200"}}, true));
  pair.server.session.datagrams().claim(stream, pair.server);
  EXPECT_EQ(pair.server.datagrams.size(), DatagramRouter::k_max_waiting);

  DatagramRouter router;
  const std::vector<std::uint8_t> large(8 << 10);
  for (int i = 0; i < 16; ++i) router.hold({StreamId{0}, large});
  EXPECT_EQ(router.waiting(), DatagramRouter::k_max_waiting_bytes / (8 << 10));
  router.release(StreamId{0});
  EXPECT_EQ(router.waiting(), 0u);
}

TEST(Session, RefusesWhatIsNoInterimResponseAndNoTrailer) {
  SessionPair pair;
  const StreamId stream = request(pair.client, get("/"));
  pair.run();
  Session& server = pair.server.session;
  for (const char* status : {"101", "200", "404"}) {
    EXPECT_EQ(server.submit_informational(stream, {{":status", status}}).error(),
              Refusal::kInvalidField);
  }
  EXPECT_EQ(server.submit_response(stream, {{":status", "103"}}, true).error(),
            Refusal::kInvalidField);
  EXPECT_TRUE(server.submit_response(stream, {{":status", "200"}}, true));
  EXPECT_EQ(server.submit_informational(stream, {{":status", "103"}}).error(),
            Refusal::kWrongState);
  EXPECT_EQ(server.submit_trailers(stream, {{"fine", "1"}, {":status", "200"}}).error(),
            Refusal::kInvalidField);
  EXPECT_TRUE(server.submit_trailers(stream, {{"fine", "1"}}));
  EXPECT_EQ(server.submit_trailers(stream, {{"again", "1"}}).error(), Refusal::kWrongState);
  pair.run();
  EXPECT_EQ(pair.client.messages[stream].trailers.find("fine"), "1");
}

TEST(Session, GivesUpOnInterimResponsesWithoutEnd) {
  SessionPair pair;
  const StreamId stream = request(pair.client, get("/"));
  pair.run();
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(pair.server.session.submit_informational(stream, {{":status", "102"}}));
  }
  pair.run();
  EXPECT_EQ(pair.client.messages[stream].reset, value_of(ErrorCode::kExcessiveLoad));
  EXPECT_EQ(pair.client.messages[stream].informational.size(), 64u);
  EXPECT_FALSE(pair.client.transport.close_error);
}

// Calls that were refused once ended the process.
TEST(MessageFraming, RefusesMessagesThatItCannotSend) {
  struct Silent final : MessageFraming::Listener {
    void on_field(StreamId, const Field&) override {}
    void on_fields_end(StreamId, bool) override {}
    void on_unblocked(StreamId, std::size_t) override {}
    void on_message_error(StreamId, std::uint64_t) override {}
    std::size_t next_body(StreamId, std::span<Bytes>, bool&) override { return 0; }
  } listener;
  MessageFraming client(Role::kClient, {}, listener);
  client.bind_qpack_streams({2}, {6});
  EXPECT_TRUE(client.submit_request({0}, get("/"), false));
  EXPECT_EQ(client.submit_request({0}, get("/"), false).error(), Refusal::kWrongState);
  EXPECT_EQ(client.submit_trailers({0}, {{"a", "b"}}).error(), Refusal::kWrongState);
  EXPECT_EQ(client.submit_trailers({4}, {{"a", "b"}}).error(), Refusal::kUnknownStream);
  MessageFraming server(Role::kServer, {}, listener);
  server.bind_qpack_streams({3}, {7});
  EXPECT_EQ(server.submit_response({0}, {{":status", "200"}}, false).error(),
            Refusal::kUnknownStream);
  EXPECT_EQ(server.submit_informational({0}, {{":status", "103"}}).error(),
            Refusal::kUnknownStream);
}

TEST(Session, DatagramWithoutStreamIdIsAnError) {
  SessionConfig config;
  config.webtransport = true;
  SessionPair pair(1, config);
  pair.run();
  pair.client.transport.send_datagram({}, 1);
  pair.run();
  EXPECT_EQ(pair.server.transport.close_error, value_of(ErrorCode::kDatagramError));
}

// Unread data waits in the transport, where flow control bounds it.
TEST(Session, RequestsWaitUntilTheConnectionHasMemoryForThem) {
  SessionPair pair;
  pair.run();
  const std::uint64_t each = RequestAdmission::k_request_memory;
  pair.network.end(Role::kServer).memory = 20 * each;
  std::vector<StreamId> streams;
  for (int i = 0; i < 50; ++i) streams.push_back(request(pair.client, get("/a")));
  pair.run();
  EXPECT_EQ(pair.server.order.size(), 20u);
  EXPECT_EQ(pair.network.end(Role::kServer).held, 20 * each);
  // They are read in the order of their arrival, as others end.
  std::size_t answered = 0;
  while (answered < streams.size()) {
    ASSERT_GT(pair.server.order.size(), answered);
    const StreamId next = pair.server.order[answered++];
    EXPECT_TRUE(pair.server.session.submit_response(next, {{":status", "204"}}, false));
    pair.run();
  }
  EXPECT_EQ(pair.server.order.size(), streams.size());
  EXPECT_EQ(pair.network.end(Role::kServer).held, 0u);
}

TEST(Session, RequestsThatTheEngineServesLeaveMemoryToOthers) {
  SessionPair pair;
  pair.run();
  const std::uint64_t each = RequestAdmission::k_request_memory;
  const std::uint64_t light = RequestAdmission::k_light_memory;
  auto& transport = pair.network.end(Role::kServer);
  transport.memory = 20 * each;
  for (int i = 0; i < 50; ++i) request(pair.client, get("/a"));
  pair.run();
  ASSERT_EQ(pair.server.order.size(), 20u);
  for (int twice = 0; twice < 2; ++twice) {
    for (std::size_t i = 0; i < 12; ++i)
      pair.server.session.datagrams().serve(pair.server.order[i], pair.server);
    pair.run();
    EXPECT_EQ(pair.server.order.size(), 29u);
    EXPECT_EQ(transport.held, 12 * light + 17 * each);
  }
  for (std::size_t answered = 0; answered < 50; ++answered) {
    ASSERT_GT(pair.server.order.size(), answered);
    const StreamId next = pair.server.order[answered];
    EXPECT_TRUE(pair.server.session.submit_response(next, {{":status", "204"}}, false));
    pair.run();
  }
  EXPECT_EQ(transport.held, 0u);
}

TEST(Session, AFewRequestsAreServedWhateverTheMemory) {
  SessionPair pair;
  pair.run();
  pair.network.end(Role::kServer).memory = 0;
  for (int i = 0; i < 50; ++i) request(pair.client, get("/a"));
  pair.run();
  EXPECT_EQ(pair.server.order.size(), RequestAdmission::k_least);
}

// RFC 9114 §4.1.1: a rejected client may send the request again, since nothing was done.
TEST(Session, OfAConnectionWithoutMemoryOnlySoManyRequestsWait) {
  MemoryOptions options;
  options.max_bidirectional = 1000;
  SessionPair pair(1, {}, options);
  pair.run();
  constexpr std::size_t k_kept = RequestAdmission::k_least + RequestAdmission::k_min_waiting;
  pair.network.end(Role::kServer).memory = 0;
  for (std::size_t i = 0; i < k_kept + 50; ++i) request(pair.client, get("/a"));
  pair.run();
  std::size_t rejected = 0;
  for (const auto& [stream, message] : pair.client.messages) {
    rejected += message.reset == value_of(ErrorCode::kRequestRejected);
  }
  EXPECT_EQ(rejected, 50u);
  // All other clients get their turn.
  std::size_t answered = 0;
  while (answered < pair.server.order.size()) {
    const StreamId next = pair.server.order[answered++];
    EXPECT_TRUE(pair.server.session.submit_response(next, {{":status", "204"}}, false));
    pair.run();
  }
  EXPECT_EQ(answered, k_kept);
  EXPECT_EQ(pair.server.session.open_requests(), 0u);
  EXPECT_FALSE(pair.network.end(Role::kServer).close_error);
}

TEST(Session, RequestsThatAreCancelledWhileTheyWaitLeaveNothing) {
  SessionPair pair;
  pair.run();
  pair.network.end(Role::kServer).memory = 0;
  std::vector<StreamId> streams;
  for (int i = 0; i < 50; ++i) streams.push_back(request(pair.client, get("/a")));
  pair.run();
  for (const StreamId stream : streams) pair.client.session.reset(stream, 0x10c);
  pair.run();
  for (const StreamId stream : pair.server.order) pair.server.session.reset(stream, 0x10c);
  pair.run();
  EXPECT_EQ(pair.server.session.open_requests(), 0u);
  EXPECT_EQ(pair.network.end(Role::kServer).held, 0u);
  EXPECT_FALSE(pair.network.end(Role::kServer).close_error);
}

// Cancels requests until the server closes the connection, at most 3,000. Returns how many.
int cancel_requests(SessionPair& pair) {
  pair.run();
  int cancelled = 0;
  for (; cancelled < 3000 && !pair.network.end(Role::kServer).close_error; ++cancelled) {
    const auto stream = pair.client.session.submit_request(get("/a"), false);
    if (!stream) break;
    pair.run();
    // nghttp3 takes no more than 4,096 bytes of cancellations between two responses.
    EXPECT_TRUE(pair.server.session.submit_response(*stream, {{":status", "200"}}, true));
    pair.client.session.reset(*stream, 0x10c);
    pair.run();
    pair.server.session.reset(*stream, 0x10c);
    pair.run();
  }
  return cancelled;
}

TEST(Session, AFloodOfCancelledRequestsEndsTheConnection) {
  MemoryOptions options;
  options.max_bidirectional = 5000;
  SessionPair pair(1, {}, options);
  EXPECT_GE(cancel_requests(pair), 1000);
  EXPECT_EQ(pair.network.end(Role::kServer).close_error,
            static_cast<std::uint64_t>(ErrorCode::kExcessiveLoad));
}

TEST(Session, APeerThatStandsForManyClientsMayCancelMoreRequests) {
  MemoryOptions options;
  options.max_bidirectional = 5000;
  SessionPair pair(1, {}, options);
  pair.server.session.permit_cancellations();
  EXPECT_EQ(cancel_requests(pair), 3000);
  EXPECT_FALSE(pair.network.end(Role::kServer).close_error);
}

// The process continues.
TEST(Session, AResponseThatCannotBeSubmittedIsRefused) {
  SessionPair pair;
  const StreamId stream = request(pair.client, get("/a"));
  pair.run();
  pair.server.session.stop_reading(stream, 0);
  pair.client.session.reset(stream, 0x10c);
  pair.run();
  EXPECT_FALSE(
      pair.server.session.submit_response({stream.value + 400}, {{":status", "200"}}, true));
  static_cast<void>(pair.server.session.submit_response(stream, {{":status", "200"}}, true));
  EXPECT_FALSE(pair.server.session.submit_response(stream, {{":status", "200"}}, true));
}

}  // namespace
}  // namespace sheaf::http3
