#include "direct_return/run_orders.h"

#include <gtest/gtest.h>

#include "direct_return/messages.h"

namespace sheaf::quic {
namespace {

constexpr std::uint32_t k_ordered_session = 9;

class Heard final : public GrantListener {
 public:
  void on_progress(RunOrders&, const Progress& message, Time) override {
    progress.push_back(message);
  }
  void on_grant_ended(RunOrders&, const GrantEnded& message, Time) override {
    ended.push_back(message);
  }

  void on_void_run(RunOrders&, GrantId grant, PacketNumber first, Time) override {
    void_runs.emplace_back(grant, first);
  }

  std::vector<Progress> progress;
  std::vector<std::pair<GrantId, PacketNumber>> void_runs;
  std::vector<GrantEnded> ended;
};

class RunOrdersTest : public ::testing::Test {
 protected:
  std::vector<RunMessages> said() {
    std::vector<RunMessages> all;
    for (auto bytes = orders_.poll_message(now_); !bytes.empty();
         bytes = orders_.poll_message(now_)) {
      const auto datagram = decode_run_datagram(bytes);
      EXPECT_TRUE(datagram);
      EXPECT_EQ(datagram->session, k_ordered_session);
      all.push_back(datagram->messages);
    }
    return all;
  }
  bool hear(RunMessages messages, std::uint32_t session = k_ordered_session) {
    return orders_.receive(encode_run_datagram({session, std::move(messages)}), now_);
  }

