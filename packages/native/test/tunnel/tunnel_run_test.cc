#include "sim/tunnel/tunnel_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace sheaf::quic {
namespace {

constexpr std::uint64_t k_seed = 1;

TunnelResult run(const TunnelSetting& setting, std::uint64_t seed = k_seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  TunnelResult result = TunnelRun(setting, seed).run();
  EXPECT_TRUE(result.finished);
  EXPECT_TRUE(result.intact);
  EXPECT_EQ(result.received, setting.bytes);
  return result;
}

Duration percentile(std::vector<Duration> values, double share) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

// Figure 2 of the paper
TunnelSetting lossy(TunnelMode mode, std::uint64_t bytes) {
  return {.world = {.mode = mode, .loss_down = 0.1},
          .bytes = bytes,
          .server_round_trip = 200ms,
          .tunnel_round_trip = 100ms};
}

constexpr std::array k_modes{TunnelMode::kStream, TunnelMode::kStreamGroup, TunnelMode::kDatagram,
                             TunnelMode::kRetransmit, TunnelMode::kForward};

TEST(TunnelRun, EveryModeCarriesADownload) {
  for (const TunnelMode mode : k_modes) {
    SCOPED_TRACE(static_cast<int>(mode));
    const TunnelResult result = run({.world = {.mode = mode}, .bytes = 200'000});
    EXPECT_EQ(result.inner_lost, 0u);
    EXPECT_EQ(result.outer_repeats, 0u);
    EXPECT_GE(percentile(result.delays, 0), 70ms);
    // Four round trips with a window of ten, and not six
    EXPECT_GE(result.completion, 4 * 140ms);
    EXPECT_LE(result.completion, 6 * 140ms);
  }
}

TEST(TunnelRun, EveryModeCarriesADownloadOverALossyLink) {
  for (const TunnelMode mode : k_modes) {
    SCOPED_TRACE(static_cast<int>(mode));
    const TunnelResult result = run(lossy(mode, 200'000));
    EXPECT_EQ(result.link_dropped, 0u);
    if (mode == TunnelMode::kDatagram || mode == TunnelMode::kForward) {
      EXPECT_GT(result.inner_lost, 5u);
    } else if (mode == TunnelMode::kRetransmit) {
      EXPECT_GT(result.outer_repeats, 5u);
    } else {
      EXPECT_GT(result.outer_lost, 5u);
    }
  }
}

TEST(TunnelRun, TheSameSeedGivesTheSameBytes) {
  const TunnelSetting setting = lossy(TunnelMode::kRetransmit, 100'000);
  EXPECT_EQ(run(setting, 5).digest, run(setting, 5).digest);
  EXPECT_NE(run(setting, 5).digest, run(setting, 6).digest);
}

// §2.2 of the paper: streams hold packets back, datagrams that are sent again come late.
TEST(TunnelRun, DelaysOfInnerPacketsDependOnTheMode) {
  const auto late = [](TunnelMode mode) {
    TunnelSetting setting = lossy(mode, 1'000'000);
    setting.world.rate = 12'500'000;  // so that no queue before the link adds to the delays
    return percentile(run(setting).delays, 0.95);
  };
  const Duration stream = late(TunnelMode::kStream);
  const Duration group = late(TunnelMode::kStreamGroup);
  const Duration retransmit = late(TunnelMode::kRetransmit);
  const Duration datagram = late(TunnelMode::kDatagram);
  EXPECT_GT(stream, group);
  EXPECT_GT(group, retransmit);
  EXPECT_GT(retransmit, datagram);
}

// §2.2: repairs in the tunnel are faster than those of the inner connection.
TEST(TunnelRun, RepairsInTheTunnelShortenDownloads) {
  const auto mean = [](TunnelMode mode) {
    Duration total{};
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      total += run(lossy(mode, 100'000), seed).completion;
    }
    return total / 10;
  };
  EXPECT_LT(mean(TunnelMode::kRetransmit), 0.95 * mean(TunnelMode::kDatagram));
}

TEST(TunnelRun, ABoundedQueueAtTheTunnelDropsAndOneWithoutABoundGrows) {
  TunnelSetting setting{
      .world = {.mode = TunnelMode::kDatagram, .outer = CongestionAlgorithm::kBbrV1},
      .bytes = 2'000'000,
      .warm_bytes = 300'000};
  const auto longest = [](const TunnelResult& result) {
    return std::ranges::max_element(result.samples, {}, &TunnelSample::queue_bytes)->queue_bytes;
  };
  const TunnelResult unbounded = run(setting);
  EXPECT_EQ(unbounded.queue_dropped, 0u);
  setting.world.queue.limit = 20'000;
  const TunnelResult bounded = run(setting);
  EXPECT_GT(bounded.queue_dropped, 0u);
  EXPECT_LE(longest(bounded), 20'000u);
  EXPECT_GT(longest(unbounded), 20'000u);
}

// Figure 4: nested congestion control leaves a queue at the tunnel. Reports let the server follow.
TEST(TunnelRun, ReportsKeepTheQueueAtTheTunnelShort) {
  TunnelSetting setting{.world = {.mode = TunnelMode::kRetransmit,
                                  .loss_down = 0.05,
                                  .outer = CongestionAlgorithm::kBbrV1},
                        .bytes = 5'000'000,
                        .warm_bytes = 3'000'000};
  const auto mean_queue = [](const TunnelResult& result) {
    std::size_t sum = 0;
    for (const TunnelSample& sample : result.samples) sum += sample.queue_bytes;
    return static_cast<double>(sum) / static_cast<double>(result.samples.size());
  };
  const TunnelResult nested = run(setting);
  EXPECT_EQ(nested.reports, 0u);
  setting.world.obedience = ObedienceConfig{};
  const TunnelResult told = run(setting);
  // One in each round trip of the tunnel; some are lost.
  EXPECT_GT(told.reports, static_cast<std::uint64_t>(0.8 * to_seconds(told.completion) / 0.042));
  EXPECT_LT(mean_queue(told), 0.5 * mean_queue(nested));
  EXPECT_LT(told.completion, 1.1 * nested.completion);
}

// What TECC needs beyond the paper, each compared with a run without it
TEST(TunnelRun, CreditKeepsTheQueueShortAndAWarmStartSavesRoundTrips) {
  TunnelSetting setting{.world = {.mode = TunnelMode::kRetransmit,
                                  .loss_down = 0.05,
                                  .outer = CongestionAlgorithm::kBbrV1,
                                  .obedience = ObedienceConfig{.credit = CreditConfig{}},
                                  .fair = true},
                        .bytes = 100'000,
                        .warm_bytes = 3'000'000};
  const TunnelResult cold = run(setting);
  setting.world.warm_start = true;
  const TunnelResult warm = run(setting);
  EXPECT_LT(warm.completion, cold.completion - 100ms);
  EXPECT_GE(warm.completion, warm.bound);
  setting.bytes = 5'000'000;
  const TunnelResult large = run(setting);
  std::vector<std::size_t> queues;
  for (const TunnelSample& sample : large.samples) queues.push_back(sample.queue_bytes);
  std::ranges::sort(queues);
  EXPECT_LT(queues[queues.size() / 2], 25'000u);  // 12,500 are a quarter of a round trip
  EXPECT_LT(large.completion, 1.15 * large.bound);
}

TEST(TunnelRun, CopiesAreMadeOnlyWhileNothingElseWaits) {
  TunnelSetting setting = lossy(TunnelMode::kRetransmit, 20'000);
  EXPECT_EQ(run(setting).outer_copies, 0u);
  setting.world.idle_copies = 1;
  Duration with{};
  Duration without{};
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    setting.world.idle_copies = 1;
    const TunnelResult copied = run(setting, seed);
    EXPECT_GT(copied.outer_copies, 5u);
    with += copied.completion;
    setting.world.idle_copies = 0;
    without += run(setting, seed).completion;
  }
  EXPECT_LT(with, 0.9 * without);
}

// Probes that get no response in an outage say nothing about packet sizes. A tunnel that fell back
// to smaller packets would carry no inner ones any more.
TEST(TunnelRun, TunnelsOutliveOutages) {
  std::string lines;
  for (int millisecond = 1; millisecond <= 1000; ++millisecond) {
    lines += std::to_string(millisecond) + "\n";
  }
  const auto trace = CapacityTrace::parse(lines + "6000\n");
  ASSERT_TRUE(trace);
  for (const TunnelMode mode : {TunnelMode::kDatagram, TunnelMode::kRetransmit}) {
    TunnelSetting setting{.world = {.mode = mode,
                                    .loss_down = 0.02,
                                    .trace = std::make_shared<CapacityTrace>(*trace),
                                    .outer = CongestionAlgorithm::kBbrV1},
                          .bytes = 2'000'000,
                          .trace_offset = 0s};
    EXPECT_GT(run(setting).completion, 6s);
    setting.world.obedience = ObedienceConfig{.credit = CreditConfig{}};
    setting.world.fair = setting.world.probes_steadily = true;
    EXPECT_GT(run(setting).completion, 6s);
  }
}

// As in the product: the server keeps its own controller, and follows reports within it.
TEST(TunnelRun, AGuidedServerKeepsTheQueueShortAndIsNotSlower) {
  const auto queue = [](const TunnelResult& result) {
    std::vector<std::size_t> bytes;
    for (const TunnelSample& sample : result.samples) bytes.push_back(sample.queue_bytes);
    std::ranges::sort(bytes);
    return bytes[bytes.size() * 95 / 100];
  };
  for (const double loss : {0.0, 0.05}) {
    SCOPED_TRACE(loss);
    TunnelSetting setting{.world = {.mode = TunnelMode::kRetransmit,
                                    .loss_down = loss,
                                    .outer = CongestionAlgorithm::kBbr,
                                    .inner = CongestionAlgorithm::kCubic,
                                    .fair = true},
                          .bytes = 3'000'000,
                          .warm_bytes = 300'000};
    const TunnelResult plain = run(setting);
    setting.world.guided = true;
    const TunnelResult guided = run(setting);
    EXPECT_LT(guided.completion, 1.02 * plain.completion);
    if (loss == 0) {
      EXPECT_LT(queue(guided), queue(plain) / 3);
    } else {
      // What the tunnel repairs is not sent once more.
      EXPECT_LT(guided.inner_lost, plain.inner_lost / 2);
    }
  }
}

TEST(TunnelRun, ATraceGivesTheRateAndItsOffsetComesFromTheSeed) {
  const auto trace = CapacityTrace::parse("2\n4\n6\n8\n1000\n");
  ASSERT_TRUE(trace);
  TunnelSetting setting{
      .world = {.mode = TunnelMode::kRetransmit, .trace = std::make_shared<CapacityTrace>(*trace)},
      .bytes = 20'000};
  // Five packets in each second, so that 20,000 bytes need about three
  const TunnelResult result = run(setting, 3);
  EXPECT_GE(result.completion, 2s);
  EXPECT_NE(run(setting, 4).completion, result.completion);
}

}  // namespace
}  // namespace sheaf::quic
