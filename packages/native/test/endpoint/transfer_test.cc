#include "endpoint/transfer.h"

#include <gtest/gtest.h>

namespace sheaf::quic {
namespace {

struct Case {
  const char* name;
  Weather weather;
};

class TransferUnderWeather : public testing::TestWithParam<Case> {};

// Both sides send on streams that they opened, under many network conditions and with several
// seeds.
TEST_P(TransferUnderWeather, DeliversEveryByteBothWays) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    EndpointPair pair(seed, GetParam().weather);
    ConnectionDriver& client = pair.connect();
    ASSERT_TRUE(pair.run_until_confirmed());
    ASSERT_EQ(pair.accepted.size(), 1u);
    ConnectionDriver& server = *pair.accepted[0];

    constexpr std::size_t k_size = 300000;
    for (ConnectionDriver* driver : {&client, &server}) {
      for (auto directionality :
           {Directionality::kBidirectional, Directionality::kUnidirectional}) {
        const auto stream = driver->connection().streams().writer().open(directionality);
        ASSERT_TRUE(stream);
        const auto bytes = pattern(*stream, 0, k_size);
        ASSERT_TRUE(driver->connection().streams().writer().write(*stream,
                                                                  SendChunk::copy_of(bytes), true));
      }
      pair.wake(*driver);
    }
    Receiver at_client;
    Receiver at_server;
    const bool done = pair.run_until(
        [&] {
          at_client.drain(client, pair.events(client), pair.now);
          at_server.drain(server, pair.events(server), pair.now);
          pair.wake(client);
          pair.wake(server);
          return at_client.finished.size() == 2 && at_server.finished.size() == 2;
        },
        std::chrono::seconds(300));
    EXPECT_TRUE(done);
    EXPECT_TRUE(at_client.intact && at_server.intact);
    for (const Receiver* receiver : {&at_client, &at_server}) {
      for (const auto& [stream, bytes] : receiver->received) EXPECT_EQ(bytes, k_size) << stream;
    }
    EXPECT_EQ(pair.closed(&client), nullptr);
    EXPECT_EQ(pair.closed(&server), nullptr);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Weather, TransferUnderWeather,
    testing::Values(Case{"Fine", {}}, Case{"Loss1", {.loss = 0.01}}, Case{"Loss30", {.loss = 0.3}},
                    Case{"Reordering", {.reordering = 0.3}},
                    Case{"Duplication", {.duplication = 0.5}},
                    Case{"EcnMarks", {.ecn_marking = 0.1}},
                    Case{
                        "Everything",
                        {.loss = 0.1, .duplication = 0.1, .reordering = 0.2, .ecn_marking = 0.05}}),
    [](const auto& parameter) { return parameter.param.name; });

}  // namespace
}  // namespace sheaf::quic
