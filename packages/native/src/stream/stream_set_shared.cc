// What StreamSets of several servers that share a connection do for each other
// (docs/internals/multi-end.md).

#include <algorithm>

#include "stream/stream_set_state.h"

namespace sheaf::quic {

void StreamSet::share() {
  if (state_->shared_streams) return;
  state_->shared_streams = true;
  if (state_->role == Role::kServer) state_->connection_receive.share();
  // 0-RTT opened some in order.
  for (std::size_t i = 0; i < 2; ++i) {
    state_->peer_opened[i].insert(0, state_->peer_streams[i].opened());
  }
}

// --- client -------------------------------------------------------------------------------------

void StreamSet::set_arrival(std::optional<PathId> path) { state_->arrival = path; }

std::size_t StreamSet::pinned_count(PathId path) const {
  const StreamLane* lane = state_->pinned_lane(path);
  return lane ? lane->size() : 0;
}

bool StreamSet::starved(PathId path, std::optional<std::uint64_t> limit) const {
  const StreamLane* lane = state_->pinned_lane(path);
  if (!lane || lane->size() == 0) return false;
  const bool takes_no_more = state_->connection_send.available() == 0 &&
                             lane->senders(SendStream::Sendability::kNewData) > 0;
  return takes_no_more || (limit && lane->use.received == *limit);
}

BackendUse StreamSet::lose(PathId path) {
  State& state = *state_;
  const StreamLane* lane = state.pinned_lane(path);
  if (!lane) return {};
  const BackendUse use = lane->use;
  state.streams.for_each([&](Stream& stream) {
    if (stream.lane != lane) return;
    state.cancel_control(stream, 0xff);
    const bool complete = stream.receives ? stream.receive.complete() : stream.send.terminal();
    if (stream.sends) {
      stream.send.reset(0, false);
      stream.send.on_reset_acknowledged();
      state.refresh_sending(stream);
    }
    state.move(stream, state.shared);
    stream.lost = true;
    if (!complete) {
      state.events.push(stream, StreamEvent::Kind::kLost);
    } else {
      state.close_if_finished(stream);
    }
  });
  std::erase_if(state.pinned, [&](const auto& other) { return other.get() == lane; });
  return use;
}

bool StreamSet::exceeded() const { return state_->connection_receive.exceeded(); }
void StreamSet::tolerate() { state_->connection_receive.tolerate(); }

// --- backend -------------------------------------------------------------------------------------

void StreamSet::start_leased(const StreamLease& lease) {
  State& state = *state_;
  share();
  state.leased = true;
  state.connection_send.start_at(0, lease.credit);
  for (std::size_t i = 0; i < lease.ids.size(); ++i) {
    state.local_streams[i].start_at(lease.ids[i].first, lease.ids[i].first + lease.ids[i].count);
  }
}

void StreamSet::extend_credit(std::uint64_t bytes) {
  SendLimit& limit = state_->connection_send;
  if (bytes == 0) return;
  limit.raise(limit.limit() + std::min(bytes, k_max_varint - limit.limit()));
  state_->control_due &= static_cast<std::uint8_t>(~State::k_data_blocked);
  state_->schedule_credit_waiters();
}

bool StreamSet::replace_ids(Directionality directionality, const StreamLease::Ids& ids) {
  SendLimit& limit = state_->local_streams[State::index_of(directionality)];
  if (limit.available() > 0 || ids.first < limit.used()) return false;
  limit.start_at(ids.first, ids.first + ids.count);
  if (ids.count > 0) state_->events.push_streams_available(directionality);
  return true;
}

std::uint64_t StreamSet::give_up_credit(std::uint64_t bytes) {
  SendLimit& limit = state_->connection_send;
  const std::uint64_t given = std::min(bytes, limit.available());
  limit.replace(limit.limit() - given);
  if (limit.available() == 0) state_->refresh_all();
  return given;
}

std::uint64_t StreamSet::told_max_data() const { return state_->told_max_data; }
std::uint64_t StreamSet::consumed() const { return state_->connection_receive.consumed(); }
std::uint64_t StreamSet::peer_streams_closed() const { return state_->peer_bidirectional_closed; }

// --- primary ------------------------------------------------------------------------------------

StreamLease StreamSet::lease_out(const StreamLease& wanted) {
  State& state = *state_;
  StreamLease lease;
  lease.credit = std::min(wanted.credit, state.connection_send.available());
  state.connection_send.consume(lease.credit);
  if (lease.credit < wanted.credit && state.connection_send.note_blocked()) {
    state.control_due |= State::k_data_blocked;
  }
  for (std::size_t i = 0; i < lease.ids.size(); ++i) {
    SendLimit& limit = state.local_streams[i];
    lease.ids[i] = {limit.used(), std::min(wanted.ids[i].count, limit.available())};
    limit.consume(lease.ids[i].count);
  }
  if (state.connection_send.available() == 0) state.refresh_all();
  return lease;
}

void StreamSet::settle(std::uint64_t leased, std::uint64_t used) {
  SendLimit& limit = state_->connection_send;
  limit.give_back(std::min(leased, limit.used()));
  limit.consume(std::min(used, k_max_varint - std::min(limit.used(), k_max_varint)));
  state_->refresh_all();
}

void StreamSet::count_elsewhere(std::uint64_t consumed, std::uint64_t streams_closed, Time now) {
  State& state = *state_;
  if (state.connection_receive.consume_elsewhere(consumed, now, state.rtt)) {
    state.announce_connection_window();
  }
  PeerStreamLimit& limit = state.peer_streams[State::index_of(Directionality::kBidirectional)];
  limit.on_closed_elsewhere(streams_closed);
  if (limit.extension_due()) {
    state.control_due |= State::max_streams_bit(Directionality::kBidirectional);
  }
}

}  // namespace sheaf::quic
