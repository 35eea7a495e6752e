#include "workers/mailbox.h"

namespace sheaf::workers {

bool Mailbox::push(const quic::Datagram& datagram, quic::Origin origin) {
  const quic::Bytes payload = datagram.payload;
  const Header header{datagram.path, payload.size(), datagram.ecn, origin};
  const std::lock_guard lock(mutex_);
  const std::size_t at = writing_.size();
  const std::size_t end = at + sizeof header + padded(payload.size());
  if (!wake_ || end > k_limit) return false;
  writing_.resize(end);
  std::memcpy(writing_.data() + at, &header, sizeof header);
  std::copy(payload.begin(), payload.end(),
            writing_.begin() + static_cast<std::ptrdiff_t>(at + sizeof header));
  if (at == 0) wake_();
  return true;
}

void Mailbox::open(std::function<void()> wake) {
  const std::lock_guard lock(mutex_);
  wake_ = std::move(wake);
}

void Mailbox::wake() {
  const std::lock_guard lock(mutex_);
  if (wake_) wake_();
}

void Mailbox::close() {
  const std::lock_guard lock(mutex_);
  wake_ = nullptr;
  std::vector<std::uint8_t>().swap(writing_);
  std::vector<std::uint8_t>().swap(reading_);
}

void Mailbox::swap() {
  reading_.clear();
  const std::lock_guard lock(mutex_);
  std::swap(reading_, writing_);
}

}  // namespace sheaf::workers
