#include "direct_return/own_recovery/path_senders.h"

#include <gtest/gtest.h>

#include "direct_return/executor.h"
#include "direct_return/messages.h"
#include "direct_return/own_recovery/times.h"
#include "sim/direct_return/pattern_payload.h"

namespace sheaf::quic {
namespace {

constexpr std::uint32_t k_lent_session = 5;
constexpr GrantId k_lent = 7;
constexpr std::uint64_t k_whole = 50'000;

Grant lent_grant() {
  Grant grant = example_grant();
  grant.connection = mark_lent_path(k_lent);
  grant.keys.path = PathId{1};
  grant.keys.first_number = 0;
  grant.first_offset = 0;
  return grant;
}

class PathSendersTest : public ::testing::Test {
 protected:
  static ExecutorConfig config(bool lent_paths) {
    return {.session = k_lent_session,
            .process = example_grant().process,
            .sources = {example_grant().addresses.local},
            .lent_paths = lent_paths};
  }
  static bool accept(Executor& executor, Time now) {
    return bool(executor.accept(lent_grant(), std::make_unique<PatternPayload>(0, k_whole), now));
  }
  template <typename Message>
  static bool say(Executor& executor, const Message& message, Time now) {
    return executor.receive(encode_run_datagram({k_lent_session, std::vector<Message>{message}}),
                            now);
  }
  bool sends(Executor& executor, Time now) {
    TransmitBatch batch;
    batch.buffer = buffer_;
    return executor.poll_transmit(batch, now);
  }

  SeededRandom random_{1};
  std::vector<std::uint8_t> buffer_ = std::vector<std::uint8_t>(48 << 10);
};

// A process that was not scheduled reads first what its gateway has said meanwhile.
TEST_F(PathSendersTest, LooksTwiceBeforeItTakesTheGatewayForSilent) {
  Executor executor(config(true), random_, at(0ms));
  ASSERT_TRUE(accept(executor, at(0ms)));
  executor.on_timeout(at(3s));
  EXPECT_EQ(executor.grants(), 1u);
  EXPECT_FALSE(sends(executor, at(3s)));
  EXPECT_EQ(executor.next_timeout(), at(3s) + Silence::k_to_read);
  ASSERT_TRUE(say(executor, Ping{1}, at(3s)));
  executor.on_timeout(at(3s) + Silence::k_to_read);
  EXPECT_EQ(executor.grants(), 1u);
  EXPECT_TRUE(sends(executor, at(3s) + Silence::k_to_read));
  executor.on_timeout(at(5s));
  executor.on_timeout(at(5s) + Silence::k_to_read);
  EXPECT_EQ(executor.grants(), 0u);
  EXPECT_EQ(executor.next_timeout(), k_never);
}

TEST_F(PathSendersTest, NeedTheBackendsOwnConfiguration) {
  AckReport report;
  report.path = k_lent;
  report.number = report.epoch = 1;
  report.datagram = 1200;
  Executor without(config(false), random_, at(0ms));
  EXPECT_FALSE(accept(without, at(0ms)));
  EXPECT_FALSE(say(without, report, at(0ms)));
  Executor with(config(true), random_, at(0ms));
  EXPECT_TRUE(accept(with, at(0ms)));
  EXPECT_TRUE(say(with, report, at(0ms)));
}

// Nobody would ever say that such a stream is over.
TEST_F(PathSendersTest, RefuseAStreamWithoutBytes) {
  Executor executor(config(true), random_, at(0ms));
  Grant grant = lent_grant();
  grant.first_offset = grant.limit = k_whole;
  EXPECT_FALSE(executor.accept(grant, std::make_unique<PatternPayload>(0, k_whole), at(0ms)));
}

}  // namespace
}  // namespace sheaf::quic
