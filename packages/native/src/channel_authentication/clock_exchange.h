#pragma once

#include <algorithm>
#include <optional>

#include "channel_authentication/clock_bound.h"
#include "util/random.h"

namespace sheaf::quic {

// When a member of a channel asks for the time of its source, on the connection to it, and what
// follows from the responses (RFC 4082 §3.3.1). A query has a nonce, so that no earlier response
// passes for one to it.
class ClockExchange {
 public:
  const ClockBound& bound() const { return bound_; }

  void begin(Time now) { due_ = now; }
  // Forgets what was known, since this member's clock stood still, and asks again.
  void begin_again(Time now) {
    if (due_ == k_never) return;
    bound_.forget();
    nonce_.reset();
    pause_ = k_first_pause;
    due_ = now;
  }
  // When to ask next; k_never before the begin
  Time next_timeout() const { return due_; }
  // Returns the nonce of a query that has to be sent now. One that is lost is followed by another.
  std::optional<std::uint64_t> poll(Time now, Random& random) {
    if (now < sent_) begin_again(now);  // this member's clock jumped back
    if (now < due_) return std::nullopt;
    nonce_ = random.next();
    sent_ = now;
    due_ = now + pause_;
    // A response may take longer than the first pauses.
    pause_ = std::min(2 * pause_, k_interval);
    return nonce_;
  }
  // Takes the source's time. Returns false when the response is to no query that is open. One that
  // proves the bound wrong ends it, and says nothing of the next one: nobody knows whether a clock
  // jumped before the query or behind it.
  bool on_response(std::uint64_t nonce, Time source_time, Time now) {
    if (!nonce_ || nonce != *nonce_) return false;
    if (now < sent_ || bound_.is_disproved_by(source_time, now)) {
      begin_again(now);
      return true;
    }
    nonce_.reset();
    bound_.on_answer(sent_, source_time);
    pause_ = k_first_pause;
    due_ = sent_ + k_interval;
    return true;
  }

 private:
  static constexpr Duration k_first_pause = 250ms;
  // By then, the clocks may have drifted apart by 10 ms.
  static constexpr Duration k_interval = 10s;

  ClockBound bound_;
  std::optional<std::uint64_t> nonce_;
  Time sent_{};
  Time due_ = k_never;
  Duration pause_ = k_first_pause;
};

}  // namespace sheaf::quic
