#include "direct_return/framed_payload.h"

#include <algorithm>

namespace sheaf::quic {

PayloadRead FramedPayload::read(std::uint64_t offset, MutableBytes out) {
  const auto copy = [&](Bytes from, std::size_t count) {
    std::ranges::copy(from.first(count), out.begin());
    out = out.subspan(count);
    offset += count;
  };
  if (offset > available() || out.size() > available() - offset) return PayloadRead::kNotThere;
  if (offset < before_.size()) {
    copy(Bytes(before_).subspan(offset), std::min(out.size(), before_.size() - offset));
  }
  if (offset < inner_end_ && !out.empty()) {
    const std::size_t count = std::min<std::uint64_t>(out.size(), inner_end_ - offset);
    const PayloadRead outcome = inner_->read(offset, out.first(count));
    if (outcome != PayloadRead::kDone) return outcome;
    out = out.subspan(count);
    offset += count;
  }
  if (!out.empty()) copy(Bytes(behind_).subspan(offset - inner_end_), out.size());
  return PayloadRead::kDone;
}

void FramedPayload::release(std::uint64_t offset) {
  if (offset > before_.size()) inner_->release(std::min(offset, inner_end_));
}

}  // namespace sheaf::quic
