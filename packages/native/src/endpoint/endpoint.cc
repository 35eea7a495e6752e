#include "endpoint/endpoint.h"

#include <algorithm>
#include <utility>

#include "connection/connection_ids.h"
#include "multi_end/connection_snapshot.h"

namespace sheaf::quic {

namespace {

// Maximum number of responses that wait for datagrams without a connection. In a flood they are not
// worth more memory.
constexpr std::size_t k_max_replies = 256;
constexpr std::size_t k_reply_size = 1200;
// RFC 9000 §10.3.3: a reset is shorter than the packet that caused it, so that two endpoints cannot
// keep resetting each other.
constexpr std::size_t k_min_reset = 21;
constexpr std::size_t k_max_reset = 43;
// Bytes of early packets kept for a handshake while many are pending: one packet.
constexpr std::size_t k_held_under_load = 2048;
// Requests at one time of a connection that has less memory than usual: RFC 9114 §6.1 asks for 100.
constexpr std::uint64_t k_streams_under_load = 100;
// Stateless resets per second. Each costs an HKDF, and a client that gets none times out instead.
constexpr double k_stateless_resets = 200;

std::shared_ptr<RoutableIds::Nonces> nonces_of(const EndpointConfig& config) {
  auto nonces = std::make_shared<RoutableIds::Nonces>();
  if (config.server) *nonces = {config.server->first_nonce, config.server->nonce_step};
  return nonces;
}

}  // namespace

std::shared_ptr<SeenFilter> make_used_tokens() {
  // 4 MiB hold about 3 million tokens.
  constexpr std::size_t k_bytes = 4 << 20;
  return std::make_shared<SeenFilter>(k_bytes);
}

Endpoint::Endpoint(const EndpointConfig& config, Random& random)
    : config_(config),
      random_(random),
      nonces_(nonces_of(config)),
      keys_(make_keys(config.secrets)),
      limits_(config_, slots_, *this),
      stateless_resets_(k_stateless_resets, k_stateless_resets),
      used_tokens_(config.used_tokens ? config.used_tokens : make_used_tokens()) {}

Endpoint::~Endpoint() {
  for (const auto& [id, slot] : routes_)
    if (config_.placement) config_.placement->remove(id);
}

ServerKeys Endpoint::make_keys(const ServerSecrets& secrets) {
  const auto mark = config_.placement ? config_.placement->mark() : std::nullopt;
  return ServerKeys(secrets, config_.reset_scope, config_.server, nonces_, mark, random_);
}

void Endpoint::set_server_tls(std::shared_ptr<TlsContext> tls) {
  config_.server_tls = std::move(tls);
}

// --- connections -----------------------------------------------------------------------------

Endpoint::Slot& Endpoint::add(std::unique_ptr<ConnectionDriver> driver) {
  auto owned = std::make_unique<Slot>();
  Slot& slot = *owned;
  slot.driver = std::move(driver);
  slots_.emplace(slot.driver.get(), std::move(owned));
  add_route(slot.driver->local_id(), slot);
  return slot;
}

bool Endpoint::add_route(const ConnectionId& id, Slot& slot, Placement::Source source) {
  if (!routes_.emplace(id, &slot).second) return false;
  slot.ids.push_back(id);
  if (config_.placement) config_.placement->add(id, source);
  return true;
}

void Endpoint::remove_route(const ConnectionId& id) {
  if (routes_.erase(id) > 0 && config_.placement) config_.placement->remove(id);
}

Result<ConnectionDriver*, HandshakeFailure> Endpoint::connect(ClientHandshakeConfig handshake,
                                                              const ConnectionConfig& config,
                                                              Time now) {
  handshake.source = keys_.ids()->make(random_);
  handshake.key_log = config_.key_log;
  auto driver = ConnectionDriver::make_client(std::move(handshake), config, random_, now);
  if (!driver) return driver.error();
  (*driver)->connection().routing().set_id_maker(keys_.ids());
  Slot& slot = add(std::move(*driver));
  called_.insert(&slot);
  touch(slot, now);
  return slot.driver.get();
}

namespace {

ImportRefusal refusal_of(SnapshotFault fault) {
  switch (fault) {
    case SnapshotFault::kUnknownVersion:
      return ImportRefusal::kUnknownVersion;
    case SnapshotFault::kMalformed:
      return ImportRefusal::kMalformed;
    case SnapshotFault::kOutOfRange:
      break;
  }
  return ImportRefusal::kOutOfRange;
}

}  // namespace

Result<ConnectionDriver*, ImportRefusal> Endpoint::import(Bytes snapshot, Time now) {
  const auto seed = decode_snapshot(snapshot);
  if (!seed) return refusal_of(seed.error());
  for (const LocalConnectionIds::Issued& issued : seed->local_ids) {
    if (issued.id.length != keys_.ids()->id_length()) return ImportRefusal::kUnusable;
    // If the keys were in use at two places, packet numbers would be used twice.
    if (routes_.contains(issued.id)) return ImportRefusal::kKnown;
  }
  if (!accepting_ || !limits_.admit_imported()) return ImportRefusal::kFull;
  auto driver =
      ConnectionDriver::make_backend(*seed, config_.connection, random_, keys_.ids(), now);
  if (!driver) {
    limits_.forgo_imported();
    return ImportRefusal::kUnusable;
  }
  ++stats_.connections_imported;
  Slot& slot = add(std::move(*driver));
  limits_.join_imported(slot);
  touch(slot, now);
  return slot.driver.get();
}

void Endpoint::touch(Slot& slot, Time now) {
  update_ids(slot);
  limits_.account(slot, now);
  enqueue_sender(slot);
  activate(slot);
}

void Endpoint::activate(Slot& slot) {
  if (!std::exchange(slot.active, true)) active_.push_back(&slot);
}

void Endpoint::enqueue_sender(Slot& slot) {
  if (slot.sending) return;
  slot.sending = true;
  senders_.push_back(&slot);
}

void Endpoint::on_made_room(Slot& slot) {
  update_ids(slot);
  enqueue_sender(slot);
}

void Endpoint::update_ids(Slot& slot) {
  while (const auto change = slot.driver->connection().routing().poll_id_change()) {
    if (change->added) {
      add_route(change->id, slot);
    } else {
      remove_route(change->id);
      std::erase(slot.ids, change->id);
    }
  }
  if (slot.half_open && slot.driver->handshake_completed()) limits_.end_half_open(slot);
}

void Endpoint::wake(ConnectionDriver& driver, Time now) {
  const auto found = slots_.find(&driver);
  if (found != slots_.end()) touch(*found->second, now);
}

void Endpoint::send(ConnectionDriver& driver) {
  const auto found = slots_.find(&driver);
  if (found != slots_.end()) enqueue_sender(*found->second);
}

ConnectionDriver* Endpoint::next_active(Time now) {
  // Memory that the requests of one connection have just taken is not available to the next one.
  if (Slot* last = std::exchange(draining_, nullptr)) limits_.account(*last, now);
  if (active_.empty()) return nullptr;
  Slot* slot = active_.front();
  active_.pop_front();
  slot->active = false;
  limits_.account(*slot, now);
  draining_ = slot;
  return slot->driver.get();
}

void Endpoint::reap(const std::function<void(ConnectionDriver&)>& removed) {
  const std::vector<Slot*> finished = std::exchange(finished_, {});
  for (Slot* slot : finished) removed(*slot->driver);
  // Whoever heard of it may have woken another connection that is finished, too.
  forget_queued(finished);
  for (Slot* slot : finished) {
    add_connection(stats_, slot->driver->connection());
    if (!slot->driver->handshake_completed() && slot->network) ++stats_.handshakes_failed;
    limits_.leave(*slot);
    for (const ConnectionId& id : slot->ids) remove_route(id);
    timers_.remove(slot);
    called_.erase(slot);
    slots_.erase(slot->driver.get());
  }
}

// Few of the finished connections are in a queue. The queues are therefore searched rarely, and
// once for all connections.
void Endpoint::forget_queued(const std::vector<Slot*>& finished) {
  const auto is_finished = [](const Slot* slot) { return slot->finished; };
  if (std::ranges::any_of(finished, &Slot::sending)) senders_.erase_if(is_finished);
  if (std::ranges::any_of(finished, &Slot::active)) active_.erase_if(is_finished);
  if (std::ranges::any_of(finished, &Slot::received)) std::erase_if(receivers_, is_finished);
}

void Endpoint::add_connection(EndpointStats& stats, const Connection& connection) {
  for (const PathStats& path : connection.paths().stats()) stats.packets_lost += path.packets_lost;
  const ConnectionStats own = connection.stats();
  for (std::size_t i = 0; i < own.dropped.size(); ++i) stats.dropped[i] += own.dropped[i];
}

EndpointStats Endpoint::stats() const {
  EndpointStats stats = stats_;
  stats.limit_hits = limits_.hits();
  for (const auto& [driver, slot] : slots_) add_connection(stats, driver->connection());
  return stats;
}

void Endpoint::for_each(const std::function<void(ConnectionDriver&)>& visit) const {
  for (const auto& [driver, slot] : slots_) visit(*slot->driver);
}

// --- network ---------------------------------------------------------------------------------

void Endpoint::receive(const Datagram& datagram, Time now, Origin origin) {
  ++stats_.datagrams_received;
  ++arrivals_.datagrams;
  ++arrivals_.prompt;
  stats_.bytes_received += datagram.payload.size();
  const DatagramHeader header = peek_datagram(datagram.payload, keys_.ids()->id_length());
  if (header.kind == DatagramHeader::Kind::kInvalid) return drop(DropReason::kTooShort);
  if (header.destination.size() <= ConnectionId::k_max_length) {
    const auto route = routes_.find(ConnectionId(header.destination));
    if (route != routes_.end()) {
      return receive_on(*route->second, datagram, now);
    }
  }
  const Owner owner =
      config_.placement ? config_.placement->pass_on(datagram, header, origin) : Owner::kNobody;
  if (owner == Owner::kAnother) return;
  if (owner == Owner::kNobody) return receive_first(datagram, header, now);
  // RFC 9000 §10.3: only a packet with a short header is answered with a reset.
  const bool resets = header.kind == DatagramHeader::Kind::kShort;
  if (resets) return send_stateless_reset(datagram, owner, now);
  drop(DropReason::kUnknownConnectionId);
}

void Endpoint::receive_on(Slot& slot, const Datagram& datagram, Time now) {
  const DatagramRouting& routing = slot.driver->connection().routing();
  const std::uint64_t before = routing.eliciting_packets();
  slot.driver->receive(datagram, now);
  const bool calm = slot.driver->handshake_completed() && routing.eliciting_packets() == before;
  if (calm) --arrivals_.prompt;
  if (!std::exchange(slot.received, true)) receivers_.push_back(&slot);
  touch(slot, now);
}

Arrivals Endpoint::end_batch(Time now) {
  for (Slot* slot : receivers_) {
    slot->received = false;
    const Duration round_trip = slot->driver->connection().routing().shortest_round_trip();
    arrivals_.round_trip = std::min(arrivals_.round_trip, round_trip);
    slot->driver->connection().end_batch(now);
  }
  receivers_.clear();
  return std::exchange(arrivals_, {});
}

void Endpoint::receive_first(const Datagram& datagram, const DatagramHeader& header, Time now) {
  switch (header.kind) {
    case DatagramHeader::Kind::kInvalid:
      return;
    case DatagramHeader::Kind::kShort:
      if (Slot* slot = find_reset(datagram.payload)) return receive_on(*slot, datagram, now);
      return send_stateless_reset(datagram, Owner::kNobody, now);
    case DatagramHeader::Kind::kUnsupportedVersion: {
      drop(DropReason::kUnsupportedVersion);
      // RFC 9000 §6.1: only a datagram that could have opened a connection gets a response.
      if (!config_.server_tls || datagram.payload.size() < k_reply_size) return;
      std::array<std::uint8_t, k_reply_size> out;
      const std::size_t size = write_version_negotiation(
          out, static_cast<std::uint8_t>(random_.next()), header.source, header.destination);
      ++stats_.version_negotiations_sent;
      return reply(out, size, datagram.path);
    }
    case DatagramHeader::Kind::kLong:
      break;
  }
  const auto initial = accept_initial(datagram.payload);
  if (!config_.server_tls || !initial) return drop(DropReason::kInvalidLongHeader);
  accept(*initial, datagram, now);
}

std::optional<ConnectionId> Endpoint::validated_destination(const InitialHeader& initial,
                                                            const Address& remote, Time now) {
  if (initial.token.empty()) return std::nullopt;
  if (is_retry_token(initial.token)) {
    return keys_.verify_retry_token(initial.version, initial.token, remote, initial.destination,
                                    by_shared_clock(now));
  }
  if (!keys_.verify_address_token(initial.version, initial.token, remote, by_shared_clock(now))) {
    return std::nullopt;
  }
  // RFC 9000 §8.1.4: an observer of a used token could make servers amplify traffic to its owner's
  // address.
  if (!used_tokens_->add(initial.token, now)) {
    limits_.count(LimitHit::kReusedTokens);
    return std::nullopt;
  }
  return initial.destination;
}

void Endpoint::accept(const InitialHeader& initial, const Datagram& datagram, Time now) {
  const auto original = validated_destination(initial, datagram.path.remote, now);
  if (!original && is_retry_token(initial.token)) {
    // RFC 9000 §8.1.3: the client does not accept a second Retry, and should not have to wait for a
    // timeout.
    return refuse(initial, datagram.path, TransportErrorCode::kInvalidToken);
  }
  const Address& remote = datagram.path.remote;
  const auto decision =
      accepting_ ? limits_.admit(remote, original.has_value(), now) : Admission::Decision::kRefuse;
  if (decision == Admission::Decision::kRetry) return send_retry(initial, datagram.path, now);
  if (decision == Admission::Decision::kRefuse) {
    return refuse(initial, datagram.path, TransportErrorCode::kConnectionRefused);
  }
  ServerHandshakeConfig handshake;
  handshake.tls = config_.server_tls;
  handshake.source = keys_.ids()->make(random_);
  handshake.client_destination = initial.destination;
  handshake.client_source = initial.source;
  handshake.original_destination = original.value_or(initial.destination);
  handshake.retried = original && is_retry_token(initial.token);
  if (original) handshake.token = initial.token;
  handshake.path = datagram.path;
  const NetworkKey network = network_of(remote);
  handshake.client_network.assign(network.begin(), network.end());
  handshake.version = initial.version;
  handshake.key_log = config_.key_log;
  ConnectionConfig connection = config_.connection;
  const std::uint64_t memory = limits_.memory_for(remote);
  connection.streams.memory = memory;
  if (memory < config_.memory.connection) {
    // Requests that wait cost memory, too.
    connection.streams.max_bidirectional_streams =
        std::min(connection.streams.max_bidirectional_streams, k_streams_under_load);
  }
  if (limits_.many_half_open()) connection.max_held_bytes = k_held_under_load;
  auto driver =
      ConnectionDriver::make_server(std::move(handshake), connection, random_, keys_.ids(), now);
  if (!driver) {
    limits_.forgo(remote);
    return drop(DropReason::kInvalidLongHeader);
  }
  (*driver)->set_address_token(
      keys_.address_token(datagram.path.remote, initial.version, by_shared_clock(now)));
  Slot& slot = add(std::move(*driver));
  limits_.join(slot, remote, now);
  // The client uses the id that it chose until it hears from this server, and repeated packets may
  // come late.
  add_route(initial.destination, slot, Placement::Source::kClient);
  ++stats_.connections_accepted;
  receive_on(slot, datagram, now);
}

void Endpoint::refuse(const InitialHeader& initial, const AddressPair& path,
                      TransportErrorCode code) {
  std::array<std::uint8_t, k_reply_size> out;
  ++stats_.refusals_sent;
  reply(out, write_refusal(out, {initial.version, initial.source, initial.destination, code}),
        path);
}

void Endpoint::send_retry(const InitialHeader& initial, const AddressPair& path, Time now) {
  const ConnectionId retry_source = keys_.ids()->make(random_);
  const auto token = keys_.retry_token(initial.version, path.remote, retry_source,
                                       initial.destination, by_shared_clock(now));
  std::array<std::uint8_t, k_reply_size> out;
  ++stats_.retries_sent;
  reply(out,
        write_retry(out, initial.version, initial.source, retry_source, initial.destination, token),
        path);
}

Endpoint::Slot* Endpoint::find_reset(Bytes datagram) const {
  // RFC 9000 §10.3.1: a stateless reset has no id of this endpoint. Clients of this endpoint are
  // too many to check each of them for every stray datagram. Resets from clients are rare, and the
  // idle timeout covers them.
  const auto found = std::ranges::find_if(called_, [&](const Slot* slot) {
    return slot->driver->connection().routing().is_stateless_reset(datagram);
  });
  return found == called_.end() ? nullptr : *found;
}

void Endpoint::send_stateless_reset(const Datagram& datagram, Owner owner, Time now) {
  drop(DropReason::kUnknownConnectionId);
  if (datagram.payload.size() <= k_min_reset) return;
  const ConnectionId id(datagram.payload.subspan(1, keys_.ids()->id_length()));
  if (!stateless_resets_.take(now)) return limits_.count(LimitHit::kStatelessResets);
  const auto scope = [&](Bytes server) { return config_.placement->scope_of_lost(server); };
  const auto token =
      owner == Owner::kLost ? keys_.reset_token_of_other(id, scope) : keys_.reset_token(id);
  if (!token) return;
  const std::size_t size = std::min(datagram.payload.size() - 1, k_max_reset);
  std::array<std::uint8_t, k_max_reset> out;
  random_.fill(out);
  out[0] = static_cast<std::uint8_t>((out[0] & 0x3f) | 0x40);
  std::copy(token->begin(), token->end(), out.begin() + size - token->size());
  ++stats_.stateless_resets_sent;
  reply(out, size, datagram.path);
}

void Endpoint::reply(MutableBytes bytes, std::size_t size, const AddressPair& path) {
  if (size == 0) return;
  if (replies_.size() >= k_max_replies) return drop(DropReason::kQueueFull);
  replies_.push_back({{bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)}, path});
}

