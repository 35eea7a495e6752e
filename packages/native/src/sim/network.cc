#include "sim/network.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace sheaf::quic {

NetworkPath& Network::connect(const NetworkNode& near, const NetworkNode& far,
                              const LinkConfig& there, const LinkConfig& back) {
  return add_path(near, far, add_links(there, back));
}

std::size_t Network::add_links(const LinkConfig& there, const LinkConfig& back) {
  links_.emplace_back(there, seeds_.next());
  links_.emplace_back(back, seeds_.next());
  return links_.size() - 2;
}

NetworkPath& Network::share(const NetworkPath& path, const NetworkNode& near,
                            const NetworkNode& far) {
  const Route* route = find({path.near.address, path.far.address});
  assert(route != nullptr && "the path is of another network");
  NetworkPath& made = add_path(near, far, route->link);
  if (route->last_link != route->link) lead_through(made, route->last_link);
  return made;
}

std::size_t Network::add_trunk(const LinkConfig& there, const LinkConfig& back) {
  return add_links(there, back);
}

void Network::lead_through(const NetworkPath& path, std::size_t trunk) {
  for (Route& route : routes_) {
    if (route.path != &path) continue;
    if (route.forward) {
      route.last_link = trunk;
    } else {
      route.link = trunk + 1;
    }
  }
}

NetworkPath& Network::add_path(const NetworkNode& near, const NetworkNode& far,
                               std::size_t first_link) {
  NetworkPath& path = paths_.emplace_back(NetworkPath{.near = near,
                                                      .far = far,
                                                      .translated = near.address,
                                                      .there = links_[first_link],
                                                      .back = links_[first_link + 1]});
  const Route& forward =
      routes_.emplace_back(Route{&path, true, routes_.size(), first_link, first_link});
  const Route& backward =
      routes_.emplace_back(Route{&path, false, routes_.size(), first_link + 1, first_link + 1});
  const bool is_new = by_addresses_.try_emplace({near.address, far.address}, &forward).second &&
                      by_addresses_.try_emplace({far.address, near.address}, &backward).second;
  assert(is_new && "these addresses are connected already");
  static_cast<void>(is_new);
  return path;
}

NetworkPath& Network::add_tree_link(const NetworkNode& source, const NetworkNode& member,
                                    const LinkConfig& link) {
  links_.emplace_back(link, seeds_.next());
  NetworkPath& path = paths_.emplace_back(NetworkPath{.near = source,
                                                      .far = member,
                                                      .translated = source.address,
                                                      .there = links_.back(),
                                                      .back = links_.back()});
  routes_.emplace_back(Route{&path, true, routes_.size(), links_.size() - 1, links_.size() - 1});
  return path;
}

NetworkPath& Network::add_tree(const NetworkNode& source, const Address& group,
                               const std::string& host, const LinkConfig& link) {
  NetworkPath& path = add_tree_link(source, {host, group}, link);
  const bool is_new = by_addresses_.try_emplace({source.address, group}, &routes_.back()).second;
  assert(is_new && "this source sends to the group already");
  static_cast<void>(is_new);
  return path;
}

NetworkPath& Network::add_branch(const NetworkPath& from, const std::string& host,
                                 const LinkConfig& link) {
  const auto trunk = std::ranges::find(routes_, &from, &Route::path);
  assert(trunk != routes_.end() && "the path is of another network");
  NetworkPath& path = add_tree_link(from.near, {host, from.far.address}, link);
  trunk->branches.push_back(&routes_.back());
  return path;
}

void Network::connect_as(const std::string& host, const NetworkPath& path, const LinkConfig& link) {
  links_.emplace_back(link, seeds_.next());
  const Route* back = find({path.far.address, path.translated});
  assert(back != nullptr && "the path is of another network");
  const Route& route = routes_.emplace_back(
      Route{back->path, false, routes_.size(), links_.size() - 1, back->last_link});
  as_others_[{host, back->path}] = &route;
}

void Network::rebind(NetworkPath& path, const Address& translated) {
  const auto mapping = by_addresses_.extract({path.far.address, path.translated});
  by_addresses_[{path.far.address, translated}] = mapping.mapped();
  path.translated = translated;
}

const Network::Route* Network::find(const AddressPair& pair) const {
  const auto found = by_addresses_.find(pair);
  return found == by_addresses_.end() ? nullptr : found->second;
}

const Network::Route* Network::find(const std::string& host, const AddressPair& pair) const {
  const Route* route = find(pair);
  if (as_others_.empty() || route == nullptr || route->sender() == host) return route;
  const auto found = as_others_.find({host, route->path});
  return route->forward || found == as_others_.end() ? nullptr : found->second;
}

LinkHeader Network::header_on(const Route& route, Ecn ecn) {
  const NetworkPath& path = *route.path;
  AddressPair seen{.local = path.far.address, .remote = path.translated};
  if (!route.forward) std::swap(seen.local, seen.remote);
  return {.path = seen, .ecn = ecn, .tag = route.index};
}

void Network::send(const Route& route, Bytes payload, Ecn ecn, Time now) {
  links_[route.link].send(payload, header_on(route, ecn), now);
}

void Network::branch_off(const Route& branch, const LinkDatagram& datagram, Time now) {
  links_[branch.link].send(datagram, header_on(branch, datagram.header.ecn), now);
}

Network::Arrival Network::poll_arrival(std::size_t link, Time now) {
  while (LinkDatagram* datagram = links_[link].poll_arrival(now)) {
    const Route& route = routes_[datagram->header.tag];
    if (route.forward || link != route.last_link) return {&route, datagram};
    // The translator looks up its mapping when the datagram reaches it.
    if (datagram->header.path.local == route.path->translated) {
      datagram->header.path.local = route.path->near.address;
      return {&route, datagram};
    }
    ++unroutable_;
  }
  return {};
}

void Network::go_on(const Arrival& arrival, Time now) {
  links_[arrival.route->last_link].send(arrival.datagram->payload(), arrival.datagram->header, now);
}

}  // namespace sheaf::quic
