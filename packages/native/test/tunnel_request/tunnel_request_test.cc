#include "tunnel_request/tunnel_request.h"

#include <gtest/gtest.h>

#include "tunnel_request/tunnel_pair.h"

namespace sheaf::tunnel_request {
namespace {

using http3::ErrorCode;
using http3::value_of;
using tunnel::DropReason;

std::string payload_of(std::string_view text) { return std::string(1, '\0') + std::string(text); }

// --- from the client ----------------------------------------------------------------------------

TEST(TunnelRequest, PassesPayloadsOfDatagrams) {
  TunnelPair pair;
  pair.answer();
  pair.send(payload_of("one"));
  pair.send(payload_of(""));
  EXPECT_EQ(pair.target.payloads, (std::vector<std::string>{"one", ""}));
}

TEST(TunnelRequest, PassesDatagramsThatCameBeforeItsAnswer) {
  TunnelPair pair;
  EXPECT_TRUE(pair.http.client.session.datagrams().send(pair.stream,
                                                        http3::bytes_of(payload_of("early")), 0));
  pair.answer();
  EXPECT_EQ(pair.target.payloads, std::vector<std::string>{"early"});
}

TEST(TunnelRequest, PassesPayloadsOfCapsulesFromAnyClient) {
  for (const bool takes_datagrams : {true, false}) {
    TunnelPair pair(takes_datagrams);
    pair.answer();
    pair.send_capsule(http3::k_capsule_datagram, payload_of("in a capsule"));
    pair.send_capsule(0x29 * 5 + 0x17, "a reserved type");
    pair.send_capsule(0x00, payload_of(std::string(5000, 'x')));
    ASSERT_EQ(pair.target.payloads.size(), 2u);
    EXPECT_EQ(pair.target.payloads[0], "in a capsule");
    EXPECT_EQ(pair.target.payloads[1], std::string(5000, 'x'));
    EXPECT_FALSE(pair.proxy->over());
  }
}

TEST(TunnelRequest, CountsAndDropsUnknownContexts) {
  TunnelPair pair;
  pair.answer();
  pair.send(std::string("\x02", 1) + "nobody knows");
  pair.send(std::string("\x40\x03", 2));
  pair.send_capsule(0x00, std::string("\x05", 1));
  EXPECT_EQ(pair.dropped(DropReason::kUnknownContext), 3u);
  EXPECT_TRUE(pair.target.payloads.empty());
  EXPECT_FALSE(pair.proxy->over());
}

TEST(TunnelRequest, AFloodOfUnknownContextsTakesNoMemory) {
  TunnelPair pair;
  pair.answer();
  for (int i = 0; i < 5000; ++i) pair.send(std::string("\x02", 1) + std::string(1000, 'x'));
  EXPECT_EQ(pair.dropped(DropReason::kUnknownContext), 5000u);
  EXPECT_EQ(pair.room.used(), 0u);
  pair.send(payload_of("it works"));
  EXPECT_EQ(pair.target.payloads, std::vector<std::string>{"it works"});
}

TEST(TunnelRequest, RefusesADatagramWithoutAContext) {
  for (const std::string_view datagram : {std::string_view(), std::string_view("\xc0\x01", 2)}) {
    TunnelPair pair;
    pair.answer();
    pair.send(datagram);
    EXPECT_EQ(pair.proxy->over(), value_of(ErrorCode::kDatagramError));
    EXPECT_EQ(pair.http.client.messages[pair.stream].reset, value_of(ErrorCode::kDatagramError));
  }
}

TEST(TunnelRequest, DropsCapsulesThatNoPathCarriesAndRefusesPayloadsAboveThoseOfUdp) {
  TunnelPair pair;
  pair.answer();
  pair.send_capsule(0x00, payload_of(std::string((16 << 10) - 1, 'x')));
  ASSERT_EQ(pair.target.payloads.size(), 1u);
  pair.send_capsule(0x00, payload_of(std::string(16 << 10, 'x')));
  pair.send_capsule(0x00, payload_of(std::string(k_max_payload, 'x')));
  EXPECT_EQ(pair.target.payloads.size(), 1u);
  EXPECT_EQ(pair.dropped(DropReason::kTargetTooLarge), 2u);
  pair.send_capsule(0x00, payload_of("it goes on"));
  EXPECT_EQ(pair.target.payloads.back(), "it goes on");
  EXPECT_FALSE(pair.proxy->over());
  // The longest context id has eight bytes.
  pair.send_capsule(0x00, payload_of(std::string(k_max_payload + 8, 'x')));
  EXPECT_EQ(pair.proxy->over(), value_of(ErrorCode::kMessageError));
}

TEST(TunnelRequest, ACapsuleCutAnywhereIsAnError) {
  const std::string datagram = payload_of("abc");
  const auto capsule = http3::encode_capsule({0x00, http3::bytes_of(datagram)});
  for (std::size_t length = 1; length <= capsule.size(); ++length) {
    TunnelPair pair;
    pair.answer();
    for (std::size_t at = 0; at < length; ++at) pair.write(Bytes(capsule).subspan(at, 1));
    pair.write({}, true);
    const bool whole = length == capsule.size();
    EXPECT_EQ(pair.target.payloads.size(), whole ? 1u : 0u);
    EXPECT_EQ(pair.proxy->over(), value_of(whole ? ErrorCode::kNoError : ErrorCode::kMessageError));
  }
}

TEST(TunnelRequest, TakesLessMemoryThanRequestsThatJavaScriptServes) {
  TunnelPair pair;
  pair.answer();
  EXPECT_EQ(pair.http.server.transport.held, http3::RequestAdmission::k_light_memory);
}

TEST(TunnelRequest, AFloodAheadOfItsAnswerTakesLittleMemory) {
  TunnelPair pair;
  const std::string payload = payload_of(std::string(1000, 'x'));
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(
        pair.http.client.session.datagrams().send(pair.stream, http3::bytes_of(payload), 0));
  }
  pair.answer();
  EXPECT_EQ(pair.target.payloads.size(), http3::DatagramRouter::k_max_waiting);
  pair.send(payload_of("later"));
  EXPECT_EQ(pair.target.payloads.back(), "later");
}

TEST(TunnelRequest, DoesNotKeepAnEndlessCapsule) {
  TunnelPair pair;
  pair.answer();
  std::vector<std::uint8_t> head(16);
  quic::Writer out(head);
  out.write_varint(http3::k_capsule_datagram);
  out.write_varint(std::uint64_t{1} << 40);
  pair.write(out.written());
  EXPECT_EQ(pair.proxy->over(), value_of(ErrorCode::kMessageError));
}

// --- to the client ------------------------------------------------------------------------------

TEST(TunnelRequest, SendsDatagrams) {
  TunnelPair pair;
  pair.answer();
  pair.receive("from the target");
  ASSERT_EQ(pair.http.client.datagrams.size(), 1u);
  EXPECT_EQ(pair.http.client.datagrams[0].second, payload_of("from the target"));
  EXPECT_EQ(pair.proxy->counts().to_client.bytes, 15u);
}

TEST(TunnelRequest, SendsOnlyCapsulesWithPayloadsToAClientWithoutDatagrams) {
  TunnelPair pair(false);
  pair.answer();
  pair.receive("one");
  pair.receive(std::string(3000, 'x'));
  std::string expected;
  for (const std::string& payload : {std::string("one"), std::string(3000, 'x')}) {
    const std::string datagram = payload_of(payload);
    expected += http3::text_of(
        http3::encode_capsule({http3::k_capsule_datagram, http3::bytes_of(datagram)}));
  }
  EXPECT_EQ(pair.http.client.messages[pair.stream].body, expected);
}

TEST(TunnelRequest, LetsItsPacketsWaitInItsOwnQueue) {
  TunnelPair pair;
  pair.answer();
  EXPECT_EQ(pair.http.server.transport.waiting_limit, 64u << 10);
}

TEST(TunnelRequest, WaitsForRoomAndKeepsOrder) {
  TunnelPair pair;
  pair.answer();
  pair.make_room(0);
  for (const char* text : {"one", "two", "three"}) pair.receive(text);
  EXPECT_TRUE(pair.http.client.datagrams.empty());
  EXPECT_GT(pair.room.used(), 0u);
  pair.make_room(100);
  ASSERT_EQ(pair.http.client.datagrams.size(), 3u);
  EXPECT_EQ(pair.http.client.datagrams[2].second, payload_of("three"));
  EXPECT_EQ(pair.room.used(), 0u);
}

TEST(TunnelRequest, DropsAndCountsWhatFindsNoRoom) {
  TunnelPair pair;
  pair.answer();
  pair.make_room(0);
  for (int i = 0; i < 20; ++i) pair.receive(std::string(1000, 'x'));
  EXPECT_GT(pair.dropped(DropReason::kQueueFull), 10u);
  EXPECT_LE(pair.room.used(), pair.limit);
}

TEST(TunnelRequest, ATooLargePacketWaitsForTheDiscoveryOfThePathAndIsDroppedLater) {
  TunnelPair pair(true, 1100);
  pair.answer();
  pair.receive(std::string(1200, 'x'));
  EXPECT_EQ(pair.dropped(DropReason::kClientTooLarge), 0u);
  pair.now += 2s;
  pair.settle();
  EXPECT_EQ(pair.dropped(DropReason::kClientTooLarge), 1u);
  pair.receive(std::string(1200, 'x'));
  EXPECT_EQ(pair.dropped(DropReason::kClientTooLarge), 2u);
  EXPECT_FALSE(pair.proxy->over());  // RFC 9298 §6: it costs the packet alone
  pair.receive("small");
  ASSERT_EQ(pair.http.client.datagrams.size(), 1u);
  EXPECT_EQ(pair.http.client.datagrams[0].second, payload_of("small"));
}

TEST(TunnelRequest, SmallerPacketsOvertakeOneThatIsTooLarge) {
  TunnelPair pair(true, 1100);
  pair.answer();
  pair.receive(std::string(1200, 'x'));
  pair.receive("small");
  ASSERT_EQ(pair.http.client.datagrams.size(), 1u);
  pair.make_room(0);
  pair.receive(std::string(1201, 'y'));  // behind what waits for room
  pair.receive("second");
  pair.make_room(100);
  ASSERT_EQ(pair.http.client.datagrams.size(), 2u);
  EXPECT_EQ(pair.http.client.datagrams[1].second, payload_of("second"));
  pair.http.network.set_max_datagram(1400);
  pair.settle();
  ASSERT_EQ(pair.http.client.datagrams.size(), 4u);
  EXPECT_EQ(pair.http.client.datagrams[2].second, payload_of(std::string(1200, 'x')));
  EXPECT_EQ(pair.http.client.datagrams[3].second, payload_of(std::string(1201, 'y')));
  EXPECT_EQ(pair.room.used(), 0u);
}

TEST(TunnelRequest, FewPacketsWaitForTheDiscoveryOfThePath) {
  TunnelPair pair(true, 1100, 1 << 20);
  pair.answer();
  for (int i = 0; i < 100; ++i) pair.receive(std::string(1200, 'x'));
  EXPECT_LE(pair.room.used(), 16u << 10);
  EXPECT_GT(pair.dropped(DropReason::kQueueFull), 80u);
}

TEST(TunnelRequest, DropsAtOnceWhatNoPathCarries) {
  TunnelPair pair;
  pair.answer();
  pair.receive(std::string(9000, 'x'));
  EXPECT_EQ(pair.dropped(DropReason::kClientTooLarge), 1u);
}

TEST(TunnelRequest, TunnelsOfAConnectionSendEqualBytes) {
  TunnelPair pair(true, 1500, 400000);
  const quic::StreamId other = pair.ask();
  pair.answer();
  RecordedTarget target;
  TunnelRequest second({pair.http.server.session, other, pair.way, pair.room, target}, {pair.limit},
                       pair.now);
  pair.make_room(0);
  for (int i = 0; i < 100; ++i) pair.receive(std::string(1400, 'a'));
  for (int i = 0; i < 400; ++i) second.send({http3::bytes_of(std::string(300, 'b'))}, pair.now);
  ASSERT_EQ(pair.dropped(DropReason::kQueueFull), 0u);
  pair.make_room(100);
  const auto& first = pair.proxy->counts().to_client;
  const std::uint64_t difference = first.bytes > second.counts().to_client.bytes
                                       ? first.bytes - second.counts().to_client.bytes
                                       : second.counts().to_client.bytes - first.bytes;
  EXPECT_EQ(first.packets + second.counts().to_client.packets, 100u);
  EXPECT_GT(first.packets, 10u);
  // A turn and a packet, and what the headers of small packets cost
  EXPECT_LT(difference, 1500u + 1400u + 80u * 28u);
  pair.make_room(1000);
  EXPECT_EQ(first.packets + second.counts().to_client.packets, 500u);
  EXPECT_TRUE(pair.way.waiting.empty());
  EXPECT_EQ(pair.room.used(), 0u);
}

// Packets come at the rate at which others leave.
std::uint64_t shed_after(std::size_t backlog) {
  TunnelPair pair(true, 1500, 400000);
  pair.answer();
  pair.make_room(0);
  for (std::size_t i = 0; i < backlog; ++i) pair.receive(std::string(1000, 'x'));
  for (int step = 0; step < 200; ++step) {
    pair.now += 4ms;
    pair.make_room(1);
    pair.receive(std::string(1000, 'x'));
  }
  EXPECT_EQ(pair.dropped(DropReason::kQueueFull), 0u);
  return pair.dropped(DropReason::kQueueStanding);
}

TEST(TunnelRequest, ShedsAQueueThatStands) {
  EXPECT_GT(shed_after(20), 5u);
  EXPECT_EQ(shed_after(1), 0u);
}

TEST(TunnelRequest, ABurstIsNotShed) {
  TunnelPair pair(true, 1500, 400000);
  pair.answer();
  pair.make_room(0);
  for (int i = 0; i < 100; ++i) pair.receive(std::string(1000, 'x'));
  for (int step = 0; step < 20; ++step) {
    pair.now += 4ms;
    pair.make_room(5);
  }
  EXPECT_EQ(pair.http.client.datagrams.size(), 100u);
}

TEST(TunnelRequest, AClientThatReadsNoCapsulesTakesLittleMemory) {
  TunnelPair pair(false);
  pair.answer();
  pair.http.client.reading = false;
  for (int i = 0; i < 1000; ++i) pair.receive(std::string(1000, 'x'));
  EXPECT_LE(pair.room.used(), pair.limit);
  EXPECT_LT(pair.proxy->counts().to_client.packets, 80u);
  EXPECT_GT(pair.dropped(DropReason::kQueueFull), 900u);
}

// --- marks --------------------------------------------------------------------------------------

using Side = PayloadContexts::Side;

TEST(TunnelRequest, MarksTravelAsContextsBothWays) {
  TunnelPair pair;
  pair.contexts = {Side::kProxy, {0, 2, 4, 1000}};
  pair.answer();
  for (const char* id : {"\x02", "\x04", "\x43\xe8"}) pair.send(std::string(id) + "packet");
  pair.send(payload_of("unmarked"));
  pair.send_capsule(http3::k_capsule_datagram, "\x04packet");
  EXPECT_EQ(pair.target.marks,
            (std::vector{Ecn::kEct1, Ecn::kEct0, Ecn::kCe, Ecn::kNotEct, Ecn::kEct0}));
  EXPECT_EQ(pair.target.payloads[2], "packet");
  for (const Ecn ecn : {Ecn::kNotEct, Ecn::kEct1, Ecn::kEct0, Ecn::kCe}) pair.receive("back", ecn);
  EXPECT_EQ(pair.contexts_at_client(), (std::vector{0, 3, 5, 7}));
  EXPECT_EQ(pair.payloads_at_client(), std::vector<std::string>(4, "back"));
}

TEST(TunnelRequest, MarksStopAtAClientThatDoesNotKnowThem) {
  TunnelPair pair;
  pair.answer();
  pair.receive("marked", Ecn::kCe);
  EXPECT_EQ(pair.contexts_at_client(), std::vector{0});
  for (const char id : {2, 3, 4, 5, 6, 7}) pair.send(std::string(1, id) + "packet");
  EXPECT_EQ(pair.dropped(DropReason::kUnknownContext), 6u);
  EXPECT_TRUE(pair.target.payloads.empty());
}

TEST(TunnelRequest, WithMarksUnknownContextsAreStillDropped) {
  TunnelPair pair;
  pair.contexts = {Side::kProxy, {0, 2, 4, 6}};
  pair.answer();
  for (const char id : {1, 8, 9, 63}) pair.send(std::string(1, id) + "packet");
  EXPECT_EQ(pair.dropped(DropReason::kUnknownContext), 4u);
  EXPECT_FALSE(pair.proxy->over());
}

TEST(TunnelRequest, CongestionOfTheConnectionPassesToMarkedPackets) {
  TunnelPair pair;
  pair.contexts = {Side::kProxy, {0, 2, 4, 6}};
  pair.http.server.transport.datagram_ecn = Ecn::kCe;
  // This one waits for the response.
  EXPECT_TRUE(
      pair.http.client.session.datagrams().send(pair.stream, http3::bytes_of("\x04packet"), 0));
  pair.answer();
  pair.send("\x02packet");
  pair.send(payload_of("unmarked"));
  pair.http.server.transport.datagram_ecn = Ecn::kEct0;
  pair.send("\x02packet");
  EXPECT_EQ(pair.target.marks, (std::vector{Ecn::kCe, Ecn::kCe, Ecn::kNotEct, Ecn::kEct1}));
}

TEST(TunnelRequest, PacketsThatAreSentAgainKeepTheirMarks) {
  TunnelPair pair;
  pair.mode = quic::TunnelMode::kRetransmit;
  pair.contexts = {Side::kProxy, {0, 2, 4, 6}};
  pair.answer();
  pair.receive("one", Ecn::kEct0);
  pair.receive("two");
  pair.settle_datagram(0, false);
  pair.settle_datagram(1, false);
  EXPECT_EQ(pair.contexts_at_client(), (std::vector{5, 0, 5, 0}));
}

TEST(TunnelRequest, AStandingQueueMarksInsteadOfDropping) {
  TunnelPair pair(true, 1500, 400000);
  pair.contexts = {Side::kProxy, {0, 2, 4, 6}};
  pair.answer();
  pair.make_room(0);
  for (int i = 0; i < 20; ++i) pair.receive(std::string(1000, 'x'), Ecn::kEct0);
  for (int step = 0; step < 200; ++step) {
    pair.now += 4ms;
    pair.make_room(1);
    pair.receive(std::string(1000, 'x'), Ecn::kEct0);
  }
  EXPECT_EQ(pair.dropped(DropReason::kQueueStanding), 0u);
  const auto ids = pair.contexts_at_client();
  const auto marked = static_cast<std::uint64_t>(std::ranges::count(ids, 7));
  EXPECT_GT(marked, 5u);
  EXPECT_EQ(pair.proxy->counts().marked, marked);
}

// --- the end ------------------------------------------------------------------------------------

TEST(TunnelRequest, EndsWithItsClient) {
  TunnelPair pair;
  pair.answer();
  pair.write({}, true);
  EXPECT_EQ(pair.proxy->over(), value_of(ErrorCode::kNoError));
  EXPECT_TRUE(pair.http.client.messages[pair.stream].finished);
}

TEST(TunnelRequest, AnEndWithinACapsuleIsAnError) {
  TunnelPair pair;
  pair.answer();
  pair.write(std::array<std::uint8_t, 2>{0x00, 0x05}, true);
  EXPECT_EQ(pair.proxy->over(), value_of(ErrorCode::kMessageError));
}

TEST(TunnelRequest, EndsWhenItsClientResetsTheStream) {
  TunnelPair pair;
  pair.answer();
  pair.http.client.session.reset(pair.stream, value_of(ErrorCode::kRequestCancelled));
  pair.settle();
  EXPECT_EQ(pair.proxy->over(), value_of(ErrorCode::kRequestCancelled));
  pair.receive("too late");
  EXPECT_EQ(pair.proxy->counts().to_client.packets, 0u);
}

TEST(TunnelRequest, FailsWithTheCodeOfItsOwner) {
  TunnelPair pair;
  pair.answer();
  pair.make_room(0);
  pair.receive("waits");
  pair.proxy->fail(ErrorCode::kConnectError);
  pair.settle();
  EXPECT_EQ(pair.http.client.messages[pair.stream].reset, value_of(ErrorCode::kConnectError));
  EXPECT_EQ(pair.room.used(), 0u);
}

// --- modes --------------------------------------------------------------------------------------

TEST(TunnelRequest, CountsLosses) {
  TunnelPair pair;
  pair.answer();
  pair.receive("one");
  pair.receive("two");
  pair.settle_datagram(0, true);
  pair.settle_datagram(1, false);
  EXPECT_EQ(pair.dropped(DropReason::kClientLost), 1u);
  EXPECT_EQ(pair.payloads_at_client(), (std::vector<std::string>{"one", "two"}));
}

TEST(TunnelRequest, SendsLostPacketsAgainBeforeOthers) {
  TunnelPair pair;
  pair.mode = quic::TunnelMode::kRetransmit;
  pair.answer();
  pair.receive("one");
  pair.receive("two");
  EXPECT_GT(pair.room.used(), 0u);
  pair.make_room(0);
  pair.receive("three");
  pair.settle_datagram(1, false);
  pair.settle_datagram(0, true);
  pair.make_room(9);
  EXPECT_EQ(pair.payloads_at_client(), (std::vector<std::string>{"one", "two", "two", "three"}));
  // What is lost once more is sent once more.
  pair.settle_datagram(2, false);
  pair.settle_datagram(3, true);
  EXPECT_EQ(pair.payloads_at_client().back(), "two");
  pair.settle_datagram(4, true);
  EXPECT_EQ(pair.room.used(), 0u);
  const tunnel::Counts& counts = pair.proxy->counts();
  EXPECT_EQ(counts.to_client.packets, 3u);
  EXPECT_EQ(counts.repeated, 2u);
  EXPECT_EQ(counts.dropped(DropReason::kClientLost), 0u);
}

TEST(TunnelRequest, KeepsNothingOfWhatTheConnectionDidNotTake) {
  TunnelPair pair;
  pair.mode = quic::TunnelMode::kRetransmit;
  pair.answer();
  pair.http.server.transport.datagram_room = 0;
  pair.receive("waits");
  pair.make_room(1);
  EXPECT_EQ(pair.payloads_at_client(), std::vector<std::string>{"waits"});
  pair.settle_datagram(0, true);
  EXPECT_EQ(pair.room.used(), 0u);
}

TEST(TunnelRequest, SendsOnceWhatItHasNoRoomToKeep) {
  TunnelPair pair;
  pair.mode = quic::TunnelMode::kRetransmit;
  pair.answer();
  const std::string packet(1200, 'x');
  // A connection may take half of the room of all.
  for (int i = 0; i < 1000; ++i) pair.receive(packet);
  EXPECT_EQ(pair.payloads_at_client().size(), 1000u);
  EXPECT_LE(pair.room.used(), std::size_t{1} << 19);
  pair.settle_datagram(999, false);
  EXPECT_EQ(pair.dropped(DropReason::kClientLost), 1u);
  pair.settle_datagram(0, false);
  EXPECT_EQ(pair.proxy->counts().repeated, 1u);
  for (std::size_t i = 1; i < 999; ++i) pair.settle_datagram(i, true);
  pair.settle_datagram(1000, true);
  EXPECT_EQ(pair.room.used(), 0u);
}

TEST(TunnelRequest, WritesPacketsToItsStream) {
  TunnelPair pair;
  pair.mode = quic::TunnelMode::kStream;
  pair.answer();
  pair.receive("one");
  EXPECT_TRUE(pair.payloads_at_client().empty());
  EXPECT_EQ(pair.http.client.messages[pair.stream].body,
            http3::text_of(http3::encode_capsule(
                {http3::k_capsule_datagram, http3::bytes_of(payload_of("one"))})));
  EXPECT_EQ(pair.proxy->counts().to_client.packets, 1u);
}

// --- reports ------------------------------------------------------------------------------------

// Reads the reports that came to the client.
std::vector<quic::FeedbackReport> reports_at_client(const TunnelPair& pair) {
  std::vector<quic::FeedbackReport> reports;
  for (const auto& [of, datagram] : pair.http.client.datagrams) {
    if (datagram[0] != 1) continue;
    const auto report = quic::decode_feedback_report(http3::bytes_of(datagram).subspan(1));
    EXPECT_TRUE(report);
    if (report) reports.push_back(*report);
  }
  return reports;
}

TEST(TunnelRequest, ReportsOnceInARoundTripWhilePacketsCome) {
  TunnelPair pair;
  pair.reports = quic::TunnelReports::kMakes;
  pair.http.server.transport.conditions = {.rate = 800'000, .minimum_round_trip = 40ms};
  pair.answer();
  const std::string packet(1000, 'x');
  pair.receive(packet);
  ASSERT_EQ(reports_at_client(pair).size(), 1u);
  pair.now += 20ms;
  pair.receive(packet);
  ASSERT_EQ(reports_at_client(pair).size(), 1u);
  // What has no room waits, and counts as not having left.
  pair.make_room(1);
  pair.receive(packet);
  pair.receive(packet);
  pair.now += 20ms;
  pair.make_room(9);
  const auto reports = reports_at_client(pair);
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(reports[1].sequence, 2u);
  EXPECT_EQ(reports[1].rate, 800'000u);
  EXPECT_EQ(reports[1].tunnel_round_trip, 40ms);
  EXPECT_EQ(reports[1].arrived, 4000u);
  EXPECT_EQ(reports[1].left, 4000u);
  EXPECT_EQ(pair.proxy->counts().to_client.packets, 4u);
  // Only what leaves in 5 ms may wait in the connection, since that counts as having left.
  EXPECT_EQ(pair.http.server.transport.waiting_limit, std::size_t{8} << 10);
  pair.http.server.transport.conditions.rate = 4'000'000;
  pair.now += 40ms;
  pair.receive(packet);
  EXPECT_EQ(pair.http.server.transport.waiting_limit, 20'000u);
}

TEST(TunnelRequest, TunnelsWhosePacketsWaitShareTheRateThatIsReported) {
  TunnelPair pair;
  pair.reports = quic::TunnelReports::kMakes;
  pair.http.server.transport.conditions = {.rate = 900'000, .minimum_round_trip = 40ms};
  const quic::StreamId other = pair.ask();
  pair.answer();
  RecordedTarget target;
  TunnelRequest second({pair.http.server.session, other, pair.way, pair.room, target}, {pair.limit},
                       pair.now);
  // The connection has no room for packets, and some for reports.
  pair.way.blocked = true;
  for (int i = 0; i < 3; ++i) second.send({http3::bytes_of(std::string(500, 'b'))}, pair.now);
  pair.receive(std::string(500, 'a'));
  pair.now += 50ms;
  pair.receive(std::string(500, 'a'));
  const auto reports = reports_at_client(pair);
  ASSERT_FALSE(reports.empty());
  EXPECT_EQ(reports.back().rate, 450'000u);
  EXPECT_EQ(reports.back().oldest_wait, 50ms);
  EXPECT_EQ(reports.back().left, 0u);
}

TEST(TunnelRequest, GivesReportsToWhoeverTakesThem) {
  for (const quic::TunnelReports use : {quic::TunnelReports::kNone, quic::TunnelReports::kTakes}) {
    TunnelPair pair;
    pair.reports = use;
    pair.answer();
    pair.send("\x01 a report");
    const bool takes = use == quic::TunnelReports::kTakes;
    EXPECT_EQ(pair.target.reports.size(), takes ? 1u : 0u);
    EXPECT_EQ(pair.dropped(DropReason::kUnknownContext), takes ? 0u : 1u);
    EXPECT_TRUE(pair.target.payloads.empty());
  }
}

TEST(TunnelRequest, KnowsItsDatagramsByTheirIdentifiers) {
  EXPECT_FALSE(TunnelRequest::is_of_tunnel(4));                       // a WebTransport session
  EXPECT_FALSE(TunnelRequest::is_of_tunnel(std::uint64_t{1} << 63));  // a channel
  SharedWay way;
  const std::uint64_t identifier = std::uint64_t{3} << 62 | 8;
  EXPECT_TRUE(TunnelRequest::is_of_tunnel(identifier));
  EXPECT_FALSE(TunnelRequest::settle(way, {identifier, true}));
  EXPECT_EQ(TunnelRequest::settle(way, {identifier, false})->stream, quic::StreamId{8});
  // Of a connection that keeps nothing
  EXPECT_FALSE(TunnelRequest::settle(way, {std::uint64_t{7} << 61, false}));
}

}  // namespace
}  // namespace sheaf::tunnel_request
