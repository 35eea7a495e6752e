#include "workers/mailbox.h"

#include <gtest/gtest.h>

#include <thread>

namespace sheaf::workers {
namespace {

using quic::Datagram;

quic::AddressPair path_from(std::uint16_t port) {
  quic::AddressPair path;
  path.local = {.port = 443, .family = quic::Address::Family::kIpv4};
  path.remote = {.port = port, .family = quic::Address::Family::kIpv4};
  return path;
}

bool push(Mailbox& mailbox, std::vector<std::uint8_t> bytes, std::uint16_t port = 1) {
  return mailbox.push({bytes, path_from(port), quic::Ecn::kCe}, quic::Origin::kWorker);
}

TEST(Mailbox, KeepsOrderAddressesAndMarks) {
  Mailbox mailbox;
  mailbox.open([] {});
  for (std::uint8_t i = 0; i < 50; ++i)
    ASSERT_TRUE(push(mailbox, std::vector<std::uint8_t>(i, i), i));
  std::uint8_t next = 0;
  EXPECT_EQ(mailbox.take([&](const Datagram& datagram, quic::Origin) {
    EXPECT_EQ(std::vector<std::uint8_t>(datagram.payload.begin(), datagram.payload.end()),
              std::vector<std::uint8_t>(next, next));
    EXPECT_EQ(datagram.path, path_from(next));
    EXPECT_EQ(datagram.ecn, quic::Ecn::kCe);
    ++next;
  }),
            50u);
  EXPECT_EQ(mailbox.take([](const Datagram&, quic::Origin) { FAIL(); }), 0u);
}

TEST(Mailbox, WakesItsReaderOnceUntilItReads) {
  Mailbox mailbox;
  int wakes = 0;
  mailbox.open([&] { ++wakes; });
  push(mailbox, {1});
  push(mailbox, {2});
  EXPECT_EQ(wakes, 1);
  mailbox.take([](const Datagram&, quic::Origin) {});
  push(mailbox, {3});
  EXPECT_EQ(wakes, 2);
}

TEST(Mailbox, IsBounded) {
  Mailbox mailbox;
  mailbox.open([] {});
  std::size_t taken = 0;
  while (push(mailbox, std::vector<std::uint8_t>(1400))) taken += 1400;
  EXPECT_GT(taken, Mailbox::k_limit / 2);
  EXPECT_LE(taken, Mailbox::k_limit);
  mailbox.take([](const Datagram&, quic::Origin) {});
  EXPECT_TRUE(push(mailbox, {1}));
}

TEST(Mailbox, TakesNothingWhereNobodyReads) {
  Mailbox mailbox;
  EXPECT_FALSE(push(mailbox, {1}));
  mailbox.open([] {});
  EXPECT_TRUE(push(mailbox, {1}));
  mailbox.close();
  EXPECT_FALSE(push(mailbox, {1}));
  mailbox.open([] {});
  EXPECT_EQ(mailbox.take([](const Datagram&, quic::Origin) { FAIL(); }), 0u);
}

TEST(Mailbox, CarriesWhatSeveralThreadsSend) {
  Mailbox mailbox;
  mailbox.open([] {});
  constexpr std::uint16_t k_threads = 4;
  constexpr int k_each = 2000;
  std::vector<std::thread> threads;
  for (std::uint16_t thread = 0; thread < k_threads; ++thread) {
    threads.emplace_back([&mailbox, thread] {
      for (int i = 0; i < k_each; ++i) {
        const auto value = static_cast<std::uint8_t>(i);
        while (!push(mailbox, std::vector<std::uint8_t>(1200, value), thread)) {
        }
      }
    });
  }
  std::array<int, k_threads> counts{};
  for (int total = 0; total < k_threads * k_each;) {
    total += static_cast<int>(mailbox.take([&](const Datagram& datagram, quic::Origin) {
      int& count = counts.at(datagram.path.remote.port);
      ASSERT_EQ(datagram.payload.size(), 1200u);
      EXPECT_EQ(datagram.payload[1199], static_cast<std::uint8_t>(count));
      ++count;
    }));
  }
  for (std::thread& thread : threads) thread.join();
  for (const int count : counts) EXPECT_EQ(count, k_each);
}

}  // namespace
}  // namespace sheaf::workers
