#include <gtest/gtest.h>

#include "crypto/handshake_world.h"

namespace sheaf::quic {
namespace {

std::vector<std::uint8_t> first_client_datagram() {
  static const std::vector<std::uint8_t> datagram = [] {
    HandshakeWorld world(default_options(), 1);
    world.run();
    return world.client_datagrams.front();
  }();
  return datagram;
}

TEST(HandshakeGarbage, EveryTruncationOfTheFirstDatagram) {
  const auto datagram = first_client_datagram();
  for (std::size_t length = 0; length < datagram.size(); ++length) {
    HandshakeWorld world(default_options(), 2);
    world.deliver(true, {datagram.begin(), datagram.begin() + static_cast<std::ptrdiff_t>(length)});
    EXPECT_FALSE(world.server.handshake) << length;
  }
}

TEST(HandshakeGarbage, FlippedBitsNeverMakeAConnectionThatWasNotMeant) {
  const auto datagram = first_client_datagram();
  SeededRandom random(3);
  int accepted = 0;
  for (int i = 0; i < 2000; ++i) {
    auto copy = datagram;
    copy[random.below(copy.size())] ^= static_cast<std::uint8_t>(1u << random.below(8));
    HandshakeWorld world(default_options(), 4);
    world.deliver(true, copy);
    // Any change inside the packet invalidates its tag.
    if (world.server.handshake && !world.server.handshake->failure()) ++accepted;
  }
  EXPECT_EQ(accepted, 0);
}

TEST(HandshakeGarbage, ForgedDatagramsDoNotDisturbAHandshake) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SeededRandom random(seed);
    auto options = default_options();
    HandshakeWorld world(options, seed);
    options.drop = [&](bool to_server, int) {
      // Each real datagram is followed by a damaged copy and by noise, in both directions.
      std::vector<std::uint8_t> copy = world.client_datagrams.empty()
                                           ? std::vector<std::uint8_t>(1200, 0xff)
                                           : world.client_datagrams.back();
      copy[random.below(copy.size())] ^= 0x10;
      if (world.server.handshake) world.inject(to_server, copy);
      std::vector<std::uint8_t> noise(1 + random.below(1400));
      random.fill(noise);
      noise[0] |= 0xc0;
      if (world.server.handshake) world.inject(to_server, noise);
      noise[0] = 0x40;  // a short header
      if (world.server.handshake) world.inject(to_server, noise);
      return false;
    };
    world = HandshakeWorld(options, seed);
    EXPECT_TRUE(world.run()) << "seed " << seed;
    EXPECT_TRUE(secrets_match(world)) << "seed " << seed;
  }
}

TEST(HandshakeGarbage, DuplicatesAreHarmless) {
  auto options = default_options();
  HandshakeWorld world(options, 5);
  options.drop = [&world](bool to_server, int) {
    if (to_server && world.server.handshake) world.inject(true, world.client_datagrams.back());
    return false;
  };
  world = HandshakeWorld(options, 5);
  EXPECT_TRUE(world.run());
  EXPECT_TRUE(secrets_match(world));
}

}  // namespace
}  // namespace sheaf::quic