  Time now_{1s};
  Heard heard_;
  RunOrders orders_{{.session = k_ordered_session, .process = 1, .backend_process = 2}, now_};
};

RunMessage a_run(GrantId grant, PacketNumber first) {
  RunMessage run;
  run.grant = grant;
  run.first = first;
  run.bytes = 1'000;
  run.packets = 8;
  run.lifetime = 1ms;
  return run;
}

TEST_F(RunOrdersTest, SaysAllInOrderAndFillsDatagrams) {
  PhaseChange phase;
  phase.generation = 1;
  orders_.say(phase);
  for (PacketNumber i = 0; i < 60; ++i) orders_.say(a_run(1, 8 * i));
  orders_.say(GrantEnded{.end = GrantEnd::kRevoke, .grant = 2});
  EXPECT_LE(orders_.next_timeout(), now_);
  const auto datagrams = said();
  ASSERT_EQ(datagrams.size(), 4u);
  EXPECT_EQ(std::get<std::vector<PhaseChange>>(datagrams[0]).size(), 1u);
  const std::size_t most = most_in_datagram(std::vector<RunMessage>());
  EXPECT_EQ(std::get<std::vector<RunMessage>>(datagrams[1]).size(), most);
  EXPECT_EQ(std::get<std::vector<RunMessage>>(datagrams[2]).size(), 60 - most);
  EXPECT_EQ(std::get<std::vector<RunMessage>>(datagrams[2])[0].first, 8 * most);
  EXPECT_EQ(std::get<std::vector<GrantEnded>>(datagrams[3])[0].end, GrantEnd::kRevoke);
}

TEST_F(RunOrdersTest, HandsOnWhatTheBackendSaysAboutKnownGrants) {
  const GrantId grant = orders_.open(heard_);
  now_ += 100ms;
  EXPECT_TRUE(hear(std::vector{Progress{.grant = grant, .available = 7, .newest_refused = {}},
                               Progress{.grant = grant + 1, .newest_refused = {}}}));
  EXPECT_EQ(orders_.silence().deadline(), now_ + Silence::k_step);
  EXPECT_TRUE(hear(std::vector{GrantEnded{.end = GrantEnd::kReset, .grant = grant, .code = 3}}));
  ASSERT_EQ(heard_.progress.size(), 1u);
  EXPECT_EQ(heard_.progress[0].available, 7u);
  ASSERT_EQ(heard_.ended.size(), 1u);
  EXPECT_EQ(heard_.ended[0].code, 3u);
  orders_.close(grant);
  EXPECT_TRUE(hear(std::vector{Progress{.grant = grant, .newest_refused = {}}}));
  EXPECT_EQ(heard_.progress.size(), 1u);
}

TEST_F(RunOrdersTest, IgnoresWhatABackendDoesNotSay) {
  const Time before = orders_.silence().deadline();
  now_ += 100ms;
  EXPECT_FALSE(hear(std::vector{a_run(1, 0)}));
  EXPECT_FALSE(hear(std::vector{Ping{2}}));
  EXPECT_FALSE(
      hear(std::vector{Progress{.grant = 1, .newest_refused = {}}}, k_ordered_session + 1));
  EXPECT_FALSE(orders_.receive(std::vector<std::uint8_t>{0}, now_));
  EXPECT_EQ(orders_.silence().deadline(), before);
  EXPECT_TRUE(hear(std::vector{Progress{.grant = 1, .newest_refused = {}}}));
  EXPECT_EQ(orders_.silence().deadline(), now_ + Silence::k_step);
}

TEST_F(RunOrdersTest, HandsOnTheRunsOfAVoidDatagramOnce) {
  const GrantId grant = orders_.open(heard_);
  const GrantId other = orders_.open(heard_);
  const GrantId closed = orders_.open(heard_);
  const std::vector<std::vector<RunMessage>> datagrams{
      {a_run(grant, 0)},
      {a_run(grant, 8), a_run(other, 16), a_run(closed, 24)},
      {a_run(grant, 32)}};
  for (const auto& runs : datagrams) {
    for (const RunMessage& run : runs) orders_.say(run);
    EXPECT_EQ(said().size(), 1u);
  }
  orders_.close(closed);
  EXPECT_TRUE(hear(std::vector{VoidRuns{7}, VoidRuns{1}}));
  EXPECT_TRUE(hear(std::vector{VoidRuns{1}}));
  const std::vector<std::pair<GrantId, PacketNumber>> expected{{grant, 8}, {other, 16}};
  EXPECT_EQ(heard_.void_runs, expected);
  EXPECT_TRUE(said().empty());
}

// The backend could not know otherwise that the last runs before a pause are missing.
TEST_F(RunOrdersTest, SaysSomethingAfterRuns) {
  const GrantId grant = orders_.open(heard_);
  orders_.say(a_run(grant, 0));
  const auto first = decode_run_datagram(orders_.poll_message(now_));
  EXPECT_EQ(first->number, 0u);
  EXPECT_EQ(orders_.next_timeout(), now_ + RunOrders::k_after_runs);
  now_ += RunOrders::k_after_runs;
  const auto next = decode_run_datagram(orders_.poll_message(now_));
  EXPECT_TRUE(std::holds_alternative<std::vector<Ping>>(next->messages));
  EXPECT_EQ(next->number, 1u);
  EXPECT_EQ(orders_.next_timeout(), now_ + RunOrders::k_ping_interval);
}

TEST_F(RunOrdersTest, RemembersTheNewestRuns) {
  const GrantId grant = orders_.open(heard_);
  const std::size_t datagrams = SaidRuns::k_max_runs + 2;
  for (std::size_t i = 0; i < datagrams; ++i) {
    orders_.say(a_run(grant, 8 * i));
    static_cast<void>(said());
  }
  EXPECT_TRUE(hear(std::vector{VoidRuns{1}, VoidRuns{2}}));
  const std::vector<std::pair<GrantId, PacketNumber>> expected{{grant, 16}};
  EXPECT_EQ(heard_.void_runs, expected);
}

// What revoked it before may be lost.
TEST_F(RunOrdersTest, RevokesGrantsOfWhichTheBackendSpeaksAlthoughNobodyHasThem) {
  const GrantId grant = orders_.open(heard_);
  EXPECT_TRUE(hear(std::vector{Progress{.grant = grant, .newest_refused = {}}}));
  EXPECT_TRUE(said().empty());
  orders_.close(grant);
  EXPECT_TRUE(hear(std::vector{Progress{.grant = grant, .newest_refused = {}}}));
  EXPECT_TRUE(hear(std::vector{GrantEnded{.end = GrantEnd::kReset, .grant = grant}}));
  const auto datagrams = said();
  ASSERT_EQ(datagrams.size(), 1u);
  EXPECT_EQ(std::get<std::vector<GrantEnded>>(datagrams[0]),
            std::vector{(GrantEnded{.end = GrantEnd::kRevoke, .grant = grant})});
}

// A backend that has forgotten the grant answers.
TEST_F(RunOrdersTest, RepeatsWhatTheClientHasOfEachAcceptedGrant) {
  const GrantId grant = orders_.open(heard_);
  static_cast<void>(orders_.open(heard_));
  orders_.on_accepted({.grant = grant, .offset = 0, .limit = 9}, now_);
  EXPECT_TRUE(said().empty());
  now_ += 100ms;
  const Acknowledged acknowledged{.grant = grant, .offset = 7, .limit = 9};
  orders_.say(acknowledged, now_);
  EXPECT_EQ(said().size(), 1u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(orders_.next_timeout(), now_ + 200ms);
    now_ += 200ms;
    const auto datagrams = said();
    ASSERT_EQ(datagrams.size(), 1u);
    EXPECT_EQ(std::get<std::vector<Acknowledged>>(datagrams[0]), std::vector{acknowledged});
  }
  orders_.close(grant);
  now_ += 200ms;
  EXPECT_EQ(std::get<std::vector<Ping>>(said().at(0)), std::vector{Ping{1}});
}

// A request may take its time before it is answered, and a backend without grants says nothing.
TEST_F(RunOrdersTest, TakesAnAcceptanceForAWord) {
  const GrantId grant = orders_.open(heard_);
  const Time before = orders_.silence().deadline();
  now_ += 2s;
  orders_.say(Acknowledged{.grant = grant, .offset = 0, .limit = 9}, now_);
  EXPECT_EQ(orders_.silence().deadline(), before);
  orders_.on_accepted({.grant = grant, .offset = 0, .limit = 9}, now_);
  EXPECT_EQ(orders_.silence().deadline(), now_ + Silence::k_step);
}

TEST_F(RunOrdersTest, HasANumberOfItsOwn) {
  const RunOrders other(orders_.config(), now_);
  EXPECT_NE(other.number(), orders_.number());
  EXPECT_NE(orders_.number(), 0u);
}

TEST_F(RunOrdersTest, SaysThatItLivesWhileThereAreGrants) {
  EXPECT_EQ(orders_.next_timeout(), k_never);
  const GrantId grant = orders_.open(heard_);
  EXPECT_EQ(orders_.next_timeout(), now_ + 200ms);
  now_ += 200ms;
  const auto datagrams = said();
  ASSERT_EQ(datagrams.size(), 1u);
  EXPECT_EQ(std::get<std::vector<Ping>>(datagrams[0]), std::vector{Ping{1}});
  orders_.close(grant);
  EXPECT_EQ(orders_.next_timeout(), k_never);
}

TEST_F(RunOrdersTest, NumbersGrantsApart) {
  const GrantId first = orders_.open(heard_);
  EXPECT_NE(orders_.open(heard_), first);
  EXPECT_EQ(orders_.grants(), 2u);
}

}  // namespace
}  // namespace sheaf::quic
