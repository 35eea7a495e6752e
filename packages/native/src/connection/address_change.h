#pragma once

#include "connection/parts.h"

namespace sheaf::quic {

// RFC 9000 §9: a path leads to other addresses, or the peer tries whether it could.
class AddressChange {
 public:
  AddressChange(ConnectionParts& parts, Time now) : parts_(parts), now_(now) {}

  // Client: moves the path to another address of its own; false when there is no id for that.
  bool move(PathEntry& entry, const Address& local);
  // Client, when the handshake is confirmed: tries the address that the server prefers (§9.6).
  void try_preferred(PathEntry& entry);
  // Whether a client may hear from there on this path.
  static bool expects(const PathEntry& entry, const Address& remote);
  // Server: the newest packet of the path came from elsewhere, to this id of ours.
  void follow(PathEntry& entry, const AddressPair& to, std::size_t bytes, Bytes used_id);
  // The response goes back the way that the challenge came.
  void on_challenge(PathEntry& entry, const PathData& data, const AddressPair& from,
                    std::size_t bytes);
  // Of addresses that the path does not use.
  void on_response(PathEntry& entry, const PathResponseFrame& response);
  // RFC 9000 §8.1: what came from addresses that the path does not use, once.
  static void count_received(PathEntry& entry, const AddressPair& from, std::size_t bytes);

  static Time next_timeout(const PathEntry& entry);
  void on_timeout(PathEntry& entry);

 private:
  std::unique_ptr<OtherAddresses> leave(PathEntry& entry, Time until) const;
  // What is known of these addresses already; null when nothing is.
  static std::unique_ptr<OtherAddresses> take_known(PathEntry& entry, const AddressPair& addresses);
  std::unique_ptr<OtherAddresses> begin_probe(PathEntry& entry, const AddressPair& from,
                                              std::size_t bytes) const;
  // RFC 9000 §9.5: for addresses that the peer chose.
  static std::optional<ConnectionId> id_for_probe(PathEntry& entry);
  void adopt_preferred(PathEntry& entry);
  // How long packets may be in flight to addresses or ids that were left.
  Time until_settled() const { return now_ + 3 * parts_.probe_timeout(); }

  ConnectionParts& parts_;
  Time now_;
};

}  // namespace sheaf::quic
