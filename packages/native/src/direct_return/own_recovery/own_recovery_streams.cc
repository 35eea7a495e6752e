#include "direct_return/own_recovery/own_recovery_streams.h"

#include <algorithm>

#include "direct_return/phase_sealer.h"
#include "wire/fixed_fields.h"

namespace sheaf::quic {

namespace {

// What the streams of a connection call whoever has their bytes: not one of the senders of runs.
constexpr std::uint8_t k_own_recovery_sender = 0xff;
constexpr PathId k_own_first_path{0};
constexpr std::uint64_t k_own_limit = fixed::k_end_of_48_bits - 1;
// Bytes of a stream that are permitted beyond those that have arrived: what a loss holds up, while
// windows are sent behind it.
constexpr std::uint64_t k_windows_permitted = 4;
constexpr std::uint64_t k_least_permitted = 64 << 10;

}  // namespace

OwnRecoveryStreams::OwnRecoveryStreams(ConnectionExtension connection, ReturnPaths& policy)
    : connection_(connection), policy_(policy), window_(connection.config().congestion) {
  policy_.listen(this);
}

OwnRecoveryStreams::~OwnRecoveryStreams() {
  policy_.listen(nullptr);
  while (!streams_.empty()) revoke(streams_.begin()->first);
  for (auto& [path, lent] : paths_) {
    lent.orders->say(GrantEnded{.end = GrantEnd::kRevoke, .grant = lent.id});
    lent.orders->close(lent.id);
  }
}

Path* OwnRecoveryStreams::first_path() const {
  const PathEntry* entry = connection_.paths().find(k_own_first_path);
  return entry == nullptr ? nullptr : entry->path.get();
}

Duration OwnRecoveryStreams::probe_timeout() const {
  const PathEntry* entry = connection_.paths().find(k_own_first_path);
  return entry && entry->path ? connection_.probe_timeout(*entry) : RttEstimator{}.smoothed();
}

Duration OwnRecoveryStreams::round_trip(const LentPath& lent) const {
  if (lent.state.smoothed_rtt > Duration{}) return lent.state.smoothed_rtt;
  const Path* path = first_path();
  return path ? path->rtt.smoothed() : Duration{};
}

OwnRecoveryStreams::Paths::iterator OwnRecoveryStreams::find_path(const RunOrders& backend,
                                                                  GrantId id) {
  return std::ranges::find_if(paths_, [&](const auto& entry) {
    return entry.second.session == backend.number() && entry.second.id == id;
  });
}

OwnRecoveryStreams::Streams::iterator OwnRecoveryStreams::find_stream(const RunOrders& backend,
                                                                      GrantId id) {
  return std::ranges::find_if(streams_, [&](const auto& entry) {
    return entry.second.grant == id && paths_.at(entry.second.path).session == backend.number();
  });
}

// --- what the application decides ----------------------------------------------------------------

OwnRecoveryStreams::Paths::iterator OwnRecoveryStreams::path_for(RunOrders& backend, Time now) {
  const auto known = std::ranges::find_if(
      paths_, [&](const auto& entry) { return entry.second.session == backend.number(); });
  if (known != paths_.end() || paths_.size() >= policy_.at_a_time()) return known;
  const PathEntry* entry = policy_.lend();
  if (entry == nullptr) return paths_.end();
  const auto path = paths_.try_emplace(entry->id).first;
  LentPath& lent = path->second;
  lent.id = backend.open(*this);
  lent.session = backend.number();
  lent.orders = &backend;
  lent.client_id = entry->remote_ids.current();
  lent.idle_since = now;
  window_.open(entry->id);
  return path;
}

std::optional<Grant> OwnRecoveryStreams::offer(StreamId stream, RunOrders& backend,
                                               ReturnStart start, Time now) {
  now_ = now;
  const Path* first = first_path();
  const auto path = first ? path_for(backend, now) : paths_.end();
  if (path == paths_.end()) return std::nullopt;
  const PathId id = path->first;
  LentPath& lent = path->second;
  const PathEntry& entry = *connection_.paths().find(id);
  const auto keys = connection_.keys().phase_for_sending(id);
  if (!keys || !entry.remote_ids.assigned()) return std::nullopt;
  if (lent.streams++ == 0) lent.watch.restart();
  window_.expect(id);
  tell_all_shares();
  RemoteStreams& remote = connection_.streams().remote();
  Delegated& delegated = streams_[stream];
  delegated.path = id;
  delegated.grant = backend.open(*this);
  delegated.before = remote.numbered(stream);
  delegated.limit = delegated.before;
  // Nobody sends to an address that may be a stranger's.
  const bool at_once = start == ReturnStart::kAtOnce && !first->validation.pending();
  if (at_once && !remote.contains(stream)) {
    delegated.limit = remote.permit(stream, window_.share(id));
  }
  Grant grant;
  grant.connection = mark_lent_path(lent.id);
  grant.id = delegated.grant;
  grant.process = backend.config().backend_process;
  grant.keys = *keys;
  grant.addresses = first->addresses;
  grant.client_id = entry.remote_ids.current();
  grant.grease_fixed_bit = connection_.peer_parameters().grease_quic_bit;
  grant.stream = stream;
  grant.first_offset = remote.acknowledged(stream);
  grant.limit = delegated.limit;
  grant.max_datagram = first->mtu.current();
  return grant;
}

bool OwnRecoveryStreams::may_accept(StreamId stream, std::uint64_t begin, std::uint64_t end) const {
  const auto known = streams_.find(stream);
  return known != streams_.end() && !known->second.accepted && begin < end && end <= k_own_limit &&
         connection_.streams().remote().wanted(stream);
}

bool OwnRecoveryStreams::accept(StreamId stream, std::uint64_t end, Time now) {
  const auto known = streams_.find(stream);
  if (known == streams_.end() || known->second.accepted) return false;
  Delegated& delegated = known->second;
  RemoteStreams& remote = connection_.streams().remote();
  const bool continues = remote.contains(stream);
  const bool began = delegated.limit > delegated.before;
  const auto begin = remote.assign(stream, k_own_recovery_sender);
  if (!begin || *begin > end || (*begin == end && !continues) || end > k_own_limit) {
    revoke(stream);
    return false;
  }
  remote.withhold(stream, true);
  if (*begin < end && !remote.append(stream, end - *begin, true)) {
    revoke(stream);
    return false;
  }
  if (began) remote.take_back(stream, end);
  delegated.accepted = true;
  delegated.begin = began ? delegated.before : remote.first_remote(stream);
  delegated.end = end;
  LentPath& lent = paths_.at(delegated.path);
  ++lent.accepted;
  lent.known = true;
  lent.reports.tell();
  const Acknowledged word{.grant = delegated.grant, .offset = 0, .limit = delegated.limit};
  lent.orders->on_accepted(word, now);
  // A backend that began at once waits for it with the end of the stream.
  if (began) lent.orders->say(word, now);
  streams_changed_ = true;
  return true;
}

void OwnRecoveryStreams::close(Streams::iterator stream) {
  LentPath& lent = paths_.at(stream->second.path);
  lent.orders->close(stream->second.grant);
  if (stream->second.accepted) --lent.accepted;
  if (--lent.streams == 0) {
    lent.idle_since = now_;
    // A backend that never accepted anything says nothing about its share.
    window_.rest(stream->second.path);
    tell_all_shares();
  }
  streams_.erase(stream);
}

// Nobody sends any more what the backend was permitted.
void OwnRecoveryStreams::withdraw(StreamId stream, const Delegated& delegated) {
  RemoteStreams& remote = connection_.streams().remote();
  if (delegated.accepted) {
    remote.lose(stream, delegated.begin);
  } else if (delegated.limit > delegated.before) {
    // This node may have sent behind it.
    if (remote.numbered(stream) > delegated.limit) {
      remote.lose(stream, delegated.before);
    } else {
      remote.take_back(stream, delegated.before);
    }
  }
}

void OwnRecoveryStreams::revoke(StreamId stream) {
  const auto known = streams_.find(stream);
  if (known == streams_.end()) return;
  const Delegated& delegated = known->second;
  paths_.at(delegated.path)
      .orders->say(GrantEnded{.end = GrantEnd::kRevoke, .grant = delegated.grant});
  withdraw(stream, delegated);
  close(known);
}

// --- the end of streams and paths ----------------------------------------------------------------

void OwnRecoveryStreams::orphan(Streams::iterator stream, OrphanedStream::Reason reason,
                                std::uint64_t code) {
  RemoteStreams& remote = connection_.streams().remote();
  const StreamId id = stream->first;
  withdraw(id, stream->second);
  if (stream->second.accepted && remote.wanted(id)) {
    orphans_.push_back(
        {.stream = id, .reason = reason, .code = code, .acknowledged = remote.acknowledged(id)});
    tell_news();
  }
  close(stream);
}

std::optional<OrphanedStream> OwnRecoveryStreams::poll_orphan() {
  if (orphans_.empty()) return std::nullopt;
  const OrphanedStream first = orphans_.front();
  orphans_.pop_front();
  return first;
}

// What the backend has in flight may still arrive: the bytes are those that others send.
void OwnRecoveryStreams::lose(Paths::iterator path, OrphanedStream::Reason reason, bool abandoned,
                              Time now) {
  const PathId id = path->first;
  for (auto stream = streams_.begin(); stream != streams_.end();) {
    const auto next = std::next(stream);
    if (stream->second.path == id) orphan(stream, reason, 0);
    stream = next;
  }
  const LentPath& lent = path->second;
  lent.orders->say(GrantEnded{.end = GrantEnd::kRevoke, .grant = lent.id});
  lent.orders->close(lent.id);
  PathEntry* entry = connection_.paths().find(id);
  window_.close(id);
  paths_.erase(path);
  tell_all_shares();
  if (!abandoned && entry && !entry->abandonment) {
    connection_.end_path(*entry, TransportErrorCode::kApplicationAbandonPath, now);
  }
}

void OwnRecoveryStreams::give_back_idle(Time now) {
  for (auto path = paths_.begin(); path != paths_.end();) {
    const auto next = std::next(path);
    const LentPath& lent = path->second;
    if (lent.streams == 0 && now >= lent.idle_since + k_keep_path) {
      lose(path, OrphanedStream::Reason::kGone, false, now);
    }
    path = next;
  }
}

void OwnRecoveryStreams::lose_all(OrphanedStream::Reason reason, Time now) {
  while (!paths_.empty()) lose(paths_.begin(), reason, false, now);
  streams_changed_ = false;
  look_at_ = k_never;
}

void OwnRecoveryStreams::on_grant_ended(RunOrders& orders, const GrantEnded& ended, Time now) {
  const auto path = find_path(orders, ended.grant);
  if (path != paths_.end()) return lose(path, OrphanedStream::Reason::kGone, false, now);
  const auto stream = find_stream(orders, ended.grant);
  if (stream == streams_.end()) return;
  const bool failed = ended.end == GrantEnd::kReset;
  orphan(stream, failed ? OrphanedStream::Reason::kFailed : OrphanedStream::Reason::kGone,
         ended.code);
}

// --- what client and backends say ----------------------------------------------------------------

void OwnRecoveryStreams::on_path_acknowledged(PathId id, const AckFrame& frame, Time now) {
  const auto lent = paths_.find(id);
  if (lent == paths_.end()) return;
  // A delay that is too large to represent is cut.
  const std::uint64_t units = std::min(frame.delay, std::uint64_t{1} << 20);
  const Duration delay =
      std::chrono::microseconds(units << connection_.peer_parameters().ack_delay_exponent);
  if (!lent->second.reports.on_frame(frame, delay, now)) {
    return connection_.fail(
        {TransportErrorCode::kProtocolViolation, 0, "acknowledges a packet that was not sent"},
        now);
  }
  connection_.keys().on_acknowledged(id, frame.largest, now);
  const Time sent_at = now - round_trip(lent->second);
  for (auto& [other, path] : paths_) {
    if (other == id) {
      path.watch.on_acknowledged(frame.largest + 1);
    } else {
      path.watch.on_other_acknowledged(sent_at);
    }
  }
}

void OwnRecoveryStreams::on_path_abandoned(PathId id, Time now) {
  const auto path = paths_.find(id);
  if (path != paths_.end()) lose(path, OrphanedStream::Reason::kPaths, true, now);
}

void OwnRecoveryStreams::on_state(RunOrders& orders, const SenderState& state, Time now) {
  const auto path = find_path(orders, state.path);
  if (path == paths_.end()) return;
  if (state.contradicted) {
    return connection_.fail(
        {TransportErrorCode::kProtocolViolation, 0, "acknowledges a packet that was not sent"},
        now);
  }
  LentPath& lent = path->second;
  lent.known = true;
  tell_news();
  const std::uint64_t share = window_.share(path->first);
  if (window_.on_state(path->first, state, now) && window_.share(path->first) != share) {
    // Others hear of it with what the client acknowledges next, or now if they have less.
    if (paths_.size() > 1) tell_all_shares();
    lent.reports.tell();
  }
  lent.reports.on_state(state.report, state.settled);
  lent.watch.on_executed(state.next, now);
  note_keys(path->first, lent, state, now);
  lent.state = state;
}

void OwnRecoveryStreams::on_delivered(RunOrders& orders, const Delivered& delivered, Time) {
  const auto stream = find_stream(orders, delivered.grant);
  if (stream == streams_.end() || !stream->second.accepted) return;
  RemoteStreams& remote = connection_.streams().remote();
  remote.acknowledge(stream->first, stream->second.begin,
                     std::min(delivered.offset, remote.numbered(stream->first)));
  streams_changed_ = true;
  tell_news();
}

// Counts what the backend sealed with the present keys.
void OwnRecoveryStreams::note_keys(PathId path, LentPath& lent, const SenderState& state,
                                   Time now) {
  OneRttKeys& keys = connection_.keys();
  if (state.generation != keys.generation_for_sending(path)) return;
  const PacketNumber first = std::max(lent.noted, state.generation_begin);
  if (state.next > first && keys.note_numbered_elsewhere(path, first, state.next - first)) {
    lent.noted = state.next;
  }
  if (state.acknowledged_end > 0) {
    keys.on_acknowledged(path, state.acknowledged_end - 1, now);
  }
}

// --- what backends are told ----------------------------------------------------------------------

void OwnRecoveryStreams::tell_all_shares() {
  for (auto& [id, lent] : paths_) lent.reports.tell();
}

// The client may retire the id that a backend uses, and has given others then.
bool OwnRecoveryStreams::is_id_told(PathId path, const LentPath& lent) const {
  return connection_.paths().find(path)->remote_ids.current() == lent.client_id;
}

void OwnRecoveryStreams::note_address() {
  const Path* first = first_path();
  AddressChange present{.number = address_.number,
                        .addresses = first->addresses,
                        .client_id = {},
                        .paused = first->validation.pending()};
  const bool ids_told = std::ranges::all_of(
      paths_, [this](const auto& entry) { return is_id_told(entry.first, entry.second); });
  if (present == address_ && ids_told) return;
  const bool moved =
      address_.number > 0 && !present.addresses.remote.same_ip(address_.addresses.remote);
  if (moved) window_.restart();
  ++present.number;
  address_ = present;
  for (auto& [id, lent] : paths_) {
    lent.address_told_at = Time::min();
    lent.client_id = connection_.paths().find(id)->remote_ids.current();
    // What went to the old addresses says nothing about the way.
    lent.watch.restart();
  }
}

void OwnRecoveryStreams::tell_changes(PathId path, LentPath& lent, Time now) {
  if (lent.streams == 0 || !lent.known) return;
  OneRttKeys& keys = connection_.keys();
  if (keys.wants_update(path)) keys.initiate_update(path, now, probe_timeout());
  if (lent.state.address < address_.number && now >= lent.address_told_at + k_repeat_interval) {
    lent.address_told_at = now;
    AddressChange change = address_;
    change.connection = mark_lent_path(lent.id);
    change.client_id = lent.client_id;
    lent.orders->say(change);
  }
  const std::uint64_t generation = keys.generation_for_sending(path);
  if (generation > lent.generation) {
    lent.generation = generation;
    lent.first_number = lent.state.next;
    lent.phase_told_at = Time::min();
  }
  if (lent.state.generation >= generation || now < lent.phase_told_at + k_repeat_interval) return;
  auto phase = keys.phase_for_sending(path);
  if (!phase) return;
  lent.phase_told_at = now;
  phase->first_number = lent.first_number;
  lent.orders->say(PhaseSealer(*phase).seal(mark_lent_path(lent.id), *phase));
}

void OwnRecoveryStreams::look_at_streams(Time now) {
  streams_changed_ = false;
  looked_at_ = now;
  look_at_ = k_never;
  RemoteStreams& remote = connection_.streams().remote();
  const Path* first = first_path();
  const bool paused = first == nullptr || first->validation.pending();
  const std::uint64_t ahead = k_least_permitted + k_windows_permitted * window_.window();
  for (auto entry = streams_.begin(); entry != streams_.end();) {
    const auto next = std::next(entry);
    auto& [stream, delegated] = *entry;
    const std::uint64_t acknowledged = remote.acknowledged(stream);
    if (!remote.wanted(stream)) {
      revoke(stream);  // the client has everything, or wants nothing more
    } else if (delegated.accepted) {
      const std::uint64_t target = paused ? 0 : std::min(acknowledged + ahead, delegated.end);
      const std::uint64_t permitted = remote.numbered(stream);
      const std::uint64_t limit =
          remote.permit(stream, target > permitted ? target - permitted : 0);
      if (limit > delegated.limit) {
        delegated.limit = limit;
        paths_.at(delegated.path)
            .orders->say(Acknowledged{delegated.grant, acknowledged, limit}, now);
      }
    }
    entry = next;
  }
}

void OwnRecoveryStreams::tell_report(PathId path, LentPath& lent, Time now) {
  const Path* first = first_path();
  if (first == nullptr || lent.streams == 0 || !lent.known ||
      now < lent.reports.next_timeout(round_trip(lent))) {
    return;
  }
  AckReport report = lent.reports.make(now);
  report.path = lent.id;
  report.window =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(window_.share(path), UINT32_MAX));
  report.epoch = window_.epoch();
  report.slow_start = window_.in_slow_start();
  report.ecn = connection_.config().use_ecn;
  report.datagram = first->mtu.current();
  report.max_ack_delay = connection_.peer_parameters().max_ack_delay;
  lent.orders->say(report);
}

