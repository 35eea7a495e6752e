// Tests reports about a tunnel that carries a connection (docs/reference/wire.md).
#include "connection/tunnel_reports.h"

#include "connection/raw_peer.h"

namespace sheaf::quic {
namespace {

std::vector<std::uint8_t> encoded(const FeedbackReport& report) {
  std::vector<std::uint8_t> bytes(k_longest_feedback_report);
  Writer writer(bytes);
  encode(writer, report);
  bytes.resize(writer.size());
  return bytes;
}

class TunnelReportsTest : public testing::Test {
 protected:
  void report(const FeedbackReport& report) {
    const auto bytes = encoded(report);
    peer.send({TunnelReportFrame{bytes}}, peer.path);
  }
  void expect_error() {
    const ConnectionClosed* closed = peer.server.closed();
    ASSERT_NE(closed, nullptr);
    EXPECT_EQ(closed->error, static_cast<std::uint64_t>(TransportErrorCode::kFrameEncodingError));
    EXPECT_EQ(closed->frame_type, static_cast<std::uint64_t>(FrameType::kTunnelReport));
  }
  PathStats stats() { return peer.server.paths().stats().front(); }

  RawPeer peer{{.config = {.follow_tunnel_reports = true}}};
};

TEST_F(TunnelReportsTest, AreAnnouncedWhereTheyAreFollowed) {
  EXPECT_TRUE(peer.server.local_parameters().tunnel_reports);
  EXPECT_FALSE(RawPeer().server.local_parameters().tunnel_reports);
}

TEST_F(TunnelReportsTest, ASlowTunnelLimitsWindowAndPace) {
  const std::uint64_t before = stats().congestion_window;
  report({.sequence = 1, .made = 1s, .rate = 10'000, .tunnel_round_trip = 10ms});
  EXPECT_EQ(peer.server.stats().tunnel_reports_received, 1u);
  EXPECT_LT(stats().congestion_window, before);
  // An old one changes nothing.
  const std::uint64_t guided = stats().congestion_window;
  report({.sequence = 1, .made = 2s, .rate = 10'000'000, .tunnel_round_trip = 10ms});
  EXPECT_EQ(stats().congestion_window, guided);
}

TEST_F(TunnelReportsTest, AFastTunnelLimitsNothing) {
  const std::uint64_t before = stats().congestion_window;
  report({.sequence = 1, .made = 1s, .rate = UINT64_MAX >> 2, .tunnel_round_trip = 3600s});
  EXPECT_EQ(stats().congestion_window, before);
  EXPECT_FALSE(peer.server.closed());
}

TEST_F(TunnelReportsTest, ClaimsWithoutMeasureLimitNothing) {
  const std::uint64_t before = stats().congestion_window;
  const Duration latest = std::chrono::microseconds(std::uint64_t{1} << 50);
  report({.sequence = 1, .made = latest, .rate = UINT64_MAX >> 2});
  report({.sequence = 2, .made = 1us, .rate = UINT64_MAX >> 2});
  EXPECT_EQ(stats().congestion_window, before);
}

TEST_F(TunnelReportsTest, AnotherTunnelCountsAnew) {
  report({.sequence = 9, .made = 1s, .rate = 10'000, .arrived = 5000, .tunnel_round_trip = 10ms});
  report({.sequence = 1,
          .made = 2s,
          .rate = 1'000'000'000,
          .arrived = 100,
          .tunnel_round_trip = 10ms});
  EXPECT_GT(stats().congestion_window, 10'000u);
}

TEST_F(TunnelReportsTest, WhatIsNoReportEndsTheConnection) {
  const std::vector<std::uint8_t> bytes{1, 2, 3};
  peer.send({TunnelReportFrame{bytes}}, peer.path);
  expect_error();
}

TEST_F(TunnelReportsTest, AContradictionEndsTheConnection) {
  report({.sequence = 1, .rate = 1, .arrived = 1, .left = 2});
  expect_error();
}

TEST(TunnelReports, NobodySendsThemUnlessTheyAreAnnounced) {
  RawPeer peer;
  const auto bytes = encoded({.sequence = 1, .rate = 1});
  EXPECT_FALSE(peer.server.paths().report_tunnel(bytes));
  peer.send({TunnelReportFrame{bytes}}, peer.path);
  ASSERT_NE(peer.server.closed(), nullptr);
}

}  // namespace
}  // namespace sheaf::quic
