#pragma once

#include <algorithm>
#include <deque>

#include "direct_return/payload_source.h"

namespace sheaf::quic {

// Bytes that exist nowhere else, such as those of an upstream's response. They are held until the
// client has them. Whoever appends them asks for room first.
class HeldPayload final : public PayloadSource {
 public:
  static constexpr std::size_t k_max_held = 512 << 10;

  // `start` is the offset in the stream of the first byte that is appended.
  explicit HeldPayload(std::uint64_t start) : start_(start) {}

  // Returns how many bytes may be appended now.
  std::size_t room() const { return k_max_held - held_.size(); }
  // Takes the first bytes, as many as there is room for. Returns their number.
  std::size_t append(Bytes bytes) {
    const std::size_t taken = std::min(bytes.size(), room());
    held_.insert(held_.end(), bytes.begin(), bytes.begin() + std::ptrdiff_t(taken));
    return taken;
  }

  std::uint64_t available() const override { return start_ + held_.size(); }
  [[nodiscard]] PayloadRead read(std::uint64_t offset, MutableBytes out) override {
    if (offset < start_ || offset > available() || out.size() > available() - offset) {
      return PayloadRead::kNotThere;
    }
    const auto from = held_.begin() + std::ptrdiff_t(offset - start_);
    std::copy_n(from, out.size(), out.begin());
    return PayloadRead::kDone;
  }
  void release(std::uint64_t offset) override {
    if (offset <= start_) return;
    const std::uint64_t released = std::min(offset, available()) - start_;
    held_.erase(held_.begin(), held_.begin() + std::ptrdiff_t(released));
    start_ += released;
  }

 private:
  std::uint64_t start_;
  std::deque<std::uint8_t> held_;
};

}  // namespace sheaf::quic
