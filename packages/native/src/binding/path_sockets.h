#pragma once

#include <vector>

#include "binding/hosted_connection.h"
#include "io/endpoint_loop.h"

namespace sheaf::binding {

// The sockets of a client's paths: each lives as long as a path uses it, or may hear there.
class PathSockets {
 public:
  void add(const HostedConnection& hosted, const quic::Address& local) {
    uses_.push_back({hosted.handle(), local});
  }
  // Closes those that no path uses any more. What was abandoned or left still takes what is in
  // flight to it.
  void release_gone(HostedConnection& hosted, io::EndpointLoop& loop);
  // The connection is gone.
  void release_all(const HostedConnection& hosted, io::EndpointLoop& loop);
  bool uses(const quic::Address& local) const;

 private:
  struct Use {
    std::uint32_t connection;
    quic::Address local;
  };
  void release(std::size_t index, io::EndpointLoop& loop);

  std::vector<Use> uses_;
};

}  // namespace sheaf::binding
