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

PathChallengeFrame PathValidation::next_challenge(Random& random, Time now, bool full_size) {
  // §8.2.1: unpredictable, and new each time, so that a response tells which challenge it answers.
  Challenge& challenge = challenges_[sent_++];
  random.fill(challenge.payload);
  challenge.full_size = full_size;
  next_challenge_ = now + interval_;
  wake_ = sent_ < k_challenges ? next_challenge_ : k_never;
  return {challenge.payload};
}

PathValidation::Shown PathValidation::on_response(const PathResponseFrame& response, Time now) {
  if (state_ != State::kPending) return Shown::kNothing;
  const auto end = challenges_.begin() + static_cast<std::ptrdiff_t>(sent_);
  const auto answered =
      std::ranges::find(challenges_.begin(), end, response.data, &Challenge::payload);
  if (answered == end) return Shown::kNothing;
  if (!answered->full_size) {
    // §8.2.3: the address is the peer's, but the path may not carry 1200 bytes.
    start(now, interval_);
    return Shown::kAddress;
  }
  state_ = State::kValidated;
  return Shown::kPath;
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
