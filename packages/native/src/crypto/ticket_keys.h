#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "util/bytes.h"

namespace sheaf::quic {

using TicketKey = std::array<std::uint8_t, 64>;

// The keys that seal a server's tickets (docs/decisions/0021-ticket-keys.md). They are random, and
// new ones take their place after the lifetime of a ticket. The old ones open their tickets for one
// more lifetime, and are then wiped. Whoever takes all memory of the process cannot read 0-RTT data
// that was recorded before (RFC 8446 §2.3).
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
  ~TicketKeys();

  // Keeps this key for good. Whoever shares a key among servers renews it there.
  void fix(const TicketKey& key);
  // Returns the keys for a new ticket, or those that a ticket was sealed with. Unknown tickets are
  // of the current ones, which do not open them. Returns nothing when there are no random bytes.
  std::optional<Generation> current(Time now);
  std::optional<Generation> of(Bytes ticket, Time now);
  // Returns a key for each version and for each set of limits that a client remembers for 0-RTT
  // (RFC 9369 §5, RFC 9000 §7.4.1), so that no ticket of another one can be opened.
  TicketKey key(Generation generation, Bytes binding) const;
  // Notes a ticket that these keys have sealed.
  void note(Generation generation, Bytes ticket);

 private:
  // What GnuTLS begins a ticket with: it is the same for all tickets of a key.
  using Name = std::array<std::uint8_t, 16>;
  // A key has a name for each binding, and GnuTLS changes it every 18 hours.
  static constexpr std::size_t k_max_names = 64;
  struct Keys {
    Generation number = 0;
    TicketKey secret{};
    Time begun{};
    std::vector<Name> names{};  // the newest of those in use, of `k_max_names` at most
  };

  static std::optional<Name> name_of(Bytes ticket);
  static bool knows(const Keys& keys, const Name& name);
  bool renew(Time now);
  void wipe(std::optional<Keys>& keys);

  bool fixed_ = false;
  std::optional<Keys> current_;
  std::optional<Keys> previous_;
};

}  // namespace sheaf::quic
