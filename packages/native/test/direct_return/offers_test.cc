#include <gtest/gtest.h>

#include <deque>

#include "connection/raw_peer.h"
#include "direct_return/delegated_streams.h"

namespace sheaf::quic {
namespace {

// A connection of a gateway that offers its streams to backends.
class OffersTest : public ::testing::Test {
 protected:
  // Returns why the stream with this number is not offered to a backend, and nothing when it is.
  std::optional<OfferRefusal> offer(std::uint64_t stream, RunOrders& backend) {
    const auto grant = delegated().offer(StreamId{4 * stream}, backend, peer_->now);
    return grant ? std::nullopt : std::optional(grant.error());
  }
  void connect(const RawPeer::Options& options = {}) {
    delegated_.reset();
    peer_.emplace(options);
    delegated_.emplace(peer_->server.extension(), 1);
  }
  RunOrders& backend() {
    const std::uint32_t session = static_cast<std::uint32_t>(backends_.size()) + 1;
    const RunOrders::Config config{.session = session, .process = 1, .backend_process = session};
    return backends_.emplace_back(config, peer_->now);
  }
  DelegatedStreams& delegated() { return *delegated_; }
  Time now() const { return peer_->now; }
  void pass(Duration time) {
    peer_->now += time;
    delegated_->on_timeout(peer_->now);
  }

 private:
  std::optional<RawPeer> peer_;
  std::deque<RunOrders> backends_;  // outlive the grants
  std::optional<DelegatedStreams> delegated_;
};

// A client may be unable to open packets with the keys of a grant until then.
TEST_F(OffersTest, AConnectionIsConfirmed) {
  connect({.finished_came = false});
  EXPECT_EQ(offer(0, backend()), OfferRefusal::kUnconfirmed);
  EXPECT_EQ(delegated().streams(), 0u);
  connect();
  EXPECT_FALSE(offer(0, backend()));
}

TEST_F(OffersTest, EightBackendsSendForAConnection) {
  connect();
  std::deque<RunOrders*> first;
  for (std::uint64_t i = 0; i < ArrivalOrder::k_max_senders - 1; ++i) {
    first.push_back(&backend());
    EXPECT_FALSE(offer(i, *first.back()));
  }
  RunOrders& ninth = backend();
  EXPECT_EQ(offer(8, ninth), OfferRefusal::kBackends);
  EXPECT_FALSE(offer(8, *first[3])) << "those that do so already may send more";
  // The place of one that sends nothing any more is free.
  delegated().revoke(StreamId{0});
  EXPECT_FALSE(offer(9, ninth));
}

TEST_F(OffersTest, AStreamHasOneGrantAndAConnection128) {
  connect();
  RunOrders& sender = backend();
  EXPECT_FALSE(offer(0, sender));
  EXPECT_EQ(offer(0, backend()), OfferRefusal::kTaken);
  for (std::uint64_t i = 1; i < DelegatedStreams::k_max_streams; ++i) {
    EXPECT_FALSE(offer(i, sender));
  }
  EXPECT_EQ(offer(200, sender), OfferRefusal::kGrants);
  delegated().revoke(StreamId{0});
  EXPECT_FALSE(offer(200, sender));
}

TEST_F(OffersTest, AnOfferThatNobodyAcceptsEnds) {
  connect();
  RunOrders& sender = backend();
  const Time begun = now();
  EXPECT_FALSE(offer(0, sender));
  pass(1min);
  EXPECT_FALSE(offer(1, sender));
  EXPECT_EQ(delegated().next_timeout(), begun + DelegatedStreams::k_longest_offer);
  pass(DelegatedStreams::k_longest_offer - 1min - 1ms);
  EXPECT_EQ(delegated().streams(), 2u);
  pass(1ms);
  EXPECT_EQ(delegated().streams(), 1u);
  EXPECT_EQ(sender.grants(), 1u);
  EXPECT_FALSE(offer(0, sender)) << "the stream can be offered again";
  pass(1min);
  EXPECT_EQ(delegated().streams(), 1u);
}

}  // namespace
}  // namespace sheaf::quic
