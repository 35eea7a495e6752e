#pragma once

#include "connection/parts.h"

namespace sheaf::quic {

// Moves a path to other addresses, and answers a peer that probes whether it could (RFC 9000 §9).
class AddressChange {
 public:
  AddressChange(ConnectionParts& parts, Time now) : parts_(parts), now_(now) {}

  // Client: moves the path to another local address. Returns false when there is no id for that.
  bool move(PathEntry& entry, const Address& local);
  // Client, when the handshake is confirmed: tries the address that the server prefers (§9.6).
  void try_preferred(PathEntry& entry);
  // A client may receive from this address on this path.
  static bool expects(const PathEntry& entry, const Address& remote);
  // Server: follows the path's newest packet, which came from other addresses to this id of ours.
  void follow(PathEntry& entry, const AddressPair& to, std::size_t bytes, Bytes used_id);
  // Queues the response, which goes back the way that the challenge came.
  void on_challenge(PathEntry& entry, const PathData& data, const AddressPair& from,
                    std::size_t bytes);
  // Takes a response from addresses that the path does not use.
  void on_response(PathEntry& entry, const PathResponseFrame& response);
  // Counts bytes from addresses that the path does not use, once (RFC 9000 §8.1).
  static void count_received(PathEntry& entry, const AddressPair& from, std::size_t bytes);

  static Time next_timeout(const PathEntry& entry);
  void on_timeout(PathEntry& entry);

 private:
  std::unique_ptr<OtherAddresses> leave(PathEntry& entry, Time until) const;
  // Takes out what is known of these addresses already; null when nothing is.
  static std::unique_ptr<OtherAddresses> take_known(PathEntry& entry, const AddressPair& addresses);
  std::unique_ptr<OtherAddresses> begin_probe(PathEntry& entry, const AddressPair& from,
                                              std::size_t bytes) const;
  // Returns an id for addresses that the peer chose (RFC 9000 §9.5).
  static std::optional<ConnectionId> id_for_probe(PathEntry& entry);
  void adopt_preferred(PathEntry& entry);
  // Returns how long packets may be in flight to addresses or ids that were left.
  Time until_settled() const { return now_ + 3 * parts_.probe_timeout(); }

  ConnectionParts& parts_;
  Time now_;
};

}  // namespace sheaf::quic
