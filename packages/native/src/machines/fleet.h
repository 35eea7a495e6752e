#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "connection/routable_ids.h"
#include "crypto/server_secret.h"
#include "endpoint/placement.h"
#include "util/address.h"

namespace sheaf::machines {

// Another machine of the fleet, where datagrams are forwarded to
struct Machine {
  std::vector<std::uint8_t> server_id;
  quic::Address address;
  // Whether it takes new connections. Those that it has stay, whatever this says.
  bool opens = true;
  // Whether others, too, hear nothing of it. It may be alive all the same.
  bool missing = false;
  // Of its stateless resets (quic::EndpointConfig::reset_scope)
  std::string reset_scope = {};
};

// Tells which machine of a fleet a datagram belongs to. All machines that know the same others come
// to the same result.
class Fleet {
 public:
  // `own` is the server id of this machine. All have the same secrets, and ids of one length. With
  // `shares_first`, first packets of clients belong to any of the machines, wherever they arrive:
  // for balancers that give each datagram of a client to another machine. All machines must then
  // answer from one address.
  Fleet(const quic::RoutableIds::Server& own, const quic::ServerSecrets& secrets,
        bool shares_first);

  void set_machines(std::vector<Machine> machines) { machines_ = std::move(machines); }
  const std::vector<Machine>& machines() const { return machines_; }
  // Returns the place in `machines` of the one that a datagram belongs to; nothing when that is
  // this one, or nobody knows.
  std::optional<std::size_t> owner_of(const quic::DatagramHeader& header);
  // As `owner_of`, whatever server the id of the datagram names: only first packets belong to a
  // machine then.
  std::optional<std::size_t> opener_of(const quic::DatagramHeader& header) const;

 private:
  std::optional<std::vector<std::uint8_t>> server_of(quic::Bytes id);

  std::vector<std::uint8_t> own_;
  bool shares_first_;
  std::vector<quic::RoutableIds> ids_;  // of each secret
  std::vector<Machine> machines_;
};

}  // namespace sheaf::machines
