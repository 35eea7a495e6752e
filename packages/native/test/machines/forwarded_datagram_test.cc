#include "machines/forwarded_datagram.h"

#include <gtest/gtest.h>

#include "crypto/server_secrets.h"

namespace sheaf::machines {
namespace {

using quic::Address;
using quic::Datagram;

const std::vector<std::uint8_t> k_receiver = {7, 8};
constexpr quic::Time k_now{std::chrono::seconds(1000)};

struct Sealed {
  explicit Sealed(std::size_t size, bool ipv6 = false) : payload(size, 0x5a) {
    datagram.payload = payload;
    Address& remote = datagram.path.remote;
    remote.family = ipv6 ? Address::Family::kIpv6 : Address::Family::kIpv4;
    remote.ip = {192, 0, 2, 1};
    if (ipv6) remote.ip[15] = 9;
    remote.port = 50123;
    datagram.ecn = quic::Ecn::kEct0;
  }
  std::vector<std::uint8_t> by(ForwardSealer& sealer) const {
    std::vector<std::uint8_t> out(payload.size() + k_forward_overhead);
    EXPECT_EQ(sealer.seal(datagram, out), out.size());
    return out;
  }
  std::vector<std::uint8_t> payload;
  Datagram datagram;
};

struct Pair {
  quic::SeededRandom random{1};
  ForwardSealer sealer{quic::server_secret(2), k_receiver, random};
  ForwardOpener opener{{quic::server_secret(1), quic::server_secret(2)}, k_receiver};
};

TEST(ForwardedDatagram, ArrivesWithAddressAndMark) {
  Pair pair;
  for (const bool ipv6 : {false, true}) {
    for (const std::size_t size : {1u, 21u, 1200u, 1472u, 60'000u}) {
      const Sealed sealed(size, ipv6);
      auto bytes = sealed.by(pair.sealer);
      const auto result = pair.opener.open(bytes, k_now);
      ASSERT_TRUE(result);
      const auto* opened = std::get_if<Datagram>(&*result);
      ASSERT_TRUE(opened);
      EXPECT_TRUE(std::ranges::equal(opened->payload, sealed.payload));
      EXPECT_EQ(opened->path.remote, sealed.datagram.path.remote);
      EXPECT_EQ(opened->ecn, quic::Ecn::kEct0);
    }
  }
}

TEST(ForwardedDatagram, EveryByteIsAuthenticated) {
  Pair pair;
  const Sealed sealed(30);
  const auto bytes = sealed.by(pair.sealer);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    auto changed = bytes;
    changed[i] ^= 1;
    EXPECT_FALSE(pair.opener.open(changed, k_now)) << i;
  }
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    std::vector<std::uint8_t> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_FALSE(pair.opener.open(cut, k_now)) << size;
  }
}

TEST(ForwardedDatagram, OpensForItsReceiverAloneAndWithTheFleetsSecretsAlone) {
  Pair pair;
  const Sealed sealed(30);
  auto bytes = sealed.by(pair.sealer);
  EXPECT_FALSE(ForwardOpener({quic::server_secret(2)}, {7, 9}).open(bytes, k_now));
  bytes = sealed.by(pair.sealer);
  EXPECT_FALSE(ForwardOpener({quic::server_secret(1)}, k_receiver).open(bytes, k_now));
  quic::ServerSecret forged = quic::server_secret(5);
  forged.number = 2;
  bytes = sealed.by(pair.sealer);
  EXPECT_FALSE(ForwardOpener({forged}, k_receiver).open(bytes, k_now));
}

// Salts that anybody makes up take no place, and no more than some time.
TEST(ForwardedDatagram, AFloodOfSaltsLeavesKnownSendersAlone) {
  Pair pair;
  const Sealed sealed(30);
  auto first = sealed.by(pair.sealer);
  ASSERT_TRUE(pair.opener.open(first, k_now));
  for (int i = 0; i < 10'000; ++i) {
    auto bytes = sealed.by(pair.sealer);
    pair.random.fill(quic::MutableBytes(bytes).subspan(2, k_salt_length));
    ASSERT_FALSE(pair.opener.open(bytes, k_now));
  }
  auto bytes = sealed.by(pair.sealer);
  EXPECT_TRUE(pair.opener.open(bytes, k_now));
  // A new sender has to wait until the flood is over.
  ForwardSealer other(quic::server_secret(1), k_receiver, pair.random);
  auto late = sealed.by(other);
  EXPECT_FALSE(pair.opener.open(late, k_now));
  late = sealed.by(other);
  EXPECT_TRUE(pair.opener.open(late, k_now + std::chrono::seconds(1)));
}

TEST(ForwardedDatagram, KeepsTheSendersThatWereHeardLast) {
  Pair pair;
  const Sealed sealed(30);
  std::vector<ForwardSealer> sealers;
  for (std::size_t i = 0; i < ForwardOpener::k_max_senders + 10; ++i)
    sealers.emplace_back(quic::server_secret(2), k_receiver, pair.random);
  quic::Time now = k_now;
  for (ForwardSealer& sealer : sealers) {
    auto bytes = sealed.by(sealer);
    EXPECT_TRUE(pair.opener.open(bytes, now));
    now += std::chrono::milliseconds(20);
  }
  // A sender that was forgotten is a new one.
  auto bytes = sealed.by(sealers.front());
  EXPECT_TRUE(pair.opener.open(bytes, now));
}

TEST(ForwardedDatagram, AQueryBringsItsNonceToItsReceiverAlone) {
  Pair pair;
  Nonce nonce;
  pair.random.fill(nonce);
  std::vector<std::uint8_t> query(k_query_length);
  ASSERT_EQ(pair.sealer.seal_query(nonce, query), query.size());
  for (std::size_t i = 0; i < query.size(); ++i) {
    auto changed = query;
    changed[i] ^= 1;
    EXPECT_FALSE(pair.opener.open(changed, k_now)) << i;
  }
  auto copy = query;
  EXPECT_FALSE(ForwardOpener({quic::server_secret(2)}, {7, 9}).open(copy, k_now));
  const auto opened = pair.opener.open(query, k_now);
  ASSERT_TRUE(opened);
  const auto* brought = std::get_if<Nonce>(&*opened);
  ASSERT_TRUE(brought);
  EXPECT_EQ(*brought, nonce);
}

TEST(ForwardedDatagram, AQueryOpensOnceAndNoneBeforeItDoes) {
  Pair pair;
  std::array<std::array<std::uint8_t, k_query_length>, 3> queries;
  for (auto& query : queries) pair.sealer.seal_query({}, query);
  const auto opens = [&](std::array<std::uint8_t, k_query_length> query) {
    return pair.opener.open(query, k_now).has_value();
  };
  EXPECT_TRUE(opens(queries[1]));
  EXPECT_FALSE(opens(queries[1]));
  EXPECT_FALSE(opens(queries[0]));
  EXPECT_TRUE(opens(queries[2]));
}

TEST(ForwardedDatagram, ResponsesAreTheNonceAndShorterThanQueries) {
  Nonce nonce;
  nonce.fill(0x33);
  auto answer = write_answer(nonce);
  EXPECT_EQ(read_answer(answer), nonce);
  EXPECT_LT(answer.size(), k_query_length);
  EXPECT_FALSE(read_answer(quic::Bytes(answer).first(answer.size() - 1)));
  answer[0] = 1;
  EXPECT_FALSE(read_answer(answer));
  EXPECT_FALSE(read_answer({}));
}

}  // namespace
}  // namespace sheaf::machines
