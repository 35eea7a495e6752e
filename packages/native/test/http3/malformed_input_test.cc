#include <gtest/gtest.h>

#include "http3/session_pair.h"

// One side is a session, and the other writes any bytes.

namespace sheaf::http3 {
namespace {

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i < hex.size();) {
    if (hex[i] == ' ') {
      ++i;
      continue;
    }
    bytes.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
    i += 2;
  }
  return bytes;
}

// A field section for GET https://localhost/ without the dynamic table; RFC 9204 appendix A has the
// static table.
constexpr std::string_view k_get_frame = "01 10 0000 d1 d7 c1 50 09 6c6f63616c686f7374";

struct Attack {
  explicit Attack(Role victim_role, bool webtransport = false, std::uint64_t seed = 1)
      : network(seed),
        victim(network, victim_role, config(webtransport), 2),
        attacker(network.peer(victim_role)) {
    victim.session.start(Time{});
    run();
  }
  static SessionConfig config(bool webtransport) {
    SessionConfig config;
    config.webtransport = webtransport;
    return config;
  }
  StreamId open(Directionality direction) { return *attacker.open_stream(direction); }
  StreamId write(Directionality direction, std::string_view hex, bool fin = false) {
    const StreamId stream = open(direction);
    EXPECT_TRUE(attacker.write(stream, chunk_of(from_hex(hex)), fin));
    return stream;
  }
  StreamId unidirectional(std::string_view hex, bool fin = false) {
    return write(Directionality::kUnidirectional, hex, fin);
  }
  StreamId bidirectional(std::string_view hex, bool fin = false) {
    return write(Directionality::kBidirectional, hex, fin);
  }
  void run() {
    bool more = true;
    while (more) {
      more = network.step();
      more = victim.drain() || more;
      while (const auto event = attacker.poll_event()) {
        const auto* stream = std::get_if<quic::StreamEvent>(&*event);
        if (!stream) continue;
        if (stream->kind == quic::StreamEvent::Kind::kReset) resets[stream->stream] = stream->value;
        if (stream->kind == quic::StreamEvent::Kind::kStopSending) {
          stops[stream->stream] = stream->value;
        }
      }
    }
  }
  std::optional<std::uint64_t> error() {
    run();
    return victim.transport.close_error;
  }

  MemoryNetwork network;
  Peer victim;
  MemoryNetwork::End& attacker;
  std::map<StreamId, std::uint64_t> resets;
  std::map<StreamId, std::uint64_t> stops;
};

struct Case {
  const char* name;
  std::string_view bytes;
  ErrorCode error;
};

TEST(MalformedInput, OnUnidirectionalStreamsOfAClient) {
  const Case cases[] = {
      {"DATA on control", "00 0400 00 01 78", ErrorCode::kFrameUnexpected},
      {"HEADERS on control", "00 0400 01 00", ErrorCode::kFrameUnexpected},
      {"HTTP/2 PING on control", "00 0400 06 00", ErrorCode::kFrameUnexpected},
      {"no SETTINGS first", "00 07 01 00", ErrorCode::kMissingSettings},
      {"unknown frame before SETTINGS", "00 21 00", ErrorCode::kMissingSettings},
      {"second SETTINGS", "00 0400 0400", ErrorCode::kFrameUnexpected},
      {"duplicate setting", "00 04 04 0105 0105", ErrorCode::kSettingsError},
      {"HTTP/2 setting", "00 04 02 0201", ErrorCode::kSettingsError},
      {"boolean setting of 2", "00 04 02 0802", ErrorCode::kSettingsError},
      {"truncated SETTINGS", "00 04 01 40", ErrorCode::kFrameError},
      {"SETTINGS too long", "00 04 80100000", ErrorCode::kExcessiveLoad},
      {"GOAWAY grows", "00 0400 070104 070108", ErrorCode::kIdError},
      {"GOAWAY with two values", "00 0400 07020404", ErrorCode::kFrameError},
      {"empty GOAWAY", "00 0400 0700", ErrorCode::kFrameError},
      {"MAX_PUSH_ID shrinks", "00 0400 0d0105 0d0104", ErrorCode::kIdError},
      {"CANCEL_PUSH of nothing", "00 0400 030100", ErrorCode::kIdError},
      {"PRIORITY_UPDATE of a push", "00 0400 800f0701 0100", ErrorCode::kIdError},
      {"PRIORITY_UPDATE of another kind", "00 0400 800f0700 0102", ErrorCode::kIdError},
      {"PRIORITY_UPDATE without an id", "00 0400 800f0700 00", ErrorCode::kFrameError},
      {"PRIORITY_UPDATE no dictionary", "00 0400 800f0700 04 00 7e7e7e",
       ErrorCode::kGeneralProtocolError},
      {"push stream of a client", "01 00", ErrorCode::kStreamCreationError},
      {"QPACK table too large", "02 3fffffff7f", ErrorCode::kQpackEncoderStreamError},
      {"QPACK name reference to nothing", "02 3fe11f bf ff7f 00",
       ErrorCode::kQpackEncoderStreamError},
      {"QPACK increment of 0", "03 00", ErrorCode::kQpackDecoderStreamError},
      {"QPACK acknowledgement of nothing", "03 84", ErrorCode::kQpackDecoderStreamError},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.name);
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      Attack attack(Role::kServer, false, seed);
      attack.unidirectional(test.bytes);
      const auto error = attack.error();
      ASSERT_TRUE(error);
      EXPECT_EQ(to_string(static_cast<ErrorCode>(*error)), to_string(test.error));
    }
  }
}

