#include "direct_return/own_recovery/report_messages.h"

#include <gtest/gtest.h>

#include "direct_return/run_messages.h"

namespace sheaf::quic {
namespace {

AckReport some_report() {
  AckReport report;
  report.path = 7;
  report.number = 3;
  report.window = 120'000;
  report.epoch = 2;
  report.slow_start = true;
  report.ecn = true;
  report.datagram = 1452;
  report.max_ack_delay = 25ms;
  report.ack_delay = 130us;
  report.hold = 2ms;
  report.counts = EcnCounts{.ect0 = 100, .ce = 2};
  report.acknowledged.push_back({40, 50});
  report.acknowledged.push_back({10, 39});
  return report;
}

SenderState some_state() {
  return {.path = 7,
          .report = 3,
          .address = 1,
          .generation = 2,
          .generation_begin = 30,
          .next = 60,
          .settled = 20,
          .acknowledged_end = 50,
          .delivered = 70'000,
          .in_flight = 14'000,
          .latest_rtt = 41ms,
          .minimum_rtt = 40ms,
          .smoothed_rtt = 42ms,
          .acknowledged_epoch = 2,
          .congested_epoch = 1,
          .wants = true,
          .limited = true};
}

template <typename Message>
std::vector<std::uint8_t> encode_one(const Message& message) {
  return encode_run_datagram({5, std::vector<Message>{message}});
}

// Decodes a datagram with this byte changed. Returns whether it was taken.
template <typename Message>
bool taken_with(const Message& message, std::size_t at, std::uint8_t value) {
  auto bytes = encode_one(message);
  bytes[at] = value;
  return bool(decode_run_datagram(bytes));
}

TEST(ReportMessages, AreReadAsTheyWereWritten) {
  const auto report = decode_run_datagram(encode_one(some_report()));
  ASSERT_TRUE(report);
  const AckReport& read = std::get<std::vector<AckReport>>(report->messages).front();
  EXPECT_EQ(read.window, 120'000u);
  EXPECT_EQ(read.epoch, 2u);
  EXPECT_TRUE(read.slow_start && read.ecn);
  EXPECT_EQ(read.hold, 2ms);
  EXPECT_EQ(read.counts, some_report().counts);
  ASSERT_EQ(read.acknowledged.size(), 2u);
  EXPECT_EQ(read.acknowledged.view()[1], (Interval{10, 39}));
  const auto state = decode_run_datagram(encode_one(some_state()));
  ASSERT_TRUE(state);
  const SenderState& told = std::get<std::vector<SenderState>>(state->messages).front();
  EXPECT_EQ(told.next, 60u);
  EXPECT_EQ(told.smoothed_rtt, 42ms);
  EXPECT_TRUE(told.wants && told.limited && !told.contradicted && !told.persistent);
  const auto delivered = decode_run_datagram(encode_one(Delivered{.grant = 4, .offset = 99}));
  ASSERT_TRUE(delivered);
  EXPECT_EQ(std::get<std::vector<Delivered>>(delivered->messages).front().offset, 99u);
}

TEST(ReportMessages, AreRefusedAtEveryOtherLength) {
  for (const auto& bytes : {encode_one(some_report()), encode_one(some_state()),
                            encode_one(Delivered{.grant = 4, .offset = 99})}) {
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      EXPECT_FALSE(decode_run_datagram(Bytes(bytes).first(length))) << length;
    }
  }
}

constexpr std::size_t k_header = 4 + 1 + 6;  // session, kind, number

TEST(ReportMessages, FillADatagramAtMost) {
  AckReport report = some_report();
  report.acknowledged = {};
  for (std::size_t i = AckReport::k_max_ranges; i > 0; --i) {
    report.acknowledged.push_back({4 * i, 4 * i + 2});
  }
  const auto bytes = encode_one(report);
  EXPECT_EQ(bytes.size(), k_header + report_messages::k_report_size);
  EXPECT_LE(bytes.size(), k_max_run_datagram);
  EXPECT_EQ(encode_one(some_state()).size(), k_header + report_messages::k_state_size);
  EXPECT_EQ(encode_one(Delivered{}).size(), k_header + report_messages::k_delivered_size);
}

TEST(ReportMessages, HaveValuesThatFitTogether) {
  AckReport report = some_report();
  report.acknowledged = {};
  report.acknowledged.push_back({40, 50});
  report.acknowledged.push_back({10, 40});  // touches the first
  EXPECT_FALSE(decode_run_datagram(encode_one(report)));
  report.acknowledged = {};
  report.acknowledged.push_back({40, 40});
  EXPECT_FALSE(decode_run_datagram(encode_one(report)));
  report = some_report();
  report.number = 0;
  EXPECT_FALSE(decode_run_datagram(encode_one(report)));
  report = some_report();
  report.epoch = 0;
  EXPECT_FALSE(decode_run_datagram(encode_one(report)));
  report = some_report();
  report.datagram = 1199;
  EXPECT_FALSE(decode_run_datagram(encode_one(report)));
  SenderState state = some_state();
  state.settled = state.next + 1;
  EXPECT_FALSE(decode_run_datagram(encode_one(state)));
  state = some_state();
  state.acknowledged_end = state.next + 1;
  EXPECT_FALSE(decode_run_datagram(encode_one(state)));
  state = some_state();
  state.generation_begin = state.next + 1;
  EXPECT_FALSE(decode_run_datagram(encode_one(state)));
  constexpr std::size_t k_flags_of_report = k_header + 16;
  EXPECT_TRUE(taken_with(some_report(), k_flags_of_report, 7));
  EXPECT_FALSE(taken_with(some_report(), k_flags_of_report, 3)) << "counts that are not there";
  EXPECT_FALSE(taken_with(some_report(), k_flags_of_report, 15));
}

}  // namespace
}  // namespace sheaf::quic
