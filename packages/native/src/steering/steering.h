#pragma once

#include <cstdint>
#include <optional>

#include "util/random.h"
#include "wire/types.h"

namespace sheaf::quic {

// Tells by connection ids which of several endpoints with one address a packet belongs to. The last
// byte of an id is a value that the four bytes before it hide, so that ids of one connection do not
// look alike (RFC 9000 §5.1). The endpoint is this value modulo their number. The kernel computes
// the same (io/steering_program.h).
class Steering {
 public:
  // Each of them needs values of its own, of 256.
  static constexpr unsigned k_max_workers = 64;
  // Bytes at the end of an id that the endpoint follows from
  static constexpr std::size_t k_length = 5;

  struct Key {
    std::uint32_t mask = 0;
    std::uint32_t multiplier = 1;  // odd
  };
  static Key random_key(Random& random);

  // `id_length` is that of the ids which the endpoints make: at least k_length. There are 1 to
  // k_max_workers of them.
  Steering(unsigned workers, std::size_t id_length, Key key);

  unsigned workers() const { return workers_; }
  std::size_t id_length() const { return id_length_; }
  const Key& key() const { return key_; }

  // Returns nothing for an id that is too short. A longer one, which a client chose, is read at the
  // same place.
  std::optional<unsigned> worker_of(Bytes id) const;
  // Makes an id of `id_length` bytes lead to this worker.
  void mark(ConnectionId& id, unsigned worker, Random& random) const;

 private:
  std::uint8_t hidden_by(Bytes id) const;

  unsigned workers_;
  std::size_t id_length_;
  Key key_;
};

// One of the endpoints, which all ids that it makes lead to
struct SteeringMark {
  Steering steering;
  unsigned worker = 0;
  void apply(ConnectionId& id, Random& random) const { steering.mark(id, worker, random); }
};

}  // namespace sheaf::quic
