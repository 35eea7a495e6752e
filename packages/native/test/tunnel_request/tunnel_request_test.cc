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

TEST(TunnelRequest, TakesTheLargestPayloadAndRefusesLargerOnes) {
  TunnelPair pair;
  pair.answer();
  pair.send_capsule(0x00, payload_of(std::string(TunnelRequest::k_max_payload, 'x')));
  ASSERT_EQ(pair.target.payloads.size(), 1u);
  EXPECT_EQ(pair.target.payloads[0].size(), TunnelRequest::k_max_payload);
  pair.send_capsule(0x00, payload_of(std::string(TunnelRequest::k_max_payload + 1, 'x')));
  EXPECT_EQ(pair.target.payloads.size(), 1u);
  EXPECT_EQ(pair.proxy->over(), value_of(ErrorCode::kDatagramError));
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
  pair.http.server.transport.datagrams_full = true;
  for (const char* text : {"one", "two", "three"}) pair.receive(text);
  EXPECT_TRUE(pair.http.client.datagrams.empty());
  EXPECT_GT(pair.room.used(), 0u);
  pair.http.server.transport.datagrams_full = false;
  pair.way.blocked = false;
  pair.settle();
  ASSERT_EQ(pair.http.client.datagrams.size(), 3u);
  EXPECT_EQ(pair.http.client.datagrams[2].second, payload_of("three"));
  EXPECT_EQ(pair.room.used(), 0u);
}

TEST(TunnelRequest, DropsAndCountsWhatFindsNoRoom) {
  TunnelPair pair;
  pair.answer();
  pair.http.server.transport.datagrams_full = true;
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

TEST(TunnelRequest, DropsAtOnceWhatNoPathCarries) {
  TunnelPair pair;
  pair.answer();
  pair.receive(std::string(9000, 'x'));
  EXPECT_EQ(pair.dropped(DropReason::kClientTooLarge), 1u);
}

TEST(TunnelRequest, TunnelsOfAConnectionSendInTurn) {
  TunnelPair first;
  first.answer();
  // A second tunnel of the same way, to a session of its own: only the order matters here.
  TunnelPair second;
  second.http.run();
  second.proxy.emplace(TunnelRequest::Place{second.http.server.session, second.stream, first.way,
                                            first.room, second.target},
                       second.limit, second.now);
  EXPECT_TRUE(
      second.http.server.session.submit_response(second.stream, {{":status", "200"}}, true));
  second.http.run();
  first.way.blocked = true;
  for (int i = 0; i < 3; ++i) first.proxy->send(http3::bytes_of(std::string(1400, 'a')), first.now);
  for (int i = 0; i < 3; ++i) {
    second.proxy->send(http3::bytes_of(std::string(1400, 'b')), first.now);
  }
  first.way.blocked = false;
  EXPECT_EQ(first.way.waiting.size(), 2u);
  first.now += 2s;
  TunnelRequest::send_all_waiting(first.way, first.now);
  EXPECT_TRUE(first.way.waiting.empty());
  second.proxy.reset();
  EXPECT_EQ(first.room.used(), 0u);
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
  pair.http.server.transport.datagrams_full = true;
  pair.receive("waits");
  pair.proxy->fail(ErrorCode::kConnectError);
  pair.settle();
  EXPECT_EQ(pair.http.client.messages[pair.stream].reset, value_of(ErrorCode::kConnectError));
  EXPECT_EQ(pair.room.used(), 0u);
}

TEST(TunnelRequest, CountsLosses) {
  TunnelPair pair;
  pair.answer();
  pair.proxy->on_outcome(true);
  pair.proxy->on_outcome(false);
  EXPECT_EQ(pair.dropped(DropReason::kClientLost), 1u);
}

TEST(TunnelRequest, KnowsItsDatagramsByTheirIdentifiers) {
  EXPECT_FALSE(TunnelRequest::stream_of(4));                       // a WebTransport session
  EXPECT_FALSE(TunnelRequest::stream_of(std::uint64_t{1} << 63));  // a channel
  EXPECT_EQ(TunnelRequest::stream_of(std::uint64_t{3} << 62 | 8), quic::StreamId{8});
}

}  // namespace
}  // namespace sheaf::tunnel_request
