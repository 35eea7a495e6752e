#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>

#include "util/bytes.h"

namespace sheaf::quic {

using TicketKey = std::array<std::uint8_t, 64>;
// What GnuTLS begins a ticket with: it is the same for all tickets of a key.
using TicketName = std::array<std::uint8_t, 16>;

// Returns nothing for what is too short for a ticket.
std::optional<TicketName> name_of_ticket(Bytes ticket);

// GnuTLS derives the key that seals tickets from the one that it is given, anew in each period. It
// opens tickets of the current period and of the one before.
inline constexpr std::chrono::hours k_ticket_key_period{18};
// Returns the name of the tickets that GnuTLS seals with this key in the period of a time by
// `tls_clock_now()`, or in an earlier one; nothing when GnuTLS cannot compute it.
std::optional<TicketName> ticket_name(const TicketKey& key, std::chrono::nanoseconds time,
                                      std::uint64_t periods_before = 0);

}  // namespace sheaf::quic
