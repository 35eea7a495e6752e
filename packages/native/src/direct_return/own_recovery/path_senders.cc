#include "direct_return/own_recovery/path_senders.h"

#include <algorithm>

#include "direct_return/silence.h"

namespace sheaf::quic {

bool PathSenders::accept(const Grant& grant, std::unique_ptr<PayloadSource> source, Time now) {
  const GrantId id = lent_path_of(grant.connection);
  // Without the end of its bytes, a stream would never end. One without bytes has none to send.
  if (streams_.contains(grant.id) || grant.id == id || !source->end() ||
      *source->end() <= grant.first_offset) {
    return false;
  }
  auto path = paths_.find(id);
  if (path == paths_.end()) {
    // Packet numbers of a path begin with its first grant.
    if (closed_.contains(id) || paths_.size() >= k_max_paths || paths_.contains(grant.id) ||
        grant.keys.first_number != 0) {
      return false;
    }
    path = paths_.try_emplace(id).first;
    path->second.sender = std::make_unique<PathSender>(grant, random_, crypto_, now);
    path->second.repeat_at = now + k_repeat_interval;
    path->second.silence = grant.silence;
  } else if (path->second.sender->suite() != grant.keys.suite ||
             path->second.sender->has(grant.stream)) {
    return false;
  }
  path->second.accepted_at = now;
  path->second.sender->add(grant, std::move(source));
  streams_[grant.id] = id;
  return true;
}

void PathSenders::on_available(GrantId stream) {
  const auto known = streams_.find(stream);
  if (known != streams_.end()) paths_.at(known->second).sender->on_available();
}

void PathSenders::forget(GrantId stream) {
  const auto known = streams_.find(stream);
  if (known == streams_.end()) return;
  paths_.at(known->second).sender->remove(stream);
  streams_.erase(known);
}

bool PathSenders::handle(const AckReport& report, Time now) {
  const auto path = paths_.find(report.path);
  if (path == paths_.end()) return false;
  path->second.sender->on_report(report, now);
  return true;
}

bool PathSenders::handle(const Acknowledged& limit) {
  const auto known = streams_.find(limit.grant);
  if (known == streams_.end()) return paths_.contains(limit.grant);
  paths_.at(known->second).sender->on_limit(limit);
  return true;
}

bool PathSenders::handle(const PhaseChange& change) {
  const auto path = paths_.find(lent_path_of(change.connection));
  if (path == paths_.end()) return false;
  return path->second.sender->follow(change);
}

bool PathSenders::handle(const AddressChange& change, Time now) {
  const auto path = paths_.find(lent_path_of(change.connection));
  if (path == paths_.end()) return false;
  path->second.sender->follow(change, now);
  return true;
}

void PathSenders::close(std::map<GrantId, Lent>::iterator path) {
  std::erase_if(streams_, [&](const auto& entry) { return entry.second == path->first; });
  closed_.add(path->first);
  lost_on_closed_ += path->second.sender->packets_lost();
  paths_.erase(path);  // wipes its keys
}

bool PathSenders::end(GrantId id) {
  if (streams_.contains(id)) {
    forget(id);
    return true;
  }
  const auto path = paths_.find(id);
  if (path == paths_.end()) return false;
  close(path);
  return true;
}

std::uint64_t PathSenders::packets_lost() const {
  std::uint64_t lost = lost_on_closed_;
  for (const auto& [id, lent] : paths_) lost += lent.sender->packets_lost();
  return lost;
}

// --- what the gateway hears ----------------------------------------------------------------------

std::vector<std::uint8_t> PathSenders::poll_message(Time now) {
  std::vector<Delivered> delivered;
  std::vector<SenderState> states;
  for (auto& [id, lent] : paths_) {
    while (delivered.size() < most_in_datagram(delivered)) {
      const auto message = lent.sender->poll_delivered();
      if (!message) break;
      delivered.push_back(*message);
    }
  }
  if (!delivered.empty()) return encode_run_datagram({session_, std::move(delivered)});
  for (auto& [id, lent] : paths_) {
    if (states.size() == most_in_datagram(states)) break;
    if (lent.sender->state_due(now)) states.push_back(lent.sender->state(now));
  }
  if (states.empty()) return {};
  return encode_run_datagram({session_, std::move(states)});
}

// --- packets and time ----------------------------------------------------------------------------

// Paths take turns.
bool PathSenders::poll_transmit(TransmitBatch& batch, Time last_word, Time now) {
  batch.size = 0;
  auto path = paths_.upper_bound(last_served_);
  for (std::size_t i = 0; i < paths_.size(); ++i, ++path) {
    if (path == paths_.end()) path = paths_.begin();
    if (now >= path->second.silent_at(last_word)) continue;
    if (!path->second.sender->poll_transmit(batch, now)) continue;
    last_served_ = path->first;
    return true;
  }
  return false;
}

std::optional<GrantId> PathSenders::poll_broken() {
  for (auto& [id, lent] : paths_) {
    if (const auto stream = lent.sender->poll_broken()) {
      streams_.erase(*stream);
      return stream;
    }
  }
  return std::nullopt;
}

Time PathSenders::next_timeout(Time last_word) const {
  Time next = k_never;
  for (const auto& [id, lent] : paths_) {
    const Time silent_at = lent.silent_at(last_word);
    if (lent.doubted_at >= silent_at) {
      next = std::min(next, lent.doubted_at + Silence::k_to_read);
    } else {
      next = std::min({next, lent.sender->next_timeout(), lent.repeat_at, silent_at});
    }
  }
  return next;
}

std::size_t PathSenders::on_timeout(Time last_word, Time now) {
  const std::size_t before = streams_.size();
  for (auto path = paths_.begin(); path != paths_.end();) {
    const auto next = std::next(path);
    Lent& lent = path->second;
    const Time silent_at = lent.silent_at(last_word);
    if (lent.doubted_at >= silent_at && now >= lent.doubted_at + Silence::k_to_read) {
      close(path);
    } else if (now >= silent_at) {
      // What has come while this process did not run is read first.
      if (lent.doubted_at < silent_at) lent.doubted_at = now;
    } else {
      lent.sender->on_timeout(now);
      if (now >= lent.repeat_at) {
        lent.repeat_at = now + k_repeat_interval;
        lent.sender->repeat_delivered();
      }
    }
    path = next;
  }
  return before - streams_.size();
}

}  // namespace sheaf::quic
