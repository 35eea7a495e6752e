#include "connection/connection_extension.h"

#include <utility>

#include "connection/frame_outcome.h"
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
Duration ConnectionExtension::probe_timeout(const PathEntry& entry) const {
  return parts_->probe_timeout(entry);
}
PathPolicy* ConnectionExtension::policy() const { return parts_->policy.get(); }

PathTable& ConnectionExtension::paths() const { return parts_->paths; }
StreamSet& ConnectionExtension::streams() const { return parts_->streams; }
OneRttKeys& ConnectionExtension::keys() const { return parts_->keys; }

void ConnectionExtension::carry_messages() { parts_->carries_messages = true; }

void ConnectionExtension::open_sender(std::uint8_t sender, Duration initial_rtt) {
  parts_->first_path()->loss.open_sender(sender, initial_rtt);
}

void ConnectionExtension::set_run_limits(const RunLimits& limits) {
  if (!parts_->runs) parts_->runs = std::make_unique<Runs>();
  parts_->runs->set_limits(limits);
  if (Path* path = parts_->first_path()) path->pacer.limit_bursts(limits.per_turn);
}

void ConnectionExtension::on_run_ordered(std::function<void()> ordered) {
  if (!parts_->runs) parts_->runs = std::make_unique<Runs>();
  parts_->runs->on_ordered(std::move(ordered));
}

void ConnectionExtension::end_runs() {
  if (parts_->runs) parts_->runs->end();
  if (Path* path = parts_->first_path()) path->pacer.limit_bursts(Pacer::k_no_limit);
}

FirstPackets ConnectionExtension::first_packets() { return FirstPackets(*parts_); }

std::optional<RunOrder> ConnectionExtension::poll_run() {
  return parts_->runs ? parts_->runs->poll() : std::nullopt;
}

void ConnectionExtension::refuse_run(std::uint8_t sender, PacketNumber first, std::size_t count,
                                     Time now) {
  Path* path = parts_->first_path();
  if (path == nullptr) return;
  FrameOutcome outcome(*parts_, now);
  path->loss.refuse_run(sender, first, count, now, outcome);
}

void ConnectionExtension::abandon_sender(std::uint8_t sender, Time now) {
  Path* path = parts_->first_path();
  if (path == nullptr) return;
  FrameOutcome outcome(*parts_, now);
  path->loss.abandon_sender(sender, outcome);
}

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
void ConnectionExtension::fail(const TransportError& error, Time now) { parts_->fail(error, now); }
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
