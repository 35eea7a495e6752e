#include <gtest/gtest.h>

#include "connection/packet_builder.h"
#include "crypto/packet_protection.h"
#include "sim/known_secret.h"
#include "wire/packet_header.h"

namespace sheaf::quic {
namespace {

constexpr Time k_opening{std::chrono::seconds(1000)};

// A server's side of an established connection, whose keys can be used up.
class AeadLimitTest : public testing::Test {
 protected:
  AeadLimitTest() {
    const ConnectionId id(std::vector<std::uint8_t>(8, 1));
    ConnectionSeed seed;
    seed.local_id = seed.remote_id = id;
    parts_.make_first_path(seed, k_opening);
    parts_.first_entry().remote_ids.set_initial(id);
    parts_.keys.install_send_secret(known_secret(0));
    parts_.keys.install_receive_secret(known_secret(0));
    parts_.keys.confirm_handshake();
    parts_.handshake.establish();
    parts_.handshake.confirm();
  }

  // Seals packets until their total number is `total`.
  void seal_up_to(std::uint64_t total) {
    std::vector<std::uint8_t> packet(64);
    std::vector<SealJob> jobs(256, SealJob{.packet = packet.data(),
                                           .payload_length = 4,
                                           .header_length = 13,
                                           .packet_number_length = 4,
                                           .path = k_other,
                                           .number = 0});
    for (; sealed_ < total; sealed_ += jobs.size()) {
      for (std::size_t i = 0; i < jobs.size(); ++i) jobs[i].number = sealed_ + i;
      ASSERT_TRUE(parts_.keys.seal(jobs));
    }
  }
  std::size_t build() {
    TransmitBatch batch;
    batch.buffer = buffer_;
    PacketBuilder builder(parts_, parts_.first_entry(), k_opening);
    builder.build(batch);
    if (parts_.close.frame_due()) {
      builder.build_close(batch);
      parts_.close.frame_sent();
    }
    return batch.size;
  }

  // Another path uses the same keys, but the packet numbers of path 0 belong to the connection.
  static constexpr PathId k_other{1};
  static inline const std::uint64_t k_limit = confidentiality_limit(CipherSuite::kAes128GcmSha256);
  SeededRandom random_{1};
  ConnectionParts parts_{Role::kServer, {}, random_, k_opening};
  std::vector<std::uint8_t> buffer_ = std::vector<std::uint8_t>(65536);
  std::uint64_t sealed_ = 0;
};

TEST_F(AeadLimitTest, KeysAreUpdatedAtHalfOfTheLimit) {
  seal_up_to(k_limit / 2);
  parts_.keys.on_acknowledged(k_other, 0, k_opening);
  parts_.first_path()->ping_due = true;
  EXPECT_GT(build(), 0u);
  EXPECT_EQ(parts_.keys.updates(), 1u);
  EXPECT_EQ(parts_.close.phase(), CloseState::Phase::kOpen);
}

TEST_F(AeadLimitTest, WithoutAnUpdateTheConnectionClosesAndTellsThePeer) {
  // The peer never acknowledges, so there is no key update.
  seal_up_to(k_limit - 256);
  EXPECT_GT(build(), 0u);
  EXPECT_EQ(parts_.close.phase(), CloseState::Phase::kClosing);
  EXPECT_EQ(parts_.close.closed().error,
            static_cast<std::uint64_t>(TransportErrorCode::kAeadLimitReached));
  EXPECT_EQ(build(), 0u);
}

}  // namespace
}  // namespace sheaf::quic