TEST(MalformedInput, OnRequestStreams) {
  const Case cases[] = {
      {"DATA first", "00 01 78", ErrorCode::kFrameUnexpected},
      {"SETTINGS", "04 00", ErrorCode::kFrameUnexpected},
      {"GOAWAY", "07 01 00", ErrorCode::kFrameUnexpected},
      {"PUSH_PROMISE", "05 01 00", ErrorCode::kFrameUnexpected},
      {"HTTP/2 PRIORITY", "02 00", ErrorCode::kFrameUnexpected},
      {"QPACK reference to nothing", "01 03 0200 80", ErrorCode::kQpackDecompressionFailed},
      {"QPACK static index too large", "01 05 0000 ff ff7f", ErrorCode::kQpackDecompressionFailed},
      {"ends in a frame header", "01", ErrorCode::kFrameError},
      {"ends in HEADERS", "01 10 0000 d1", ErrorCode::kFrameError},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.name);
    Attack attack(Role::kServer);
    attack.unidirectional("00 0400");
    attack.unidirectional("02");
    attack.bidirectional(test.bytes, true);
    const auto error = attack.error();
    if (std::string_view(test.name) == "QPACK reference to nothing") {
      // The table entry could still arrive, so the stream waits.
      EXPECT_FALSE(error);
      EXPECT_TRUE(attack.victim.messages.empty());
      continue;
    }
    ASSERT_TRUE(error);
    EXPECT_EQ(to_string(static_cast<ErrorCode>(*error)), to_string(test.error));
  }
}

TEST(MalformedInput, EndsInsideABodyFrame) {
  Attack attack(Role::kServer);
  attack.bidirectional(std::string(k_get_frame) + "00 05 6869", true);
  EXPECT_EQ(attack.error(), value_of(ErrorCode::kFrameError));
}

TEST(MalformedInput, BodyAfterTrailers) {
  Attack attack(Role::kServer);
  attack.bidirectional(std::string(k_get_frame) + "01 05 0000 27 00 61 00 01 78");
  EXPECT_TRUE(attack.error());
}

TEST(MalformedInput, ContentLengthThatIsNotKept) {
  // content-length: a literal with static name reference 4.
  const std::string post_frame = "01 14 0000 d4 d7 c1 50 09 6c6f63616c686f7374 54 02 3130";  // "10"
  const std::pair<const char*, bool> bodies[] = {
      {"", true}, {"00 03 616263", true}, {"00 0b 6162636465666768696a6b", false}};
  for (const auto& [body, fin] : bodies) {
    SCOPED_TRACE(body);
    Attack attack(Role::kServer);
    // RFC 9114 §4.1.2: a malformed message costs its stream, and no other.
    const StreamId other = attack.bidirectional(k_get_frame);
    const StreamId broken = attack.bidirectional(post_frame + body, fin);
    EXPECT_FALSE(attack.error());
    EXPECT_EQ(attack.resets[broken], value_of(ErrorCode::kMessageError));
    EXPECT_FALSE(attack.victim.messages[broken].finished);
    EXPECT_TRUE(attack.attacker.write(other, {}, true));
    EXPECT_FALSE(attack.error());
    EXPECT_TRUE(attack.victim.messages[other].finished);
  }
}

