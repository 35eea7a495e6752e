#pragma once

#include <vector>

#include "binding/hosted_connection.h"
#include "io/endpoint_loop.h"

namespace sheaf::binding {

// Keeps the sockets of a client's paths. Each lives as long as a path uses it or may still receive
// there.
class PathSockets {
 public:
  // Ends an attempt to use an address that was bound for a path. With `used` the connection keeps
  // the socket; otherwise the socket is closed unless another connection uses it.
  void settle(const HostedConnection& hosted, const quic::Address& local, bool used,
              io::EndpointLoop& loop);
  // Closes the sockets that no path uses any more. A path that was abandoned or has moved still
  // receives the datagrams that are in flight to its former address.
  void release_gone(HostedConnection& hosted, io::EndpointLoop& loop);
  // Releases the sockets of a connection that is gone.
  void release_all(const HostedConnection& hosted, io::EndpointLoop& loop);

 private:
  struct Use {
    std::uint32_t connection;
    quic::Address local;
  };
  void release(std::size_t index, io::EndpointLoop& loop);
  bool uses(const quic::Address& local) const;

  std::vector<Use> uses_;
};

}  // namespace sheaf::binding
