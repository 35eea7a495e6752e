#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "crypto/quic_lb_cipher.h"
#include "crypto/server_secret.h"
#include "wire/types.h"

namespace sheaf::quic {

// The number of a secret stands in the first three bits of ids.
inline constexpr unsigned k_secret_number_shift = 5;

// Makes connection ids by which a balancer finds the server of a packet, whatever the client's
// address (draft-ietf-quic-load-balancers-21 §3, §5): the number of the secret and the length of
// the rest, then the server's id and a nonce, which are encrypted or not.
class RoutableIds {
 public:
  static constexpr std::size_t k_nonce_length = 8;
  // QUIC version 1 has ids of at most 20 bytes.
  static constexpr std::size_t k_max_server_id = ConnectionId::k_max_length - 1 - k_nonce_length;
  // Counts the nonces of a server, for all its secrets.
  struct Nonces {
    explicit Nonces(std::uint64_t first) : next(first) {}
    std::uint64_t next;
  };
  struct Server {
    // 1 to k_max_server_id bytes
    std::vector<std::uint8_t> id;
    bool encrypted = true;
    // Nonces of one secret must never repeat, not even when the server starts again (§5.2). It
    // starts them at the time of day in nanoseconds, and makes an id less often than once in each.
    std::uint64_t first_nonce = 0;
  };

  RoutableIds(const Server& server, const ServerSecret& secret, std::uint8_t number,
              std::shared_ptr<Nonces> nonces);

  std::size_t id_length() const { return 1 + server_id_.size() + k_nonce_length; }
  ConnectionId make();
  // Whether this server made the id with this secret, or will make it.
  bool made(const ConnectionId& id);

 private:
  // What follows the first byte
  MutableBytes routed(ConnectionId& id) const {
    return MutableBytes(id.bytes).subspan(1, id_length() - 1);
  }
  std::uint8_t first_byte() const;

  std::vector<std::uint8_t> server_id_;
  std::uint8_t number_;
  std::shared_ptr<Nonces> nonces_;
  // Encrypts server id and nonce.
  std::optional<QuicLbCipher> cipher_;
  // Without encryption, ids of one connection must not be told by nonces that count (§8.6).
  std::optional<QuicLbCipher> scrambler_;
};

// Returns the key that a balancer needs, to find servers in the ids of this secret. Bytes are those
// of HKDF (crypto/server_secret.h).
QuicLbCipher::Key balancer_key(const ServerSecret& secret);

}  // namespace sheaf::quic
