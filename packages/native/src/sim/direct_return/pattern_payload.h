#pragma once

#include <algorithm>

#include "direct_return/payload_source.h"
#include "sim/pattern.h"

namespace sheaf::quic {

// The bytes of sim/pattern.h from a first one up to an end, as a file has them
class PatternPayload final : public PayloadSource {
 public:
  PatternPayload(std::uint64_t begin, std::uint64_t end) : begin_(begin), end_(end) {}

  std::uint64_t begin() const override { return begin_; }
  std::uint64_t available() const override { return end_; }
  std::optional<std::uint64_t> end() const override { return end_; }
  [[nodiscard]] PayloadRead read(std::uint64_t offset, MutableBytes out) override {
    if (offset < begin_ || offset > end_ || out.size() > end_ - offset)
      return PayloadRead::kNotThere;
    while (!out.empty()) {
      const Bytes piece = pattern_from(offset, out.size());
      std::ranges::copy(piece, out.begin());
      offset += piece.size();
      out = out.subspan(piece.size());
    }
    return PayloadRead::kDone;
  }
  void release(std::uint64_t) override {}

 private:
  std::uint64_t begin_;
  std::uint64_t end_;
};

}  // namespace sheaf::quic
