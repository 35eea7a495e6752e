#pragma once

#include <optional>
#include <string>
#include <unordered_set>

#include "http3/capsule.h"
#include "http3/transport.h"

namespace sheaf::webtransport {

using quic::Bytes;
using quic::StreamId;

// Code and reason of CLOSE_WEBTRANSPORT_SESSION (draft-ietf-webtrans-http3-02 §5).
struct CloseInfo {
  std::uint32_t code = 0;
  std::string reason;  // at most k_max_close_reason bytes
};
inline constexpr std::size_t k_max_close_reason = 1024;

// Counts what became of a session's outgoing datagrams, as far as it is known. A datagram that was
// declared lost may still be acknowledged, and counts as both.
struct DatagramCounts {
  std::uint64_t sent = 0;  // accepted by the transport
  std::uint64_t acknowledged = 0;
  std::uint64_t lost = 0;
  std::uint64_t expired = 0;  // refused for lack of room
};

// The protocol of a session, as the `:protocol` of its request names it. Dialects differ in what
// the CONNECT stream may carry, but not in streams and datagrams.
enum class Dialect : std::uint8_t {
  kWebTransport,    // "webtransport": drafts 02 to 14
  kWebTransportH3,  // "webtransport-h3": drafts 15 and 16
};

// Holds the state of one session and reads its CONNECT stream (draft-ietf-webtrans-http3-02 §3,
// §5).
class Session {
 public:
  enum class State : std::uint8_t {
    kRequested,  // the CONNECT request has no response yet
    kEstablished,
    kClosed,  // by either side; the CONNECT stream has not ended yet
  };

  explicit Session(Dialect dialect) : dialect_(dialect) {}

  Dialect dialect() const { return dialect_; }
  State state() const { return state_; }
  void establish() { state_ = State::kEstablished; }
  void close() { state_ = State::kClosed; }

  // Streams of this session that are open, whichever side opened them.
  std::unordered_set<StreamId>& streams() { return streams_; }

  DatagramCounts& datagrams() { return datagrams_; }
  const DatagramCounts& datagrams() const { return datagrams_; }

  struct Signal {
    bool draining = false;
    std::optional<CloseInfo> closed;
    std::optional<Bytes> datagram;  // valid until the next call
  };
  // Takes bytes from the front of the CONNECT stream's body, and returns the next signal in them.
  // The result is empty once all bytes are used.
  quic::Result<std::optional<Signal>, http3::ConnectionError> read(Bytes& bytes);
  // Returns whether the CONNECT stream may end here.
  bool at_boundary() const { return capsules_.at_boundary(); }

  bool may_send_capsules = true;  // the CONNECT stream's buffer has room

 private:
  Dialect dialect_;
  State state_ = State::kRequested;
  DatagramCounts datagrams_;
  std::unordered_set<StreamId> streams_;
  http3::CapsuleReader capsules_{rule_of};
  bool close_received_ = false;

  static std::optional<http3::CapsuleRule> rule_of(std::uint64_t type);
};

std::vector<std::uint8_t> encode_close(const CloseInfo& info);
std::vector<std::uint8_t> encode_drain();
// Returns WT_MAX_STREAMS for both directions and WT_MAX_DATA, each with its maximum value: a
// session has no limits but those of its connection.
std::vector<std::uint8_t> encode_no_limits();

}  // namespace sheaf::webtransport
