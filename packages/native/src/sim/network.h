#pragma once

#include <deque>
#include <map>
#include <string>

#include "sim/link.h"

namespace sheaf::quic {

// A host's name and one of its addresses.
struct NetworkNode {
  std::string host;
  Address address;
};

// Two addresses with a link each way. The near side may be behind a network address translator.
class NetworkPath {
 public:
  NetworkPath(NetworkNode near, NetworkNode far, Link there, Link back)
      : near(std::move(near)),
        far(std::move(far)),
        translated(this->near.address),
        there(std::move(there)),
        back(std::move(back)) {}

  const NetworkNode near;
  const NetworkNode far;
  Address translated;  // the near address as the far side sees it
  Link there;          // near to far
  Link back;
};

// Which datagram goes over which link, by the address pair that its sender used.
class Network {
 public:
  // Each link draws its own random numbers: traffic on one does not change another.
  explicit Network(std::uint64_t seed) : seeds_(seed) {}

  // The reference stays valid. Addresses of one pair can be connected once.
  NetworkPath& connect(const NetworkNode& near, const NetworkNode& far, const LinkConfig& there,
                       const LinkConfig& back);
  NetworkPath& connect(const NetworkNode& near, const NetworkNode& far, const LinkConfig& both) {
    return connect(near, far, both, both);
  }
  // The translator forgets its mapping and makes another: from now on the far side sees
  // `translated`, and what is under way to the old address is dropped.
  void rebind(NetworkPath& path, const Address& translated);

  // One direction of a path.
  struct Route {
    NetworkPath* path = nullptr;
    bool forward = true;    // near to far
    std::size_t index = 0;  // among all routes, in the order of `connect`
    Link& link() const { return forward ? path->there : path->back; }
    const std::string& receiver() const { return forward ? path->far.host : path->near.host; }
  };
  const Route& route(std::size_t index) const { return routes_[index]; }
  std::size_t route_count() const { return routes_.size(); }
  // Puts a copy on the link for these addresses, as the sender names them. Null, and counted, when
  // there is none.
  const Route* send(const AddressPair& pair, Bytes payload, Ecn ecn, Time now);
  // What has arrived at the end of a route by now, one at a time.
  std::optional<LinkDatagram> poll_arrival(const Route& route, Time now);

  std::uint64_t unroutable() const { return unroutable_; }

 private:
  SeededRandom seeds_;
  std::deque<NetworkPath> paths_;
  std::deque<Route> routes_;
  std::map<AddressPair, const Route*> by_addresses_;
  std::uint64_t unroutable_ = 0;
};

}  // namespace sheaf::quic
