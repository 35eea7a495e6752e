#include "channel/channel_messages.h"

#include <gtest/gtest.h>

#include <functional>

#include "channel/messages.h"
#include "util/random.h"

namespace sheaf::quic {
namespace {

ChannelKey example_key() {
  ChannelKey key;
  key.channel = k_test_channel;
  key.sequence = 5;
  key.first = 1000;
  key.secret = make_secret(CipherSuite::kAes128GcmSha256, std::vector<std::uint8_t>(32, 0x22));
  return key;
}

ChannelReport example_report() {
  ChannelReport report;
  report.channel = k_test_channel;
  report.sequence = 7;
  report.end = 100;
  report.received = 90;
  report.lost = 10;
  report.recovered = 4;
  report.expired = 1;
  report.jitter = 300us;
  report.missing.push_back({98, 100});
  report.missing.push_back({50, 51});
  return report;
}

ChannelState state(ListenState listen, PacketNumber number, LeaveReason reason) {
  return {k_test_channel, 3, listen, number, reason};
}

ChannelOffer withdrawal() {
  ChannelOffer offer;
  offer.channel = k_test_channel;
  offer.sequence = 4;
  return offer;
}

ChannelOffer unicast_offer() {
  ChannelOffer offer = example_offer();
  offer.group = {};
  return offer;
}

std::vector<ChannelCapsuleValue> one_of_each_capsule() {
  return {example_offer(),
          unicast_offer(),
          withdrawal(),
          example_key(),
          state(ListenState::kWant, 0, LeaveReason::kWish),
          state(ListenState::kReceiving, 1000, LeaveReason::kWish),
          state(ListenState::kUnicast, 1001, LeaveReason::kWish),
          state(ListenState::kLeft, 0, LeaveReason::kForgedPackets)};
}

std::vector<std::uint8_t> encode(const ChannelReport& report) {
  std::vector<std::uint8_t> bytes(k_max_channel_report);
  Writer out(bytes);
  write_channel_report(out, report);
  bytes.resize(out.size());
  return bytes;
}

std::vector<std::uint8_t> encode(const ChannelCapsuleValue& value) {
  const WipedBytes bytes = encode_channel_capsule(value);
  return {bytes.begin(), bytes.end()};
}

auto decode(const ChannelCapsuleValue& like, Bytes bytes) {
  return decode_channel_capsule(static_cast<std::uint64_t>(type_of(like)), bytes);
}

TEST(ChannelMessages, HaveKnownBytes) {
  const std::string addresses =
      "00000000000000000000ffff0a0102031151"
      "00000000000000000000ffffe80708091"
      "38c";
  const std::string secret_1 = "1301" + std::string(64, '1');
  const std::string secret_2 = "1301" + std::string(64, '2');
  const std::string key = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
  const std::string rest = "0546801312d00120" + key + "000007d0415e4064800000";
  const std::string unicast = "00000000000000000000ffff0a0102031151";
  const std::vector<std::string> known = {
      "c001020304050608"
      "03"
      "02" +
          addresses + secret_1 + rest,
      "c001020304050608"
      "03"
      "01" +
          unicast + secret_1 + rest,
      "c001020304050608"
      "04"
      "00",
      "c001020304050608"
      "05"
      "43e8" +
          secret_2,
      "c001020304050608"
      "03"
      "00",
      "c001020304050608"
      "03"
      "02"
      "43e8",
      "c001020304050608"
      "03"
      "03"
      "43e9",
      "c001020304050608"
      "03"
      "04"
      "07",
  };
  const auto values = one_of_each_capsule();
  ASSERT_EQ(values.size(), known.size());
  for (std::size_t i = 0; i < known.size(); ++i) {
    EXPECT_EQ(encode(values[i]), from_hex(known[i])) << i;
  }
  ChannelOffer repaired = example_offer();
  repaired.repairs = true;
  EXPECT_EQ(encode(repaired).back(), 1);
  EXPECT_EQ(encode(example_report()),
            from_hex("01 c001020304050608 07 4064 405a 0a 04 01 412c 02 00 02 2f 01"));
}

template <typename Write, typename Message>
std::vector<std::uint8_t> clock_message(Write&& write_message, const Message& message) {
  std::vector<std::uint8_t> bytes(k_max_clock_message);
  Writer out(bytes);
  write_message(out, message);
  bytes.resize(out.size());
  return bytes;
}
std::vector<std::uint8_t> encode(const ChannelClockQuery& query) {
  return clock_message(write_clock_query, query);
}
std::vector<std::uint8_t> encode(const ChannelClock& clock) {
  return clock_message(write_clock, clock);
}

ChannelClock example_clock() {
  return {.nonce = 0x0102030405060708,
          .clock = {.time = Time(5s + 7us), .chain = 2, .commitment = MacKey{0, 1, 2, 3}}};
}

// The vectors of docs/reference/wire.md#the-clock-of-a-source
TEST(ChannelMessages, OfClocksHaveKnownBytes) {
  EXPECT_EQ(encode(ChannelClockQuery{0x0102030405060708}), from_hex("02 0102030405060708"));
  const auto bytes =
      from_hex("03 0102030405060708 00000000004c4b47 00000002 00010203000000000000000000000000");
  EXPECT_EQ(encode(example_clock()), bytes);
  EXPECT_EQ(bytes.size(), k_max_clock_message);
  // A time is rounded up.
  ChannelClock later = example_clock();
  later.clock.time += 1ns;
  EXPECT_EQ(encode(later), from_hex("03 0102030405060708 00000000004c4b48 00000002 "
                                    "00010203000000000000000000000000"));

  const auto query = decode_channel_datagram(from_hex("02 0102030405060708"));
  ASSERT_TRUE(query);
  EXPECT_EQ(std::get<ChannelClockQuery>(*query).nonce, 0x0102030405060708u);
  const auto clock = decode_channel_datagram(bytes);
  ASSERT_TRUE(clock);
  EXPECT_EQ(encode(std::get<ChannelClock>(*clock)), bytes);
}

TEST(ChannelMessages, OfClocksAreRefusedWhenCutLongerOrFarAway) {
  for (auto bytes : {encode(ChannelClockQuery{7}), encode(example_clock())}) {
    for (std::size_t size = 1; size < bytes.size(); ++size) {
      EXPECT_FALSE(decode_channel_datagram(Bytes(bytes).first(size))) << size;
    }
    bytes.push_back(0);
    EXPECT_FALSE(decode_channel_datagram(bytes));
  }
  EXPECT_FALSE(decode_channel_datagram(
      from_hex("03 0102030405060708 0010000000000001 00000002 00010203000000000000000000000000")));
  EXPECT_FALSE(decode_channel_datagram(
      from_hex("03 0102030405060708 00000000004c4b47 00100000 00010203000000000000000000000000")));
}

TEST(ChannelMessages, ComeBackAsTheyWere) {
  for (const ChannelCapsuleValue& value : one_of_each_capsule()) {
    const auto bytes = encode(value);
    EXPECT_LE(bytes.size(), k_max_channel_capsule);
    const auto read = decode(value, bytes);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->index(), value.index());
    EXPECT_EQ(encode(*read), bytes);
  }
  const auto offer = decode(example_offer(), encode(example_offer()));
  EXPECT_EQ(std::get<ChannelOffer>(*offer).group, example_offer().group);
  EXPECT_EQ(std::get<ChannelOffer>(*offer).deadline, 350ms);
  const auto bytes = encode(example_report());
  const auto report = decode_channel_datagram(bytes);
  ASSERT_TRUE(report);
  EXPECT_EQ(encode(std::get<ChannelReport>(*report)), bytes);
}

TEST(ChannelMessages, TheLargestFitTheirLimits) {
  ChannelOffer offer = example_offer();
  offer.sequence = offer.max_rate = k_max_varint;
  offer.header = make_secret(CipherSuite::kAes256GcmSha384, std::vector<std::uint8_t>(48, 1));
  offer.deadline = offer.report_interval = 24h;
  while (offer.authentication.parameters.size() < AuthenticationOffer::k_max_parameters) {
    offer.authentication.parameters.push_back(1);
  }
  EXPECT_LE(encode(offer).size(), k_max_channel_capsule);
  EXPECT_TRUE(decode(offer, encode(offer)));

  ChannelReport report;
  report.sequence = report.end = report.received = report.lost = k_max_varint;
  report.recovered = report.expired = k_max_varint;
  report.jitter = 1h;
  for (std::uint64_t i = 0; i < ChannelReport::k_max_missing; ++i) {
    const std::uint64_t start = k_max_varint - (i + 1) * (std::uint64_t{1} << 32);
    report.missing.push_back({start, start + (std::uint64_t{1} << 31)});
  }
  EXPECT_LE(encode(report).size(), k_max_channel_report);
  EXPECT_TRUE(decode_channel_datagram(encode(report)));
}

TEST(ChannelMessages, AreRefusedWhenCutOrLonger) {
  for (const ChannelCapsuleValue& value : one_of_each_capsule()) {
    auto bytes = encode(value);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_FALSE(decode(value, Bytes(bytes).first(size))) << size;
    }
    bytes.push_back(0);
    EXPECT_FALSE(decode(value, bytes));
  }
  auto bytes = encode(example_report());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_channel_datagram(Bytes(bytes).first(size))) << size;
  }
  bytes.push_back(0);
  EXPECT_FALSE(decode_channel_datagram(bytes));
}

