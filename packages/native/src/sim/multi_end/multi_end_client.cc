#include "sim/multi_end/multi_end_client.h"

#include <algorithm>
#include <tuple>

#include "sim/pattern.h"

namespace sheaf::quic {

void MultiEndClient::use(MultiEndNetwork& network) {
  const std::size_t connection = links_.size();
  links_.push_back({.network = &network});
  network.on_client_event = [this, connection](const Event& event, Time now) {
    on_event(connection, event, now);
  };
  try_waiting();
}

std::size_t MultiEndClient::start(const TransferWanted& wanted) {
  const std::size_t transfer = transfers_.size();
  Transfer& added = transfers_.emplace_back();
  added.wanted = wanted;
  added.asked = simulation_.now();
  last_progress_.push_back(simulation_.now());
  if (!begin(transfer)) wait(transfer);
  return transfer;
}

// --- which server -------------------------------------------------------------------------------

std::optional<MultiEndClient::Place> MultiEndClient::choose(const TransferWanted& wanted) const {
  for (std::size_t i = links_.size(); i > 0 && delivery_ == Delivery::kDirect; --i) {
    const Link& link = links_[i - 1];
    if (link.closed) continue;
    if (const auto backend = choose_backend(link, wanted)) return Place{i - 1, backend};
  }
  for (std::size_t i = links_.size(); i > 0; --i) {
    if (!links_[i - 1].closed && !links_[i - 1].primary_lost) return Place{i - 1, std::nullopt};
  }
  return std::nullopt;
}

// Returns the wanted backend; otherwise the one with the fewest requests, and of those the nearest.
std::optional<std::size_t> MultiEndClient::choose_backend(const Link& link,
                                                          const TransferWanted& wanted) const {
  if (wanted.backend && link.network->path_to(*wanted.backend)) return wanted.backend;
  using Cost = std::tuple<std::size_t, Duration, std::size_t>;
  std::optional<Cost> best;
  const std::vector<PathStats> paths = link.network->client().paths().stats();
  for (std::size_t backend = 0; backend < link.network->backends(); ++backend) {
    const auto path = link.network->path_to(backend);
    const auto stats =
        std::ranges::find_if(paths, [&](const PathStats& one) { return path && one.id == *path; });
    if (stats == paths.end()) continue;
    const auto load = static_cast<std::size_t>(std::ranges::count_if(
        attempts_, [&](const auto& entry) { return entry.second.place.backend == backend; }));
    const Cost cost{load, stats->smoothed_rtt, backend};
    if (!best || cost < *best) best = cost;
  }
  return best ? std::optional(std::get<2>(*best)) : std::nullopt;
}

bool MultiEndClient::begin(std::size_t index) {
  Transfer& transfer = transfers_[index];
  const auto place = choose(transfer.wanted);
  if (!place) return false;
  MultiEndNetwork& network = *links_[place->connection].network;
  const auto stream = network.client().streams().writer().open(Directionality::kBidirectional);
  if (!stream) return false;
  if (place->backend && !network.client().paths().pin(*stream, *network.path_to(*place->backend))) {
    static_cast<void>(network.client().streams().writer().reset(*stream, 0));
    return false;
  }
  ++transfer.attempts;
  transfer.resumed += transfer.received > 0;
  attempts_[index] = {.place = *place, .stream = *stream};
  by_stream_[{place->connection, *stream}] = index;
  const ContentRequest request{.from = transfer.received,
                               .length = transfer.wanted.length - transfer.received,
                               .upload = transfer.wanted.upload,
                               .backend = transfer.wanted.backend.value_or(0)};
  static_cast<void>(network.client().streams().writer().write(
      *stream, SendChunk::copy_of(request.encode()), request.upload == 0));
  upload(index);
  return true;
}

void MultiEndClient::upload(std::size_t index) {
  Attempt& attempt = attempts_.at(index);
  const std::uint64_t total = transfers_[index].wanted.upload;
  for (bool room = true; room && attempt.uploaded < total;) {
    const Bytes piece = pattern_from(attempt.uploaded, total - attempt.uploaded);
    attempt.uploaded += piece.size();
    const auto result = connection_of(attempt).streams().writer().write(
        attempt.stream, SendChunk(piece, nullptr, nullptr), attempt.uploaded == total);
    room = result && *result;
  }
}

// --- what comes back ----------------------------------------------------------------------------

void MultiEndClient::on_event(std::size_t connection, const Event& event, Time now) {
  if (const auto* stream = std::get_if<StreamEvent>(&event)) {
    return on_stream_event(connection, *stream, now);
  }
  if (std::holds_alternative<PrimaryLostEvent>(event)) return lose_primary(connection);
  // Paths were added or removed.
  if (!std::holds_alternative<ConnectionClosed>(event)) return try_waiting();
  links_[connection].closed = true;
  for (std::size_t index = 0; index < transfers_.size(); ++index) {
    const auto found = attempts_.find(index);
    if (found != attempts_.end() && found->second.place.connection == connection) again(index);
  }
  lose_primary(connection);
}

void MultiEndClient::on_stream_event(std::size_t connection, const StreamEvent& event, Time now) {
  using Kind = StreamEvent::Kind;
  const auto found = by_stream_.find({connection, event.stream});
  if (found == by_stream_.end()) return;
  const std::size_t index = found->second;
  switch (event.kind) {
    case Kind::kReadable:
      return read(index, now);
    case Kind::kWritable:
      return upload(index);
    case Kind::kAcknowledged:
      return progress(index, now);
    case Kind::kLost:
    case Kind::kReset:
      read(index, now);
      // Repeats the request, unless the response is already complete.
      if (by_stream_.contains({connection, event.stream})) again(index);
      return;
    default:
      return;
  }
}

void MultiEndClient::read(std::size_t index, Time now) {
  Transfer& transfer = transfers_[index];
  const Attempt attempt = attempts_.at(index);
  Connection& connection = connection_of(attempt);
  for (;;) {
    const Bytes bytes = connection.streams().reader().peek(attempt.stream);
    transfer.intact &= matches_pattern(bytes, transfer.received);
    const auto result = connection.streams().reader().consume(attempt.stream, bytes.size(), now);
    if (!result) return;
    if (result->bytes > 0) {
      progress(index, now);
      if (!transfer.first_byte) transfer.first_byte = now;
    }
    transfer.received += result->bytes;
    if (result->reset) return again(index);
    if (result->finished) return finish(index);
    if (result->bytes == 0) return;
  }
}

void MultiEndClient::progress(std::size_t index, Time now) {
  Time& last = last_progress_[index];
  transfers_[index].longest_stall = std::max(transfers_[index].longest_stall, now - last);
  last = now;
}

void MultiEndClient::finish(std::size_t index) {
  Transfer& transfer = transfers_[index];
  progress(index, simulation_.now());
  transfer.completed = simulation_.now();
  const Attempt& attempt = attempts_.at(index);
  by_stream_.erase({attempt.place.connection, attempt.stream});
  attempts_.erase(index);
  if (on_done) on_done();
}

// --- failure ------------------------------------------------------------------------------------

void MultiEndClient::lose_primary(std::size_t connection) {
  Link& link = links_[connection];
  if (std::exchange(link.primary_lost, true)) return;
  for (std::size_t index = 0; index < transfers_.size(); ++index) {
    const auto found = attempts_.find(index);
    if (found == attempts_.end()) continue;
    const Place& place = found->second.place;
    if (place.connection == connection && !place.backend) again(index);
  }
  if (dial) dial();
}

void MultiEndClient::again(std::size_t index) {
  const Attempt attempt = attempts_.at(index);
  Connection& connection = connection_of(attempt);
  by_stream_.erase({attempt.place.connection, attempt.stream});
  attempts_.erase(index);
  static_cast<void>(connection.streams().writer().reset(attempt.stream, 0));
  static_cast<void>(connection.streams().reader().stop_sending(attempt.stream, 0));
  Transfer& transfer = transfers_[index];
  if (transfer.attempts >= k_max_attempts) {
    transfer.failed = true;
    if (on_done) on_done();
  } else if (!begin(index)) {
    wait(index);
  }
}

void MultiEndClient::try_waiting() {
  for (const std::size_t index : std::exchange(waiting_, {})) {
    if (!begin(index)) wait(index);
  }
}

void MultiEndClient::wait(std::size_t index) {
  if (waiting_.empty()) simulation_.after(k_retry, [this] { try_waiting(); });
  waiting_.push_back(index);
}

}  // namespace sheaf::quic
