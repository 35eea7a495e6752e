// Tests the packet that a backend sends when it accepts a grant, before the gateway knows.
#include <gtest/gtest.h>

#include "direct_return/executor.h"
#include "direct_return/framed_payload.h"
#include "direct_return/held_payload.h"
#include "direct_return/messages.h"
#include "sim/direct_return/pattern_payload.h"

namespace sheaf::quic {
namespace {

constexpr std::uint16_t k_first_bytes = 1000;

std::vector<std::uint8_t> bytes_of(std::uint8_t value, std::size_t count) {
  return std::vector<std::uint8_t>(count, value);
}

TEST(FramedPayload, HasBytesBeforeAndBehindAnother) {
  auto inner = std::make_unique<HeldPayload>(3);
  HeldPayload* const held = inner.get();
  FramedPayload payload(bytes_of(1, 3), std::move(inner), 8, bytes_of(3, 2));
  EXPECT_EQ(payload.end(), 10u);
  EXPECT_EQ(payload.available(), 3u);
  std::vector<std::uint8_t> read(4);
  EXPECT_EQ(payload.read(0, read), PayloadRead::kNotThere);
  held->append(bytes_of(2, 4));
  EXPECT_EQ(payload.available(), 7u);
  EXPECT_EQ(payload.read(1, read), PayloadRead::kDone);
  EXPECT_EQ(read, (std::vector<std::uint8_t>{1, 1, 2, 2}));
  held->append(bytes_of(2, 1));
  EXPECT_EQ(payload.available(), 10u) << "the last bytes are there with those before them";
  read.resize(10);
  EXPECT_EQ(payload.read(0, read), PayloadRead::kDone);
  EXPECT_EQ(read, (std::vector<std::uint8_t>{1, 1, 1, 2, 2, 2, 2, 2, 3, 3}));
  read.resize(2);
  EXPECT_EQ(payload.read(8, read), PayloadRead::kDone);
  EXPECT_EQ(read, bytes_of(3, 2));
  EXPECT_EQ(payload.read(9, read), PayloadRead::kNotThere);
  payload.release(6);
  EXPECT_GT(held->room(), HeldPayload::k_max_held - 5);
}

class FirstPacketTest : public ::testing::Test {
 protected:
  FirstPacketTest()
      : random_(1),
        executor_({.session = 5,
                   .process = example_grant().process,
                   .sources = {example_grant().addresses.local}},
                  random_, now_) {
    grant_.first_offset = 0;
    grant_.first = {
        .number = grant_.keys.first_number + 1, .bytes = k_first_bytes, .lifetime = 20ms};
  }

  void accept(std::uint64_t end) { accept(std::make_unique<PatternPayload>(0, end), end, now_); }
  void accept(std::unique_ptr<PayloadSource> source, std::uint64_t end, Time asked_at) {
    EXPECT_TRUE(executor_.accept(grant_, std::move(source), now_,
                                 Executor::Whole{.end = end, .asked_at = asked_at}));
  }
  // Returns the sizes of what is sent now.
  std::vector<std::size_t> sent() {
    std::vector<std::size_t> sizes;
    TransmitBatch batch;
    batch.buffer = buffer_;
    while (executor_.poll_transmit(batch, now_)) sizes.push_back(batch.size);
    return sizes;
  }
  Progress said() {
    const auto datagram = decode_run_datagram(executor_.poll_message(now_));
    return datagram ? std::get<std::vector<Progress>>(datagram->messages).back() : Progress{};
  }
  bool say(RunMessages messages) {
    return executor_.receive(encode_run_datagram({5, std::move(messages), next_datagram_++}), now_);
  }
  void expect_refused() {
    const Progress progress = said();
    ASSERT_EQ(progress.newest_refused.size(), 1u);
    EXPECT_EQ(progress.newest_refused.view().front(), grant_.first.number);
  }

