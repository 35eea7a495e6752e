#include "wire/frame_codec.h"

#include <gtest/gtest.h>

#include "util/random.h"
#include "wire/hex.h"

namespace sheaf::quic {
namespace {

std::vector<std::uint8_t> encoded(const Frame& frame) {
  std::vector<std::uint8_t> bytes(encoded_size(frame));
  Writer writer{bytes};
  encode(writer, frame);
  EXPECT_EQ(writer.remaining(), 0u);
  return bytes;
}

TransportErrorCode error_of(const char* hex, PacketType packet_type = PacketType::kOneRtt) {
  const std::vector<std::uint8_t> bytes = from_hex(hex);
  Reader reader{bytes};
  const auto frame = decode_frame(reader, packet_type);
  return frame ? TransportErrorCode::kNoError : frame.error().code;
}

// Holds a frame, its bytes as written by hand from RFC 9000 §19 and RFC 10069 §4, and how much of
// it survives truncation. All frames but those that extend to the packet's end fail at every
// shorter length.
struct Golden {
  const char* name;
  Frame frame;
  const char* hex;
};

const std::vector<std::uint8_t> k_data = from_hex("0102030405");

NewConnectionIdFrame new_connection_id() {
  NewConnectionIdFrame frame{.sequence = 3, .retire_prior_to = 1};
  frame.id = ConnectionId(from_hex("aabbccdd"));
  for (std::size_t i = 0; i < frame.reset_token.size(); ++i) {
    frame.reset_token[i] = static_cast<std::uint8_t>(i);
  }
  return frame;
}

Address ipv4() {
  Address address;
  address.family = Address::Family::kIpv4;
  address.ip = {192, 0, 2, 1};
  address.port = 443;
  return address;
}

Address ipv6() {
  Address address;
  address.family = Address::Family::kIpv6;
  address.ip = {0x20, 0x01, 0x0d, 0xb8};
  address.ip[15] = 1;
  address.port = 0x1152;
  return address;
}

std::vector<Golden> goldens() {
  static const std::vector<std::uint8_t> ranges = from_hex("02 03 00 01");
  const StreamId stream{4};
  return {
      {"PING", PingFrame{}, "01"},
      {"ACK", AckFrame{.largest = 100, .delay = 64, .first_range = 10}, "02 4064 4040 00 0a"},
      {"ACK with ranges",
       AckFrame{.largest = 100, .delay = 1, .range_count = 2, .first_range = 10, .ranges = ranges},
       "02 4064 01 02 0a 02 03 00 01"},
      {"ACK with ECN",
       AckFrame{.largest = 9, .delay = 0, .first_range = 9, .ecn = EcnCounts{1, 2, 70}},
       "03 09 00 00 09 01 02 4046"},
      {"RESET_STREAM", ResetStreamFrame{stream, 0x101, 70000}, "04 04 4101 80011170"},
      {"RESET_STREAM_AT", ResetStreamFrame{stream, 0x101, 70000, 3}, "24 04 4101 80011170 03"},
      {"STOP_SENDING", StopSendingFrame{stream, 5}, "05 04 05"},
      {"CRYPTO", CryptoFrame{64, k_data}, "06 4040 05 0102030405"},
      {"NEW_TOKEN", NewTokenFrame{k_data}, "07 05 0102030405"},
      {"STREAM", StreamFrame{stream, 0, k_data, false}, "0a 04 05 0102030405"},
      {"STREAM with offset and end", StreamFrame{stream, 300, k_data, true},
       "0f 04 412c 05 0102030405"},
      {"STREAM with only an end", StreamFrame{stream, 5, {}, true}, "0f 04 05 00"},
      {"MAX_DATA", MaxDataFrame{1 << 20}, "10 80100000"},
      {"MAX_STREAM_DATA", MaxStreamDataFrame{stream, 16384}, "11 04 80004000"},
      {"MAX_STREAMS bidi", MaxStreamsFrame{Directionality::kBidirectional, 100}, "12 4064"},
      {"MAX_STREAMS uni", MaxStreamsFrame{Directionality::kUnidirectional, 3}, "13 03"},
      {"DATA_BLOCKED", DataBlockedFrame{63}, "14 3f"},
      {"STREAM_DATA_BLOCKED", StreamDataBlockedFrame{stream, 64}, "15 04 4040"},
      {"STREAMS_BLOCKED bidi", StreamsBlockedFrame{Directionality::kBidirectional, 1}, "16 01"},
      {"STREAMS_BLOCKED uni", StreamsBlockedFrame{Directionality::kUnidirectional, 2}, "17 02"},
      {"NEW_CONNECTION_ID", new_connection_id(),
       "18 03 01 04 aabbccdd 000102030405060708090a0b0c0d0e0f"},
      {"RETIRE_CONNECTION_ID", RetireConnectionIdFrame{2}, "19 02"},
      {"PATH_CHALLENGE", PathChallengeFrame{{1, 2, 3, 4, 5, 6, 7, 8}}, "1a 0102030405060708"},
      {"PATH_RESPONSE", PathResponseFrame{{8, 7, 6, 5, 4, 3, 2, 1}}, "1b 0807060504030201"},
      {"CONNECTION_CLOSE", ConnectionCloseFrame{false, 0x0a, 0x08, k_data},
       "1c 0a 08 05 0102030405"},
      {"CONNECTION_CLOSE of the application", ConnectionCloseFrame{true, 0x100, 0, {}},
       "1d 4100 00"},
      {"HANDSHAKE_DONE", HandshakeDoneFrame{}, "1e"},
      // draft-ietf-quic-ack-frequency-11 §4 and §5.
      {"ACK_FREQUENCY", AckFrequencyFrame{7, 31, 25000, 3}, "40af 07 1f 800061a8 03"},
      {"ACK_FREQUENCY of large values", AckFrequencyFrame{64, 1 << 20, 64, 0},
       "40af 4040 80100000 4040 00"},
      {"IMMEDIATE_ACK", ImmediateAckFrame{}, "1f"},
      {"DATAGRAM", DatagramFrame{k_data}, "31 05 0102030405"},
      // RFC 10069 §4.
      {"PATH_ACK", PathAckFrame{PathId{3}, {.largest = 100, .delay = 64, .first_range = 10}},
       "3e 03 4064 4040 00 0a"},
      {"PATH_ACK with ranges and ECN",
       PathAckFrame{PathId{70000},
                    {.largest = 100,
                     .delay = 1,
                     .range_count = 2,
                     .first_range = 10,
                     .ranges = ranges,
                     .ecn = EcnCounts{1, 2, 70}}},
       "3f 80011170 4064 01 02 0a 02 03 00 01 01 02 4046"},
      {"PATH_ABANDON", PathAbandonFrame{PathId{2}, 0x3e76}, "7e75 02 7e76"},
      {"PATH_STATUS_BACKUP", PathStatusFrame{PathId{1}, 64, PathStatus::kBackup}, "7e76 01 4040"},
      {"PATH_STATUS_AVAILABLE", PathStatusFrame{PathId{1}, 2, PathStatus::kAvailable},
       "7e77 01 02"},
      {"PATH_NEW_CONNECTION_ID", PathNewConnectionIdFrame{PathId{5}, new_connection_id()},
       "7e78 05 03 01 04 aabbccdd 000102030405060708090a0b0c0d0e0f"},
      {"PATH_RETIRE_CONNECTION_ID", PathRetireConnectionIdFrame{PathId{5}, 2}, "7e79 05 02"},
      {"MAX_PATH_ID", MaxPathIdFrame{PathId{UINT32_MAX}}, "7e7a c0000000ffffffff"},
      {"PATHS_BLOCKED", PathsBlockedFrame{PathId{7}}, "7e7b 07"},
      {"PATH_CIDS_BLOCKED", PathCidsBlockedFrame{PathId{7}, 1}, "7e7c 07 01"},
      // docs/reference/wire.md.
      {"BACKEND_OFFER", BackendOfferFrame{BackendId{2}, 64, PathId{5}, ipv4()},
       "80005ea0 02 4040 05 04 c0000201 01bb"},
      {"BACKEND_OFFER with IPv6", BackendOfferFrame{BackendId{63}, 0, PathId{70001}, ipv6()},
       "80005ea0 3f 00 80011171 06 20010db8000000000000000000000001 1152"},
      {"BACKEND_WITHDRAW", BackendWithdrawFrame{BackendId{2}, 65, 0x101}, "80005ea1 02 4041 4101"},
      {"BACKEND_ABANDON", BackendAbandonFrame{PathId{5}, 0x3e, {64, 1, 2}},
       "80005ea2 05 3e 4040 01 02"},
      {"TUNNEL_REPORT", TunnelReportFrame{k_data}, "80005ea3 05 0102030405"},
  };
}

TEST(FrameCodec, WritesGoldenBytes) {
  for (const Golden& golden : goldens()) {
    EXPECT_EQ(encoded(golden.frame), from_hex(golden.hex)) << golden.name;
  }
}

TEST(FrameCodec, ReadsGoldenBytes) {
  for (const Golden& golden : goldens()) {
    const std::vector<std::uint8_t> bytes = from_hex(golden.hex);
    Reader reader{bytes};
    const auto frame = decode_frame(reader, PacketType::kOneRtt);
    ASSERT_TRUE(frame) << golden.name << ": " << frame.error().reason;
    EXPECT_TRUE(reader.empty()) << golden.name;
    EXPECT_EQ(frame->index(), golden.frame.index()) << golden.name;
    EXPECT_EQ(encoded(*frame), bytes) << golden.name;
  }
}

TEST(FrameCodec, RefusesEveryTruncation) {
  for (const Golden& golden : goldens()) {
    const std::vector<std::uint8_t> bytes = from_hex(golden.hex);
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      Reader reader{Bytes(bytes).first(length)};
      const auto frame = decode_frame(reader, PacketType::kOneRtt);
      ASSERT_FALSE(frame) << golden.name << " cut to " << length;
      EXPECT_EQ(frame.error().code, TransportErrorCode::kFrameEncodingError) << golden.name;
    }
  }
}

// draft-iyengar-quic-delayed-ack-02 §4: the tolerance counts the packet that elicits the
// acknowledgement, and a byte says whether order is ignored.
TEST(FrameCodec, WritesTheFirstFormOfAckFrequency) {
  EXPECT_EQ(encoded(AckFrequencyFrame{7, 31, 25000, 3, true}), from_hex("40af 07 20 800061a8 00"));
  EXPECT_EQ(encoded(AckFrequencyFrame{7, 0, 1000, 0, true}), from_hex("40af 07 01 43e8 01"));
}

TEST(FrameCodec, ReadsSeveralFramesInARow) {
  const std::vector<std::uint8_t> bytes = from_hex("01 0000 00 08 04 aabb");
  Reader reader{bytes};
  EXPECT_TRUE(std::holds_alternative<PingFrame>(*decode_frame(reader, PacketType::kOneRtt)));
  const auto padding = decode_frame(reader, PacketType::kOneRtt);
  EXPECT_EQ(std::get<PaddingFrame>(*padding).length, 3u);
  const auto stream = decode_frame(reader, PacketType::kOneRtt);
  EXPECT_EQ(std::get<StreamFrame>(*stream).data.size(), 2u);  // no length: to the packet's end
  EXPECT_TRUE(reader.empty());
}

TEST(FrameCodec, ReadsADatagramThatReachesToTheEnd) {
  const std::vector<std::uint8_t> bytes = from_hex("30 aabbcc");
  Reader reader{bytes};
  EXPECT_EQ(std::get<DatagramFrame>(*decode_frame(reader, PacketType::kOneRtt)).data.size(), 3u);
}

TEST(FrameCodec, RefusesWhatAFrameAloneCanViolate) {
  constexpr auto k_encoding = TransportErrorCode::kFrameEncodingError;
  EXPECT_EQ(error_of("21"), k_encoding);                    // unknown
  EXPECT_EQ(error_of("7fff"), k_encoding);                  // unknown, two bytes
  EXPECT_EQ(error_of("02 05 00 00 06"), k_encoding);        // first range below 0
  EXPECT_EQ(error_of("02 05 00 01 00 04 00"), k_encoding);  // gap below 0
  EXPECT_EQ(error_of("02 05 00 01 00 03 01"), k_encoding);  // second range below 0
  EXPECT_EQ(error_of("02 05 00 ffffffffffffffff 00 00 00"), k_encoding);
  EXPECT_EQ(error_of("0e 00 ffffffffffffffff 01 aa"), k_encoding);  // STREAM beyond 2^62-1
  EXPECT_EQ(error_of("06 ffffffffffffffff 01 aa"), k_encoding);     // CRYPTO beyond 2^62-1
  EXPECT_EQ(error_of("12 d000000000000001"), k_encoding);           // 2^60 + 1 streams
  EXPECT_EQ(error_of("17 d000000000000001"), k_encoding);
  EXPECT_EQ(error_of("07 00"), k_encoding);           // empty token
  EXPECT_EQ(error_of("24 04 00 05 06"), k_encoding);  // reliable size above the final one
  EXPECT_EQ(error_of("18 01 02 01 aa 00000000000000000000000000000000"), k_encoding);
  EXPECT_EQ(error_of("18 01 00 00 00000000000000000000000000000000"), k_encoding);
  EXPECT_EQ(error_of("18 01 00 15 000000000000000000000000000000000000000000"
                     "00000000000000000000000000000000"),
            k_encoding);
}

TEST(FrameCodec, RefusesOffersOfBackendsThatCannotExist) {
  constexpr auto k_encoding = TransportErrorCode::kFrameEncodingError;
  constexpr auto k_violation = TransportErrorCode::kProtocolViolation;
  EXPECT_EQ(error_of("80005ea0 02 00 05 05 c0000201 01bb"), k_encoding);  // IPv5
  EXPECT_EQ(error_of("80005ea0 02 00 05 04 c0000201 0000"), k_encoding);  // port 0
  for (const char* address :
       {"04 00000000", "04 e0000001", "04 ffffffff", "06 00000000000000000000000000000000",
        "06 ff020000000000000000000000000001", "06 00000000000000000000ffffe0000001",
        "06 00000000000000000000ffff00000000"}) {
    EXPECT_EQ(error_of(("80005ea0 02 00 05 " + std::string(address) + " 01bb").c_str()), k_encoding)
        << address;
  }
  EXPECT_EQ(error_of("80005ea0 4040 00 05 04 c0000201 01bb"), k_violation);  // backend 64
  EXPECT_EQ(error_of("80005ea0 02 00 c000000100000000 04 c0000201 01bb"), k_violation);
  EXPECT_EQ(error_of("80005ea1 4040 00 00"), k_violation);
}

// RFC 10069 §3.1 and §4: a value above 2^32-1 is above every maximum that can be announced.
TEST(FrameCodec, RefusesPathIdsThatCannotExist) {
  for (const char* hex : {"3e c000000100000000 05 00 00 05", "7e75 c000000100000000 00",
                          "7e76 c000000100000000 00", "7e77 c000000100000000 00",
                          "7e78 c000000100000000 01 00 01 aa 00000000000000000000000000000000",
                          "7e79 c000000100000000 00", "7e7a c000000100000000",
                          "7e7b c000000100000000", "7e7c c000000100000000 00"}) {
    EXPECT_EQ(error_of(hex), TransportErrorCode::kProtocolViolation) << hex;
  }
}

TEST(FrameCodec, AcceptsTheLimits) {
  constexpr auto k_none = TransportErrorCode::kNoError;
  EXPECT_EQ(error_of("02 05 00 01 00 03 00"), k_none);  // 5, and 0
  EXPECT_EQ(error_of("0e 00 fffffffffffffffe 01 aa"), k_none);
  EXPECT_EQ(error_of("12 d000000000000000"), k_none);
}

// RFC 9000 §12.4.
TEST(FrameCodec, RefusesTypesThatAreNotInTheirShortestForm) {
  EXPECT_EQ(error_of("4001"), TransportErrorCode::kProtocolViolation);
  EXPECT_EQ(error_of("8000000a 04 00"), TransportErrorCode::kProtocolViolation);
  EXPECT_EQ(error_of("c000000000000002 00000000"), TransportErrorCode::kProtocolViolation);
}

// RFC 9000 §12.4 table 3 and §12.5.
TEST(FrameCodec, RefusesFramesThatZeroRttPacketsCannotCarry) {
  for (const Golden& golden : goldens()) {
    const std::uint8_t type = from_hex(golden.hex)[0];
    const bool forbidden = type == 0x02 || type == 0x03 || type == 0x06 || type == 0x07 ||
                           type == 0x19 || type == 0x1b || type == 0x1e || type == 0x1f ||
                           type == 0x3e || type == 0x3f || type == 0x40 || type == 0x7e ||
                           type == 0x80;
    EXPECT_EQ(error_of(golden.hex, PacketType::kZeroRtt),
              forbidden ? TransportErrorCode::kProtocolViolation : TransportErrorCode::kNoError)
        << golden.name;
  }
}

TEST(FrameCodec, NamesTheFrameToBlame) {
  const std::vector<std::uint8_t> bytes = from_hex("1a 00");
  Reader reader{bytes};
  const auto frame = decode_frame(reader, PacketType::kOneRtt);
  ASSERT_FALSE(frame);
  EXPECT_EQ(frame.error().frame_type, 0x1au);
  EXPECT_FALSE(frame.error().reason.empty());
}

TEST(StreamFrameHeader, WritesAFrameToThePacketsEnd) {
  const StreamFrameHeader header{
      .stream = StreamId{4}, .offset = 300, .length = 9, .fin = true, .has_length = false};
  std::vector<std::uint8_t> bytes(encoded_size(header));
  Writer writer{bytes};
  encode(writer, header);
  EXPECT_EQ(bytes, from_hex("0d 04 412c"));
}

TEST(StreamFrameHeader, SurvivesARoundTrip) {
  SeededRandom random{5};
  std::vector<std::uint8_t> data(1200, 0xab);
  for (int i = 0; i < 20000; ++i) {
    const StreamFrameHeader header{.stream = StreamId{random.next() >> (2 + random.below(60))},
                                   .offset = random.next() >> (3 + random.below(60)),
                                   .length = static_cast<std::size_t>(random.below(data.size())),
                                   .fin = random.below(2) == 1,
                                   .has_length = random.below(2) == 1};
    std::vector<std::uint8_t> bytes(encoded_size(header) + header.length);
    Writer writer{bytes};
    encode(writer, header);
    writer.write_bytes(Bytes(data).first(header.length));
    ASSERT_EQ(writer.remaining(), 0u);

    Reader reader{bytes};
    StreamFrame frame;
    ASSERT_TRUE(read_stream_frame(reader, frame));
    EXPECT_TRUE(reader.empty());
    EXPECT_EQ(frame.stream, header.stream);
    EXPECT_EQ(frame.offset, header.offset);
    EXPECT_EQ(frame.data.size(), header.length);
    EXPECT_EQ(frame.fin, header.fin);
  }
}

TEST(StreamFrameHeader, LeavesOtherFramesAlone) {
  for (const Golden& golden : goldens()) {
    if (std::holds_alternative<StreamFrame>(golden.frame)) continue;
    const std::vector<std::uint8_t> bytes = from_hex(golden.hex);
    Reader reader{bytes};
    StreamFrame frame;
    EXPECT_FALSE(read_stream_frame(reader, frame)) << golden.name;
    EXPECT_TRUE(reader.ok());
    EXPECT_EQ(reader.remaining(), bytes.size());
  }
}

std::vector<AckRange> read_ranges(const AckFrame& frame) {
  std::vector<AckRange> ranges;
  AckRangeReader reader{frame};
  AckRange range;
  while (reader.next(range.first, range.last)) ranges.push_back(range);
  return ranges;
}

TEST(AckRanges, AreWalkedFromTheLargestDown) {
  const std::vector<std::uint8_t> bytes = from_hex("02 4064 01 02 0a 02 03 00 01");
  Reader reader{bytes};
  const auto frame = decode_frame(reader, PacketType::kOneRtt);
  const std::vector<AckRange> ranges = read_ranges(std::get<AckFrame>(*frame));
  ASSERT_EQ(ranges.size(), 3u);
  EXPECT_EQ(ranges[0].first, 90u);
  EXPECT_EQ(ranges[0].last, 100u);
  EXPECT_EQ(ranges[1].first, 83u);
  EXPECT_EQ(ranges[1].last, 86u);
  EXPECT_EQ(ranges[2].first, 80u);
  EXPECT_EQ(ranges[2].last, 81u);
}

// Checks what `decode_frame` reads in the same way, and nothing else.
TEST(AckRanges, OfEachFrameAreReadWithoutTheVariant) {
  for (const Golden& golden : goldens()) {
    const auto* plain = std::get_if<AckFrame>(&golden.frame);
    const auto* of_path = std::get_if<PathAckFrame>(&golden.frame);
    const std::vector<std::uint8_t> bytes = from_hex(golden.hex);
    for (std::size_t length = 1; length <= bytes.size(); ++length) {
      const bool whole = length == bytes.size();
      PathAckFrame read;
      Reader reader{Bytes(bytes).first(length)};
      EXPECT_EQ(read_ack_frame(reader, read.ack), plain && whole) << golden.name;
      EXPECT_EQ(reader.remaining(), plain && whole ? 0 : length) << golden.name;
      Reader path_reader{Bytes(bytes).first(length)};
      EXPECT_EQ(read_path_ack_frame(path_reader, read), of_path && whole) << golden.name;
      EXPECT_EQ(path_reader.remaining(), of_path && whole ? 0 : length) << golden.name;
      if (plain && whole) {
        EXPECT_EQ(encoded(read.ack), bytes);
      }
      if (of_path && whole) {
        EXPECT_EQ(encoded(read), bytes);
      }
    }
  }
}

TEST(AckRanges, OfAPathIdThatCannotBeAreLeftToTheDecoder) {
  const std::vector<std::uint8_t> bytes = from_hex("3e c000000100000000 4064 4040 00 0a");
  Reader reader{bytes};
  PathAckFrame frame;
  EXPECT_FALSE(read_path_ack_frame(reader, frame));
  EXPECT_EQ(reader.remaining(), bytes.size());
}

// Returns descending ranges with at least one number between them.
std::vector<AckRange> random_ranges(SeededRandom& random, std::size_t count) {
  std::vector<AckRange> ranges;
  PacketNumber next = (std::uint64_t{1} << 40) + random.below(1u << 20);
  for (std::size_t i = 0; i < count; ++i) {
    const PacketNumber last = next - random.below(1u << random.below(18));
    const PacketNumber first = last - random.below(1u << random.below(18));
    ranges.push_back({first, last});
    next = first - 2;
  }
  return ranges;
}

TEST(AckRanges, SurviveARoundTripAndFillWhatFits) {
  SeededRandom random{9};
  for (int i = 0; i < 5000; ++i) {
    const std::vector<AckRange> ranges = random_ranges(random, 1 + random.below(80));
    std::optional<EcnCounts> ecn;
    if (random.below(2) == 1) ecn = EcnCounts{random.below(100), 0, random.below(100000)};
    std::vector<std::uint8_t> buffer(random.below(400));
    Writer writer{buffer};
    const std::size_t written = encode_ack(writer, ranges, random.below(5000), ecn);
    ASSERT_LE(written, ranges.size());
    if (written == 0) {
      EXPECT_EQ(writer.size(), 0u);
      EXPECT_LT(buffer.size(), 40u);  // an ACK of one range is not larger
      continue;
    }
    Reader reader{writer.written()};
    AckFrame frame;
    ASSERT_TRUE(read_ack_frame(reader, frame));
    EXPECT_TRUE(reader.empty());
    EXPECT_EQ(frame.ecn, ecn);
    const std::vector<AckRange> read = read_ranges(frame);
    ASSERT_EQ(read.size(), written);
    for (std::size_t range = 0; range < written; ++range) {
      EXPECT_EQ(read[range].first, ranges[range].first);
      EXPECT_EQ(read[range].last, ranges[range].last);
    }
    // One more range costs at most 16 bytes, plus one byte of the count.
    if (written < ranges.size()) {
      EXPECT_LT(writer.remaining(), 17u);
    }
  }
}

}  // namespace
}  // namespace sheaf::quic
