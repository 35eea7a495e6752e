#include "connection/local_id_maker.h"

#include "crypto/tokens.h"

namespace sheaf::quic {

ConnectionId LocalIdMaker::make(Random& random) {
  ConnectionId id = routable_ ? routable_->make(random) : make_random(random);
  if (mark_) mark_->apply(id, random);
  return id;
}

ConnectionId LocalIdMaker::make_random(Random& random) const {
  ConnectionId id;
  id.length = k_local_id_length;
  random.fill({id.bytes.data(), id.length});
  if (secret_number_) {
    constexpr std::uint8_t k_rest = (1 << k_secret_number_shift) - 1;
    id.bytes[0] = static_cast<std::uint8_t>((id.bytes[0] & k_rest) | *secret_number_
                                                                         << k_secret_number_shift);
  }
  return id;
}

StatelessResetToken LocalIdMaker::reset_token(const ConnectionId& id) const {
  return stateless_reset_token(reset_key_, id);
}

bool LocalIdMaker::made(const ConnectionId& id) {
  if (routable_) return routable_->made(id);
  return !secret_number_ || id.bytes[0] >> k_secret_number_shift == *secret_number_;
}

std::optional<std::vector<std::uint8_t>> LocalIdMaker::server_of(const ConnectionId& id) {
  return routable_ ? routable_->server_of(id) : std::nullopt;
}

SharedIdMaker no_reset_key() {
  static const SharedIdMaker shared = std::make_shared<LocalIdMaker>(Bytes{});
  return shared;
}

}  // namespace sheaf::quic
