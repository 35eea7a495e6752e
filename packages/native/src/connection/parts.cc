#include "connection/parts.h"

#include <algorithm>

#include "connection/probe_policy.h"

namespace sheaf::quic {

ConnectionParts::ConnectionParts(Role own_role, const ConnectionConfig& own_config, Random& source,
                                 Time now)
    : role(own_role),
      config(own_config),
      random(source),
      keys(own_config.crypto),
      paths(own_config.active_connection_id_limit),
      opening(paths),
      path_scheduler(make_path_scheduler(own_config.path_scheduler)),
      coupling(std::make_shared<OliaCoupling>()),
      streams(own_role, own_config.streams),
      datagrams(own_config.datagram_queue_limit),
      idle(own_role, own_config.max_idle_timeout, own_config.keep_alive, now) {}

void ConnectionParts::make_first_path(const ConnectionSeed& seed, Time now) {
  peer_parameters.max_udp_payload_size = seed.peer_parameters.max_udp_payload_size;
  PathEntry& entry = first_entry();
  Path& path = make_path(entry, seed.path);
  if (seed.initial_rtt > Duration::zero()) path.rtt.set_initial(seed.initial_rtt);
  if (seed.address_validated) path.amplification.validate();
  path.update_pacing(now);
  initial_local_id_ = seed.local_id;
  handshake_remote_ = seed.path.remote;
  entry.local_ids.add_initial(seed.local_id);
  entry.used_id = seed.local_id;
}

Path& ConnectionParts::make_path(PathEntry& entry, const AddressPair& addresses) {
  const auto maximum = static_cast<std::uint16_t>(
      std::min<std::uint64_t>(config.max_udp_payload_size, peer_parameters.max_udp_payload_size));
  const auto jumbo = static_cast<std::uint16_t>(
      std::min<std::uint64_t>(k_jumbo_mtu, peer_parameters.max_udp_payload_size));
  CongestionConfig congestion = config.congestion;
  congestion.seed = random.next();
  congestion.coupling = coupling;
  const PathConfig path_config{.congestion = congestion,
                               .initial_mtu = std::min(config.initial_udp_payload_size, maximum),
                               .maximum_mtu = config.discover_mtu ? maximum : std::uint16_t{0},
                               .jumbo_mtu = config.discover_mtu ? jumbo : std::uint16_t{0}};
  entry.path = std::make_unique<Path>(entry.id, addresses, path_config);
  if (ack_frequency_ && !entry.rules.apart) entry.path->received.set_frequency(*ack_frequency_);
  paths.add_to_use(entry);
  entry.skip_number_at = 1 + random.below(256);
  return *entry.path;
}

Duration ConnectionParts::probe_timeout() const {
  Duration largest = Duration::zero();
  for (const PathEntry* entry : paths.in_use()) {
    // Includes abandoned paths: packets are still in flight on them.
    largest = std::max(largest, probe_timeout(*entry));
  }
  return largest > Duration::zero() ? largest : RttEstimator{}.probe_timeout(Duration::zero());
}

Duration ConnectionParts::probe_timeout(const PathEntry& of) const {
  return of.path->loss.probe_timeout(handshake.confirmed() ? peer_max_ack_delay(of)
                                                           : Duration::zero());
}

Duration ConnectionParts::key_probe_timeout(const PathEntry& of) const {
  const bool alone = keys.mode() == KeyMode::kPerPath && of.path;
  return alone ? probe_timeout(of) : probe_timeout();
}

bool ConnectionParts::update_keys(PathEntry& of, Time now) {
  if (!keys.initiate_update(of.id, now, key_probe_timeout(of))) return false;
  of.path->ping_due = true;
  announce_shared_keys(of);
  return true;
}

void ConnectionParts::announce_shared_keys(const PathEntry& of) {
  if (keys.mode() != KeyMode::kShared) return;
  for (PathEntry* entry : paths.in_use()) {
    if (entry != &of && entry->usable()) entry->path->ping_due = true;
  }
}

void ConnectionParts::update_stream_rtt() {
  Duration slowest = Duration::zero();
  for (const PathEntry* entry : paths.in_use()) {
    if (entry->open()) slowest = std::max(slowest, entry->path->rtt.smoothed());
  }
  streams.set_rtt(slowest);
}

LossDetection::TimerTerms ConnectionParts::timer_terms(const PathEntry& of) const {
  return {
      .max_ack_delay = peer_max_ack_delay(of),
      .longest_probe_wait = std::min(config.longest_probe_wait, longest_probe_wait(idle.timeout())),
      .may_probe = handshake.confirmed() && of.path->amplification.may_send()};
}

void ConnectionParts::set_ack_frequency(const AckFrequency& frequency) {
  ack_frequency_ = frequency;
  for (PathEntry* entry : paths.in_use()) {
    if (!entry->rules.apart) entry->path->received.set_frequency(frequency);
  }
}

void ConnectionParts::update_ack_requests() {
  if (!handshake.confirmed()) return;
  std::optional<AckFrequencyRequests::Facts> least;
  for (const PathEntry* entry : paths.in_use()) {
    if (!entry->open() || entry->rules.limited()) continue;
    const Path& path = *entry->path;
    const std::uint64_t packets = path.controller->window() / path.mtu.current();
    const Duration round_trip = path.rtt.smoothed();
    if (!least) least = {.window_packets = packets, .smoothed_rtt = round_trip};
    least->window_packets = std::min(least->window_packets, packets);
    least->smoothed_rtt = std::min(least->smoothed_rtt, round_trip);
  }
  if (!least) return;
  least->several_senders = runs && runs->permitted();
  least->messages = carries_messages;
  ack_requests.update(*least);
}

PathStats ConnectionParts::path_stats(const PathEntry& of) const {
  const Path& path = *of.path;
  return {.id = path.id,
          .addresses = path.addresses,
          .state = of.abandonment              ? PathState::kAbandoned
                   : path.validation.pending() ? PathState::kValidating
                   : of.suspect()              ? PathState::kSilent
                                               : PathState::kActive,
          .status = of.own_preference.status,
          .peer_status = of.peer_preference.status,
          .validated = path.amplification.validated(),
          .smoothed_rtt = path.rtt.smoothed(),
          .rtt_variance = path.rtt.variance(),
          .minimum_rtt = path.rtt.minimum(),
          .congestion_window = path.controller->window(),
          .bytes_in_flight = path.loss.bytes_in_flight(),
          .bytes_sent = path.bytes_sent,
          .bytes_received = path.bytes_received,
          .packets_sent = path.packets_sent,
          .packets_received = path.packets_received,
          .packets_lost = path.loss.packets_lost(),
          .pacing_rate = path.controller->pacing_rate(),
          .mtu = path.mtu.current()};
}

void ConnectionParts::ping_all() {
  for (PathEntry* entry : paths.in_use()) {
    if (entry->usable()) entry->path->ping_due = true;
  }
}

void ConnectionParts::drop(DropReason reason, std::size_t bytes, Time now) {
  ++stats.dropped[static_cast<std::size_t>(reason)];
  if (log) log->packet_dropped(now, reason, bytes);
}

void ConnectionParts::fail(const TransportError& error, Time now) {
  start_closing({.cause = ConnectionClosed::Cause::kLocalError,
                 .error = static_cast<std::uint64_t>(error.code),
                 .frame_type = error.frame_type,
                 .reason = error.reason},
                now);
}

void ConnectionParts::start_closing(const ConnectionClosed& closed, Time now) {
  // RFC 9000 §10.2: the closing state lasts three probe timeouts.
  close.start_closing(closed, now, 3 * probe_timeout());
}

}  // namespace sheaf::quic
