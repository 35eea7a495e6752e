// Tests responses whose body another node sends. Here the test writes that body, straight to the
// transport.

#include <gtest/gtest.h>

#include "http3/encoded_head.h"
#include "http3/session_pair.h"

namespace sheaf::http3 {
namespace {

std::string body_of(std::size_t size) {
  std::string text(size, 0);
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + i * 7 % 26);
  return text;
}

FieldSection response() {
  return {{":status", "200"}, {"content-type", "text/html"}, {"etag", "\"abc\""}};
}

std::vector<std::uint8_t> head_of(const FieldSection& fields) {
  const auto head = encode_head(fields);
  EXPECT_TRUE(head);
  return head.value_or(std::vector<std::uint8_t>{});
}

class HandedOff : public testing::Test {
 protected:
  static StreamId request(SessionPair& pair) {
    const auto stream = pair.client.session.submit_request(get("/a"), false);
    EXPECT_TRUE(stream);
    pair.run();
    return *stream;
  }
  static void write_elsewhere(SessionPair& pair, StreamId stream, std::string_view body, bool fin) {
    EXPECT_TRUE(pair.server.transport.write(stream, chunk_of(body), fin));
  }
  const std::vector<std::uint8_t> head_ = head_of(response());
};

TEST_F(HandedOff, HeadAndBodyAreAResponse) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    SessionPair pair(seed);
    const StreamId stream = request(pair);
    EXPECT_TRUE(pair.server.session.submit_informational(stream, {{":status", "103"}}));
    const std::string body = body_of(seed * 700);
    ASSERT_TRUE(pair.server.session.hand_off(stream, head_, body.size()));
    EXPECT_EQ(pair.server.transport.expected[stream],
              framed_size(head_.size(), body.size()) + body.size());
    if (seed % 2 == 0) pair.run();
    write_elsewhere(pair, stream, body, true);
    pair.run();
    const Message& message = pair.client.messages[stream];
    ASSERT_EQ(message.informational.size(), 1u);
    EXPECT_EQ(message.fields.find(":status"), "200");
    EXPECT_EQ(message.fields.find("etag"), "\"abc\"");
    EXPECT_EQ(message.body, body);
    EXPECT_TRUE(message.finished);
    EXPECT_TRUE(message.closed);
    EXPECT_TRUE(pair.server.messages[stream].closed);
    EXPECT_EQ(pair.server.session.open_requests(), 0u);
    EXPECT_FALSE(pair.client.transport.close_error) << pair.client.transport.close_reason;

    // nghttp3 goes on with other streams.
    const StreamId next = request(pair);
    ASSERT_TRUE(pair.server.session.submit_response(next, {{":status", "204"}}, false));
    pair.run();
    EXPECT_TRUE(pair.client.messages[next].finished);
  }
}

// Frames of reserved types mean nothing (RFC 9114 §7.2.8).
TEST_F(HandedOff, PaddingMeansNothing) {
  const std::string body = body_of(100);
  const std::size_t size = framed_size(head_.size(), body.size()) + body.size();
  for (const std::size_t padding : {0, 2, 3, 65, 66, 67, 500, 1400}) {
    SCOPED_TRACE(padding);
    EXPECT_EQ(padded_size(size, size + padding), size + padding);
    const auto frame = padding_frame(padding);
    ASSERT_EQ(frame.size(), padding);
    SessionPair pair;
    const StreamId stream = request(pair);
    ASSERT_TRUE(pair.server.session.hand_off(stream, head_, body.size()));
    write_elsewhere(pair, stream, body, false);
    write_elsewhere(pair, stream, std::string(frame.begin(), frame.end()), true);
    pair.run();
    EXPECT_EQ(pair.client.messages[stream].body, body);
    EXPECT_TRUE(pair.client.messages[stream].finished);
    EXPECT_FALSE(pair.client.transport.close_error) << pair.client.transport.close_reason;
  }
  EXPECT_EQ(padded_size(size, size - 1), size);
  EXPECT_EQ(padded_size(size, size + 1), size) << "a frame takes 2 bytes";
}

