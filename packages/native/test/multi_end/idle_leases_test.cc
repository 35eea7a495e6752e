// Tests that backends with nothing to send do not hold credit that others wait for.
#include <gtest/gtest.h>

#include "multi_end/credit_leases.h"
#include "stream/stream_end.h"

namespace sheaf::quic {
namespace {

constexpr std::uint64_t k_credit = 200'000;

class IdleLease : public ::testing::Test {
 protected:
  IdleLease() : backend_(Role::kServer, {}), holder_(backend_.streams.leased_limits(), lease()) {
    TransportParameters parameters = StreamEnd(Role::kClient, {}).parameters();
    parameters.initial_max_data = 0;
    parameters.initial_max_stream_data_uni = 50'000;
    EXPECT_TRUE(backend_.streams.set_peer_parameters(parameters));
    backend_.streams.leased_limits().start(lease());
  }
  static StreamLease lease() { return {.credit = k_credit, .ids = {{{0, 4}, {0, 4}}}}; }
  std::optional<LeaseReturn> return_after(Duration duration) {
    now_ += duration;
    return holder_.poll_return(now_);
  }
  void write(std::uint64_t bytes) {
    const auto stream = backend_.streams.writer().open(Directionality::kUnidirectional);
    ASSERT_TRUE(stream);
    const std::vector<std::uint8_t> data(bytes, 7);
    ASSERT_TRUE(backend_.streams.writer().write(*stream, SendChunk::copy_of(data), true));
  }

  Time now_{1s};
  StreamEnd backend_;
  LeaseHolder holder_;
};

TEST_F(IdleLease, GoesBackButForWhatAFirstAnswerNeeds) {
  EXPECT_FALSE(return_after(0ms));
  EXPECT_EQ(holder_.next_timeout(), now_ + LeaseHolder::k_idle);
  EXPECT_FALSE(return_after(LeaseHolder::k_idle - 1ms));
  const auto given_up = return_after(1ms);
  ASSERT_TRUE(given_up);
  EXPECT_EQ(given_up->credit, k_credit - LeaseHolder::k_idle_credit);
  EXPECT_EQ(backend_.streams.outgoing().connection_credit(), LeaseHolder::k_idle_credit);
  EXPECT_FALSE(holder_.poll_request(now_)) << "and is not asked for again";
}

TEST_F(IdleLease, IsToldTwiceSinceMessagesAreLost) {
  EXPECT_FALSE(return_after(0ms));
  const auto first = return_after(LeaseHolder::k_idle);
  ASSERT_TRUE(first);
  EXPECT_FALSE(return_after(LeaseHolder::k_repeat - 1ms));
  const auto second = return_after(1ms);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->credit, first->credit);
  EXPECT_FALSE(return_after(LeaseHolder::k_repeat));
  EXPECT_EQ(holder_.next_timeout(), k_never);
}

TEST_F(IdleLease, IsKeptWhileSomethingWaitsOrWasSent) {
  write(20'000);
  EXPECT_FALSE(return_after(0ms));
  EXPECT_FALSE(return_after(10 * LeaseHolder::k_idle));
  while (!backend_.send().empty()) {
  }
  EXPECT_FALSE(return_after(10 * LeaseHolder::k_idle)) << "the time counts from what was sent last";
  const auto given_up = return_after(LeaseHolder::k_idle);
  ASSERT_TRUE(given_up);
  EXPECT_EQ(given_up->credit, k_credit - 20'000 - LeaseHolder::k_idle_credit);
}

TEST_F(IdleLease, GoesBackWhileTheClientReadsNothingOfItsStreams) {
  write(60'000);
  while (!backend_.send().empty()) {
  }
  EXPECT_EQ(backend_.streams.outgoing().unsent_bytes(), 10'000u);
  EXPECT_FALSE(return_after(0ms));
  const auto given_up = return_after(LeaseHolder::k_idle);
  ASSERT_TRUE(given_up) << "others wait, perhaps, and the client for what they have";
  EXPECT_EQ(given_up->credit, k_credit - 50'000 - LeaseHolder::k_idle_credit);
  EXPECT_FALSE(holder_.poll_request(now_)) << "it could not use it";
}

TEST_F(IdleLease, IsAskedForByABackendThatGotNone) {
  LeaseHolder empty(backend_.streams.leased_limits(), {.ids = lease().ids});
  ASSERT_EQ(backend_.streams.leased_limits().give_up_credit(k_credit), k_credit);
  const auto request = empty.poll_request(now_);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->credit, LeaseHolder::k_idle_credit) << "no more than a first answer needs";
  EXPECT_FALSE(empty.poll_request(now_ + LeaseHolder::k_repeat - 1ms));
}

TEST_F(IdleLease, IsAskedForWhenThereIsMoreToSend) {
  EXPECT_FALSE(return_after(0ms));
  ASSERT_TRUE(return_after(LeaseHolder::k_idle));
  write(LeaseHolder::k_idle_credit + 1);
  const auto request = holder_.poll_request(now_);
  ASSERT_TRUE(request);
  EXPECT_GT(request->credit, k_credit) << "a total, of what was returned, too";
}

}  // namespace
}  // namespace sheaf::quic
