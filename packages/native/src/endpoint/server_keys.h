#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "connection/local_id_maker.h"
#include "crypto/handshake.h"
#include "crypto/server_secret.h"
#include "util/random.h"

namespace sheaf::quic {

// The keys of an endpoint for tokens, ids and stateless resets: of each secret, or random ones that
// end with the process. The first secret makes new ones, and what the others made stays valid.
class ServerKeys {
 public:
  // How many bytes a token key has
  static constexpr std::size_t k_length = 32;

  // `server` is there when balancers find the server by its ids; `nonces` are those of all keys
  // that the server had and has.
  // Resets are those of `scope`, and of the server id if there is one: no other endpoint with the
  // same secrets has the same. All ids have the mark, if there is one.
  ServerKeys(const ServerSecrets& secrets, std::string scope,
             const std::optional<RoutableIds::Server>& server,
             std::shared_ptr<RoutableIds::Nonces> nonces, const std::optional<SteeringMark>& mark,
             Random& random);

  const SharedIdMaker& ids() const { return keys_.front().ids; }
  std::vector<std::uint8_t> retry_token(std::uint32_t version, const Address& remote,
                                        const ConnectionId& retry_source,
                                        const ConnectionId& original_destination, Time now) const;
  std::vector<std::uint8_t> address_token(const Address& remote, std::uint32_t version,
                                          Time now) const;
  // Returns the destination of the client's very first Initial if the token is a valid one.
  std::optional<ConnectionId> verify_retry_token(std::uint32_t version, Bytes token,
                                                 const Address& remote,
                                                 const ConnectionId& destination, Time now) const;
  bool verify_address_token(std::uint32_t version, Bytes token, const Address& remote,
                            Time now) const;
  // Returns the token of an id that this server may have made with one of these secrets.
  std::optional<StatelessResetToken> reset_token(const ConnectionId& id) const;
  // Returns the scope that a server has, or nothing for one that is not known.
  using ScopeOfServer = std::function<std::optional<std::string>(Bytes server_id)>;
  // Returns the token of an id as the server has it whose id it names. Sending it gives away how to
  // reset the connection (RFC 9000 §21.11), so that server must be gone.
  std::optional<StatelessResetToken> reset_token_of_other(
      const ConnectionId& id, const ScopeOfServer& scope_of_server) const;

 private:
  struct Keys {
    ServerSecret secret;
    std::array<std::uint8_t, k_length> tokens{};
    SharedIdMaker ids;
    ~Keys() { wipe(tokens.data(), tokens.size()); }
  };
  void add(const ServerSecret& secret, std::optional<std::uint8_t> number);

  std::string scope_;
  std::optional<RoutableIds::Server> server_;
  std::shared_ptr<RoutableIds::Nonces> nonces_;
  std::optional<SteeringMark> mark_;
  std::vector<Keys> keys_;
};

}  // namespace sheaf::quic
