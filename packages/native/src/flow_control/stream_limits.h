#pragma once

#include <algorithm>
#include <cstdint>

namespace sheaf::quic {

// Limit on the streams of one kind that the peer may open (RFC 9000 §4.6). It moves on as streams
// close, so that at most `concurrent` are open at once. (Streams that we open have a SendLimit.)
class PeerStreamLimit {
 public:
  // RFC 9000 §4.6: a larger number could not be a stream id.
  static constexpr std::uint64_t k_maximum = std::uint64_t{1} << 60;

  explicit PeerStreamLimit(std::uint64_t concurrent)
      : concurrent_(std::min(concurrent, k_maximum)), limit_(concurrent_) {}

  std::uint64_t limit() const { return limit_; }
  std::uint64_t opened() const { return opened_; }
  std::uint64_t open() const { return opened_ - closed_; }
  bool allows(std::uint64_t index) const { return index < limit_; }
  // Whether as many streams are open here as may be open at once, apart from other servers
  bool full() const { return open() >= concurrent_; }

  // Notes an opened stream. Streams open in order: one with a higher index opens all below it (RFC
  // 9000 §3.2).
  void on_opened() { ++opened_; }
  void on_closed() { ++closed_; }
  // Notes streams that another server had and closed, but at most as many as were allowed and not
  // opened here.
  void on_closed_elsewhere(std::uint64_t streams) {
    streams = std::min(streams, limit_ - std::min(limit_, opened_));
    opened_ += streams;
    closed_ += streams;
  }

  // Returns whether an extension is due: when it gives the peer half as many ids as it has left.
  // That is after a third of the ids for streams that come and go, and with every closed stream
  // when none is left.
  bool extension_due() const {
    const std::uint64_t extension = possible_limit() - limit_;
    return extension > 0 && 2 * extension >= limit_ - opened_;
  }
  // Returns the limit for a frame, which applies from now on.
  std::uint64_t announce() { return limit_ = possible_limit(); }

 private:
  std::uint64_t possible_limit() const { return std::min(closed_ + concurrent_, k_maximum); }

  std::uint64_t concurrent_;
  std::uint64_t limit_;
  std::uint64_t opened_ = 0;
  std::uint64_t closed_ = 0;
};

}  // namespace sheaf::quic
