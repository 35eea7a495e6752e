#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "crypto/quic_lb_cipher.h"
#include "crypto/server_secret.h"
#include "util/random.h"
#include "wire/types.h"

namespace sheaf::quic {

// The number of a secret stands in the first three bits of ids.
inline constexpr unsigned k_secret_number_shift = 5;

// Makes connection ids by which a balancer finds the server of a packet, whatever the client's
// address (draft-ietf-quic-load-balancers-21 §3, §5): the number of the secret and the length of
// the rest, then the server's id and a nonce, which are encrypted or not, and a byte for the server
// itself: which of its endpoints the packet belongs to (steering/steering.h).
class RoutableIds {
 public:
  static constexpr std::size_t k_nonce_length = 8;
  // QUIC version 1 has ids of at most 20 bytes.
  static constexpr std::size_t k_max_server_id = ConnectionId::k_max_length - 2 - k_nonce_length;
  // Counts the nonces of a server, for all its secrets.
  struct Nonces {
    std::uint64_t next = 0;
    std::uint64_t step = 1;
    std::uint64_t take() { return std::exchange(next, next + step); }
  };
  struct Server {
    // 1 to k_max_server_id bytes
    std::vector<std::uint8_t> id;
    bool encrypted = true;
    // Nonces of one secret must never repeat, not even when the server starts again (§5.2). It
    // starts them at the time of day in nanoseconds, and makes an id less often than once in each.
    std::uint64_t first_nonce = 0;
    std::uint64_t nonce_step = 1;
    // Leaves each of several endpoints of this server nonces of its own.
    void nonces_of(std::uint64_t endpoint, std::uint64_t endpoints) {
      first_nonce = first_nonce / endpoints * endpoints + endpoint;
      nonce_step = endpoints;
    }
  };
  static std::size_t id_length(const Server& server) {
    return 1 + server.id.size() + k_nonce_length + 1;
  }

  RoutableIds(const Server& server, const ServerSecret& secret, std::uint8_t number,
              std::shared_ptr<Nonces> nonces);

  std::size_t id_length() const { return 1 + server_id_.size() + k_nonce_length + 1; }
  ConnectionId make(Random& random);
  // Returns the server that made the id with this secret; nothing for an id that none made, unless
  // it looks like one by chance.
  std::optional<std::vector<std::uint8_t>> server_of(const ConnectionId& id);
  // Whether this server made the id with this secret, or will make it.
  bool made(const ConnectionId& id) { return server_of(id) == server_id_; }

 private:
  // What balancers read behind the first byte
  MutableBytes routed(ConnectionId& id) const {
    return MutableBytes(id.bytes).subspan(1, server_id_.size() + k_nonce_length);
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
