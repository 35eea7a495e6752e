#include "connection/connection_extension.h"

#include <utility>

#include "connection/parts.h"
#include "connection/path_management.h"

namespace sheaf::quic {

Role ConnectionExtension::role() const { return parts_->role; }
const ConnectionConfig& ConnectionExtension::config() const { return parts_->config; }
const TransportParameters& ConnectionExtension::peer_parameters() const {
  return parts_->peer_parameters;
}
bool ConnectionExtension::confirmed() const { return parts_->handshake.confirmed(); }
Duration ConnectionExtension::idle_timeout() const { return parts_->idle.timeout(); }
Time ConnectionExtension::last_received() const { return parts_->idle.last_received(); }
Duration ConnectionExtension::probe_timeout(const Path& path) const {
  return parts_->probe_timeout(path);
}
PathPolicy* ConnectionExtension::policy() const { return parts_->policy.get(); }

PathTable& ConnectionExtension::paths() { return parts_->paths; }
const PathTable& ConnectionExtension::paths() const { return parts_->paths; }
StreamSet& ConnectionExtension::streams() { return parts_->streams; }
const StreamSet& ConnectionExtension::streams() const { return parts_->streams; }
OneRttKeys& ConnectionExtension::keys() { return parts_->keys; }
const OneRttKeys& ConnectionExtension::keys() const { return parts_->keys; }

void ConnectionExtension::set_frames_due(bool due) { parts_->policy_frames_due = due; }
void ConnectionExtension::report(Event event) { parts_->events.push_back(std::move(event)); }

Path& ConnectionExtension::make_path(PathEntry& entry, const AddressPair& addresses) {
  return parts_->make_path(entry, addresses);
}

void ConnectionExtension::end_path(PathEntry& entry, TransportErrorCode error, Time now) {
  PathManagement(*parts_, now).end(entry, error, false);
}

TransportStatus ConnectionExtension::on_path_abandoned(const PathAbandonFrame& frame, Time now) {
  return PathManagement(*parts_, now).on_frame(frame);
}

void ConnectionExtension::heard_elsewhere(Time now) { parts_->idle.on_heard_elsewhere(now); }
void ConnectionExtension::finish(const ConnectionClosed& closed) { parts_->close.finish(closed); }

TransportStatus ConnectionExtension::set_peer_parameters(const TransportParameters& parameters) {
  parts_->peer_parameters = parameters;
  return parts_->streams.set_peer_parameters(parameters);
}

void ConnectionExtension::establish(std::unique_ptr<PathPolicy> policy, Time now) {
  parts_->policy = std::move(policy);
  parts_->idle.on_heard_elsewhere(now);
  parts_->handshake.establish();
  parts_->handshake.confirm();
  parts_->events.push_back(EstablishedEvent{});
}

}  // namespace sheaf::quic
