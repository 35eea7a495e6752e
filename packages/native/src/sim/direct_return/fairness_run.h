#pragma once

#include <cstdint>

#include "sim/direct_return/return_network.h"

namespace sheaf::quic {

// A connection that backends serve, and a plain one to a server as far away. Both download without
// an end over the same access link.
struct FairnessSetting {
  // Without backends the gateway itself serves the connection, which is a plain one then.
  ReturnNetwork::Options network;
  // Bytes count from this time on, when neither connection is in its slow start any more.
  Duration warm_up = std::chrono::seconds(5);
  Duration counted = std::chrono::seconds(60);
  // The servers of each connection are farther by up to this, as the seed decides. With equal round
  // trips, or with differences that are the same in every run, which packets find a full queue is
  // a matter of their phase (Floyd and Jacobson, "On Traffic Phase Effects in Packet-Switched
  // Gateways", 1991): two plain connections whose round trips differ by 2 ms have shares of 0.39
  // and 0.61 then.
  Duration places = std::chrono::milliseconds(5);
  // The plain connection's server is as far as the gateway, and not as the farthest backend.
  bool plain_at_gateway = false;
  std::uint64_t seed = 1;
};

// What one of both connections did in the time that counts.
struct FairnessSide {
  std::uint64_t bytes = 0;    // that arrived in order
  std::uint64_t packets = 0;  // sent
  std::uint64_t lost = 0;     // of these
};

struct FairnessResult {
  FairnessSide served;  // by the backends
  FairnessSide plain;
  std::uint64_t runs = 0;     // that backends sent
  std::uint64_t refused = 0;  // runs
  std::uint64_t digest = 0;
  double share() const {
    return static_cast<double>(served.bytes) / static_cast<double>(served.bytes + plain.bytes);
  }
};

// The connections begin at random times of the first second, in an order that the seed decides.
FairnessResult run_fairness(const FairnessSetting& setting);

}  // namespace sheaf::quic
