#include <gtest/gtest.h>

#include "channel_authentication/timed_source.h"
#include "channel_request/request_pair.h"

namespace sheaf::channel_request {
namespace {

using http3::ErrorCode;
using http3::value_of;
using quic::LeaveReason;
using quic::ListenState;

std::string text(std::size_t size) {
  std::string out(size, 'x');
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<char>('a' + i % 23);
  return out;
}

// Datagrams that fit into the path, and some that travel as capsules since they do not
class CopiesTest : public testing::TestWithParam<std::size_t> {};

TEST_P(CopiesTest, BringAGroup) {
  RequestPair pair(copies_offer(), GetParam());
  pair.watch();
  pair.serve();
  pair.run(50ms);
  ASSERT_TRUE(pair.at_receiver->receiver());
  const auto group = *pair.source.open_group();
  const std::string sent = text(100'000);
  EXPECT_EQ(pair.source.write(group, http3::bytes_of(sent), true).bytes, sent.size());
  pair.run(500ms);
  EXPECT_EQ(read_group(*pair.at_receiver, group), sent);
  EXPECT_EQ(pair.at_receiver->receiver()->counts().from_group, 0u);
  EXPECT_GT(pair.at_receiver->receiver()->counts().from_unicast, sent.size() / 1350);
}

INSTANTIATE_TEST_SUITE_P(Paths, CopiesTest, testing::Values(1400, 600),
                         [](const auto& parameter) { return std::to_string(parameter.param); });

TEST(ChannelRequest, NoDatagramComesBeforeTheReceiverWantsTheChannel) {
  RequestPair pair;
  const auto group = *pair.source.open_group();
  pair.source.write(group, http3::bytes_of("early"), true);
  pair.serve();
  pair.run(200ms);
  // The client has a request without a consumer of datagrams, which one would have reset.
  EXPECT_FALSE(pair.http.client.messages[pair.stream].reset);
  EXPECT_EQ(pair.source.counts().copies, 0u);
  pair.watch();
  pair.run(200ms);
  EXPECT_FALSE(pair.at_receiver->over());
  EXPECT_GT(pair.at_receiver->receiver()->counts().from_unicast, 0u);
}

TEST(ChannelRequest, PacketsOfTheGroupEndCopies) {
  quic::ChannelOffer offer = copies_offer();
  offer.group = quic::example_offer().group;
  RequestPair pair(offer);
  pair.watch();
  pair.serve();
  pair.run(50ms);
  pair.at_receiver->on_joined();
  pair.run(50ms);
  EXPECT_EQ(pair.at_receiver->receiver()->state(), ListenState::kJoined);
  const auto group = *pair.source.open_group();
  pair.source.write(group, http3::bytes_of(text(20'000)), false);
  const Bytes packets = pair.source.poll_transmit(1, pair.now);
  ASSERT_FALSE(packets.empty());
  pair.at_receiver->on_group_packet(packets, pair.now);
  pair.settle();
  EXPECT_EQ(pair.at_receiver->receiver()->state(), ListenState::kReceiving);
  const auto copies = pair.source.counts().copies;
  while (!pair.source.poll_transmit(32, pair.now).empty()) pair.settle();
  EXPECT_EQ(pair.source.counts().copies, copies);
}

// A channel of the scheme `timed`, whose source has another clock than the receiver
struct TimedRequest {
  TimedRequest() {
    pair.watch();
    pair.serve();
  }
  static quic::ChannelOffer offer() {
    quic::ChannelOffer offer = copies_offer();
    offer.group = quic::example_offer().group;
    return offer;
  }
  std::unique_ptr<quic::Authenticator> proof() {
    const quic::ClockSkew skew{.ahead = 1h};
    return std::make_unique<quic::SkewedAuthenticator>(
        std::make_unique<quic::TimedSource>(
            quic::k_test_channel, quic::TimedSchedule{.start = quic::Time{1h}, .interval = 50ms},
            chain),
        skew);
  }
  // Lets time pass. The group brings what the source sends.
  void run(quic::Duration time) {
    for (const quic::Time end = pair.now + time; pair.now < end; pair.now += 10ms) {
      pair.source.on_timeout(pair.now);
      for (Bytes packet; !(packet = pair.source.poll_transmit(1, pair.now)).empty();) {
        pair.at_receiver->on_group_packet(packet, pair.now);
      }
      pair.at_receiver->on_timeout(pair.now);
      pair.settle();
    }
  }
  quic::ChannelReceiver& receiver() { return *pair.at_receiver->receiver(); }

  quic::KeyChain chain{quic::k_test_channel, quic::ChainKey{6}};
  RequestPair pair{offer(), 1400, proof()};
};

TEST(ChannelRequest, PacketsOfATimedChannelAreProvenOnceTheSourceToldItsTime) {
  TimedRequest timed;
  timed.pair.settle();
  timed.pair.at_receiver->on_joined();
  timed.run(1s);
  EXPECT_EQ(timed.receiver().state(), ListenState::kReceiving);
  const auto group = *timed.pair.source.open_group();
  const std::string sent = text(20'000);
  const auto copies = timed.pair.source.counts().copies;
  timed.pair.source.write(group, http3::bytes_of(sent), true);
  timed.run(300ms);
  EXPECT_EQ(read_group(*timed.pair.at_receiver, group), sent);
  EXPECT_EQ(timed.pair.source.counts().copies, copies);
  EXPECT_EQ(timed.receiver().counts().forged, 0u);
}

// Keeps the nonces of responses about the source's clock.
class ClockResponses final : public http3::DatagramConsumer {
 public:
  std::vector<std::uint64_t> nonces;

 private:
  void on_datagram(http3::HttpDatagram datagram) override {
    const auto read = quic::decode_channel_datagram(datagram.payload);
    if (!read) return;
    if (const auto* clock = std::get_if<quic::ChannelClock>(&*read)) nonces.push_back(clock->nonce);
  }
};

// One nonce waits for a response, whatever a receiver asks.
TEST(ChannelRequest, QueriesThatComeTogetherHaveOneResponse) {
  TimedRequest timed;
  timed.pair.at_receiver.reset();
  ClockResponses responses;
  timed.pair.http.client.session.datagrams().claim(timed.pair.stream, responses);
  std::array<std::uint8_t, quic::k_max_clock_message> bytes;
  for (std::uint64_t nonce = 1; nonce <= 100; ++nonce) {
    quic::Writer out(bytes);
    quic::write_clock_query(out, {nonce});
    ASSERT_TRUE(
        timed.pair.http.client.session.datagrams().send(timed.pair.stream, out.written(), 0));
  }
  timed.pair.settle();
  EXPECT_EQ(responses.nonces, std::vector<std::uint64_t>{100});
}

struct Refusal {
  const char* name;
  void (*spoil)(quic::ChannelOffer&);
  LeaveReason reason;
};
class RefusedOffer : public testing::TestWithParam<Refusal> {};

TEST_P(RefusedOffer, IsAnsweredWithTheReason) {
  quic::ChannelOffer offer = copies_offer();
  GetParam().spoil(offer);
  RequestPair pair(offer);
  pair.watch();
  pair.serve();
  pair.settle();
  EXPECT_EQ(pair.at_receiver->left(), GetParam().reason);
  EXPECT_EQ(pair.at_receiver->over(), value_of(ErrorCode::kNoError));
  EXPECT_EQ(pair.at_source->over(), value_of(ErrorCode::kNoError));
}

INSTANTIATE_TEST_SUITE_P(
    Offers, RefusedOffer,
    testing::Values(
        Refusal{"Scheme", [](auto& offer) { offer.authentication.scheme = 9; },
                LeaveReason::kScheme},
        Refusal{"Group",
                [](auto& offer) {
                  offer.group = quic::channel_address({224, 0, 0, 1}, 5004);
                },
                LeaveReason::kAddress},
        Refusal{"Rate", [](auto& offer) { offer.max_rate = 1'000'000'000; }, LeaveReason::kRate},
        Refusal{"Reach", [](auto& offer) { offer.reach = 20'000; }, LeaveReason::kReach}),
    [](const auto& parameter) { return parameter.param.name; });

TEST(ChannelRequest, LeavingEndsItOnBothSides) {
  RequestPair pair;
  pair.watch();
  pair.serve();
  pair.run(50ms);
  pair.at_receiver->leave(LeaveReason::kWish, pair.now);
  pair.settle();
  EXPECT_EQ(pair.at_receiver->over(), value_of(ErrorCode::kNoError));
  EXPECT_EQ(pair.at_source->over(), value_of(ErrorCode::kNoError));
  EXPECT_FALSE(pair.at_source->waits_for_budget());
}

TEST(ChannelRequest, AWithdrawnOfferEndsIt) {
  RequestPair pair;
  pair.watch();
  pair.serve();
  pair.run(50ms);
  quic::ChannelOffer withdrawn;
  withdrawn.channel = pair.source.offer().channel;
  withdrawn.sequence = pair.source.offer().sequence + 1;
  pair.write(pair.http.server, quic::ChannelCapsuleValue(withdrawn));
  EXPECT_EQ(pair.at_receiver->left(), LeaveReason::kWithdrawn);
  EXPECT_EQ(pair.at_receiver->over(), value_of(ErrorCode::kNoError));
}

// Each offer costs the receiver the memory of a ring.
TEST(ChannelRequest, ASourceThatOffersTooOftenIsLeft) {
  RequestPair pair;
  pair.watch();
  pair.serve();
  pair.settle();
  quic::ChannelOffer offer = pair.source.offer();
  for (int i = 0; i < 100 && !pair.at_receiver->over(); ++i) {
    ++offer.sequence;
    pair.write(pair.http.server, quic::ChannelCapsuleValue(offer));
  }
  EXPECT_EQ(pair.at_receiver->left(), LeaveReason::kMalformed);
  EXPECT_LE(pair.at_receiver->offers(), 5u);
}

TEST(ChannelRequest, AnOfferASecondIsTaken) {
  RequestPair pair;
  pair.watch();
  pair.serve();
  quic::ChannelOffer offer = pair.source.offer();
  for (int i = 0; i < 20; ++i) {
    pair.run(1s);
    ++offer.sequence;
    pair.write(pair.http.server, quic::ChannelCapsuleValue(offer));
  }
  EXPECT_FALSE(pair.at_receiver->over());
  EXPECT_EQ(pair.at_receiver->offers(), 21u);
}

// A timer that is due at once, and again, would keep a processor busy.
TEST(ChannelRequest, AReportWithoutRoomIsNotDueUntilTheNext) {
  RequestPair pair;
  pair.watch();
  pair.serve();
  pair.run(50ms);
  pair.http.client.transport.datagram_room = 0;
  pair.run(3s);
  EXPECT_FALSE(pair.at_receiver->over());
  EXPECT_GT(pair.at_receiver->next_timeout(), pair.now);
}

// What a peer sends that no peer may send, and what it costs
struct Violation {
  const char* name;
  bool by_source;
  void (*commit)(RequestPair&, http3::Peer&);
  ErrorCode error;
};
class ViolationTest : public testing::TestWithParam<Violation> {};

TEST_P(ViolationTest, EndsTheRequestAlone) {
  const Violation& violation = GetParam();
  RequestPair pair;
  pair.watch();
  pair.serve();
  pair.run(50ms);
  violation.commit(pair, violation.by_source ? pair.http.server : pair.http.client);
  const auto over = violation.by_source ? pair.at_receiver->over() : pair.at_source->over();
  EXPECT_EQ(over, value_of(violation.error));
  EXPECT_FALSE(pair.http.client.closed || pair.http.server.closed);
}

void write_garbage(RequestPair& pair, http3::Peer& peer) {
  pair.write(peer, http3::encode_capsule({0x5eb1, http3::bytes_of("no key")}));
}
void write_long(RequestPair& pair, http3::Peer& peer) {
  pair.write(peer, http3::encode_capsule({0x5eb2, http3::bytes_of(text(321))}));
}
void write_offer(RequestPair& pair, http3::Peer& peer) {
  pair.write(peer, quic::ChannelCapsuleValue(pair.source.offer()));
}
void write_other_channel(RequestPair& pair, http3::Peer& peer) {
  pair.write(peer, quic::ChannelCapsuleValue(quic::ChannelState{}));
}
void send_malformed(RequestPair& pair, http3::Peer& peer) {
  pair.send(peer, http3::bytes_of("\x01short"));
}
void send_packet(RequestPair& pair, http3::Peer& peer) {
  std::vector<std::uint8_t> copy(100);
  pair.send(peer, copy);
}

// About a clock that the scheme does not need
void send_clock_query(RequestPair& pair, http3::Peer& peer) {
  pair.send(peer, std::vector<std::uint8_t>{2, 1, 2, 3, 4, 5, 6, 7, 8});
}
void send_clock(RequestPair& pair, http3::Peer& peer) {
  std::vector<std::uint8_t> clock(quic::k_max_clock_message);
  clock[0] = 3;
  pair.send(peer, clock);
}

INSTANTIATE_TEST_SUITE_P(
    Peers, ViolationTest,
    testing::Values(Violation{"GarbageOfSource", true, write_garbage, ErrorCode::kMessageError},
                    Violation{"GarbageOfReceiver", false, write_garbage, ErrorCode::kMessageError},
                    Violation{"LongCapsule", false, write_long, ErrorCode::kMessageError},
                    Violation{"OfferOfReceiver", false, write_offer, ErrorCode::kMessageError},
                    Violation{"OfferAgain", true, write_offer, ErrorCode::kMessageError},
                    Violation{"OtherChannel", false, write_other_channel, ErrorCode::kMessageError},
                    Violation{"StateOfSource", true, write_other_channel, ErrorCode::kMessageError},
                    Violation{"MalformedReport", false, send_malformed, ErrorCode::kDatagramError},
                    Violation{"PacketOfReceiver", false, send_packet, ErrorCode::kDatagramError},
                    Violation{"QueryOfReceiver", false, send_clock_query,
                              ErrorCode::kDatagramError},
                    Violation{"QueryOfSource", true, send_clock_query, ErrorCode::kDatagramError},
                    Violation{"ClockOfReceiver", false, send_clock, ErrorCode::kDatagramError},
                    Violation{"ClockOfSource", true, send_clock, ErrorCode::kDatagramError},
                    Violation{"ReportOfSource", true, send_malformed, ErrorCode::kDatagramError}),
    [](const auto& parameter) { return parameter.param.name; });

TEST(ChannelRequest, UnknownCapsulesAndDatagramsAreSkipped) {
  RequestPair pair;
  pair.watch();
  pair.serve();
  pair.run(50ms);
  for (http3::Peer* peer : {&pair.http.client, &pair.http.server}) {
    pair.write(*peer, http3::encode_capsule({0x5eef, http3::bytes_of(text(5'000))}));
    pair.send(*peer, http3::bytes_of("\x7fwhat"));
  }
  EXPECT_FALSE(pair.at_receiver->over());
  EXPECT_FALSE(pair.at_source->over());
}

TEST(ChannelRequest, AStreamThatEndsWithinACapsuleIsMalformed) {
  RequestPair pair;
  pair.serve();
  const auto capsule = http3::encode_capsule({0x5eb2, http3::bytes_of("state")});
  EXPECT_TRUE(pair.http.client.session.write_body(
      pair.stream, quic::SendChunk::copy_of(Bytes(capsule).first(4)), true));
  pair.settle();
  EXPECT_EQ(pair.at_source->over(), value_of(ErrorCode::kMessageError));
}

TEST(ChannelRequest, AReceiverThatGoesFreesItsPlace) {
  RequestPair pair;
  pair.watch();
  pair.serve();
  pair.run(50ms);
  const auto group = *pair.source.open_group();
  pair.source.write(group, http3::bytes_of(text(200'000)), true);
  pair.http.client.session.reset(pair.stream, value_of(ErrorCode::kRequestCancelled));
  pair.settle();
  EXPECT_EQ(pair.at_source->over(), value_of(ErrorCode::kRequestCancelled));
  EXPECT_EQ(*pair.source.add_receiver(), 0u);
}

// A peer that does not read its stream makes the source keep few keys.
TEST(ChannelRequest, KeysWaitForRoomOnTheStream) {
  RequestPair pair;
  pair.watch();
  pair.serve();
  pair.run(50ms);
  pair.stalled = true;
  std::size_t most = 0;
  for (int i = 0; i < 400; ++i) {
    pair.run(1s);
    most = std::max(most, pair.http.server.transport.unsent(pair.stream));
  }
  EXPECT_GE(most, 4096u) << "the stream never was full";
  EXPECT_LE(most, 4096u + quic::k_max_channel_capsule + 16);
}

}  // namespace
}  // namespace sheaf::channel_request
