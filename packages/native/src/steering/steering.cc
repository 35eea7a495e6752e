#include "steering/steering.h"

#include <cassert>

namespace sheaf::quic {

namespace {

constexpr unsigned k_values = 256;

}  // namespace

Steering::Key Steering::random_key(Random& random) {
  const std::uint64_t bits = random.next();
  return {static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32) | 1};
}

Steering::Steering(unsigned workers, std::size_t id_length, Key key)
    : workers_(workers), id_length_(id_length), key_(key) {
  assert(workers >= 1 && workers <= k_max_workers);
  assert(id_length >= k_length && id_length <= ConnectionId::k_max_length);
}

std::uint8_t Steering::hidden_by(Bytes id) const {
  std::uint32_t word = 0;
  for (const std::uint8_t byte : id.subspan(id_length_ - k_length, k_length - 1))
    word = word << 8 | byte;
  return static_cast<std::uint8_t>(((word ^ key_.mask) * key_.multiplier) >> 24);
}

std::optional<unsigned> Steering::worker_of(Bytes id) const {
  if (id.size() < id_length_) return std::nullopt;
  return static_cast<std::uint8_t>(id[id_length_ - 1] ^ hidden_by(id)) % workers_;
}

void Steering::mark(ConnectionId& id, unsigned worker, Random& random) const {
  const unsigned values = (k_values - worker + workers_ - 1) / workers_;
  const auto value = static_cast<std::uint8_t>(worker + workers_ * random.below(values));
  const Bytes bytes(id.bytes.data(), id.length);
  id.bytes[id_length_ - 1] = static_cast<std::uint8_t>(value ^ hidden_by(bytes));
}

}  // namespace sheaf::quic
