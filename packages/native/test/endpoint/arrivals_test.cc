// Tests what an endpoint says about a batch, so that its owner knows what may wait.
#include <gtest/gtest.h>

#include "endpoint/endpoint_pair.h"

namespace sheaf::quic {
namespace {

TEST(ArrivalsTest, TellsAcknowledgementsFromWhatIsReadAtOnce) {
  EndpointPair pair;
  ConnectionDriver& driver = pair.connect();
  ASSERT_TRUE(pair.run_until_confirmed());
  EXPECT_EQ(pair.client->end_batch(pair.now).round_trip,
            driver.connection().paths().stats().front().smoothed_rtt);
  const Arrivals handshake = pair.server->end_batch(pair.now);
  EXPECT_GT(handshake.prompt, 0u);
  pair.run_for(1s);  // whatever follows the handshake
  pair.client->end_batch(pair.now);
  pair.server->end_batch(pair.now);

  auto& writer = driver.connection().streams().writer();
  const auto stream = writer.open(Directionality::kBidirectional);
  ASSERT_TRUE(stream);
  const std::vector<std::uint8_t> data(5'000);
  ASSERT_TRUE(writer.write(*stream, SendChunk::copy_of(data), false));
  pair.wake(driver);
  pair.run_for(1s);
  const Arrivals requests = pair.server->end_batch(pair.now);
  EXPECT_GE(requests.prompt, 4u);
  EXPECT_EQ(requests.prompt, requests.datagrams);
  const Arrivals acknowledgements = pair.client->end_batch(pair.now);
  EXPECT_GE(acknowledgements.datagrams, 1u);
  EXPECT_EQ(acknowledgements.prompt, 0u);
  EXPECT_GE(acknowledgements.round_trip, 20ms);
  EXPECT_LT(acknowledgements.round_trip, 50ms);

  const Arrivals none = pair.client->end_batch(pair.now);
  EXPECT_EQ(none.datagrams, 0u);
  EXPECT_EQ(none.round_trip, Duration::max());
}

}  // namespace
}  // namespace sheaf::quic
