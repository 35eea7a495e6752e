#pragma once

#include <array>
#include <optional>

#include "util/random.h"
#include "util/time.h"
#include "wire/frame.h"

namespace sheaf::quic {

// Validates one address pair once (RFC 9000 §8.2). Fails after 3 probe timeouts (§8.2.4).
class PathValidation {
 public:
  enum class State : std::uint8_t { kIdle, kPending, kValidated, kFailed };

  // `probe_timeout`: the path's present one, but at least the initial one (§8.2.4).
  void start(Time now, Duration probe_timeout);
  State state() const { return state_; }
  bool pending() const { return state_ == State::kPending; }
  // A PATH_CHALLENGE is due now. Each has a new payload (§8.2.1).
  bool challenge_due(Time now) const {
    return state_ == State::kPending && sent_ < k_challenges && now >= next_challenge_;
  }
  // `full_size`: in a datagram of 1200 bytes or more, which the anti-amplification limit may
  // forbid.
  PathChallengeFrame next_challenge(Random& random, Time now, bool full_size);
  // Tells what a response proves: nothing when it answers none of our challenges; only the address
  // when the challenge was not of full size, and more challenges follow then (§8.2.3).
  enum class Shown : std::uint8_t { kNothing, kAddress, kPath };
  Shown on_response(const PathResponseFrame& response, Time now);
  // Returns when the next challenge is due or the validation fails. Announces each challenge once:
  // until it can be sent there is nothing to wake up for.
  Time next_timeout() const;
  void on_timeout(Time now);

 private:
  static constexpr std::size_t k_challenges = 3;

  State state_ = State::kIdle;
  struct Challenge {
    PathData payload{};
    bool full_size = false;
  };
  std::array<Challenge, k_challenges> challenges_{};
  std::size_t sent_ = 0;
  Duration interval_{};
  Time next_challenge_ = k_never;
  Time wake_ = k_never;
  Time deadline_ = k_never;
};

}  // namespace sheaf::quic
