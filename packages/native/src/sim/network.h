#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "emulation/link.h"

namespace sheaf::quic {

// A host's name and one of its addresses
struct NetworkNode {
  std::string host;
  Address address;
};

// Two addresses with a link in each direction. The near side may be behind a network address
// translator.
struct NetworkPath {
  const NetworkNode near;
  const NetworkNode far;
  Address translated;  // the near address as the far side sees it
  Link& there;         // near to far
  Link& back;
};

// Sends each datagram over the links of the address pair that its sender used.
class Network {
 public:
  // Each link draws its own random numbers, so traffic on one does not change another.
  explicit Network(std::uint64_t seed) : seeds_(seed) {}

  // Connects two addresses. The reference stays valid. A pair of addresses can be connected once.
  NetworkPath& connect(const NetworkNode& near, const NetworkNode& far, const LinkConfig& there,
                       const LinkConfig& back);
  // Adds another pair of addresses over the links of `path`, so that both paths have one
  // bottleneck.
  NetworkPath& share(const NetworkPath& path, const NetworkNode& near, const NetworkNode& far);
  // Adds a link in each direction at the far ends of paths, for `lead_through`. Returns its index.
  std::size_t add_trunk(const LinkConfig& there, const LinkConfig& back);
  // Leads the path through the trunk as well, as a common bottleneck of paths with links of their
  // own. `share` of such a path has both. Call this before any host sends.
  void lead_through(const NetworkPath& path, std::size_t trunk);
  // Adds a multicast tree: what `source` sends to the group passes a link, and is copied where that
  // ends. The host there receives it, unless it has no name.
  NetworkPath& add_tree(const NetworkNode& source, const Address& group, const std::string& host,
                        const LinkConfig& link);
  // Adds a link from the end of another one of a tree.
  NetworkPath& add_branch(const NetworkPath& from, const std::string& host, const LinkConfig& link);
  // Lets another host send to the near side in the name of the far side. Its datagrams pass a link
  // of their own and then the last one of the path's way back. Nothing comes back to it.
  void connect_as(const std::string& host, const NetworkPath& path, const LinkConfig& link);
  // Makes the translator forget its mapping and make another. After this the far side sees
  // `translated`, and datagrams in flight to the old address are dropped.
  void rebind(NetworkPath& path, const Address& translated);

  // One direction of a path
  struct Route {
    NetworkPath* path = nullptr;
    bool forward = true;        // near to far
    std::size_t index = 0;      // among all routes, in the order of `connect` and `share`
    std::size_t link = 0;       // that datagrams enter first
    std::size_t last_link = 0;  // that they leave last: another one on the way through a trunk
    std::vector<const Route*> branches{};  // of a tree, from the end of this one
    const std::string& sender() const { return forward ? path->near.host : path->far.host; }
    const std::string& receiver() const { return forward ? path->far.host : path->near.host; }
  };
  // Returns the route of a host's datagrams with these addresses, as the sender names them; null
  // when there is none.
  const Route* find(const std::string& host, const AddressPair& pair) const;
  void send(const Route& route, Bytes payload, Ecn ecn, Time now);
  // Sends a copy of a datagram that arrived at the end of a link of a tree. Both share their bytes.
  void branch_off(const Route& branch, const LinkDatagram& datagram, Time now);
  void count_unroutable() { ++unroutable_; }

  std::size_t link_count() const { return links_.size(); }
  const Link& link(std::size_t index) const { return links_[index]; }
  struct Arrival {
    const Route* route = nullptr;
    LinkDatagram* datagram = nullptr;  // null when that is all; valid until the next call
  };
  // Takes datagrams that have arrived at the end of a link by now, one at a time. If the link is
  // not the route's last, `go_on` sends them further.
  Arrival poll_arrival(std::size_t link, Time now);
  // Sends a datagram to the route's last link.
  void go_on(const Arrival& arrival, Time now);

  std::uint64_t unroutable() const { return unroutable_; }

 private:
  static LinkHeader header_on(const Route& route, Ecn ecn);
  NetworkPath& add_tree_link(const NetworkNode& source, const NetworkNode& member,
                             const LinkConfig& link);
  NetworkPath& add_path(const NetworkNode& near, const NetworkNode& far, std::size_t first_link);
  const Route* find(const AddressPair& pair) const;
  std::size_t add_links(const LinkConfig& there, const LinkConfig& back);

  SeededRandom seeds_;
  std::deque<Link> links_;
  std::deque<NetworkPath> paths_;
  std::deque<Route> routes_;
  std::map<AddressPair, const Route*> by_addresses_;
  // Routes of hosts that send in the name of others
  std::map<std::pair<std::string, const NetworkPath*>, const Route*> as_others_;
  std::uint64_t unroutable_ = 0;
};

}  // namespace sheaf::quic
