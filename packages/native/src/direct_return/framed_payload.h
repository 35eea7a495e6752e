#pragma once

#include <memory>
#include <vector>

#include "direct_return/payload_source.h"

namespace sheaf::quic {

// A whole stream: bytes in memory before and behind those of another source, which begins where the
// former end.
class FramedPayload final : public PayloadSource {
 public:
  // `end`: of the inner source, as offset in the stream
  FramedPayload(std::vector<std::uint8_t> before, std::unique_ptr<PayloadSource> inner,
                std::uint64_t end, std::vector<std::uint8_t> behind)
      : before_(std::move(before)),
        inner_(std::move(inner)),
        inner_end_(end),
        behind_(std::move(behind)) {}

  std::uint64_t available() const override {
    const std::uint64_t available = inner_->available();
    return available < inner_end_ ? available : inner_end_ + behind_.size();
  }
  std::optional<std::uint64_t> end() const override { return inner_end_ + behind_.size(); }
  [[nodiscard]] PayloadRead read(std::uint64_t offset, MutableBytes out) override;
  void release(std::uint64_t offset) override;

 private:
  std::vector<std::uint8_t> before_;
  std::unique_ptr<PayloadSource> inner_;
  std::uint64_t inner_end_;
  std::vector<std::uint8_t> behind_;
};

}  // namespace sheaf::quic
