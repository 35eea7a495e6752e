#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "connection/routable_ids.h"
#include "steering/steering.h"
#include "util/random.h"
#include "wire/types.h"

namespace sheaf::quic {

// The length of ids that lead no balancer. Too long to guess.
inline constexpr std::size_t k_local_id_length = 8;

// Makes the ids by which peers reach an endpoint (RFC 9000 §5.1), and the stateless reset tokens
// that belong to them.
class LocalIdMaker {
 public:
  // `reset_key` has 32 bytes. `secret_number`, if any, stands in the first three bits of each id,
  // so that a server that lost its state knows which secret the key came from
  // (draft-ietf-quic-load-balancers-21 §3.1).
  explicit LocalIdMaker(Bytes reset_key, std::optional<std::uint8_t> secret_number = {})
      : reset_key_(reset_key.begin(), reset_key.end()), secret_number_(secret_number) {}
  // Balancers find the server by these ids.
  LocalIdMaker(Bytes reset_key, RoutableIds routable)
      : reset_key_(reset_key.begin(), reset_key.end()), routable_(std::move(routable)) {}

  // Returns the length of each id. It is the same for all makers of an endpoint, so that a short
  // header can be cut without a look-up.
  std::size_t id_length() const { return routable_ ? routable_->id_length() : k_local_id_length; }
  // All ids lead to one of several endpoints from now on.
  void set_mark(const SteeringMark& mark) { mark_ = mark; }
  ConnectionId make(Random& random);
  StatelessResetToken reset_token(const ConnectionId& id) const;
  // Whether this maker may have made the id.
  bool made(const ConnectionId& id);
  // Returns the server that made the id with the same secret, if balancers can find it.
  std::optional<std::vector<std::uint8_t>> server_of(const ConnectionId& id);

 private:
  ConnectionId make_random(Random& random) const;

  std::vector<std::uint8_t> reset_key_;
  std::optional<std::uint8_t> secret_number_;
  std::optional<RoutableIds> routable_;
  std::optional<SteeringMark> mark_;
};

// All connections of an endpoint share it.
using SharedIdMaker = std::shared_ptr<LocalIdMaker>;
// Makes random ids, until a connection gets the maker of its endpoint.
SharedIdMaker no_reset_key();

}  // namespace sheaf::quic
