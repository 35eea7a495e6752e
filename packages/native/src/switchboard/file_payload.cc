#include "switchboard/file_payload.h"

#include <fcntl.h>
#include <unistd.h>

namespace sheaf::switchboard {

FilePayload::FilePayload(std::uint64_t start, int descriptor, std::uint64_t position,
                         std::uint64_t length)
    : start_(start),
      position_(position),
      length_(length),
      descriptor_(fcntl(descriptor, F_DUPFD_CLOEXEC, 0)) {}

FilePayload::~FilePayload() {
  if (usable()) close(descriptor_);
}

quic::PayloadRead FilePayload::read(std::uint64_t offset, quic::MutableBytes out) {
  if (offset < start_ || offset > available() || out.size() > available() - offset) {
    return quic::PayloadRead::kNotThere;
  }
  std::uint64_t at = position_ + (offset - start_);
  while (!out.empty()) {
    const ssize_t size = pread(descriptor_, out.data(), out.size(), static_cast<off_t>(at));
    if (size <= 0) return quic::PayloadRead::kBroken;
    out = out.subspan(static_cast<std::size_t>(size));
    at += static_cast<std::uint64_t>(size);
  }
  return quic::PayloadRead::kDone;
}

}  // namespace sheaf::switchboard