// --- turns ---------------------------------------------------------------------------------------

void OwnRecoveryStreams::flush(Time now) {
  now_ = now;
  const Path* first = first_path();
  // What backends need to know of it is not known any more.
  if (first == nullptr) return lose_all(OrphanedStream::Reason::kPaths, now);
  note_address();
  window_.note_own(first->loss.bytes_in_flight());
  if (first->loss.largest_acknowledged() != own_acknowledged_) {
    own_acknowledged_ = first->loss.largest_acknowledged();
    const Time sent_at = now - first->rtt.latest();
    for (auto& [id, lent] : paths_) lent.watch.on_other_acknowledged(sent_at);
  }
  if (streams_changed_ || now >= looked_at_ + k_repeat_interval) {
    look_at_streams(now);
  } else if (!streams_.empty()) {
    look_at_ = looked_at_ + k_repeat_interval;
  }
  for (auto& [id, lent] : paths_) {
    tell_changes(id, lent, now);
    tell_report(id, lent, now);
  }
  give_back_idle(now);
}

Time OwnRecoveryStreams::next_timeout() const {
  const bool lost = first_path() == nullptr && !paths_.empty();
  if (lost) return Time::min();
  Time next = streams_changed_ ? Time::min() : look_at_;
  const std::uint32_t address = address_.number;
  for (const auto& [id, lent] : paths_) {
    if (lent.streams == 0) next = std::min(next, lent.idle_since + k_keep_path);
    if (lent.accepted > 0) {
      if (lent.watch.unreachable(probe_timeout())) return Time::min();
      next = std::min(next, lent.orders->silence().deadline());
    }
    if (lent.streams == 0 || !lent.known) continue;
    next = std::min(next, lent.reports.next_timeout(round_trip(lent)));
    if (lent.state.address < address) {
      next = std::min(next, lent.address_told_at + k_repeat_interval);
    }
    if (lent.state.generation < lent.generation) {
      next = std::min(next, lent.phase_told_at + k_repeat_interval);
    }
  }
  return next;
}

void OwnRecoveryStreams::on_timeout(Time now) {
  for (auto path = paths_.begin(); path != paths_.end();) {
    const auto next = std::next(path);
    const LentPath& lent = path->second;
    if (lent.accepted > 0) {
      if (lent.orders->silence().look(now)) {
        lose(path, OrphanedStream::Reason::kSilent, false, now);
      } else if (lent.watch.unreachable(probe_timeout())) {
        lose(path, OrphanedStream::Reason::kUnreachable, false, now);
      }
    }
    path = next;
  }
}

}  // namespace sheaf::quic
