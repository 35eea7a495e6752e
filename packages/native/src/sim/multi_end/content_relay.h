#pragma once

#include <functional>
#include <map>
#include <vector>

#include "sim/connection_pair.h"
#include "sim/multi_end/content.h"

namespace sheaf::quic {

// A primary that proxies. For each stream of its client it opens one on a connection to the backend
// that has the content, and forwards bytes as they come, as far as the other side takes them. It
// works as a gateway does, but without delay.
class ContentRelay {
 public:
  // Code that fails a request whose backend is known to be gone
  static constexpr std::uint64_t k_unavailable = 2;

  ContentRelay(Simulation& simulation, ConnectionHost& facing,
               std::vector<ConnectionHost*> upstream);

  void on_client_event(const StreamEvent& event, Time now);
  // Refuses new requests for this backend, and fails those in flight.
  void set_down(std::size_t backend);

 private:
  // One direction of an exchange
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
  // Reads the backend from the first bytes of the request. Returns false until they have arrived.
  bool begin(StreamId stream);
  void pump(Pipe& pipe, Time now);
  void fail(Exchange& exchange);
  std::optional<std::size_t> first_up(std::uint64_t wanted) const;
  // Lets other hosts than the active one send now.
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