TEST(ChannelMessages, AreRefusedOfAnUnknownType) {
  EXPECT_EQ(decode_channel_capsule(0x5eb3, {}).error(), ChannelMessageFault::kUnknownType);
  const std::uint8_t unknown[] = {4, 0};
  EXPECT_EQ(decode_channel_datagram(unknown).error(), ChannelMessageFault::kUnknownType);
}

TEST(ChannelMessages, RefuseValuesThatNoPeerWrites) {
  const std::vector<std::function<void(ChannelOffer&)>> changes = {
      [](ChannelOffer& offer) { offer.header.suite = static_cast<CipherSuite>(0x1304); },
      [](ChannelOffer& offer) { offer.reach = 0; },
      [](ChannelOffer& offer) { offer.deadline = 0ms; },
      [](ChannelOffer& offer) { offer.deadline = 25h; },
      [](ChannelOffer& offer) { offer.report_interval = 0ms; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    ChannelOffer offer = example_offer();
    changes[i](offer);
    EXPECT_FALSE(decode(offer, encode(offer))) << i;
  }
  ChannelOffer offer = example_offer();
  auto bytes = encode(offer);
  bytes.back() = 2;
  EXPECT_FALSE(decode(offer, bytes)) << "repairs are there or not";
  offer.channel.back() |= 1;
  EXPECT_FALSE(decode(offer, encode(offer))) << "the id of repairs";
  const std::vector<std::string> states = {"05", "0413", "040a"};
  for (const std::string& text : states) {
    EXPECT_FALSE(decode(ChannelState{}, from_hex("c001020304050608 03" + text))) << text;
  }
}

TEST(ChannelMessages, RefuseRangesThatOverlapOrTouchOrLieOutside) {
  const std::string head = "01 c001020304050608 07 0a 00 00 00 00 00";
  EXPECT_TRUE(decode_channel_datagram(from_hex(head + "01 00 0a")));
  for (const std::string ranges :
       {"01 00 0b", "01 0b 01", "01 00 00", "02 00 01 00 01", "02 00 05 01 05", "41"}) {
    EXPECT_FALSE(decode_channel_datagram(from_hex(head + ranges))) << ranges;
  }
}

TEST(ChannelMessages, RefuseAReportOfMoreThan64Ranges) {
  const std::string head = "01 c001020304050608 07 40c8 00 00 00 00 00";
  std::string ranges;
  for (int i = 0; i < 64; ++i) ranges += "0101";
  EXPECT_TRUE(decode_channel_datagram(from_hex(head + "4040" + ranges)));
  EXPECT_FALSE(decode_channel_datagram(from_hex(head + "4041" + ranges + "0101")));
}

TEST(ChannelMessages, ACopyLendsItsBytes) {
  std::uint8_t bytes[] = {9, 1, 2, 3};
  Writer out(bytes);
  write_channel_copy_head(out);
  ASSERT_EQ(out.size(), k_channel_copy_head);
  const auto copy = decode_channel_datagram(bytes);
  ASSERT_TRUE(copy);
  EXPECT_EQ(std::get<ChannelCopy>(*copy).packet.data(), bytes + 1);
  EXPECT_EQ(std::get<ChannelCopy>(*copy).packet.size(), 3u);
}

TEST(ChannelMessages, DamagedAtRandomAreRefusedOrReadAsSomething) {
  SeededRandom random(8);
  const auto values = one_of_each_capsule();
  for (int round = 0; round < 20'000; ++round) {
    const auto& value = values[random.below(values.size())];
    auto bytes = encode(value);
    bytes[random.below(bytes.size())] = static_cast<std::uint8_t>(random.next());
    if (const auto read = decode(value, bytes)) {
      EXPECT_TRUE(decode(*read, encode(*read)));
    }
  }
}

}  // namespace
}  // namespace sheaf::quic