void Endpoint::poll_transmit(TransmitBatch& batch, Time now) {
  batch.size = 0;
  batch.segment_size = 0;
  if (!replies_.empty()) {
    const StatelessReply& first = replies_.front();
    std::copy(first.bytes.begin(), first.bytes.end(), batch.buffer.begin());
    batch.size = batch.segment_size = first.bytes.size();
    batch.path = first.path;
    batch.ecn = Ecn::kNotEct;
    replies_.pop_front();
  }
  while (batch.size == 0 && !senders_.empty()) {
    Slot* slot = senders_.front();
    senders_.pop_front();
    slot->driver->poll_transmit(batch, now);
    update_ids(*slot);
    if (batch.size > 0) {
      // Connections take turns, with one batch each.
      senders_.push_back(slot);
      break;
    }
    slot->sending = false;
    if (slot->driver->connection().has_events()) activate(*slot);
    timers_.set(slot, slot->driver->next_timeout());
    if (slot->driver->finished() && !slot->finished) {
      slot->finished = true;
      finished_.push_back(slot);
      timers_.remove(slot);
    }
  }
  if (batch.size == 0) return;
  stats_.datagrams_sent += batch.segments();
  stats_.bytes_sent += batch.size;
}

void Endpoint::on_timeout(Time now) {
  while (timers_.next() <= now) {
    Slot* slot = timers_.first();
    slot->driver->on_timeout(now);
    // `poll_transmit` sets the next deadline.
    timers_.remove(slot);
    touch(*slot, now);
  }
}

}  // namespace sheaf::quic
