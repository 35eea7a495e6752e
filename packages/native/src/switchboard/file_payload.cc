#include "switchboard/file_payload.h"

#include <unistd.h>

namespace sheaf::switchboard {

// Asks for changes after reading: otherwise what came in between would be sent.
quic::PayloadRead FilePayload::read(std::uint64_t offset, quic::MutableBytes out) {
  if (offset < start_ || offset > available() || out.size() > available() - offset) {
    return quic::PayloadRead::kNotThere;
  }
  std::uint64_t at = position_ + (offset - start_);
  while (!out.empty()) {
    const ssize_t size = pread(file_->descriptor(), out.data(), out.size(), static_cast<off_t>(at));
    if (size <= 0) return quic::PayloadRead::kBroken;
    out = out.subspan(static_cast<std::size_t>(size));
    at += static_cast<std::uint64_t>(size);
  }
  return file_->unchanged() ? quic::PayloadRead::kDone : quic::PayloadRead::kBroken;
}

}  // namespace sheaf::switchboard
