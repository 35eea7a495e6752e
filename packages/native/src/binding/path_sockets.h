#pragma once

#include <vector>

#include "binding/hosted_connection.h"
#include "io/endpoint_loop.h"

namespace sheaf::binding {

// The sockets that were opened for paths: each lives as long as a path uses it.
class PathSockets {
 public:
  void add(const HostedConnection& hosted, quic::PathId path, const quic::Address& local) {
    uses_.push_back({hosted.handle(), path, local});
  }
  // Closes those of paths that are gone. An abandoned path still takes what is in flight to it.
  void release_gone(HostedConnection& hosted, io::EndpointLoop& loop);
  // The connection is gone.
  void release_all(const HostedConnection& hosted, io::EndpointLoop& loop);
  bool uses(const quic::Address& local) const;

 private:
  struct Use {
    std::uint32_t connection;
    quic::PathId path;
    quic::Address local;
  };
  void release(std::size_t index, io::EndpointLoop& loop);

  std::vector<Use> uses_;
};

}  // namespace sheaf::binding
