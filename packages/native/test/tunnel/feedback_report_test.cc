#include "tunnel/feedback_report.h"

#include <gtest/gtest.h>

#include <array>

#include "util/random.h"

namespace sheaf::quic {
namespace {

std::vector<std::uint8_t> encoded(const FeedbackReport& report) {
  std::array<std::uint8_t, k_longest_feedback_report> buffer;
  Writer writer(buffer);
  encode(writer, report);
  return {buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(writer.written().size())};
}

const FeedbackReport k_report{.sequence = 7,
                              .made = 1500us,
                              .rate = 1'250'000,
                              .least_queue = 2836,
                              .oldest_wait = 2200us,
                              .arrived = 300'000,
                              .left = 290'000,
                              .packets_sent = 35,
                              .packets_repeated = 4,
                              .tunnel_round_trip = 40ms};

TEST(FeedbackReport, HasTheseBytes) {
  const std::vector<std::uint8_t> expected{0x07, 0x45, 0xdc, 0x80, 0x13, 0x12, 0xd0, 0x4b, 0x14,
                                           0x48, 0x98, 0x80, 0x04, 0x93, 0xe0, 0x80, 0x04, 0x6c,
                                           0xd0, 0x23, 0x04, 0x80, 0x00, 0x9c, 0x40};
  EXPECT_EQ(encoded(k_report), expected);
  EXPECT_EQ(decode_feedback_report(expected), k_report);
}

TEST(FeedbackReport, IsNothingWhenItIsShorterOrLonger) {
  std::vector<std::uint8_t> bytes = encoded(k_report);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(decode_feedback_report(Bytes(bytes).first(length))) << length;
  }
  bytes.push_back(0);
  EXPECT_FALSE(decode_feedback_report(bytes));
}

TEST(FeedbackReport, IsNothingWhenItContradictsItself) {
  const auto refused = [](auto&& change) {
    FeedbackReport report = k_report;
    change(report);
    return !decode_feedback_report(encoded(report));
  };
  EXPECT_TRUE(refused([](FeedbackReport& report) { report.left = report.arrived + 1; }));
  EXPECT_TRUE(refused([](FeedbackReport& report) { report.packets_repeated = 36; }));
  EXPECT_FALSE(refused([](FeedbackReport& report) { report.packets_repeated = 35; }));
}

TEST(FeedbackReport, RoundTripsWithRandomValues) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SeededRandom random(seed);
    const auto drawn = [&] { return random.next() >> (2 + random.below(60)); };
    FeedbackReport report{.sequence = drawn(), .rate = drawn(), .least_queue = drawn()};
    report.made = std::chrono::microseconds(random.below(std::uint64_t{1} << 50));
    report.arrived = drawn();
    report.left = random.below(report.arrived + 1);
    report.packets_sent = drawn();
    report.packets_repeated = random.below(report.packets_sent + 1);
    report.oldest_wait = std::chrono::microseconds(random.below(3'600'000'001));
    report.tunnel_round_trip = std::chrono::microseconds(random.below(3'600'000'001));
    EXPECT_EQ(decode_feedback_report(encoded(report)), report);
  }
}

}  // namespace
}  // namespace sheaf::quic
