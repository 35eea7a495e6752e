#include "channel_authentication/integrity_frame.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "util/random.h"
#include "wire/hex.h"

namespace sheaf::quic {
namespace {

std::string repeated(const char* byte, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += byte;
  return text;
}

std::vector<std::uint8_t> encoded(const IntegrityFrame& frame) {
  std::vector<std::uint8_t> bytes(2000);
  bytes.resize(encode_integrity_frame(frame, bytes));
  return bytes;
}

// Each with its golden bytes
struct Example {
  std::string hex;
  IntegrityFrame frame;
};

struct ExampleBytes {
  std::vector<std::uint8_t> hashes = from_hex(repeated("aa", 16) + repeated("bb", 16));
  std::vector<std::uint8_t> signature = from_hex(repeated("cc", 64));
  std::vector<std::uint8_t> key = from_hex(repeated("dd", 16));
  std::vector<std::uint8_t> entries = from_hex("0102030405060708" + repeated("ee", 16));

  std::vector<Example> examples() const {
    return {
        {"80005eb6"
         "00"
         "4100"
         "03"
         "02"
         "00"
         "10" +
             repeated("aa", 16) + repeated("bb", 16) + repeated("cc", 64),
         FlightFrame{.first = 0x100,
                     .key_sequence = 3,
                     .count = 2,
                     .per_list = 0,
                     .hash_length = 16,
                     .hashes = hashes,
                     .signature = signature}},
        {"80005eb6"
         "00"
         "4100"
         "03"
         "4064"
         "4050"
         "10" +
             repeated("aa", 16) + repeated("bb", 16) + repeated("cc", 64),
         FlightFrame{.first = 0x100,
                     .key_sequence = 3,
                     .count = 100,
                     .per_list = 80,
                     .hash_length = 16,
                     .hashes = hashes,
                     .signature = signature}},
        {"80005eb6"
         "01"
         "4150"
         "20"
         "01" +
             repeated("aa", 16) + repeated("bb", 16),
         ListFrame{.first = 0x150, .hash_length = 32, .hashes = hashes}},
        {"80005eb6"
         "02"
         "00000107" +
             repeated("dd", 16),
         DisclosureFrame{.interval = 0x107, .key = key}},
        {"80005eb6"
         "03"
         "05"
         "01"
         "0102030405060708" +
             repeated("ee", 16),
         TagsFrame{.number = 5, .entries = entries}},
        {"80005eb6"
         "04"
         "07"
         "43e8" +
             repeated("cc", 64),
         StreamSignatureFrame{.stream = 7, .length = 1000, .signature = signature}},
    };
  }
};

TEST(IntegrityFrame, HasTheGoldenBytes) {
  const ExampleBytes bytes;
  for (const Example& example : bytes.examples()) {
    SCOPED_TRACE(example.hex);
    EXPECT_EQ(encoded(example.frame), from_hex(example.hex));
    const auto wire = from_hex(example.hex);
    Reader reader(wire);
    const auto frame = decode_integrity_frame(reader);
    ASSERT_TRUE(frame);
    EXPECT_TRUE(reader.empty());
    EXPECT_EQ(frame->index(), example.frame.index());
    EXPECT_EQ(encoded(*frame), wire);
  }
}

TEST(IntegrityFrame, EveryTruncationIsRefused) {
  const ExampleBytes bytes;
  for (const Example& example : bytes.examples()) {
    const auto wire = from_hex(example.hex);
    for (std::size_t length = 0; length < wire.size(); ++length) {
      const std::vector<std::uint8_t> part(wire.begin(),
                                           wire.begin() + static_cast<std::ptrdiff_t>(length));
      Reader reader(part);
      EXPECT_FALSE(decode_integrity_frame(reader)) << example.hex << " at " << length;
    }
    std::vector<std::uint8_t> room(wire.size() - 1);
    EXPECT_EQ(encode_integrity_frame(example.frame, room), 0u);
  }
}

TEST(IntegrityFrame, RefusesWhatNoSourceSends) {
  const std::string many(5000 * 2, 'a');
  for (const std::string& hex : {
           std::string("80005eb7") + "02" + "00000107",  // another type
           "80005eb6"
           "05" +
               many,  // another kind
           "80005eb6"
           "00"
           "05"
           "00"
           "00"
           "00"
           "10" +
               many,  // no packet
           "80005eb6"
           "00"
           "05"
           "00"
           "02"
           "00"
           "11" +
               many,  // hashes of 17 bytes
           "80005eb6"
           "00"
           "05"
           "00"
           "4051"
           "00"
           "10" +
               many,  // 81 hashes in a flight
           "80005eb6"
           "00"
           "05"
           "00"
           "5401"
           "4050"
           "10" +
               many,  // 65 lists of 80
           "80005eb6"
           "00"
           "05"
           "00"
           "4064"
           "4051"
           "10" +
               many,  // lists of 81
           "80005eb6"
           "00"
           "05"
           "00"
           "4041"
           "01"
           "10" +
               many,  // 65 lists of 1
           "80005eb6"
           "00"
           "ffffffffffffffff"
           "00"
           "02"
           "00"
           "10" +
               many,  // numbers too large
           "80005eb6"
           "01"
           "05"
           "10"
           "00" +
               many,  // no hash
           "80005eb6"
           "01"
           "05"
           "10"
           "4051" +
               many,  // 81 hashes
           "80005eb6"
           "01"
           "ffffffffffffffff"
           "10"
           "01" +
               many,
           "80005eb6"
           "03"
           "05"
           "00" +
               many,  // no tag
           "80005eb6"
           "03"
           "05"
           "ffffffffffffffff" +
               many,  // more than there are bytes
       }) {
    const auto wire = from_hex(hex);
    Reader reader(wire);
    EXPECT_FALSE(decode_integrity_frame(reader)) << hex.substr(0, 60);
  }
}

TEST(IntegrityFrame, TheLargestFramesFitTheirBounds) {
  const std::vector<std::uint8_t> hashes(k_max_list_hashes * 32, 1);
  const std::vector<std::uint8_t> signature(64, 2);
  std::vector<std::uint8_t> room(4000);
  for (PacketNumber first : {PacketNumber{0}, PacketNumber{1} << 40}) {
    const FlightFrame flight{.first = first,
                             .key_sequence = 1,
                             .count = 80,
                             .per_list = 0,
                             .hash_length = 32,
                             .hashes = hashes,
                             .signature = signature};
    EXPECT_LE(encode_integrity_frame(flight, room),
              flight_frame_overhead(first, 1) + hashes.size());
    const ListFrame list{.first = first, .hash_length = 32, .hashes = hashes};
    EXPECT_LE(encode_integrity_frame(list, room), list_frame_overhead(first) + hashes.size());
  }
}

TEST(IntegrityFrame, RandomBytesDecodeToWhatIsEncodedAgain) {
  constexpr std::uint64_t k_seed = 31;
  SeededRandom random{k_seed};
  const ExampleBytes bytes;
  const auto examples = bytes.examples();
  for (int round = 0; round < 20'000; ++round) {
    auto wire = from_hex(examples[random.below(examples.size())].hex);
    for (std::uint64_t i = random.below(4); i > 0; --i) {
      wire[4 + random.below(wire.size() - 4)] = static_cast<std::uint8_t>(random.next());
    }
    Reader reader(wire);
    const auto frame = decode_integrity_frame(reader);
    if (!frame) continue;
    const auto again = encoded(*frame);
    Reader second(again);
    const auto decoded_again = decode_integrity_frame(second);
    ASSERT_TRUE(decoded_again) << "seed " << k_seed << ", round " << round;
    EXPECT_EQ(encoded(*decoded_again), again);
  }
}

}  // namespace
}  // namespace sheaf::quic
