#pragma once

#include <cstdint>

namespace sheaf::quic {

// Limit on what the peer lets us send or open: bytes of a stream, bytes of the connection, or
// streams (RFC 9000 §4.1, §4.6)
class SendLimit {
 public:
  explicit SendLimit(std::uint64_t limit = 0) : limit_(limit) {}

  std::uint64_t limit() const { return limit_; }
  std::uint64_t used() const { return used_; }
  std::uint64_t available() const { return used_ < limit_ ? limit_ - used_ : 0; }
  void consume(std::uint64_t amount) { used_ += amount; }
  // Returns a part of the consumed amount that was not used.
  void give_back(std::uint64_t amount) { used_ -= amount; }
  // Permits the range [from, limit) from now on.
  void start_at(std::uint64_t from, std::uint64_t limit) {
    used_ = from;
    limit_ = limit;
    announced_blocked_ = k_none;
  }

  // Raises the limit. RFC 9000 §4.1: a limit that is not larger is ignored, since frames may be
  // reordered; returns false then.
  bool raise(std::uint64_t limit) {
    if (limit <= limit_) return false;
    limit_ = limit;
    return true;
  }
  // Replaces the limit after 0-RTT was rejected, since the remembered limit may have been larger
  // than the real one.
  void replace(std::uint64_t limit) {
    limit_ = limit;
    announced_blocked_ = k_none;
  }
  void forget_used() {
    used_ = 0;
    announced_blocked_ = k_none;
  }

  // Notes that something waits while nothing is available. Returns true the first time at each
  // limit, when a *_BLOCKED frame is due.
  bool note_blocked() {
    if (available() > 0 || announced_blocked_ == limit_) return false;
    announced_blocked_ = limit_;
    return true;
  }

 private:
  static constexpr std::uint64_t k_none = UINT64_MAX;

  std::uint64_t limit_;
  std::uint64_t used_ = 0;
  std::uint64_t announced_blocked_ = k_none;  // latest announced limit
};

}  // namespace sheaf::quic
