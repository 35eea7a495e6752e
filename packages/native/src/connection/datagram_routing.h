#pragma once

#include <optional>

#include "connection/local_id_maker.h"
#include "util/bytes.h"
#include "util/time.h"
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
  // Packets so far that the peer wants to have acknowledged
  std::uint64_t eliciting_packets() const;
  // Returns the smoothed round trip of the fastest path.
  Duration shortest_round_trip() const;
  // Sets what makes the ids that are issued. Must be called before any is.
  void set_id_maker(const SharedIdMaker& maker);
  // The datagram, which cannot be decrypted, ends with a reset token that the peer gave.
  bool is_stateless_reset(Bytes datagram) const;

 private:
  ConnectionParts& parts_;
};

}  // namespace sheaf::quic
