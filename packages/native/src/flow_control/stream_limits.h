#pragma once

#include <algorithm>
#include <cstdint>

namespace sheaf::quic {

// How many streams of one kind the peer may open (RFC 9000 §4.6). The limit moves on as streams
// close, so that at most `concurrent` are open at once. (What we may open is a SendLimit.)
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
  // As many are open here as may be open at once, whatever was said of other servers.
  bool full() const { return open() >= concurrent_; }

  // Streams open in order: one with a higher index opens all below it (RFC 9000 §3.2).
  void on_opened() { ++opened_; }
  void on_closed() { ++closed_; }
  // Another server had so many of them, and they are closed; more than were allowed and not opened
  // here is not believed.
  void on_closed_elsewhere(std::uint64_t streams) {
    streams = std::min(streams, limit_ - std::min(limit_, opened_));
    opened_ += streams;
    closed_ += streams;
  }

  // An extension is due when it gives the peer half as many ids as it has left: after a third of
  // the ids for streams that come and go, and with every stream that closes when none is left.
  bool extension_due() const {
    const std::uint64_t extension = possible_limit() - limit_;
    return extension > 0 && 2 * extension >= limit_ - opened_;
  }
  // The limit to put into a frame; it holds from now on.
  std::uint64_t announce() { return limit_ = possible_limit(); }

 private:
  std::uint64_t possible_limit() const { return std::min(closed_ + concurrent_, k_maximum); }

  std::uint64_t concurrent_;
  std::uint64_t limit_;
  std::uint64_t opened_ = 0;
  std::uint64_t closed_ = 0;
};

}  // namespace sheaf::quic
