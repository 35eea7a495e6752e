#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "util/random.h"
#include "wire/types.h"

namespace sheaf::quic {

// The length of every id that we issue. Too long to guess, and fixed so that a short header can be
// cut without a look-up.
inline constexpr std::size_t k_local_id_length = 8;

// Makes the ids by which peers reach an endpoint (RFC 9000 §5.1), and the stateless reset tokens
// that belong to them.
class LocalIdMaker {
 public:
  // `reset_key` has 32 bytes. `secret_number`, if any, stands in the first three bits of each id, so
  // that a server that lost its state knows which secret the key came from
  // (draft-ietf-quic-load-balancers-21 §3.1).
  explicit LocalIdMaker(Bytes reset_key, std::optional<std::uint8_t> secret_number = {})
      : reset_key_(reset_key.begin(), reset_key.end()), secret_number_(secret_number) {}

  ConnectionId make(Random& random) const;
  StatelessResetToken reset_token(const ConnectionId& id) const;
  // Whether this maker may have made the id.
  bool made(const ConnectionId& id) const;

 private:
  std::vector<std::uint8_t> reset_key_;
  std::optional<std::uint8_t> secret_number_;
};

// All connections of an endpoint share it.
using SharedIdMaker = std::shared_ptr<const LocalIdMaker>;
// Makes random ids, until a connection gets the maker of its endpoint.
SharedIdMaker no_reset_key();

}  // namespace sheaf::quic
