#pragma once

#include <functional>
#include <map>
#include <vector>

#include "sim/connection_pair.h"
#include "sim/multi_end/content.h"

namespace sheaf::quic {

// A primary that proxies: for each stream of its client one on a connection to the backend that has
// the content, with bytes passed on as they come, as far as the other side takes them. As a gateway
// does it, without the time that it needs to think.
class ContentRelay {
 public:
  // The request fails with this when its backend is known to be gone.
  static constexpr std::uint64_t k_unavailable = 2;

  ContentRelay(Simulation& simulation, ConnectionHost& facing,
               std::vector<ConnectionHost*> upstream);

  void on_client_event(const StreamEvent& event, Time now);
  // No new requests for this backend, and those in flight fail.
  void set_down(std::size_t backend);

 private:
  // One direction of an exchange.
  struct Pipe {
    ConnectionHost* from = nullptr;
    StreamId from_stream;
    ConnectionHost* to = nullptr;
    StreamId to_stream;
    bool full = false;
    bool finished = false;
  };
  struct Exchange {
    std::size_t backend = 0;
    Pipe up, down;
  };

  void on_upstream_event(std::size_t backend, const StreamEvent& event, Time now);
  // Its backend is in the first bytes of the request. False while they are not there.
  bool begin(StreamId stream);
  void pump(Pipe& pipe, Time now);
  void fail(Exchange& exchange);
  std::optional<std::size_t> first_up(std::uint64_t wanted) const;
  // Others than the host that had something to do may send now.
  void settle() {
    simulation_.after(Duration::zero(), [] {});
  }

  Simulation& simulation_;
  ConnectionHost& facing_;
  std::vector<ConnectionHost*> upstream_;
  std::vector<bool> down_;
  std::map<StreamId, Exchange> exchanges_;                      // by the client's stream
  std::map<std::pair<std::size_t, StreamId>, StreamId> sides_;  // upstream to the client's
};

}  // namespace sheaf::quic