TEST_F(HandedOff, AResponseWithoutABodyEndsAtOnce) {
  SessionPair pair;
  const StreamId stream = request(pair);
  ASSERT_TRUE(pair.server.session.hand_off(stream, head_, 0));
  pair.run();
  EXPECT_TRUE(pair.client.messages[stream].finished);
  EXPECT_EQ(pair.client.messages[stream].body, "");
  EXPECT_TRUE(pair.server.messages[stream].closed);
}

TEST_F(HandedOff, ABodyOfUnknownLengthHasFramesOfItsOwn) {
  SessionPair pair;
  const StreamId stream = request(pair);
  ASSERT_TRUE(pair.server.session.hand_off(stream, head_, std::nullopt));
  EXPECT_FALSE(pair.server.transport.expected.contains(stream));
  for (const std::string& part : {body_of(50), body_of(9)}) {
    write_elsewhere(pair, stream, std::string{0, static_cast<char>(part.size())} + part, false);
  }
  write_elsewhere(pair, stream, "", true);
  pair.run();
  EXPECT_EQ(pair.client.messages[stream].body, body_of(50) + body_of(9));
  EXPECT_TRUE(pair.client.messages[stream].finished);
}

TEST_F(HandedOff, ThisNodeWritesTheRest) {
  SessionPair pair;
  const StreamId stream = request(pair);
  const std::string body = body_of(30'000);
  ASSERT_TRUE(pair.server.session.hand_off(stream, head_, body.size()));
  const std::size_t start = framed_size(head_.size(), body.size());
  write_elsewhere(pair, stream, body.substr(0, 1000), false);
  const auto early = pair.server.session.write_instead(stream, start, chunk_of("x"), false);
  EXPECT_EQ(early.error(), Refusal::kWrongState) << "those bytes are in the transport";
  for (std::size_t at = 1000; at < body.size(); at += 5000) {
    const std::string part = body.substr(at, 5000);
    const auto room = pair.server.session.write_instead(stream, start + at, chunk_of(part),
                                                        at + part.size() == body.size());
    ASSERT_TRUE(room);
    const bool full = part.size() >= MemoryOptions{}.send_buffer;
    EXPECT_EQ(*room, !full);
    pair.server.messages[stream].writable = false;
    pair.run();
    EXPECT_TRUE(pair.server.messages[stream].writable || pair.server.messages[stream].closed);
  }
  EXPECT_EQ(pair.client.messages[stream].body, body);
  EXPECT_TRUE(pair.client.messages[stream].finished);
}

TEST_F(HandedOff, TheClientCancels) {
  SessionPair pair;
  const StreamId stream = request(pair);
  ASSERT_TRUE(pair.server.session.hand_off(stream, head_, 50'000));
  write_elsewhere(pair, stream, body_of(1000), false);
  pair.run();
  pair.client.session.reset(stream, value_of(ErrorCode::kRequestCancelled));
  pair.run();
  EXPECT_EQ(pair.server.messages[stream].stopped, value_of(ErrorCode::kRequestCancelled));
  EXPECT_TRUE(pair.server.messages[stream].closed);
  EXPECT_TRUE(pair.client.messages[stream].closed);
  const auto late = pair.server.session.write_instead(stream, 0, chunk_of("x"), false);
  EXPECT_EQ(late.error(), Refusal::kUnknownStream);
}

TEST_F(HandedOff, TheServerResets) {
  SessionPair pair;
  const StreamId stream = request(pair);
  ASSERT_TRUE(pair.server.session.hand_off(stream, head_, 50'000));
  write_elsewhere(pair, stream, body_of(1000), false);
  pair.run();
  pair.server.session.reset(stream, value_of(ErrorCode::kInternalError));
  pair.run();
  EXPECT_EQ(pair.client.messages[stream].reset, value_of(ErrorCode::kInternalError));
  EXPECT_TRUE(pair.server.messages[stream].closed);
}

TEST_F(HandedOff, TheConnectionCloses) {
  SessionPair pair;
  const StreamId stream = request(pair);
  const StreamId other = request(pair);
  ASSERT_TRUE(pair.server.session.hand_off(stream, head_, 50'000));
  pair.server.session.on_event(quic::ConnectionClosed{}, Time{});
  EXPECT_TRUE(pair.server.take_events());
  EXPECT_TRUE(pair.server.closed);
  EXPECT_EQ(pair.server.session.hand_off(other, head_, 10).error(), Refusal::kConnectionClosed);
  EXPECT_EQ(pair.server.session.write_instead(stream, 0, chunk_of("x"), false).error(),
            Refusal::kConnectionClosed);
}

TEST_F(HandedOff, WhatIsRefused) {
  SessionPair pair;
  const StreamId stream = request(pair);
  Session& server = pair.server.session;
  EXPECT_EQ(pair.client.session.hand_off(stream, head_, 1).error(), Refusal::kNotSupported);
  EXPECT_EQ(server.hand_off({400}, head_, 1).error(), Refusal::kUnknownStream);
  EXPECT_EQ(server.write_instead(stream, 0, {}, false).error(), Refusal::kWrongState);
  // RFC 9204 §4.5.1: a Required Insert Count, a base, nothing behind them.
  for (std::size_t byte : {0, 1}) {
    std::vector<std::uint8_t> head = head_;
    head[byte] = 1;
    EXPECT_EQ(server.hand_off(stream, head, 1).error(), Refusal::kInvalidField);
  }
  EXPECT_EQ(server.hand_off(stream, Bytes(head_).first(2), 1).error(), Refusal::kInvalidField);
  const std::vector<std::uint8_t> large(k_max_encoded_head + 1);
  EXPECT_EQ(server.hand_off(stream, large, 1).error(), Refusal::kFieldsTooLarge);
  ASSERT_TRUE(server.hand_off(stream, head_, 1)) << "nothing has changed so far";
  EXPECT_EQ(server.hand_off(stream, head_, 1).error(), Refusal::kWrongState);
  EXPECT_EQ(server.write_body(stream, chunk_of("x"), true).error(), Refusal::kWrongState);
  EXPECT_EQ(server.submit_response(stream, response(), true).error(), Refusal::kWrongState);
  EXPECT_EQ(server.submit_trailers(stream, {{"a", "b"}}).error(), Refusal::kWrongState);
}

// --- the head -----------------------------------------------------------------------------------

TEST_F(HandedOff, AHeadNeedsNoTable) {
  FieldSection fields = response();
  for (int i = 0; i < 40; ++i) fields.add({"x-field", "a value that is worth a place in a table"});
  fields.add({"set-cookie", "secret", true});
  const std::vector<std::uint8_t> head = head_of(fields);
  EXPECT_TRUE(refers_to_no_table(head));
  SessionPair pair;
  const StreamId stream = request(pair);
  ASSERT_TRUE(pair.server.session.hand_off(stream, head, 0));
  pair.run();
  const FieldSection& received = pair.client.messages[stream].fields;
  ASSERT_EQ(received.size(), fields.size());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    EXPECT_EQ(received[i].name, fields[i].name);
    EXPECT_EQ(received[i].value, fields[i].value);
    EXPECT_EQ(received[i].sensitive, fields[i].sensitive);
  }
}

TEST_F(HandedOff, HeadsThatAreNotEncoded) {
  EXPECT_FALSE(encode_head({{":status", "200"}, {"Upper", "case"}}));
  EXPECT_FALSE(encode_head({{":status", "200"}, {"line", "feed\n"}}));
  // Characters that Huffman coding does not shorten.
  const std::string large(k_max_encoded_head, '~');
  EXPECT_FALSE(encode_head({{":status", "200"}, {"x-large", large}}));
  EXPECT_TRUE(encode_head({{":status", "200"}, {"x-large", large.substr(0, 8000)}}));
}

TEST_F(HandedOff, TheSizeOfAFramedHeadIsKnownBefore) {
  for (const std::size_t head : {3, 63, 64, 8192}) {
    for (const std::uint64_t body : {0ull, 1ull, 63ull, 64ull, 16383ull, 16384ull, 1ull << 40}) {
      const std::vector<std::uint8_t> bytes(head);
      EXPECT_EQ(frame_head(bytes, body).size(), framed_size(head, body));
    }
    EXPECT_EQ(frame_head(std::vector<std::uint8_t>(head), {}).size(), framed_size(head, {}));
  }
}

}  // namespace
}  // namespace sheaf::http3
