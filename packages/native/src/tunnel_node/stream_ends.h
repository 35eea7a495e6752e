#pragma once

#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tunnel_node/stream_end.h"

namespace sheaf::tunnel_node {

// The tunnels of an endpoint whose streams JavaScript carries, by numbers.
class StreamEnds {
 public:
  // `notify` is called when a tunnel has something to tell. It must not call this object.
  explicit StreamEnds(std::function<void()> notify) : notify_(std::move(notify)) {}

  // Tunnels with the same number of a connection share room in queues. The node must outlive the
  // tunnel.
  quic::Result<StreamEnd*, io::SocketError> open(TunnelNode& node, std::uint32_t connection,
                                                 const TunnelSettings& settings, Time now);
  // Returns null when there is no such tunnel any more.
  StreamEnd* find(std::uint32_t number) const;

  bool any_pending() const { return !pending_.empty(); }
  // Calls `tell(end)` for each tunnel that has bytes for its client, or is over. One that is over
  // is forgotten then.
  template <typename Tell>
  void take_pending(Tell&& tell) {
    for (const std::uint32_t number : std::exchange(pending_, {})) {
      StreamEnd* end = find(number);
      if (!end) continue;
      end->listed_ = false;
      tell(*end);
      if (end->over()) ends_.erase(number);
    }
  }
  // Ends all tunnels with their connections. `take_pending` tells of them.
  void end_all() {
    for (const auto& [number, end] : ends_) end->end(TunnelOver::kConnection);
  }
  void clear() {
    ends_.clear();
    pending_.clear();
  }

 private:
  friend class StreamEnd;

  void note(StreamEnd& end);

  std::function<void()> notify_;
  std::unordered_map<std::uint32_t, std::unique_ptr<StreamEnd>> ends_;
  std::vector<std::uint32_t> pending_;
  // Bytes that wait for each connection with tunnels
  std::unordered_map<std::uint32_t, std::weak_ptr<std::size_t>> waiting_bytes_;
  std::uint32_t next_ = 1;
};

}  // namespace sheaf::tunnel_node
