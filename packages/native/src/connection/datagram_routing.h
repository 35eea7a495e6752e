#pragma once

#include <optional>

#include "util/bytes.h"
#include "wire/types.h"

namespace sheaf::quic {

struct ConnectionParts;

// Tells an endpoint which datagrams belong to a connection.
class DatagramRouting {
 public:
  explicit DatagramRouting(ConnectionParts& parts) : parts_(parts) {}

  struct IdChange {
    ConnectionId id;
    bool added = true;
  };
  // The endpoint asks after each call whether ids were issued or retired.
  std::optional<IdChange> poll_id_change();
  // Sets the key for stateless reset tokens of ids that are issued; 32 bytes.
  void set_reset_key(Bytes key);
  // The datagram, which cannot be decrypted, ends with a reset token that the peer gave.
  bool is_stateless_reset(Bytes datagram) const;

 private:
  ConnectionParts& parts_;
};

}  // namespace sheaf::quic
