#include <gtest/gtest.h>

#include <iostream>

#include "crypto/handshake_world.h"

namespace sheaf::quic {
namespace {

enum class Variant { kPlain, kRetry, kVersion2, kLongCertificate };

HandshakeWorld::Options options_for(Variant variant) {
  auto options = default_options();
  if (variant == Variant::kRetry) options.retry = true;
  if (variant == Variant::kVersion2) options.preferred_versions = {k_version_2, k_version_1};
  if (variant == Variant::kLongCertificate) {
    // More than three datagrams, so that the anti-amplification limit stops the server.
    static const TestCertificate chain = make_certificate({.rsa = true, .padding_certificates = 8});
    static const auto context = server_context(
        {.certificate_pem = chain.certificate_pem, .private_key_pem = chain.private_key_pem});
    static const auto trust = client_context({.certificate_hashes = {chain.leaf_hash}});
    options.server_context = context;
    options.client_context = trust;
  }
  return options;
}

constexpr Variant k_variants[] = {Variant::kPlain, Variant::kRetry, Variant::kVersion2,
                                  Variant::kLongCertificate};

TEST(HandshakeLoss, AnyOneDatagramMayBeLost) {
  for (const Variant variant : k_variants) {
    for (const bool direction : {false, true}) {
      for (int lost = 0; lost < 8; ++lost) {
        SCOPED_TRACE(testing::Message() << "variant " << static_cast<int>(variant) << " to server "
                                        << direction << " lost " << lost);
        auto options = options_for(variant);
        options.drop = [=](bool to_server, int number) {
          return to_server == direction && number == lost;
        };
        HandshakeWorld world(options, 100);
        EXPECT_TRUE(world.run());
        EXPECT_TRUE(secrets_match(world));
      }
    }
  }
}

TEST(HandshakeLoss, AnyTwoDatagramsMayBeLost) {
  for (const bool first_direction : {false, true}) {
    for (const bool second_direction : {false, true}) {
      for (int first = 0; first < 6; ++first) {
        for (int second = 0; second < 6; ++second) {
          SCOPED_TRACE(testing::Message()
                       << first_direction << first << second_direction << second);
          auto options = default_options();
          options.drop = [=](bool to_server, int number) {
            return (to_server == first_direction && number == first) ||
                   (to_server == second_direction && number == second);
          };
          HandshakeWorld world(options, 101);
          EXPECT_TRUE(world.run());
          EXPECT_TRUE(secrets_match(world));
        }
      }
    }
  }
}

TEST(HandshakeLoss, ThirtyPercentAtRandom) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Variant variant = k_variants[seed % std::size(k_variants)];
    auto options = options_for(variant);
    auto loss = std::make_shared<SeededRandom>(seed);
    options.drop = [loss](bool, int) { return loss->uniform() < 0.3; };
    HandshakeWorld world(options, seed);
    const bool done = world.run();
    EXPECT_TRUE(done && secrets_match(world)) << "seed " << seed;
    if (!done && world.client.handshake->failure()) {
      std::cout << "seed " << seed << ": " << world.client.handshake->failure()->reason << '\n';
    }
  }
}

// RFC 9000 §8.1: before the address is validated, the server sends at most three times what it
// received.
TEST(HandshakeLoss, ServerKeepsTheAmplificationLimit) {
  auto options = options_for(Variant::kLongCertificate);
  std::size_t received = 0;
  options.drop = [&received](bool to_server, int number) {
    if (to_server) ++received;
    return to_server && number > 0;
  };
  options.timeout = std::chrono::seconds(20);
  HandshakeWorld world(options, 102);
  EXPECT_FALSE(world.run());
  EXPECT_EQ(world.sent[0], 3);
  EXPECT_GE(received, 2u);
}

}  // namespace
}  // namespace sheaf::quic
