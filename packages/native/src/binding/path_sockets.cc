#include "binding/path_sockets.h"

#include <algorithm>

namespace sheaf::binding {

void PathSockets::settle(const HostedConnection& hosted, const quic::Address& local, bool used,
                         io::EndpointLoop& loop) {
  if (used) {
    uses_.push_back({hosted.handle(), local});
  } else if (local != loop.local_address() && !uses(local)) {
    loop.remove_local_address(local);
  }
}

void PathSockets::release_gone(HostedConnection& hosted, io::EndpointLoop& loop) {
  if (!hosted.paths_changed) return;
  const quic::Connection& connection = hosted.driver().connection();
  hosted.paths_changed = connection.paths().leaves_addresses();
  const auto addresses = connection.paths().local_addresses();
  for (std::size_t i = uses_.size(); i-- > 0;) {
    const Use& use = uses_[i];
    if (use.connection != hosted.handle()) continue;
    const bool used = std::ranges::any_of(
        addresses, [&](const quic::Address& address) { return loop.serves(use.local, address); });
    if (!used) release(i, loop);
  }
}

void PathSockets::release_all(const HostedConnection& hosted, io::EndpointLoop& loop) {
  for (std::size_t i = uses_.size(); i-- > 0;) {
    if (uses_[i].connection == hosted.handle()) release(i, loop);
  }
}

void PathSockets::release(std::size_t index, io::EndpointLoop& loop) {
  const quic::Address local = uses_[index].local;
  uses_.erase(uses_.begin() + static_cast<std::ptrdiff_t>(index));
  if (!uses(local)) loop.remove_local_address(local);
}

bool PathSockets::uses(const quic::Address& local) const {
  return std::ranges::find(uses_, local, &Use::local) != uses_.end();
}

}  // namespace sheaf::binding
