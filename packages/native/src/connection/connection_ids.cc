#include "connection/connection_ids.h"

#include <algorithm>

#include "crypto/handshake.h"
#include "util/equal_tags.h"
#include "wire/violation.h"

namespace sheaf::quic {

void LocalConnectionIds::add(const ConnectionId& id) {
  active_.push_back({next_sequence_++, id});
  changes_.push_back({id, true});
}

void LocalConnectionIds::add_initial(const ConnectionId& id) {
  add(id);
  announced_ = next_sequence_;
}

bool LocalConnectionIds::take_over(const std::vector<Issued>& ids) {
  for (const auto& [sequence, id] : ids) {
    if (sequence < next_sequence_ || id.length != maker_->id_length()) return false;
    next_sequence_ = sequence;
    add_initial(id);
  }
  return true;
}

void LocalConnectionIds::sent() {
  announced_ = std::max(announced_, pending_.front() + 1);
  pending_.erase(pending_.begin());
}

void LocalConnectionIds::issue(std::uint64_t peer_limit, Random& random) {
  const std::size_t target = std::min<std::uint64_t>(peer_limit, k_max_active);
  while (active_.size() < target) {
    pending_.push_back(next_sequence_);
    add(maker_->make(random));
  }
}

bool LocalConnectionIds::contains(Bytes id) const {
  const auto is_it = [&](const auto& known) { return std::ranges::equal(known.id.view(), id); };
  return std::ranges::any_of(active_, is_it) || std::ranges::any_of(retired_, is_it);
}

void LocalConnectionIds::retire_all() {
  while (!retired_.empty()) forget_oldest_retired();
  for (const Issued& issued : active_) changes_.push_back({issued.id, false});
  active_.clear();
  pending_.clear();
}

TransportStatus LocalConnectionIds::on_retire(const RetireConnectionIdFrame& frame, Time until) {
  // RFC 9000 §19.16: also refuses an id that waits to be sent, or a peer could draw ids without
  // end.
  if (frame.sequence >= announced_) {
    return violation(TransportErrorCode::kProtocolViolation, FrameType::kRetireConnectionId,
                     "retires a connection id that was never issued");
  }
  const auto found = std::find_if(active_.begin(), active_.end(), [&](const Issued& issued) {
    return issued.sequence == frame.sequence;
  });
  if (found == active_.end()) return {};
  if (retired_.size() == k_max_active) forget_oldest_retired();
  retired_.push_back({found->id, until});
  std::erase(pending_, frame.sequence);
  active_.erase(found);
  return {};
}

void LocalConnectionIds::forget_oldest_retired() {
  changes_.push_back({retired_.front().id, false});
  retired_.erase(retired_.begin());
}

Time LocalConnectionIds::next_forgetting_at() const {
  return retired_.empty() ? k_never : retired_.front().until;
}

void LocalConnectionIds::forget_retired(Time now) {
  while (next_forgetting_at() <= now) forget_oldest_retired();
}

std::optional<NewConnectionIdFrame> LocalConnectionIds::next_pending() const {
  if (pending_.empty()) return std::nullopt;
  const auto found = std::find_if(active_.begin(), active_.end(), [&](const Issued& issued) {
    return issued.sequence == pending_.front();
  });
  return NewConnectionIdFrame{.sequence = found->sequence,
                              .retire_prior_to = 0,
                              .id = found->id,
                              .reset_token = maker_->reset_token(found->id)};
}

void LocalConnectionIds::on_lost(std::uint64_t sequence) {
  const bool active = std::any_of(active_.begin(), active_.end(), [&](const Issued& issued) {
    return issued.sequence == sequence;
  });
  // A probe may report the frame lost while it waits to be sent again.
  if (active && std::ranges::count(pending_, sequence) == 0) pending_.push_back(sequence);
}

std::optional<LocalConnectionIds::Change> LocalConnectionIds::poll_change() {
  if (changes_.empty()) return std::nullopt;
  Change change = changes_.front();
  changes_.pop_front();
  return change;
}

void RemoteConnectionIds::set_initial(const ConnectionId& id) {
  // A client may have taken its first id back in 0-RTT packets.
  if (current_.sequence > 0) return;
  current_.id = id;
  assigned_ = true;
  seen_.insert(0);
}

void RemoteConnectionIds::set_initial_token(const StatelessResetToken& token) {
  current_.token = token;
}

TransportStatus RemoteConnectionIds::on_new(const NewConnectionIdFrame& frame) {
  // RFC 9000 §19.15: an endpoint that uses a zero-length id must not be given others.
  if (assigned_ && current_.id.length == 0) {
    return violation(TransportErrorCode::kProtocolViolation, FrameType::kNewConnectionId,
                     "connection id issued to replace a zero-length one");
  }
  const Known given{frame.sequence, frame.id, frame.reset_token};
  if (contradicts_earlier(given)) {
    return violation(TransportErrorCode::kProtocolViolation, FrameType::kNewConnectionId,
                     "connection id and sequence number do not match earlier ones");
  }
  // RFC 9000 §19.15: a repeated frame is no error, also when its id is retired already.
  if (seen_.insert(frame.sequence) == 0) return {};
  if (seen_.size() > k_max_gaps) {
    // §5.1.1: the sequence increases by one, so gaps are frames that were lost.
    return violation(TransportErrorCode::kProtocolViolation, FrameType::kNewConnectionId,
                     "sequence numbers of connection ids with too many gaps");
  }
  if (frame.sequence < retire_prior_to_) {
    retire(given);
  } else {
    spare_.push_back(given);
  }
  if (frame.retire_prior_to > retire_prior_to_) {
    retire_prior_to_ = frame.retire_prior_to;
    retire_old();
  }
  // Bounds the active ids (RFC 9000 §5.1.1), and those to retire when a peer floods us (§5.1.2).
  if (spare_.size() + left_.size() + (assigned_ ? 1 : 0) + (reserved_ ? 1 : 0) > active_limit_ ||
      unacknowledged_.size() > 4 * active_limit_ + 16) {
    return violation(TransportErrorCode::kConnectionIdLimitError, FrameType::kNewConnectionId,
                     "more connection ids than active_connection_id_limit");
  }
  return {};
}

bool RemoteConnectionIds::contradicts_earlier(const Known& given) const {
  const auto contradicts = [&](const Known& known) {
    if (known.sequence != given.sequence) return known.id == given.id;
    return known.id != given.id || (known.token && known.token != given.token);
  };
  return (assigned_ && contradicts(current_)) || (reserved_ && contradicts(*reserved_)) ||
         std::ranges::any_of(left_, contradicts, &Left::known) ||
         std::ranges::any_of(spare_, contradicts) || std::ranges::any_of(retired_, contradicts);
}

void RemoteConnectionIds::retire_old() {
  std::erase_if(spare_, [&](const Known& known) {
    if (known.sequence >= retire_prior_to_) return false;
    retire(known);
    return true;
  });
  std::erase_if(left_, [&](const Left& left) {
    if (left.known.sequence >= retire_prior_to_) return false;
    retire(left.known);
    return true;
  });
  if (reserved_ && reserved_->sequence < retire_prior_to_) retire_reserved();
  if (assigned_ && current_.sequence < retire_prior_to_) rotate();
}

std::optional<RemoteConnectionIds::Known> RemoteConnectionIds::take_spare() {
  if (spare_.empty()) return std::nullopt;
  const auto lowest =
      std::min_element(spare_.begin(), spare_.end(),
                       [](const Known& a, const Known& b) { return a.sequence < b.sequence; });
  const Known taken = *lowest;
  spare_.erase(lowest);
  return taken;
}

std::vector<NewConnectionIdFrame> RemoteConnectionIds::given() const {
  std::vector<NewConnectionIdFrame> ids;
  for (const Known& known : spare_) {
    ids.push_back({.sequence = known.sequence,
                   .retire_prior_to = 0,
                   .id = known.id,
                   .reset_token = *known.token});
  }
  return ids;
}

bool RemoteConnectionIds::assign() {
  if (assigned_) return true;
  const auto first = take_spare();
  if (!first) return false;
  current_ = *first;
  assigned_ = true;
  return true;
}

bool RemoteConnectionIds::knows(const ConnectionId& id) const {
  const auto is_it = [&](const Known& known) { return known.id == id; };
  return in_use(id) || std::ranges::any_of(spare_, is_it) || std::ranges::any_of(retired_, is_it);
}

bool RemoteConnectionIds::in_use(const ConnectionId& id) const {
  return (assigned_ && current_.id == id) || (reserved_ && reserved_->id == id) ||
         std::ranges::any_of(left_, [&](const Left& left) { return left.known.id == id; });
}

bool RemoteConnectionIds::rotate(std::optional<Time> retire_at) {
  const auto next = take_spare();
  if (!next) return false;
  leave_current(retire_at);
  current_ = *next;
  return true;
}

void RemoteConnectionIds::leave_current(std::optional<Time> retire_at) {
  if (retire_at) {
    left_.push_back({current_, *retire_at});
  } else {
    retire(current_);
  }
}

Time RemoteConnectionIds::next_retirement_at() const {
  // They stand in the order in which they were left.
  return left_.empty() ? k_never : left_.front().retire_at;
}

void RemoteConnectionIds::retire_left(Time now) {
  while (next_retirement_at() <= now) {
    retire(left_.front().known);
    left_.erase(left_.begin());
  }
}

bool RemoteConnectionIds::reserve() {
  retire_reserved();
  reserved_ = take_spare();
  return reserved_.has_value();
}

void RemoteConnectionIds::retire_reserved() {
  if (reserved_) retire(*reserved_);
  reserved_.reset();
}

bool RemoteConnectionIds::use_reserved(Time retire_at) {
  if (!reserved_) return false;
  leave_current(retire_at);
  current_ = *reserved_;
  reserved_.reset();
  return true;
}

void RemoteConnectionIds::release_reserved() {
  if (reserved_) spare_.push_back(*reserved_);
  reserved_.reset();
}

void RemoteConnectionIds::retire(const Known& known) {
  retirements_.push_back(known.sequence);
  unacknowledged_.push_back(known.sequence);
  retired_.push_back(known);
  if (retired_.size() > k_remembered) retired_.erase(retired_.begin());
}

void RemoteConnectionIds::on_retirement_lost(std::uint64_t sequence) {
  const bool waits = std::ranges::count(retirements_, sequence) > 0;
  if (!waits && std::ranges::count(unacknowledged_, sequence) > 0) retirements_.push_back(sequence);
}

void RemoteConnectionIds::on_retirement_acknowledged(std::uint64_t sequence) {
  std::erase(unacknowledged_, sequence);
  std::erase(retirements_, sequence);
}

bool RemoteConnectionIds::is_reset_token(Bytes token) const {
  // §10.3.1: the comparison must not tell an attacker how close a guess was.
  const auto is_it = [&](const Known& known) {
    return known.token && equal_tags(token.data(), known.token->data());
  };
  // Looks at all ids that packets may be in flight to.
  bool found = is_it(current_);
  if (reserved_) found |= is_it(*reserved_);
  for (const Left& left : left_) found |= is_it(left.known);
  return found;
}

}  // namespace sheaf::quic
