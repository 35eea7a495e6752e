#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "util/bytes.h"
#include "util/random.h"

namespace sheaf::machines {

// What a query brings to a machine, and the response brings back
using Nonce = std::array<std::uint8_t, 16>;

// Whether another machine answers the queries that are sent to it all the time. It counts queries
// and no time: where this machine itself stood still, it has not asked either.
class Contact {
 public:
  // Queries without a response from which on a machine is silent
  static constexpr unsigned k_enough = 6;

  // Counts another query. It has the nonce of the one before until that is answered, so that a long
  // way delays answers and does not make them worthless.
  const Nonce& ask(quic::Random& random) {
    if (open_ == 0) random.fill(nonce_);
    open_ = std::min(open_ + 1, k_enough + 1);
    return nonce_;
  }
  // Whether a response belongs to a query that had none
  bool awaits(const Nonce& nonce) const { return open_ > 0 && nonce == nonce_; }
  // Takes a response. Returns whether it was awaited.
  bool take(const Nonce& nonce) {
    if (!awaits(nonce)) return false;
    answered_ = nonce_;
    open_ = 0;
    answers_ = true;
    return true;
  }
  // Whether this is the latest response again: each query with its nonce may bring one.
  bool repeats(const Nonce& nonce) const { return answers_ && nonce == answered_; }
  // Whether a query was not answered before the next one
  bool late() const { return open_ > 1; }
  // Whether it answered once, and does not answer any more. One that never did may be alive: it
  // knows no queries, or does not get them.
  bool silent() const { return answers_ && open_ > k_enough; }

 private:
  Nonce nonce_{};
  Nonce answered_{};
  unsigned open_ = 0;  // queries since the latest answer
  bool answers_ = false;
};

}  // namespace sheaf::machines
