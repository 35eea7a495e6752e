#pragma once

#include <cstdint>

namespace sheaf::quic {

// What the peer lets us send or open: bytes of a stream, bytes of the connection, or streams
// (RFC 9000 §4.1, §4.6).
class SendLimit {
 public:
  explicit SendLimit(std::uint64_t limit = 0) : limit_(limit) {}

  std::uint64_t limit() const { return limit_; }
  std::uint64_t used() const { return used_; }
  std::uint64_t available() const { return used_ < limit_ ? limit_ - used_ : 0; }
  void consume(std::uint64_t amount) { used_ += amount; }
  // Of what was consumed, so much has not been used.
  void give_back(std::uint64_t amount) { used_ -= amount; }
  // From now on what lies in [from, limit) may be used.
  void start_at(std::uint64_t from, std::uint64_t limit) {
    used_ = from;
    limit_ = limit;
    announced_blocked_ = k_none;
  }

  // RFC 9000 §4.1: a limit that is not larger is ignored, since frames may be reordered. False
  // then.
  bool raise(std::uint64_t limit) {
    if (limit <= limit_) return false;
    limit_ = limit;
    return true;
  }
  // 0-RTT was rejected: the remembered limit may have been larger than the real one.
  void replace(std::uint64_t limit) {
    limit_ = limit;
    announced_blocked_ = k_none;
  }
  void forget_used() {
    used_ = 0;
    announced_blocked_ = k_none;
  }

  // Something waits and nothing is available. True the first time at each limit: a *_BLOCKED frame
  // is due.
  bool note_blocked() {
    if (available() > 0 || announced_blocked_ == limit_) return false;
    announced_blocked_ = limit_;
    return true;
  }

 private:
  static constexpr std::uint64_t k_none = UINT64_MAX;

  std::uint64_t limit_;
  std::uint64_t used_ = 0;
  std::uint64_t announced_blocked_ = k_none;  // the limit that was announced last
};

}  // namespace sheaf::quic