  Time now_{1s};
  SeededRandom random_;
  Grant grant_ = example_grant();
  Executor executor_;
  std::uint64_t next_datagram_ = 0;  // with runs
  std::vector<std::uint8_t> buffer_ = std::vector<std::uint8_t>(64 << 10);
};

TEST_F(FirstPacketTest, LeavesWhenTheGrantIsAccepted) {
  accept(100'000);
  EXPECT_TRUE(executor_.first_is_due());
  EXPECT_LE(executor_.next_timeout(), now_);
  const auto sizes = sent();
  ASSERT_EQ(sizes.size(), 1u);
  EXPECT_GT(sizes[0], k_first_bytes);
  EXPECT_FALSE(executor_.first_is_due());
  EXPECT_EQ(said().executed_end, grant_.first.number + 1);
  // Orders with its number, and with lower ones, come too late.
  RunMessage run{.grant = grant_.id,
                 .first = grant_.first.number,
                 .bytes = 10,
                 .packets = 1,
                 .phase_name = grant_.keys.phase_name(),
                 .lifetime = 10ms};
  say(std::vector{run});
  EXPECT_TRUE(sent().empty());
  run.first = grant_.first.number + 1;
  say(std::vector{run});
  EXPECT_EQ(sent().size(), 1u);
}

TEST_F(FirstPacketTest, EndsAStreamThatIsAsLong) {
  accept(k_first_bytes);
  EXPECT_EQ(sent().size(), 1u);
}

TEST_F(FirstPacketTest, IsNotSentOfAShorterStreamOrWithoutAWholeSource) {
  accept(k_first_bytes - 1);
  EXPECT_FALSE(executor_.first_is_due());
  EXPECT_TRUE(sent().empty());
  EXPECT_EQ(said().refused, 0u) << "the gateway knows by the length of the response";
  grant_.id += 1;
  EXPECT_TRUE(executor_.accept(grant_, std::make_unique<PatternPayload>(0, 100'000), now_));
  EXPECT_TRUE(sent().empty());
}

TEST_F(FirstPacketTest, WaitsForItsBytes) {
  auto source = std::make_unique<HeldPayload>(0);
  HeldPayload* const held = source.get();
  held->append(bytes_of(1, 300));
  accept(std::move(source), 2000, now_);
  EXPECT_TRUE(sent().empty());
  EXPECT_FALSE(executor_.first_is_due());
  held->append(bytes_of(1, 600));
  executor_.on_available(grant_.id);
  EXPECT_TRUE(sent().empty());
  now_ += 19ms;
  held->append(bytes_of(1, 100));
  executor_.on_available(grant_.id);
  EXPECT_EQ(sent().size(), 1u);
}

TEST_F(FirstPacketTest, IsRefusedWhenItsBytesComeTooLate) {
  accept(std::make_unique<HeldPayload>(0), 2000, now_);
  EXPECT_TRUE(sent().empty());
  said();
  EXPECT_EQ(executor_.next_timeout(), now_ + 20ms);
  now_ += 20ms;
  executor_.on_timeout(now_);
  expect_refused();
  executor_.on_available(grant_.id);
  EXPECT_TRUE(sent().empty());
}

TEST_F(FirstPacketTest, IsRefusedLongAfterTheRequest) {
  accept(std::make_unique<PatternPayload>(0, 100'000), 100'000, now_ - 20ms);
  EXPECT_TRUE(sent().empty());
  expect_refused();
}

// As other runs are
TEST_F(FirstPacketTest, IsRefusedWithOldKeysWhileAnAddressIsValidatedAndBelowWhatWasSent) {
  accept(100'000);
  say(std::vector{AddressChange{.connection = grant_.connection,
                                .number = 1,
                                .addresses = grant_.addresses,
                                .client_id = grant_.client_id,
                                .paused = true}});
  EXPECT_TRUE(sent().empty());
  expect_refused();
  say(std::vector{AddressChange{.connection = grant_.connection,
                                .number = 2,
                                .addresses = grant_.addresses,
                                .client_id = grant_.client_id}});
  grant_.id += 1;
  grant_.first.number += 10;
  accept(100'000);
  EXPECT_EQ(sent().size(), 1u);
  grant_.id += 1;
  grant_.first.number -= 5;
  accept(100'000);
  EXPECT_TRUE(sent().empty());
  EXPECT_EQ(executor_.stats().refused[static_cast<std::size_t>(RunRefusal::kLow)], 1u);
}

// The gateway has nothing to order before it hears of bytes, and nobody else tells it.
TEST_F(FirstPacketTest, BytesBehindItAreAnnouncedAtOnce) {
  auto source = std::make_unique<HeldPayload>(0);
  HeldPayload* const held = source.get();
  accept(std::move(source), 5000, now_);
  EXPECT_TRUE(executor_.poll_message(now_).empty()) << "there is nothing to order";
  held->append(bytes_of(1, k_first_bytes));
  executor_.on_available(grant_.id);
  EXPECT_EQ(sent().size(), 1u);
  EXPECT_EQ(said().available, k_first_bytes);
  // The last PROGRESS was just now.
  held->append(bytes_of(1, 100));
  executor_.on_available(grant_.id);
  EXPECT_LE(executor_.next_timeout(), now_);
  EXPECT_EQ(said().available, k_first_bytes + 100u);
  // From now on the gateway has something to order, and messages wait for each other.
  held->append(bytes_of(1, 100));
  executor_.on_available(grant_.id);
  EXPECT_TRUE(executor_.poll_message(now_).empty());
  EXPECT_EQ(executor_.next_timeout(), now_ + Executor::k_progress_interval);
  now_ += Executor::k_progress_interval;
  EXPECT_EQ(said().available, k_first_bytes + 200u);
}

TEST_F(FirstPacketTest, BytesOfAGrantWithoutOneAreAnnouncedAtOnce) {
  auto source = std::make_unique<HeldPayload>(40);
  HeldPayload* const held = source.get();
  EXPECT_TRUE(executor_.accept(grant_, std::move(source), now_));
  EXPECT_TRUE(executor_.poll_message(now_).empty()) << "the gateway has these itself";
  grant_.id += 1;
  EXPECT_TRUE(executor_.accept(grant_, std::make_unique<PatternPayload>(0, 100'000), now_));
  EXPECT_EQ(said().available, 100'000u);
  held->append(bytes_of(1, 100));
  executor_.on_available(grant_.id - 1);
  EXPECT_EQ(said().available, 140u);
}

TEST_F(FirstPacketTest, ItsBytesAreAnnouncedAtOnceWhenItIsRefused) {
  auto source = std::make_unique<HeldPayload>(0);
  HeldPayload* const held = source.get();
  accept(std::move(source), 2000, now_);
  held->append(bytes_of(1, 300));
  executor_.on_available(grant_.id);
  EXPECT_TRUE(sent().empty());
  EXPECT_TRUE(executor_.poll_message(now_).empty());
  now_ += 20ms;
  executor_.on_timeout(now_);
  EXPECT_LE(executor_.next_timeout(), now_);
  const Progress progress = said();
  EXPECT_EQ(progress.available, 300u);
  EXPECT_EQ(progress.refused, 1u);
}

TEST_F(FirstPacketTest, IsForgottenWithItsGrant) {
  accept(100'000);
  say(std::vector{GrantEnded{.end = GrantEnd::kRevoke, .grant = grant_.id}});
  EXPECT_TRUE(sent().empty());
  EXPECT_EQ(executor_.grants(), 0u);
}

}  // namespace
}  // namespace sheaf::quic
