#include "connection/crypto_stream.h"

#include <gtest/gtest.h>

namespace sheaf::quic {
namespace {

std::vector<std::uint8_t> bytes_of(std::size_t size) {
  std::vector<std::uint8_t> out(size);
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<std::uint8_t>(i * 7);
  return out;
}

TEST(CryptoStream, PutsPiecesTogetherInAnyOrder) {
  const auto message = bytes_of(300);
  CryptoStream stream;
  for (const std::size_t offset : {200u, 0u, 100u, 100u}) {
    ASSERT_TRUE(stream.on_frame({offset, Bytes(message).subspan(offset, 100)}));
  }
  EXPECT_EQ(stream.read(), message);
  EXPECT_FALSE(stream.readable());
}

TEST(CryptoStream, ReadsWhatIsInOrderAndThenTheRest) {
  const auto message = bytes_of(50);
  CryptoStream stream;
  ASSERT_TRUE(stream.on_frame({0, Bytes(message).first(20)}));
  EXPECT_EQ(stream.read().size(), 20u);
  ASSERT_TRUE(stream.on_frame({10, Bytes(message).subspan(10)}));
  const auto rest = stream.read();
  EXPECT_TRUE(std::equal(rest.begin(), rest.end(), message.begin() + 20));
  EXPECT_EQ(rest.size(), 30u);
}

TEST(CryptoStream, BoundsWhatItHolds) {
  const auto message = bytes_of(10);
  CryptoStream stream;
  const auto status = stream.on_frame({16380, message});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, TransportErrorCode::kCryptoBufferExceeded);
  EXPECT_FALSE(stream.on_frame({k_max_varint - 10, message}));
}

TEST(CryptoStream, SendsLostBytesAgainButNotAcknowledgedOnes) {
  CryptoStream stream;
  SentPackets sent;
  stream.write(bytes_of(100));
  std::array<std::uint8_t, 200> room;
  Writer writer(room);
  stream.write_frames(writer, sent);
  EXPECT_FALSE(stream.has_pending());
  const SentFrame frame = sent.pending_frames().front();
  EXPECT_EQ(frame.length(), 100u);
  stream.on_lost(frame);
  EXPECT_TRUE(stream.has_pending());
  stream.on_acknowledged(frame);
  EXPECT_FALSE(stream.has_pending());
  stream.on_lost(frame);
  EXPECT_FALSE(stream.has_pending());
}

}  // namespace
}  // namespace sheaf::quic
