#pragma once

#include <cassert>
#include <cstdint>

#include "wire/backend_id.h"
#include "wire/types.h"

namespace sheaf::quic {

// A frame that a sent packet carried, kept until the packet is acknowledged or lost. Small and
// trivially copyable. Of a frame that state can rebuild (MAX_DATA, NEW_CONNECTION_ID, …) only what
// tells whether it is out of date is kept. Two numbers serve all kinds of frames: each kind is made
// by the function of its group, and read by the functions for that group alone.
class SentFrame {
 public:
  // In the order of the groups below.
  enum class Kind : std::uint8_t {
    kPing,
    kNewToken,
    kPathChallenge,
    kPathResponse,
    kHandshakeDone,
    kTunnelReport,  // docs/reference/wire.md
    kImmediateAck,  // draft-ietf-quic-ack-frequency-11 §5
    // Acknowledgements.
    kAck,
    kPathAck,  // RFC 10069 §4.1
    // Bytes.
    kCrypto,
    kStream,
    // About a stream.
    kResetStream,
    kStopSending,
    kMaxStreamData,
    kStreamDataBlocked,
    // Limits of the connection.
    kMaxData,
    kMaxStreamsBidi,
    kMaxStreamsUni,
    kDataBlocked,
    kStreamsBlockedBidi,
    kStreamsBlockedUni,
    kMaxPathId,     // RFC 10069 §4.6
    kPathsBlocked,  // RFC 10069 §4.7
    // About a path.
    kNewConnectionId,
    kRetireConnectionId,
    kPathAbandon,      // RFC 10069 §4.2
    kPathStatus,       // RFC 10069 §4.3
    kPathCidsBlocked,  // RFC 10069 §4.8
    kAckFrequency,     // draft-ietf-quic-ack-frequency-11 §4
    // About a backend (docs/reference/wire.md).
    kBackendOffer,
    kBackendWithdraw,
    kDatagram,
    kMtuProbe,
  };

  // --- making -----------------------------------------------------------------------------------
  static SentFrame plain(Kind kind) {
    return SentFrame(kind, 0, 0).of(Kind::kPing, Kind::kImmediateAck);
  }
  static SentFrame for_acknowledgement(Kind kind, PathId path, PacketNumber largest) {
    return SentFrame(kind, path.value, largest).of(Kind::kAck, Kind::kPathAck);
  }
  static SentFrame for_crypto(std::uint64_t offset, std::uint32_t length) {
    return {Kind::kCrypto, 0, offset, length};
  }
  static SentFrame for_data(StreamId stream, std::uint64_t offset, std::uint32_t length, bool fin) {
    return {Kind::kStream, stream.value, offset, length, fin};
  }
  // `limit`: of MAX_STREAM_DATA and STREAM_DATA_BLOCKED, in bytes.
  static SentFrame for_stream(Kind kind, StreamId stream, std::uint64_t limit = 0) {
    return SentFrame(kind, stream.value, limit).of(Kind::kResetStream, Kind::kStreamDataBlocked);
  }
  static SentFrame for_limit(Kind kind, std::uint64_t limit) {
    return SentFrame(kind, 0, limit).of(Kind::kMaxData, Kind::kPathsBlocked);
  }
  // `sequence`: of the connection id or the status.
  static SentFrame for_path(Kind kind, PathId path, std::uint64_t sequence = 0) {
    return SentFrame(kind, path.value, sequence).of(Kind::kNewConnectionId, Kind::kPathCidsBlocked);
  }
  static SentFrame for_ack_frequency(std::uint64_t sequence) {
    return {Kind::kAckFrequency, 0, sequence};
  }
  static SentFrame for_backend(Kind kind, BackendId backend, std::uint64_t sequence) {
    return SentFrame(kind, backend.value, sequence).of(Kind::kBackendOffer, Kind::kBackendWithdraw);
  }
  // `identifier`: the one that the application gave.
  static SentFrame for_datagram(std::uint64_t identifier) {
    return {Kind::kDatagram, 0, identifier};
  }
  // `size`: of the datagram, in bytes.
  static SentFrame for_mtu_probe(std::uint16_t size) { return {Kind::kMtuProbe, 0, 0, size}; }

  // --- reading ----------------------------------------------------------------------------------
  Kind kind() const { return kind_; }
  PacketNumber largest_acknowledged() const { return of(Kind::kAck, Kind::kPathAck).number_; }
  StreamId stream() const { return {of(Kind::kStream, Kind::kStreamDataBlocked).owner_}; }
  std::uint64_t offset() const { return of(Kind::kCrypto, Kind::kStream).number_; }
  std::uint32_t length() const { return of(Kind::kCrypto, Kind::kStream).length_; }
  bool fin() const { return of(Kind::kStream, Kind::kStream).fin_; }
  std::uint64_t limit() const { return of(Kind::kMaxStreamData, Kind::kPathsBlocked).number_; }
  PathId path() const {
    assert(kind_ == Kind::kPathAck ||
           (kind_ >= Kind::kNewConnectionId && kind_ <= Kind::kPathCidsBlocked));
    return {static_cast<std::uint32_t>(owner_)};
  }
  std::uint64_t sequence() const {
    return of(Kind::kNewConnectionId, Kind::kBackendWithdraw).number_;
  }
  BackendId backend() const {
    return {static_cast<std::uint32_t>(of(Kind::kBackendOffer, Kind::kBackendWithdraw).owner_)};
  }
  std::uint64_t identifier() const { return of(Kind::kDatagram, Kind::kDatagram).number_; }
  std::uint16_t probe_size() const {
    return static_cast<std::uint16_t>(of(Kind::kMtuProbe, Kind::kMtuProbe).length_);
  }

  // The stream's bytes before `offset` need not be sent again.
  void remove_before(std::uint64_t offset) {
    assert(kind_ == Kind::kStream && offset >= number_);
    length_ -= static_cast<std::uint32_t>(offset - number_);
    number_ = offset;
  }

  SentFrame() = default;

 private:
  SentFrame(Kind kind, std::uint64_t owner, std::uint64_t number, std::uint32_t length = 0,
            bool fin = false)
      : owner_(owner), number_(number), length_(length), kind_(kind), fin_(fin) {}
  // The frame is of a kind from `first` to `last`.
  const SentFrame& of([[maybe_unused]] Kind first, [[maybe_unused]] Kind last) const {
    assert(kind_ >= first && kind_ <= last);
    return *this;
  }

  std::uint64_t owner_ = 0;   // stream, path or backend
  std::uint64_t number_ = 0;  // offset, limit, sequence number, packet number or identifier
  std::uint32_t length_ = 0;
  Kind kind_ = Kind::kPing;
  bool fin_ = false;
};
static_assert(sizeof(SentFrame) == 24);

}  // namespace sheaf::quic
