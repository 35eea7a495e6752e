// Tests that events which sending causes are shown, although nobody called the connection for them.
#include <gtest/gtest.h>

#include "endpoint/endpoint_pair.h"

namespace sheaf::quic {
namespace {

TEST(EventsOfSendingTest, AConnectionThatIsToSendOnlyIsActiveWhenThatCausedAnEvent) {
  EndpointPair::Options options;
  options.connection.datagram_queue_limit = 4096;
  EndpointPair pair(options);
  ConnectionDriver& driver = pair.connect();
  ASSERT_TRUE(pair.run_until_confirmed());
  Endpoint& endpoint = *pair.client;
  while (ConnectionDriver* active = endpoint.next_active(pair.now)) {
    while (active->poll_event(pair.now)) {
    }
  }
  std::vector<std::uint8_t> buffer(65536);
  const auto transmit = [&] {
    endpoint.send(driver);
    for (bool more = true; more;) {
      TransmitBatch batch;
      batch.buffer = buffer;
      batch.max_segments = 64;
      endpoint.poll_transmit(batch, pair.now);
      more = batch.size > 0;
    }
  };
  const std::vector<std::uint8_t> payload(500);
  ASSERT_TRUE(driver.connection().datagrams().send(payload, 0));
  transmit();
  EXPECT_FALSE(endpoint.has_active());
  while (driver.connection().datagrams().send(payload, 0)) {
  }
  transmit();
  EXPECT_TRUE(endpoint.has_active());
  ASSERT_EQ(endpoint.next_active(pair.now), &driver);
  const auto event = driver.poll_event(pair.now);
  ASSERT_TRUE(event);
  EXPECT_TRUE(std::holds_alternative<DatagramsWritableEvent>(*event));
}

}  // namespace
}  // namespace sheaf::quic
