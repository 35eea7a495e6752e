#include "fec/encoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "fec/packets.h"
#include "fec/symbol.h"

namespace sheaf::quic::fec {
namespace {

TEST(Rows, HaveTheseCoefficients) {
  std::array<std::uint8_t, 10> row;
  write_coefficients(1234, 0, row);
  for (std::size_t i = 0; i < row.size(); ++i) {
    EXPECT_EQ(multiply(row[i], static_cast<std::uint8_t>(128 ^ i)), 1);
  }
  write_coefficients(1234, 127, row);
  EXPECT_EQ(row[0], inverse(255));
  write_coefficients(0, 128, row);
  EXPECT_EQ(row, (std::array<std::uint8_t, 10>{0xbe, 0xed, 0x8f, 0x13, 0xcc, 0x2a, 0xf4, 0xab, 0x76,
                                               0xec}));
  write_coefficients(0x3fff'ffff'1234'5678, 40000, row);
  EXPECT_EQ(row, (std::array<std::uint8_t, 10>{0x43, 0xbf, 0x17, 0xa4, 0x58, 0xbf, 0xa8, 0x00, 0x1b,
                                               0x88}));
}

TEST(Rows, OfCauchyNeverRepeatAndAreNeverZero) {
  std::array<std::uint8_t, k_max_set_size> row;
  std::set<std::vector<std::uint8_t>> seen;
  for (RowIndex j = 0; j < k_cauchy_rows; ++j) {
    write_coefficients(5, j, row);
    EXPECT_EQ(std::ranges::count(row, 0), 0);
    EXPECT_TRUE(seen.insert({row.begin(), row.end()}).second);
  }
}

TEST(Encoder, HasTheseBytes) {
  PacketMap sent;
  sent.put(7, std::vector<std::uint8_t>{1, 2, 3});
  EXPECT_EQ(make_repairs(set_of({7}), sent, 0, 1)[0],
            (std::vector<std::uint8_t>{0, multiply(inverse(128), 3), inverse(128),
                                       multiply(inverse(128), 2), multiply(inverse(128), 3)}));
  sent.put(8, std::vector<std::uint8_t>{0xff});
  const auto repair = make_repairs(set_of({7, 8}), sent, 2, 1)[0];
  const std::uint8_t of_7 = inverse(130);
  const std::uint8_t of_8 = inverse(131);
  EXPECT_EQ(repair,
            (std::vector<std::uint8_t>{0, static_cast<std::uint8_t>(multiply(of_7, 3) ^ of_8),
                                       static_cast<std::uint8_t>(of_7 ^ multiply(of_8, 0xff)),
                                       multiply(of_7, 2), multiply(of_7, 3)}));
}

TEST(Encoder, MakesTheSameRowsTogetherAndAlone) {
  const std::uint64_t seed = 1;
  SeededRandom random{seed};
  const PacketMap sent = random_packets(500, 128, 1337, random);
  const NamedSet set = run_of(500, 128);
  for (const KernelKind kind : k_kernels_by_preference) {
    const Kernel* kernel = find_kernel(kind);
    if (kernel == nullptr) continue;
    for (const RowIndex first_row : std::array<RowIndex, 4>{0, 3, 125, 300}) {
      const auto together = make_repairs(set, sent, first_row, 11, *kernel);
      for (std::size_t i = 0; i < together.size(); ++i) {
        const auto row = static_cast<RowIndex>(first_row + i);
        EXPECT_EQ(together[i],
                  make_repairs(set, sent, row, 1, *find_kernel(KernelKind::kPortable))[0])
            << kernel->name << ", row " << row;
      }
    }
  }
}

TEST(Encoder, CodesTheLengthOfAPacketOfTheLargestSize) {
  PacketMap sent;
  sent.put(1, std::vector<std::uint8_t>(k_max_payload, 0x5a));
  sent.put(2, std::vector<std::uint8_t>(1, 0xa5));
  Solver solver(best_kernel(), k_max_payload, 100);
  PacketMap has;
  has.put(2, *sent.find(2));
  const auto repair = make_repairs(set_of({1, 2}), sent, 0, 1)[0];
  EXPECT_EQ(solver.add({.number = 9, .set = set_of({1, 2}), .row = 0, .bytes = repair}, has),
            RepairOutcome::kKept);
  EXPECT_EQ(take_recovered(solver, sent, has), 1u);
}

TEST(Encoder, RefusesOtherLengths) {
  SeededRandom random(9);
  const PacketMap sent = random_packets(5, 2, 100, random);
  const NamedSet set = set_of({5, 6});
  const std::vector<Bytes> payloads{*sent.find(5), *sent.find(6)};
  std::vector<std::uint8_t> bytes(repair_size(payloads) + 1, 0xee);
  const auto makes = [&](std::span<const Bytes> of, std::size_t length) {
    const MutableBytes repair = MutableBytes(bytes).first(length);
    return encode_repairs(best_kernel(), set, of, 0, {&repair, 1});
  };
  EXPECT_FALSE(makes(payloads, bytes.size()));
  EXPECT_FALSE(makes(payloads, bytes.size() - 2));
  EXPECT_FALSE(makes(std::span(payloads).first(1), bytes.size() - 1));
  EXPECT_TRUE(std::ranges::all_of(bytes, [](auto each) { return each == 0xee; }));
  EXPECT_TRUE(makes(payloads, bytes.size() - 1));
}

}  // namespace
}  // namespace sheaf::quic::fec