// RFC 9218 §4.
TEST(MalformedInput, PrioritiesThatMeanNothingAreIgnored) {
  const auto parse = [](std::string_view text) {
    return MessageFraming::parse_priority(
        {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  };
  const StreamPriority usual;
  for (const char* text : {"", "u=9", "u=-1", "u=1.5", "i=3", "u=\"1\"", "u=8, i=0", "x=1, u=99"}) {
    EXPECT_EQ(parse(text), usual) << text;
  }
  EXPECT_EQ(parse("u=9, i"), (StreamPriority{usual.urgency, true}));
  EXPECT_EQ(parse("i=7,u=1"), (StreamPriority{1, false}));
  EXPECT_EQ(parse("u=2,i"), (StreamPriority{2, true}));
  for (const char* text : {"~~~", "U=1", "u=9, \xff"}) EXPECT_EQ(parse(text), std::nullopt);

  Attack attack(Role::kServer);
  attack.unidirectional("00 0400 800f0700 07 00 75 3d 39 2c 20 69");  // stream 0, "u=9, i"
  EXPECT_FALSE(attack.error());
}

TEST(MalformedInput, CostsTheStreamWhereTheMessageIsWrong) {
  const std::pair<const char*, ErrorCode> cases[] = {
      {"", ErrorCode::kRequestIncomplete},
      {"21 03 616263", ErrorCode::kRequestIncomplete},       // only an unknown frame
      {"01 03 0000 d1", ErrorCode::kMessageError},           // no :scheme, :path
      {"01 05 0000 d1 d1 d7", ErrorCode::kMessageError},     // :method twice
      {"01 06 0000 22 41 62 00", ErrorCode::kMessageError},  // "Ab" as a name
  };
  for (const auto& [bytes, expected] : cases) {
    SCOPED_TRACE(bytes);
    Attack attack(Role::kServer);
    const StreamId broken = attack.bidirectional(bytes, true);
    EXPECT_FALSE(attack.error());
    EXPECT_EQ(attack.resets[broken], value_of(expected));
    EXPECT_TRUE(attack.victim.messages.empty());
    EXPECT_EQ(attack.victim.session.open_requests(), 0u);
    // The connection continues.
    const StreamId next = attack.bidirectional(k_get_frame, true);
    EXPECT_FALSE(attack.error());
    EXPECT_EQ(attack.victim.messages[next].fields.find(":path"), "/");
  }
}

TEST(MalformedInput, UnknownFramesAndStreamsAreIgnored) {
  Attack attack(Role::kServer);
  attack.unidirectional("00 0400 21 03 616263 4040 00");
  const StreamId unknown = attack.unidirectional("40 ff 68656c6c6f");
  const StreamId request =
      attack.bidirectional("21 02 6869" + std::string(k_get_frame) + "4040 01 00", true);
  EXPECT_FALSE(attack.error());
  EXPECT_EQ(attack.stops[unknown], value_of(ErrorCode::kStreamCreationError));
  EXPECT_EQ(attack.victim.messages[request].fields.find(":authority"), "localhost");
  EXPECT_TRUE(attack.victim.messages[request].finished);
}

TEST(MalformedInput, CriticalStreamsMustLast) {
  for (const std::string_view bytes : {"00 0400", "00", "02", "03"}) {
    SCOPED_TRACE(bytes);
    Attack ended(Role::kServer);
    ended.unidirectional(bytes, true);
    EXPECT_EQ(ended.error(), value_of(ErrorCode::kClosedCriticalStream));

    Attack reset(Role::kServer);
    const StreamId stream = reset.unidirectional(bytes);
    EXPECT_FALSE(reset.error());
    reset.attacker.reset_stream(stream, 0);
    EXPECT_EQ(reset.error(), value_of(ErrorCode::kClosedCriticalStream));

    Attack second(Role::kServer);
    second.unidirectional(bytes);
    second.unidirectional(bytes);
    EXPECT_EQ(second.error(), value_of(ErrorCode::kStreamCreationError));
  }
  Attack refused(Role::kServer);
  refused.attacker.stop_sending(StreamId::make(Role::kServer, Directionality::kUnidirectional, 0),
                                0);
  EXPECT_EQ(refused.error(), value_of(ErrorCode::kClosedCriticalStream));
}

TEST(MalformedInput, OfAServer) {
  const Case cases[] = {
      {"MAX_PUSH_ID", "00 0400 0d0105", ErrorCode::kFrameUnexpected},
      {"PRIORITY_UPDATE", "00 0400 800f0700 0100", ErrorCode::kFrameUnexpected},
      {"GOAWAY of no request", "00 0400 070101", ErrorCode::kIdError},
      {"push stream", "01 00", ErrorCode::kIdError},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.name);
    Attack attack(Role::kClient);
    attack.unidirectional(test.bytes);
    const auto error = attack.error();
    ASSERT_TRUE(error);
    EXPECT_EQ(to_string(static_cast<ErrorCode>(*error)), to_string(test.error));
  }
  Attack bidirectional(Role::kClient);
  bidirectional.bidirectional("01 00");
  EXPECT_EQ(bidirectional.error(), value_of(ErrorCode::kStreamCreationError));
  Attack no_webtransport_prefix(Role::kClient, true);
  no_webtransport_prefix.bidirectional("01 00");
  EXPECT_EQ(no_webtransport_prefix.error(), value_of(ErrorCode::kStreamCreationError));
}

TEST(MalformedInput, ResponsesThatAreNone) {
  const std::pair<const char*, ErrorCode> cases[] = {
      {"", ErrorCode::kMessageError},
      {"01 03 0000 c1", ErrorCode::kMessageError},  // :path in a response
      {"01 03 0000 d8", ErrorCode::kMessageError},  // 103 and no final response
  };
  for (const auto& [bytes, expected] : cases) {
    SCOPED_TRACE(bytes);
    Attack attack(Role::kClient);
    const auto stream = attack.victim.session.submit_request(get("/"), false);
    ASSERT_TRUE(stream);
    attack.run();
    EXPECT_TRUE(attack.attacker.write(*stream, chunk_of(from_hex(bytes)), true));
    attack.run();
    EXPECT_EQ(attack.victim.messages[*stream].reset, value_of(expected));
  }
}

TEST(MalformedInput, WebTransportFrameInsideARequest) {
  Attack attack(Role::kServer, true);
  attack.bidirectional(std::string(k_get_frame) + "40 41 00");
  EXPECT_EQ(attack.error(), value_of(ErrorCode::kFrameError));
}

TEST(MalformedInput, WebTransportStreamsWithoutWebTransport) {
  Attack attack(Role::kServer);
  const StreamId stream = attack.unidirectional("40 54 00 6869");
  EXPECT_FALSE(attack.error());
  EXPECT_EQ(attack.stops[stream], value_of(ErrorCode::kStreamCreationError));
}

// RFC 9204 §2.1.2: a request that needs table entries waits for them, and so does its end.
TEST(Qpack, RequestWaitsForItsTableEntry) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Attack attack(Role::kServer, false, seed);
    const StreamId encoder = attack.unidirectional("02 3fe11f");
    const StreamId request =
        attack.bidirectional("01 11 0200 d1 d7 c1 50 09 6c6f63616c686f7374 80 00 02 6869", true);
    EXPECT_FALSE(attack.error());
    EXPECT_FALSE(attack.victim.messages.contains(request));
    // RFC 9204 appendix B.4: custom-key: custom-value.
    EXPECT_TRUE(attack.attacker.write(
        encoder, chunk_of(from_hex("4a637573746f6d2d6b65790c637573746f6d2d76616c7565")), false));
    EXPECT_FALSE(attack.error());
    const Message& message = attack.victim.messages[request];
    EXPECT_EQ(message.fields.find("custom-key"), "custom-value");
    EXPECT_EQ(message.body, "hi");
    EXPECT_TRUE(message.finished);
  }
}

