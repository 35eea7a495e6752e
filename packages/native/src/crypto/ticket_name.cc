#include "crypto/ticket_name.h"

#include <gnutls/crypto.h>

#include <algorithm>

#include "crypto/wipe.h"
#include "wire/fixed_fields.h"

namespace sheaf::quic {

std::optional<TicketName> name_of_ticket(Bytes ticket) {
  TicketName name{};
  if (ticket.size() < name.size()) return std::nullopt;
  std::copy_n(ticket.begin(), name.size(), name.begin());
  return name;
}

// The period's number and the key are hashed. The hash begins with the name, and goes on with the
// keys that seal.
std::optional<TicketName> ticket_name(const TicketKey& key, std::chrono::nanoseconds time,
                                      std::uint64_t periods_before) {
  const auto period = static_cast<std::uint64_t>(time / k_ticket_key_period);
  Wiped<std::array<std::uint8_t, sizeof(std::uint64_t) + sizeof(TicketKey)>> input;
  Writer writer{input.value};
  fixed::write_u64(writer, period - periods_before);
  writer.write_bytes(key);
  Wiped<std::array<std::uint8_t, 64>> hash;
  const int result = gnutls_hash_fast(GNUTLS_DIG_SHA3_512, input.value.data(), input.value.size(),
                                      hash.value.data());
  if (result < 0) return std::nullopt;
  return name_of_ticket(hash.value);
}

}  // namespace sheaf::quic
