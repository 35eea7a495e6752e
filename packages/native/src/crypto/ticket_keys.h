#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "crypto/server_secret.h"
#include "crypto/ticket_name.h"
#include "util/bytes.h"

namespace sheaf::quic {

// The keys that seal a server's tickets (docs/decisions/0021-ticket-keys.md). New ones take their
// place after the lifetime of a ticket, and the old ones open their tickets for one more lifetime.
// They are random, unless they are derived from secrets that outlive the process. Whoever takes all
// memory of a process with random ones cannot read 0-RTT data that was recorded before (RFC 8446
// §2.3).
//
// Times are GnuTLS's: `tls_clock_now()`.
class TicketKeys {
 public:
  using Time = std::chrono::nanoseconds;
  // Counts the keys of a server.
  using Generation = std::uint64_t;

  // GnuTLS gives tickets this lifetime. A resumed connection gets tickets for the rest of it.
  static constexpr std::chrono::hours k_lifetime{6};

  TicketKeys() = default;
  TicketKeys(const TicketKeys&) = delete;
  TicketKeys& operator=(const TicketKeys&) = delete;

  // Derives the keys from these secrets and the time from now on, so that all servers with the same
  // secrets open each other's tickets. The first secret seals.
  void derive_from(ServerSecrets secrets);
  // Returns the keys for a new ticket. Returns nothing when there are no random bytes.
  std::optional<Generation> current(Time now);
  // Returns the keys that a ticket with this binding was sealed with. Unknown tickets are of the
  // current ones, which do not open them.
  std::optional<Generation> of(Bytes ticket, Bytes binding, Time now);
  // Returns a key for each version and for each set of limits that a client remembers for 0-RTT
  // (RFC 9369 §5, RFC 9000 §7.4.1), so that no ticket of another one can be opened.
  TicketKey key(Generation generation, Bytes binding) const;
  // Notes a ticket that these keys have sealed.
  void note(Generation generation, Bytes ticket);

 private:
  // A key has a name for each binding, and GnuTLS changes it every 18 hours.
  static constexpr std::size_t k_max_names = 64;
  struct Keys {
    Generation number = 0;
    Time begun{};
    TicketKey secret{};
    std::vector<TicketName> names{};  // the newest of those in use, of `k_max_names` at most

    Keys(Generation generation, Time time) : number(generation), begun(time) {}
    Keys(const Keys&) = default;
    Keys& operator=(const Keys&) = default;
    ~Keys() { wipe(secret.data(), secret.size()); }
  };

  bool renew(Time now);
  void derive(Time now);
  bool sealed_with(const Keys& keys, const TicketName& name, Bytes binding, Time now) const;

  ServerSecrets secrets_;   // empty: the keys are random
  std::vector<Keys> keys_;  // that seal, then those that still open their tickets
  Generation next_ = 0;
};

}  // namespace sheaf::quic
