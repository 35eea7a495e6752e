// Tests RFC 9000 §7.5 and RFC 9001 §6: what a client must not do with CRYPTO frames after the
// handshake.
#include "connection/raw_peer.h"

namespace sheaf::quic {
namespace {

const std::vector<std::uint8_t> k_bytes(100, 24);  // TLS: key_update

std::optional<std::uint64_t> error_after(const CryptoFrame& frame) {
  RawPeer peer;
  peer.send({frame}, peer.path);
  const ConnectionClosed* closed = peer.server.closed();
  if (!closed) return std::nullopt;
  EXPECT_EQ(closed->cause, ConnectionClosed::Cause::kLocalError);
  EXPECT_EQ(closed->frame_type, static_cast<std::uint64_t>(FrameType::kCrypto));
  return closed->error;
}

std::uint64_t code(TransportErrorCode error) { return static_cast<std::uint64_t>(error); }

TEST(CryptoFramesTest, MoreThanIsBuffered) {
  const std::uint64_t exceeded = code(TransportErrorCode::kCryptoBufferExceeded);
  EXPECT_EQ(error_after({std::uint64_t{1} << 40, k_bytes}), exceeded);
  EXPECT_EQ(error_after({16384 - 99, k_bytes}), exceeded);
  EXPECT_EQ(error_after({k_max_varint - 100, k_bytes}), exceeded);
}

TEST(CryptoFramesTest, ATlsMessage) {
  EXPECT_EQ(error_after({0, k_bytes}), code(TransportErrorCode::kCryptoErrorBase) + 10);
}

TEST(CryptoFramesTest, WhatIsNoMessageYet) {
  EXPECT_EQ(error_after({0, {}}), std::nullopt);
  EXPECT_EQ(error_after({1000, k_bytes}), std::nullopt);
  EXPECT_EQ(error_after({16384 - 100, k_bytes}), std::nullopt);
}

TEST(CryptoFramesTest, BytesThatCannotBeNumbered) {
  EXPECT_EQ(error_after({k_max_varint - 99, k_bytes}),
            code(TransportErrorCode::kFrameEncodingError));
}

}  // namespace
}  // namespace sheaf::quic
