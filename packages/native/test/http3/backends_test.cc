// Tests servers beside the primary at the level of HTTP/3 (docs/internals/multi-end.md).
#include <gtest/gtest.h>

#include "http3/backends_node.h"

namespace sheaf::http3 {
namespace {

using quic::KeyMode;

class BackendsOfEachMode : public testing::TestWithParam<KeyMode> {};
INSTANTIATE_TEST_SUITE_P(KeyModes, BackendsOfEachMode,
                         testing::Values(KeyMode::kPerPath, KeyMode::kShared));

TEST_P(BackendsOfEachMode, AnswerRequestsThatThePrimaryNeverSees) {
  BackendsSite site(1, GetParam());
  ASSERT_TRUE(site.connect() && site.join());
  const StreamId first = site.ask(1'000'000);
  const StreamId second = site.ask(10);
  const StreamId other = site.ask(20, true);
  ASSERT_TRUE(site.run_until_finished(first) && site.run_until_finished(second) &&
              site.run_until_finished(other));
  EXPECT_EQ(site.message(first).received, 1'000'000u);
  EXPECT_EQ(site.message(second).received, 10u);
  EXPECT_EQ(site.at_backend().messages.size(), 2u);
  EXPECT_EQ(site.at_primary().messages.size(), 1u);
  // The connection began at another server, so no handshake packet was sent to the backend.
  EXPECT_EQ(site.backend.long_headers, 0);
}

TEST_P(BackendsOfEachMode, TakeUploadsAndTellThePrimaryWhatTheyRead) {
  BackendsSite site(2, GetParam());
  ASSERT_TRUE(site.connect() && site.join());
  // This is more than the client may send without the primary's MAX_DATA, which includes what the
  // backend read.
  const StreamId stream = site.ask(0, false, 4'000'000);
  ASSERT_TRUE(site.run_until([&] {
    site.client.write(site.at_client(), stream);
    return site.message(stream).finished;
  }));
  EXPECT_EQ(site.at_backend().messages[stream.value].received, 4'000'000u);
  EXPECT_EQ(site.at_primary().messages.size(), 0u);
}

TEST(Backends, AskForCreditBeforeTheyRunDryAndNotWhileIdle) {
  BackendsSite site(3);
  ASSERT_TRUE(site.connect() && site.join());
  const auto granted = [&] {
    return site.at_primary()
        .driver.primary_exchange()
        ->grantor()
        .totals(BackendsSite::k_backend)
        ->granted;
  };
  const std::uint64_t first = granted();
  site.simulation.run_for(5s);
  EXPECT_EQ(granted(), first);
  const StreamId stream = site.ask(3'000'000);
  ASSERT_TRUE(site.run_until_finished(stream));
  EXPECT_GE(granted(), 3'000'000u);
}

TEST(Backends, DeliverWhatArrivedBeforeTheyWereLost) {
  BackendsSite site(4);
  ASSERT_TRUE(site.connect() && site.join());
  site.client.reads = false;
  const StreamId stream = site.ask(5'000'000);
  const auto arrived = [&] {
    return site.at_client().driver.connection().paths().stats().back().bytes_received;
  };
  ASSERT_TRUE(site.run_until([&] { return arrived() > 100'000; }));
  site.backend.crashed = true;
  ASSERT_TRUE(
      site.run_until([&] { return site.at_client().find<quic::PathAbandonedEvent>() != nullptr; }));
  site.simulation.run_for(5s);
  EXPECT_FALSE(site.message(stream).reset);
  EXPECT_GT(site.at_client().session->peek_body(stream).size(), 0u);
  site.client.read(site.at_client(), stream, site.now());
  site.wake(site.client, site.at_client().driver);
  EXPECT_EQ(site.message(stream).reset, quic::k_backend_lost);
  EXPECT_GT(site.message(stream).received, 10'000u);
  EXPECT_EQ(site.at_client().driver.connection().stats().streams_open,
            6u);  // the control and QPACK streams of both sides
  site.client.reads = true;
  const StreamId again = site.ask(1000, true);
  EXPECT_TRUE(site.run_until_finished(again));
}

TEST(Backends, ThatDrainFinishWhatTheyHaveAndRefuseTheRest) {
  BackendsSite site(5);
  ASSERT_TRUE(site.connect() && site.join());
  const StreamId before = site.ask(2'000'000);
  ASSERT_TRUE(site.run_until([&] { return site.message(before).received > 100'000; }));
  site.at_backend().session->announce_shutdown();
  const StreamId after = site.ask(10);
  ASSERT_TRUE(site.run_until([&] { return site.message(after).reset.has_value(); }));
  EXPECT_EQ(site.message(after).reset, value_of(ErrorCode::kRequestRejected));
  ASSERT_TRUE(site.run_until_finished(before));
  ASSERT_TRUE(site.run_until([&] { return site.at_backend().session->open_requests() == 0; }));
  quic::BackendExchange& exchange = *site.at_backend().driver.backend_exchange();
  const std::uint64_t left = exchange.credit_left();
  EXPECT_GT(left, 0u);
  exchange.give_up();
  site.wake(site.backend, site.at_backend().driver);
  ASSERT_TRUE(site.run_until([&] {
    const auto totals =
        site.at_primary().driver.primary_exchange()->grantor().totals(BackendsSite::k_backend);
    return totals->returned >= left;
  }));
}

TEST(Backends, MayBeWithdrawnForGoodAfterTheyDrained) {
  BackendsSite site(6);
  ASSERT_TRUE(site.connect() && site.join());
  quic::Connection& primary = site.at_primary().driver.connection();
  EXPECT_TRUE(
      quic::withdraw_backend(primary, BackendsSite::k_backend, quic::k_backend_drains, site.now()));
  site.wake(site.primary, site.at_primary().driver);
  site.simulation.run_for(1s);
  EXPECT_EQ(
      quic::withdraw_backend(primary, BackendsSite::k_backend, quic::k_backend_drains, site.now())
          .error(),
      quic::BackendRefusal::kUnknownBackend);
  EXPECT_TRUE(site.hand_over().empty()) << "it has a path";
  EXPECT_TRUE(
      quic::withdraw_backend(primary, BackendsSite::k_backend, quic::k_backend_gone, site.now()));
  site.wake(site.primary, site.at_primary().driver);
  ASSERT_TRUE(
      site.run_until([&] { return site.at_primary().find<quic::BackendLeftEvent>() != nullptr; }));
  EXPECT_FALSE(site.hand_over().empty());
}

TEST(Backends, KeepTheConnectionWhileOnlyTheyHearTheClient) {
  BackendsSite site(7);
  ASSERT_TRUE(site.connect() && site.join());
  // Requests go to the backend alone for three idle timeouts.
  for (int i = 0; i < 18; ++i) {
    ASSERT_TRUE(site.run_until_finished(site.ask(1000)));
    site.simulation.run_for(5s);
  }
  ASSERT_FALSE(site.primary.connections.empty());
  EXPECT_TRUE(site.run_until_finished(site.ask(1000, true)));
}

TEST(Backends, RefuseHandOversThatTheyHaveOrCannotUse) {
  BackendsSite site(8);
  ASSERT_TRUE(site.connect() && site.join());
  using quic::ImportRefusal;
  quic::Endpoint& backend = site.backend.endpoint;
  EXPECT_EQ(backend.import(site.snapshot, site.now()).error(), ImportRefusal::kKnown);
  auto bytes = site.snapshot;
  bytes[0] = 99;
  EXPECT_EQ(backend.import(bytes, site.now()).error(), ImportRefusal::kUnknownVersion);
  for (std::size_t size = 1; size < site.snapshot.size(); ++size) {
    EXPECT_FALSE(backend.import(quic::Bytes(site.snapshot).first(size), site.now()));
  }
  backend.stop_accepting();
  EXPECT_FALSE(backend.import(site.snapshot, site.now()));
  EXPECT_EQ(backend.connection_count(), 1u);
  site.at_backend().driver.forget();
  site.wake(site.backend, site.at_backend().driver);
  site.simulation.run_for(1s);
  EXPECT_EQ(backend.connection_count(), 0u);
}

TEST(Backends, ThatNobodyOffersCanBeAbandoned) {
  BackendsSite site(9);
  ASSERT_TRUE(site.connect());
  // Repeats this more often than there are paths at one time.
  for (int i = 0; i < 30; ++i) {
    ASSERT_FALSE(site.hand_over().empty()) << i;
    ASSERT_TRUE(quic::withdraw_backend(site.at_primary().driver.connection(),
                                       BackendsSite::k_backend, quic::k_backend_gone, site.now()));
    site.wake(site.primary, site.at_primary().driver);
    site.simulation.run_for(3s);
  }
}

}  // namespace
}  // namespace sheaf::http3