TEST(Qpack, BlockedRequestMayBeReset) {
  Attack attack(Role::kServer);
  const StreamId encoder = attack.unidirectional("02 3fe11f");
  const StreamId request = attack.bidirectional("01 11 0200 d1 d7 c1 50 09 6c6f63616c686f7374 80");
  attack.run();
  attack.attacker.reset_stream(request, value_of(ErrorCode::kRequestCancelled));
  attack.run();
  EXPECT_TRUE(attack.attacker.write(
      encoder, chunk_of(from_hex("4a637573746f6d2d6b65790c637573746f6d2d76616c7565")), false));
  EXPECT_FALSE(attack.error());
  EXPECT_TRUE(attack.victim.messages.empty());
  EXPECT_EQ(attack.victim.session.open_requests(), 0u);
}

TEST(Qpack, TooManyBlockedRequestsAreAnError) {
  Attack attack(Role::kServer);
  attack.unidirectional("02 3fe11f");
  for (int i = 0; i < 17; ++i) {
    attack.bidirectional("01 11 0200 d1 d7 c1 50 09 6c6f63616c686f7374 80");
  }
  EXPECT_EQ(attack.error(), value_of(ErrorCode::kQpackDecompressionFailed));
}

// The same request, cut at every length, must neither count as complete nor cause another error.
TEST(Truncation, OfARequestAtEveryLength) {
  const std::string whole = from_hex(std::string(k_get_frame) + "00 05 68656c6c6f");
  for (std::size_t length = 0; length <= whole.size(); ++length) {
    SCOPED_TRACE(length);
    Attack attack(Role::kServer);
    const StreamId stream = attack.open(Directionality::kBidirectional);
    EXPECT_TRUE(attack.attacker.write(stream, chunk_of(whole.substr(0, length)), true));
    const auto error = attack.error();
    const bool at_boundary = length == 0 || length == 18 || length == whole.size();
    EXPECT_EQ(error.has_value(), !at_boundary);
    if (error) {
      EXPECT_EQ(error, value_of(ErrorCode::kFrameError));
    }
    EXPECT_EQ(attack.victim.messages[stream].finished, at_boundary && length > 0);
  }
}

