#pragma once

#include <optional>

#include "util/random.h"
#include "util/time.h"
#include "wire/frame.h"

namespace sheaf::quic {

// RFC 9000 §8.2: one validation of one address pair. Fails after 3 probe timeouts (§8.2.4).
class PathValidation {
 public:
  enum class State : std::uint8_t { kIdle, kPending, kValidated, kFailed };

  void start(Random& random, Time now, Duration probe_timeout);
  State state() const { return state_; }
  // A PATH_CHALLENGE is due now; a new payload for each one (§8.2.1).
  bool challenge_due(Time now) const;
  PathChallengeFrame next_challenge(Random& random, Time now);
  // True when it answers one of our challenges.
  bool on_response(const PathResponseFrame& response);
  Time next_timeout() const;
  void on_timeout(Time now);

 private:
  State state_ = State::kIdle;
  // The owner of this file completes the private state.
};

}  // namespace sheaf::quic
