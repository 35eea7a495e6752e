#pragma once

#include <optional>
#include <vector>

#include "util/address.h"
#include "util/time.h"
#include "wire/types.h"

namespace sheaf::quic {

// Retry and address validation tokens (RFC 9000 §8.1), with a secret of 32 bytes. Tokens contain
// the time, so use a clock on which all servers with the same secret agree.
std::vector<std::uint8_t> make_retry_token(Bytes secret, std::uint32_t version,
                                           const Address& remote, const ConnectionId& retry_source,
                                           const ConnectionId& original_destination, Time now);
// Verifies a token. Returns the destination of the client's very first Initial.
std::optional<ConnectionId> verify_retry_token(Bytes secret, std::uint32_t version, Bytes token,
                                               const Address& remote,
                                               const ConnectionId& destination, Duration lifetime,
                                               Time now);
// Creates a token for NEW_TOKEN, which binds the IP address but not the port. RFC 9369 §5: a token
// of one version is not accepted in another.
std::vector<std::uint8_t> make_address_token(Bytes secret, const Address& remote, Time now,
                                             std::uint32_t version = k_version_1);
bool verify_address_token(Bytes secret, Bytes token, const Address& remote, Duration lifetime,
                          Time now, std::uint32_t version = k_version_1);
// Returns true for a token that claims to be from a Retry. Others may be address tokens.
bool is_retry_token(Bytes token);

// Derives the token from a static key, so that a server that lost its state can still reset (RFC
// 9000 §10.3.2).
StatelessResetToken stateless_reset_token(Bytes secret, const ConnectionId& id);

}  // namespace sheaf::quic
