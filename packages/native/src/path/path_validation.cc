#include "path/path_validation.h"

#include <algorithm>

namespace sheaf::quic {

void PathValidation::start(Time now, Duration probe_timeout) {
  state_ = State::kPending;
  sent_ = 0;
  interval_ = probe_timeout;
  next_challenge_ = now;
  wake_ = k_never;
  deadline_ = now + static_cast<int>(k_challenges) * probe_timeout;
}

PathChallengeFrame PathValidation::next_challenge(Random& random, Time now) {
  // §8.2.1: unpredictable, and a new one each time, so that a response tells what it answers.
  PathData& payload = payloads_[sent_++];
  random.fill(payload);
  next_challenge_ = now + interval_;
  wake_ = sent_ < k_challenges ? next_challenge_ : k_never;
  return {payload};
}

bool PathValidation::on_response(const PathResponseFrame& response) {
  if (state_ != State::kPending) return false;
  const auto end = payloads_.begin() + static_cast<std::ptrdiff_t>(sent_);
  if (std::find(payloads_.begin(), end, response.data) == end) return false;
  state_ = State::kValidated;
  return true;
}

Time PathValidation::next_timeout() const {
  return state_ == State::kPending ? std::min(wake_, deadline_) : k_never;
}

void PathValidation::on_timeout(Time now) {
  if (state_ != State::kPending) return;
  if (now >= wake_) wake_ = k_never;
  if (now >= deadline_) state_ = State::kFailed;
}

}  // namespace sheaf::quic
