#include "binding/hosted_connection.h"

#include "http3/hq_session.h"

namespace sheaf::binding {

namespace {

// Returns true for the event that completes the handshake. A server may send before it has received
// the client's Finished, so only the confirmation completes it there (RFC 9001 §4.1.2).
bool handshake_complete(const quic::Event& event, const quic::ConnectionDriver& driver) {
  const bool waits =
      driver.connection().role() == quic::Role::kServer && !driver.backend_exchange();
  return waits ? std::holds_alternative<quic::HandshakeConfirmedEvent>(event)
               : std::holds_alternative<quic::EstablishedEvent>(event);
}

template <typename... Kinds>
bool is_one_of(const quic::Event& event) {
  return (std::holds_alternative<Kinds>(event) || ...);
}

bool concerns_application(const quic::Event& event) {
  return is_one_of<quic::EstablishedEvent, quic::HandshakeConfirmedEvent, quic::ConnectionClosed,
                   quic::SessionTicketEvent, quic::PathOpenedEvent, quic::PathValidatedEvent,
                   quic::PathAbandonedEvent, quic::PathStatusEvent, quic::PathChangedEvent,
                   quic::PathsAvailableEvent, quic::BackendOfferedEvent,
                   quic::BackendWithdrawnEvent, quic::BackendLeftEvent, quic::PrimaryLostEvent>(
      event);
}

template <typename Kind>
bool same_path(const quic::Event& event, const quic::Event& earlier) {
  const auto* one = std::get_if<Kind>(&event);
  const auto* other = std::get_if<Kind>(&earlier);
  return one && other && one->path == other->path;
}

bool supersedes(const quic::Event& event, const quic::Event& earlier) {
  return same_path<quic::PathStatusEvent>(event, earlier) ||
         same_path<quic::PathChangedEvent>(event, earlier);
}

}  // namespace

HostedConnection::HostedConnection(std::uint32_t handle, quic::ConnectionDriver& driver,
                                   quic::Random& random, const http3::SessionConfig& config,
                                   qlog::QlogDirectory* logs)
    : handle_(handle),
      driver_(driver),
      random_(random),
      config_(config),
      transport_(driver.connection()),
      logs_(logs) {
  if (!driver.backend_exchange()) return;
  // docs/internals/multi-end.md: WebTransport sessions belong to the primary.
  config_.requests_only = true;
  config_.webtransport = config_.extended_connect = config_.datagrams = false;
}

HostedConnection::~HostedConnection() {
  // They refer to the session.
  node_session.reset();
  channels = {};
  tunnels.clear();
  driver_.connection().set_event_log(nullptr);
  if (logs_) logs_->release(std::move(log_));
}

// Opens a log once the handshake is complete, because a file costs more than an Initial packet.
void HostedConnection::open_log() {
  if (!logs_ || log_) return;
  log_ = logs_->create(
      {driver_.connection().role(), driver_.original_destination(), driver_.started()});
  driver_.connection().set_event_log(log_.get());
}

void HostedConnection::make_session(quic::Time now) {
  if (session_ || !driver_.application_ready()) return;
  if (driver_.alpn() == "hq-interop") {
    session_ = std::make_unique<http3::HqSession>(transport_);
  } else {
    auto session = std::make_unique<http3::Session>(transport_, config_, random_);
    http3_ = session.get();
    session_ = std::move(session);
    if (config_.webtransport)
      sessions_ = std::make_unique<webtransport::SessionSet>(*http3_, datagrams_);
  }
  session_->start(now);
  if (shutting_down_) session_->announce_shutdown();
}

void HostedConnection::announce_shutdown() {
  shutting_down_ = true;
  if (session_) session_->announce_shutdown();
}

void HostedConnection::drain_requests() {
  driver_.backend_exchange()->drain();
  announce_shutdown();
}

bool HostedConnection::poll_drained() {
  quic::BackendExchange& exchange = *driver_.backend_exchange();
  if (!exchange.drains() || exchange.gave_up()) return false;
  if (session_ && session_->open_requests() > 0) return false;
  exchange.give_up();
  return true;
}

void HostedConnection::drain(quic::Time now) {
  // The client may never send a request to a backend, whose session is therefore made with the
  // first stream.
  const bool at_once = !driver_.backend_exchange();
  if (at_once) make_session(now);
  while (auto event = driver_.poll_event(now)) {
    if (at_once || std::holds_alternative<quic::StreamEvent>(*event)) make_session(now);
    if (handshake_complete(*event, driver_)) open_log();
    if (session_) session_->on_event(*event, now);
    keep(std::move(*event));
  }
}

void HostedConnection::keep(quic::Event event) {
  if (!concerns_application(event)) return;
  if (is_one_of<quic::PathAbandonedEvent, quic::PathChangedEvent>(event)) paths_changed = true;
  // Only the latest event about a matter is kept, so that a peer that keeps changing its mind costs
  // no memory.
  std::erase_if(events_, [&](const quic::Event& earlier) { return supersedes(event, earlier); });
  events_.push_back(std::move(event));
}

std::optional<quic::Event> HostedConnection::poll_connection_event() {
  if (events_.empty()) return std::nullopt;
  quic::Event event = std::move(events_.front());
  events_.pop_front();
  return event;
}

}  // namespace sheaf::binding
