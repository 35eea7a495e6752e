#include "sim/network.h"

#include <cassert>
#include <utility>

namespace sheaf::quic {

NetworkPath& Network::connect(const NetworkNode& near, const NetworkNode& far,
                              const LinkConfig& there, const LinkConfig& back) {
  Link link_there(there, seeds_.next());
  Link link_back(back, seeds_.next());
  NetworkPath& path = paths_.emplace_back(near, far, std::move(link_there), std::move(link_back));
  const Route& forward = routes_.emplace_back(Route{&path, true, routes_.size()});
  const Route& backward = routes_.emplace_back(Route{&path, false, routes_.size()});
  const bool is_new = by_addresses_.try_emplace({near.address, far.address}, &forward).second &&
                      by_addresses_.try_emplace({far.address, near.address}, &backward).second;
  assert(is_new && "these addresses are connected already");
  static_cast<void>(is_new);
  return path;
}

void Network::rebind(NetworkPath& path, const Address& translated) {
  const auto mapping = by_addresses_.extract({path.far.address, path.translated});
  by_addresses_[{path.far.address, translated}] = mapping.mapped();
  path.translated = translated;
}

const Network::Route* Network::send(const AddressPair& pair, Bytes payload, Ecn ecn, Time now) {
  const auto found = by_addresses_.find(pair);
  if (found == by_addresses_.end()) {
    ++unroutable_;
    return nullptr;
  }
  const Route& route = *found->second;
  const NetworkPath& path = *route.path;
  AddressPair seen{.local = path.far.address, .remote = path.translated};
  if (!route.forward) std::swap(seen.local, seen.remote);
  route.link().send({{payload.begin(), payload.end()}, seen, ecn}, now);
  return &route;
}

std::optional<LinkDatagram> Network::poll_arrival(const Route& route, Time now) {
  while (std::optional<LinkDatagram> datagram = route.link().poll_arrival(now)) {
    if (route.forward) return datagram;
    // The translator looks up its mapping when the datagram reaches it.
    if (datagram->path.local == route.path->translated) {
      datagram->path.local = route.path->near.address;
      return datagram;
    }
    ++unroutable_;
  }
  return std::nullopt;
}

}  // namespace sheaf::quic