// RFC 9297 §2.1.1.
TEST(MalformedInput, HttpDatagramsWithoutThoseOfQuic) {
  for (const std::size_t max_datagram : {0, 1200}) {
    MemoryNetwork network(1, {.max_datagram = max_datagram});
    Peer victim(network, Role::kServer, {}, 2);
    victim.session.start(Time{});
    MemoryNetwork::End& attacker = network.peer(Role::kServer);
    const StreamId control = *attacker.open_stream(Directionality::kUnidirectional);
    EXPECT_TRUE(attacker.write(control, chunk_of(from_hex("00 04 02 3301")), false));
    while (network.step() || victim.drain()) {
    }
    if (max_datagram == 0) {
      EXPECT_EQ(victim.transport.close_error, value_of(ErrorCode::kSettingsError));
    } else {
      EXPECT_FALSE(victim.transport.close_error);
    }
  }
}

// draft-ietf-webtrans-http3-16 §3.1.
TEST(MalformedInput, AVariantOfWebTransportThatThereIsNot) {
  Attack attack(Role::kClient, true);
  attack.unidirectional("00 04 05 ac7cf000 02");
  EXPECT_EQ(attack.error(), value_of(ErrorCode::kSettingsError));
}

// RFC 9114 §4.3. The section is `:status: 200`, index 25 of the static table.
TEST(MalformedInput, TrailersWithPseudoFields) {
  Attack attack(Role::kServer);
  const StreamId stream = attack.open(Directionality::kBidirectional);
  const std::string bytes = from_hex(k_get_frame) + from_hex("00 01 78 01 03 0000 d9");
  EXPECT_TRUE(attack.attacker.write(stream, chunk_of(bytes), true));
  attack.run();
  EXPECT_FALSE(attack.error());
  EXPECT_EQ(attack.resets[stream], value_of(ErrorCode::kMessageError));
}

}  // namespace
}  // namespace sheaf::http3
