#include "flow_control/receive_window.h"

#include <algorithm>

#include "util/bytes.h"

namespace sheaf::quic {

ReceiveWindow::ReceiveWindow(std::uint64_t initial, std::uint64_t maximum)
    : limit_(std::min(initial, k_max_varint)),
      announced_(limit_),
      window_(limit_),
      maximum_(std::clamp(maximum, window_, k_max_varint)) {}

bool ReceiveWindow::consume(std::uint64_t bytes, Time now, Duration rtt) {
  consumed_ += bytes;
  return give_credit_back(now, rtt);
}

bool ReceiveWindow::consume_elsewhere(std::uint64_t bytes, Time now, Duration rtt) {
  const std::uint64_t consumed = std::min(consumed_everywhere(), limit_);
  elsewhere_ += std::min(bytes, limit_ - consumed);
  return give_credit_back(now, rtt);
}

bool ReceiveWindow::give_credit_back(Time now, Duration rtt) {
  const std::uint64_t consumed = std::min(consumed_everywhere(), limit_);
  if (held_up_by_unread(consumed)) {
    move_limit();
    return true;
  }
  // RFC 9000 §4.2: give credit early enough that the sender does not stop, and rarely enough to
  // cost little.
  if (limit_ - consumed > window_ / 2 && !exhausted()) return false;
  if (rtt > Duration::zero() && (now - last_update_ < 2 * rtt || exhausted())) {
    window_ = std::min(2 * window_, maximum_);
  }
  const std::uint64_t before = limit_;
  if (move_limit() == before) return false;
  last_update_ = now;
  return true;
}

// Returns whether to give credit although much is unread. With more than half of the window unread,
// half of the window is never free. Then half of the rest suffices, but at least a sixteenth of the
// window, so that credit does not come in crumbs.
bool ReceiveWindow::held_up_by_unread(std::uint64_t consumed) const {
  const std::uint64_t unread = received_ - consumed_;
  if (!serves_streams_ || unread <= window_ / 2 || unread >= window_) return false;
  // The limit is never further ahead than the window.
  const std::uint64_t more = consumed + window_ - limit_;
  return more > 0 && more >= std::max((window_ - unread) / 2, window_ / 16);
}

bool ReceiveWindow::on_blocked_elsewhere(std::uint64_t limit) {
  if (limit != announced_ || received_ - consumed_ > window_ / 4 || window_ == maximum_) {
    return false;
  }
  window_ = std::min(2 * window_, maximum_);
  move_limit();
  return true;
}

bool ReceiveWindow::wait(std::uint64_t bytes, Time now) {
  if (bytes <= window_ / 2 || window_ == maximum_) return false;
  window_ = std::min(2 * window_, maximum_);
  move_limit();
  last_update_ = now;
  return true;
}

std::uint64_t ReceiveWindow::move_limit() {
  limit_ = std::max(limit_, std::min(consumed_everywhere() + window_, k_max_varint));
  return limit_;
}

void ReceiveWindow::set_maximum(std::uint64_t maximum) {
  // Other servers rely on the maximum that they were told.
  if (shared_) return;
  maximum_ = std::min(maximum, k_max_varint);
  window_ = std::min(window_, maximum_);
}

void ReceiveWindow::widen(std::uint64_t window) {
  window_ = std::max(window_, std::min(window, maximum_));
}

}  // namespace sheaf::quic
