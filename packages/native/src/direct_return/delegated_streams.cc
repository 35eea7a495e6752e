#include "direct_return/delegated_streams.h"

#include <algorithm>

#include "direct_return/phase_sealer.h"
#include "wire/fixed_fields.h"

namespace sheaf::quic {

namespace {

constexpr PathId k_path{0};
// What flow control permits decides which bytes are ordered. So a grant needs no other limit than
// the largest offset of its messages.
constexpr std::uint64_t k_limit = fixed::k_end_of_48_bits - 1;
// A backend whose loop is busy may be late by so much at least.
constexpr Duration k_least_margin = 10ms;
// Probe timeouts after which a packet has arrived or is lost
constexpr int k_in_transit = 2;

}  // namespace

DelegatedStreams::~DelegatedStreams() {
  while (!delegated_.empty()) revoke(delegated_.begin()->first);
}

Path* DelegatedStreams::first_path() {
  const PathEntry* entry = connection_.paths().find(k_path);
  return entry == nullptr ? nullptr : entry->path.get();
}

Path& DelegatedStreams::path() { return *first_path(); }

// An index belongs to a session until another one needs it, since packets of its backend may be in
// flight.
DelegatedStreams::Sender DelegatedStreams::sender_of(const RunOrders& backend) const {
  const auto found = std::ranges::find(backends_, backend.number(), &Backend::session);
  return found == backends_.end() ? ArrivalOrder::k_gateway
                                  : static_cast<Sender>(found - backends_.begin());
}

std::optional<DelegatedStreams::Sender> DelegatedStreams::sender_for(RunOrders& backend, Time now) {
  if (const Sender known = sender_of(backend)) {
    backends_[known].orders = &backend;
    // What an earlier response has left says nothing about this one.
    if (backends_[known].grants == 0) backends_[known].watch.restart();
    return known;
  }
  const auto others = std::span(backends_).subspan(1);
  auto free = std::ranges::find(others, 0u, &Backend::session);
  if (free == others.end()) free = std::ranges::find(others, 0u, &Backend::grants);
  if (free == others.end()) return std::nullopt;
  const auto sender = static_cast<Sender>(free - others.begin() + 1);
  if (free->session != 0) connection_.abandon_sender(sender, now);
  *free = {};
  free->session = backend.number();
  free->orders = &backend;
  connection_.open_sender(sender, path().rtt.smoothed() + backend.way());
  order_.forget(sender);
  order_.expect(sender, backend.way());
  return sender;
}

DelegatedStreams::Delegations::iterator DelegatedStreams::find(Sender sender, GrantId grant) {
  return std::ranges::find_if(delegated_, [&](const auto& entry) {
    return entry.second.sender == sender && entry.second.grant == grant;
  });
}

OwnRecoveryStreams* DelegatedStreams::own_recovery() {
  PathPolicy* policy = connection_.policy();
  ReturnPaths* paths = policy == nullptr ? nullptr : policy->return_paths();
  if (!own_ && paths != nullptr) {
    own_ = std::make_unique<OwnRecoveryStreams>(connection_, *paths);
    own_->on_news(news_);
  }
  return own_.get();
}

std::optional<Grant> DelegatedStreams::offer_own(StreamId stream, RunOrders& backend,
                                                 ReturnStart start, Time now) {
  OwnRecoveryStreams* own = own_recovery();
  return own && first_path() ? own->offer(stream, backend, start, now) : std::nullopt;
}

Result<Grant, OfferRefusal> DelegatedStreams::offer(StreamId stream, RunOrders& backend, Time now,
                                                    std::optional<ReturnStart> own) {
  if (!connection_.confirmed()) return OfferRefusal::kUnconfirmed;
  if (delegated_.contains(stream) || doubts_.contains(stream) || is_own(stream)) {
    return OfferRefusal::kTaken;
  }
  if (streams() >= k_max_streams) return OfferRefusal::kGrants;
  if (own) {
    if (const auto grant = offer_own(stream, backend, *own, now)) return *grant;
  }
  const PathEntry* entry = connection_.paths().find(k_path);
  if (connection_.paths().in_use().size() != 1 || entry == nullptr || !entry->path) {
    return OfferRefusal::kPaths;
  }
  const auto keys = connection_.keys().phase_for_sending(k_path);
  if (!keys) return OfferRefusal::kUnconfirmed;
  const auto sender = sender_for(backend, now);
  if (!sender) return OfferRefusal::kBackends;
  Backend& chosen = backends_[*sender];
  ++chosen.grants;
  set_limits(now);
  Delegated& delegated = delegated_[stream];
  delegated.sender = *sender;
  delegated.grant = backend.open(*this);
  delegated.offered_at = now;
  delegated.generation = keys->generation;
  delegated.first = reserve_first(stream, *sender, now);
  Grant grant;
  grant.connection = number_;
  grant.id = delegated.grant;
  grant.process = backend.config().backend_process;
  grant.keys = *keys;
  grant.addresses = entry->path->addresses;
  grant.client_id = entry->remote_ids.current();
  grant.grease_fixed_bit = connection_.peer_parameters().grease_quic_bit;
  grant.stream = stream;
  grant.limit = k_limit;
  grant.max_datagram = connection_.config().max_udp_payload_size;
  if (delegated.first) {
    const FirstPacket& packet = delegated.first->packet;
    grant.first = {packet.number, packet.payload, delegated.first->lifetime};
  }
  return grant;
}

// A run that a backend sends later would come when the gateway probes already.
Duration DelegatedStreams::margin() {
  return std::max<Duration>(connection_.probe_timeout(*connection_.paths().find(k_path)) / 2,
                            k_least_margin);
}

std::optional<DelegatedStreams::First> DelegatedStreams::reserve_first(StreamId stream,
                                                                       Sender sender, Time now) {
  const auto unheard = std::ranges::count_if(
      delegated_, [](const auto& entry) { return entry.second.first && !entry.second.accepted; });
  const std::size_t others = static_cast<std::size_t>(unheard) + doubts_.size();
  const auto packet = connection_.first_packets().reserve(sender, stream, others, now);
  if (!packet) return std::nullopt;
  return First{*packet, std::min(margin(), fixed::k_max_duration)};
}

// It was not sent, so an ACK of it is a lie.
void DelegatedStreams::take_back(StreamId stream, const First& first, Time now) {
  const bool wanted = connection_.streams().remote().wanted(stream);
  const FirstFate fate = wanted ? FirstFate::kNotSent : FirstFate::kUnknown;
  if (connection_.first_packets().settle(stream, first.packet, fate, now)) return;
  connection_.fail(
      {TransportErrorCode::kProtocolViolation, 0, "acknowledges a packet that was not sent"}, now);
}

void DelegatedStreams::settle_sent(StreamId stream, const FirstPacket& first, std::uint64_t end,
                                   Time now) {
  const FirstFate fate = end == first.payload ? FirstFate::kSentAll : FirstFate::kSent;
  connection_.first_packets().settle(stream, first, fate, now);
}

void DelegatedStreams::forget(StreamId stream, const First& first) {
  connection_.first_packets().settle(stream, first.packet, FirstFate::kUnknown, Time{});
}

std::uint64_t DelegatedStreams::first_bytes(StreamId stream) const {
  const auto doubt = doubts_.find(stream);
  if (doubt != doubts_.end()) return doubt->second.first.packet.payload;
  const auto delegation = delegated_.find(stream);
  const bool any = delegation != delegated_.end() && delegation->second.first;
  return any ? delegation->second.first->packet.payload : 0;
}

void DelegatedStreams::drop_first(StreamId stream, Time now) {
  const auto doubt = doubts_.find(stream);
  if (doubt != doubts_.end()) {
    take_back(stream, doubt->second.first, now);
    doubts_.erase(doubt);
  }
  const auto delegation = delegated_.find(stream);
  if (delegation == delegated_.end() || delegation->second.accepted) return;
  if (const auto first = std::exchange(delegation->second.first, {})) {
    take_back(stream, *first, now);
  }
}

bool DelegatedStreams::may_accept(StreamId stream, std::uint64_t begin, std::uint64_t end) const {
  if (is_own(stream)) return own_->may_accept(stream, begin, end);
  const auto delegation = delegated_.find(stream);
  const bool open = delegation != delegated_.end() && !delegation->second.accepted;
  return (open || doubts_.contains(stream)) && begin < end && end <= k_limit &&
         connection_.streams().remote().wanted(stream);
}

bool DelegatedStreams::accept(StreamId stream, std::uint64_t end, Time now) {
  if (is_own(stream)) return own_->accept(stream, end, now);
  if (doubts_.contains(stream)) return accept_late(stream, end, now);
  const auto delegation = delegated_.find(stream);
  if (delegation == delegated_.end() || delegation->second.accepted) return false;
  Delegated& delegated = delegation->second;
  Backend& backend = backends_[delegated.sender];
  RemoteStreams& remote = connection_.streams().remote();
  const bool continues = remote.contains(stream);
  const auto begin = remote.assign(stream, delegated.sender);
  const bool empty = begin && *begin == end && !continues;
  if (!begin || *begin > end || empty || end > k_limit) {
    remote.withhold(stream, true);
    revoke(stream);
    return false;
  }
  remote.withhold(stream, false);
  delegated.accepted = true;
  delegated.appended = *begin;
  delegated.end = end;
  ++backend.accepted;
  if (delegated.first) {
    settle_sent(stream, delegated.first->packet, end, now);
  }
  backend.orders->on_accepted({.grant = delegated.grant, .offset = 0, .limit = k_limit}, now);
  append(stream, delegated);
  return true;
}

// The backend was heard after its grant has ended. So its first packet is known, and others go on.
bool DelegatedStreams::accept_late(StreamId stream, std::uint64_t end, Time now) {
  RemoteStreams& remote = connection_.streams().remote();
  const auto known = doubts_.find(stream);
  const Doubtful doubtful = known->second;
  doubts_.erase(known);
  const std::uint64_t begin = remote.written(stream);
  if (!remote.wanted(stream) || begin > end) return false;
  if (begin < end && !remote.append(stream, end - begin, true)) return false;
  settle_sent(stream, doubtful.first.packet, end, now);
  orphans_.push_back({.stream = stream,
                      .reason = doubtful.reason,
                      .code = doubtful.code,
                      .acknowledged = remote.acknowledged(stream)});
  tell_news();
  return true;
}

void DelegatedStreams::append(StreamId stream, Delegated& delegated) {
  if (!delegated.accepted || delegated.appended == delegated.end) return;
  const std::uint64_t until = std::min(delegated.available, delegated.end);
  if (until <= delegated.appended) return;
  const bool fin = until == delegated.end;
  if (connection_.streams().remote().append(stream, until - delegated.appended, fin)) {
    delegated.appended = until;
  }
}

void DelegatedStreams::close(Delegations::iterator delegation) {
  Backend& backend = backends_[delegation->second.sender];
  backend.orders->close(delegation->second.grant);
  if (delegation->second.accepted) --backend.accepted;
  // Its session may end now.
  if (--backend.grants == 0) backend.orders = nullptr;
  delegated_.erase(delegation);
}

void DelegatedStreams::revoke(StreamId stream) {
  if (is_own(stream)) return own_->revoke(stream);
  const auto delegation = delegated_.find(stream);
  if (delegation == delegated_.end()) return;
  backends_[delegation->second.sender].orders->say(
      GrantEnded{.end = GrantEnd::kRevoke, .grant = delegation->second.grant});
  if (delegation->second.accepted) connection_.streams().remote().withhold(stream, true);
  note_doubt(delegation, Orphan::Reason::kGone, 0);
  close(delegation);
}

void DelegatedStreams::decline(StreamId stream, Time now) {
  drop_first(stream, now);
  revoke(stream);
}

void DelegatedStreams::note_doubt(Delegations::iterator delegation, Orphan::Reason reason,
                                  std::uint64_t code) {
  const auto& [stream, delegated] = *delegation;
  if (delegated.accepted || !delegated.first) return;
  if (!connection_.streams().remote().wanted(stream)) {
    forget(stream, *delegated.first);
    return;
  }
  Doubtful& doubtful = doubts_[stream];
  doubtful.first = *delegated.first;
  doubtful.reason = reason;
  doubtful.code = code;
}

// Nobody asks about streams that were reset.
void DelegatedStreams::forget_doubts() {
  std::erase_if(doubts_, [&](const auto& entry) {
    const bool over = !connection_.streams().remote().wanted(entry.first);
    if (over) forget(entry.first, entry.second.first);
    return over;
  });
}

// The request is cancelled, so after its lifetime the packet is not sent any more. A client that
// then acknowledges another packet alone does not have it, unless the network holds it for longer
// than it mostly does.
DelegatedStreams::Doubt DelegatedStreams::doubt(StreamId stream, Time now) {
  forget_doubts();
  const auto known = doubts_.find(stream);
  if (known == doubts_.end()) return Doubt::kNone;
  if (connection_.streams().remote().acknowledged(stream) > 0) return Doubt::kTaken;
  Doubtful& doubtful = known->second;
  Path* const path = first_path();
  if (path == nullptr) return Doubt::kTaken;  // what the client has cannot be known any more
  if (!doubtful.since) doubtful.since = now;
  const Time dead = *doubtful.since + doubtful.first.lifetime;
  if (now < dead) return Doubt::kOpen;
  if (doubtful.asked == k_no_packet_number) {
    doubtful.asked = path->loss.sent().next_number();
    path->ping_due = true;
    tell_news();
  }
  const Duration probe_timeout = connection_.probe_timeout(*connection_.paths().find(k_path));
  const auto largest = path->loss.largest_acknowledged();
  const bool answered = largest && *largest >= doubtful.asked;
  if (!answered || now < dead + k_in_transit * probe_timeout) return Doubt::kOpen;
  take_back(stream, doubtful.first, now);
  doubts_.erase(known);
  return Doubt::kNone;
}

void DelegatedStreams::orphan(Delegations::iterator delegation, Orphan::Reason reason,
                              std::uint64_t code) {
  const StreamId stream = delegation->first;
  RemoteStreams& remote = connection_.streams().remote();
  const bool begun = delegation->second.accepted || !delegation->second.first;
  if (begun && remote.contains(stream) && remote.wanted(stream)) {
    orphans_.push_back({.stream = stream,
                        .reason = reason,
                        .code = code,
                        .acknowledged = remote.acknowledged(stream)});
    remote.withhold(stream, true);
    tell_news();
  }
  note_doubt(delegation, reason, code);
  close(delegation);
}

std::optional<DelegatedStreams::Orphan> DelegatedStreams::poll_orphan() {
  if (own_) {
    if (const auto orphan = own_->poll_orphan()) return orphan;
  }
  if (orphans_.empty()) return std::nullopt;
  const Orphan first = orphans_.front();
  orphans_.pop_front();
  return first;
}

// Its packets may have left all the same, so they are lost and not refused.
void DelegatedStreams::lose(Sender sender, Orphan::Reason reason, Time now) {
  for (auto delegation = delegated_.begin(); delegation != delegated_.end();) {
    const auto next = std::next(delegation);
    if (delegation->second.sender == sender) {
      backends_[sender].orders->say(
          GrantEnded{.end = GrantEnd::kRevoke, .grant = delegation->second.grant});
      orphan(delegation, reason, 0);
    }
    delegation = next;
  }
  abandon(sender, now);
}

void DelegatedStreams::end_old_offers(Time now) {
  for (auto delegation = delegated_.begin(); delegation != delegated_.end();) {
    const auto& [stream, delegated] = *delegation++;
    if (!delegated.accepted && now >= delegated.offered_at + k_longest_offer) revoke(stream);
  }
}

// What it has in flight is sent again at once, and holds no place of the window.
void DelegatedStreams::abandon(Sender sender, Time now) {
  connection_.abandon_sender(sender, now);
  order_.forget(sender);
  backends_[sender] = {};
}

void DelegatedStreams::on_progress(RunOrders& orders, const Progress& progress, Time now) {
  const auto delegation = find(sender_of(orders), progress.grant);
  if (delegation == delegated_.end()) return;
  tell_news();
  Delegated& delegated = delegation->second;
  Backend& backend = backends_[delegated.sender];
  backend.watch.on_executed(progress.executed_end, now);
  delegated.generation = std::max<std::uint64_t>(delegated.generation, progress.generation);
  delegated.address = std::max(delegated.address, progress.address);
  delegated.available = std::max(delegated.available, progress.available);
  append(delegation->first, delegated);
  for (const PacketNumber first : progress.newest_refused.view()) {
    on_refused(delegation->first, delegated, first, now);
  }
}

void DelegatedStreams::on_void_run(RunOrders& orders, GrantId grant, PacketNumber first, Time now) {
  const auto delegation = find(sender_of(orders), grant);
  if (delegation == delegated_.end()) return;
  tell_news();
  on_refused(delegation->first, delegation->second, first, now);
}

void DelegatedStreams::on_refused(StreamId stream, Delegated& delegated, PacketNumber first,
                                  Time now) {
  if (delegated.first && delegated.first->packet.number == first) {
    const First refused = *std::exchange(delegated.first, {});
    if (!delegated.accepted) return take_back(stream, refused, now);
    connection_.refuse_run(delegated.sender, first, 1, now);
    return;
  }
  const std::uint8_t packets = backends_[delegated.sender].runs.take(first);
  if (packets > 0) connection_.refuse_run(delegated.sender, first, packets, now);
}

void DelegatedStreams::on_grant_ended(RunOrders& orders, const GrantEnded& ended, Time now) {
  const auto delegation = find(sender_of(orders), ended.grant);
  if (delegation == delegated_.end()) return;
  if (ended.end == GrantEnd::kReset) {
    orphan(delegation, Orphan::Reason::kFailed, ended.code);
  } else {
    const Sender sender = delegation->second.sender;
    orphan(delegation, Orphan::Reason::kGone, 0);
    // It sends none of the runs that it was ordered last, so nobody would acknowledge them.
    if (backends_[sender].grants == 0) abandon(sender, now);
  }
}

void DelegatedStreams::take_samples(Time now) {
  for (std::size_t i = 0; i < backends_.size(); ++i) {
    Backend& sender = backends_[i];
    if (i > 0 && sender.session == 0) continue;
    const auto [rtt, samples, largest, ack_delay] = path().loss.sender_rtt(static_cast<Sender>(i));
    // Not all that is acknowledged gives a sample.
    if (i > 0 && largest != k_no_packet_number && largest >= sender.reached) {
      sender.reached = largest + 1;
      sender.watch.on_acknowledged(sender.reached);
    }
    if (samples == sender.samples) continue;
    sender.samples = samples;
    order_.on_sample(static_cast<Sender>(i), rtt.latest(), now, ack_delay);
    if (sender.orders != nullptr) {
      const Duration longer = order_.way(static_cast<Sender>(i)) - order_.way(0);
      sender.orders->set_way(
          std::clamp<Duration>(longer, Duration::zero(), ArrivalOrder::k_longest_wait));
    }
    for (std::size_t j = 1; j < backends_.size(); ++j) {
      if (j != i) backends_[j].watch.on_other_acknowledged(now - rtt.latest());
    }
  }
}

Duration DelegatedStreams::set_limits(Time now) {
  const double round_trip = to_seconds(std::max<Duration>(path().rtt.smoothed(), 1us));
  const double bytes = static_cast<double>(path().controller->window());
  const double packets = bytes / path().mtu.current() / round_trip;
  const RunLimits limits = order_.limits(static_cast<std::uint64_t>(packets), now);
  connection_.set_run_limits(limits);
  path().controller->set_detour(order_.detour(path().rtt.minimum(), now));
  limited_ = true;
  // The client drops numbers up to the largest of an ACK that it knows to be acknowledged, which is
  // one round trip old. Others may still be on their way where waits leave more than that.
  const Duration beyond = order_.uncertainty() - path().rtt.minimum();
  path().received.set_hold(std::max(beyond, Duration::zero()));
  return *std::ranges::max_element(limits.waits);
}

void DelegatedStreams::note_address() {
  const PathEntry& entry = *connection_.paths().find(k_path);
  AddressChange present{.connection = number_,
                        .number = address_.number,
                        .addresses = entry.path->addresses,
                        .client_id = entry.remote_ids.current(),
                        .paused = entry.path->validation.pending()};
  if (present == address_) return;
  ++present.number;
  address_ = present;
}

void DelegatedStreams::tell_address(Backend& backend, Time now) {
  // What went to the old addresses says nothing about the way.
  if (backend.address != address_.number) backend.watch.restart();
  backend.address = address_.number;
  backend.address_told_at = now;
  backend.orders->say(address_);
}

// The keys are those of the present generation, which only rises.
void DelegatedStreams::tell_phase(Backend& backend, PacketNumber first, Time now) {
  auto keys = connection_.keys().phase_for_sending(k_path);
  if (!keys) return;
  keys->first_number = first;
  backend.orders->say(PhaseSealer(*keys).seal(number_, *keys));
  backend.generation = keys->generation;
  backend.first_number = first;
  backend.phase_told_at = now;
}

// Says what is not confirmed for one of the grants, and says it again. What was said before the
// backend knew the connection was in vain.
void DelegatedStreams::tell_changes(Time now) {
  note_address();
  for (const auto& [stream, delegated] : delegated_) {
    if (!delegated.accepted) continue;
    Backend& backend = backends_[delegated.sender];
    const bool address_due =
        backend.address != address_.number || now >= backend.address_told_at + k_repeat_interval;
    if (delegated.address < address_.number && address_due) tell_address(backend, now);
    if (delegated.generation < backend.generation &&
        now >= backend.phase_told_at + k_repeat_interval) {
      tell_phase(backend, backend.first_number, now);
    }
  }
}

void DelegatedStreams::hand_over(const RunOrder& order, Duration margin, Time now) {
  Backend& backend = backends_[order.sender];
  const auto delegation = delegated_.find(order.stream);
  if (delegation == delegated_.end() || delegation->second.sender != order.sender) {
    // Nobody was told of it. Its bytes are due again.
    connection_.refuse_run(order.sender, order.first, order.count, now);
    look_again_ = now;
    return;
  }
  if (order.generation > std::max(backend.generation, delegation->second.generation)) {
    tell_phase(backend, order.first, now);
  }
  backend.runs.add(order.first, order.count);
  order_.on_numbered(order.sender, order.time);
  RunMessage run;
  run.grant = delegation->second.grant;
  run.first = order.first;
  run.offset = order.offset;
  run.bytes = order.payload;
  run.packets = order.count;
  run.phase_name = static_cast<std::uint8_t>(order.generation % PhaseKeys::k_phase_names);
  run.ecn = order.ecn;
  run.fin = order.fin;
  run.wait = order.wait;
  run.lifetime = order.wait + margin;
  backend.orders->say(run);
}

// Looks at all streams, so it is not done in every turn.
void DelegatedStreams::tell_acknowledged(Time now) {
  if (now < acknowledged_due_) {
    look_again_ = std::min(look_again_, acknowledged_due_);
    return;
  }
  acknowledged_due_ = now + k_repeat_interval;
  const RemoteStreams& remote = connection_.streams().remote();
  for (auto delegation = delegated_.begin(); delegation != delegated_.end();) {
    const auto next = std::next(delegation);
    auto& [stream, delegated] = *delegation;
    const std::uint64_t acknowledged = remote.acknowledged(stream);
    if (!remote.wanted(stream) || (delegated.accepted && acknowledged >= delegated.end)) {
      revoke(stream);  // the client has everything, or wants nothing more
    } else if (delegated.accepted && acknowledged > delegated.acknowledged) {
      delegated.acknowledged = acknowledged;
      backends_[delegated.sender].orders->say(Acknowledged{delegated.grant, acknowledged, k_limit},
                                              now);
    }
    delegation = next;
  }
}

bool DelegatedStreams::idle() const {
  const PathEntry* entry = connection_.paths().find(k_path);
  return (!own_ || own_->idle()) && delegated_.empty() && doubts_.empty() && !limited_ &&
         orphans_.empty() &&
         (entry == nullptr || !entry->path || !entry->path->loss.runs_in_flight());
}

// A late acknowledgement of their packets must not count for those that come after them.
void DelegatedStreams::leave(Time now) {
  for (std::size_t i = 1; i < backends_.size(); ++i) {
    if (backends_[i].session != 0) connection_.abandon_sender(static_cast<Sender>(i), now);
  }
}

// Runs need path 0, and no other path beside it.
bool DelegatedStreams::runs_possible() const {
  const PathEntry* entry = connection_.paths().find(k_path);
  return entry != nullptr && entry->path && connection_.paths().open_count() == 1;
}

// Without grants, the connection becomes what it was before the first one. First its own packets
// wait until those of backends have arrived.
void DelegatedStreams::wind_down(Time now) {
  if (!limited_) return;
  while (const auto order = connection_.poll_run()) {
    connection_.refuse_run(order->sender, order->first, order->count, now);
    look_again_ = now;
  }
  Path* path = first_path();
  const Duration longest = path == nullptr ? Duration::zero() : set_limits(now);
  if (longest > Duration::zero()) {
    look_again_ = std::min(look_again_, now + std::max(longest, path->rtt.smoothed()));
    return;
  }
  connection_.end_runs();
  if (path != nullptr) {
    path->received.set_hold(Duration::zero());
    path->controller->set_detour(1);
  }
  limited_ = false;
}

void DelegatedStreams::flush(Time now) {
  look_again_ = k_never;
  if (own_) own_->flush(now);
  if (!doubts_.empty()) forget_doubts();
  if (delegated_.empty()) return wind_down(now);
  if (!runs_possible()) {
    for (std::size_t i = 1; i < backends_.size(); ++i) {
      if (backends_[i].grants > 0) lose(static_cast<Sender>(i), Orphan::Reason::kPaths, now);
    }
    return wind_down(now);
  }
  take_samples(now);
  tell_changes(now);
  const Duration after = margin();
  while (const auto order = connection_.poll_run()) hand_over(*order, after, now);
  tell_acknowledged(now);
  // The last grant may have gone just now.
  if (delegated_.empty()) return wind_down(now);
  set_limits(now);
}

Time DelegatedStreams::next_timeout() const {
  Time next = own_ ? std::min(look_again_, own_->next_timeout()) : look_again_;
  if (delegated_.empty() || !runs_possible()) return next;
  for (const auto& [stream, delegated] : delegated_) {
    if (!delegated.accepted) {
      next = std::min(next, delegated.offered_at + k_longest_offer);
      continue;
    }
    const Backend& backend = backends_[delegated.sender];
    if (delegated.address < address_.number) {
      next = std::min(next, backend.address_told_at + k_repeat_interval);
    }
    if (delegated.generation < backend.generation) {
      next = std::min(next, backend.phase_told_at + k_repeat_interval);
    }
  }
  const Duration probe_timeout = connection_.probe_timeout(*connection_.paths().find(k_path));
  for (std::size_t i = 1; i < backends_.size(); ++i) {
    const Backend& backend = backends_[i];
    if (backend.accepted == 0) continue;
    if (backend.watch.unreachable(probe_timeout)) return Time::min();
    next = std::min(next, backend.orders->silence().deadline());
  }
  return next;
}

void DelegatedStreams::on_timeout(Time now) {
  if (own_) own_->on_timeout(now);
  if (!runs_possible()) return;
  end_old_offers(now);
  const Duration probe_timeout = connection_.probe_timeout(*connection_.paths().find(k_path));
  for (std::size_t i = 1; i < backends_.size(); ++i) {
    const Backend& backend = backends_[i];
    if (backend.accepted == 0) continue;
    if (backend.orders->silence().look(now)) {
      lose(static_cast<Sender>(i), Orphan::Reason::kSilent, now);
    } else if (backend.watch.unreachable(probe_timeout)) {
      lose(static_cast<Sender>(i), Orphan::Reason::kUnreachable, now);
    }
  }
}

}  // namespace sheaf::quic
