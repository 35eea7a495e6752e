#include "sim/multi_end/content_relay.h"

namespace sheaf::quic {

ContentRelay::ContentRelay(Simulation& simulation, ConnectionHost& facing,
                           std::vector<ConnectionHost*> upstream)
    : simulation_(simulation),
      facing_(facing),
      upstream_(std::move(upstream)),
      down_(upstream_.size(), false) {
  for (std::size_t backend = 0; backend < upstream_.size(); ++backend) {
    upstream_[backend]->on_event = [this, backend](const Event& event, Time now) {
      if (const auto* stream = std::get_if<StreamEvent>(&event))
        on_upstream_event(backend, *stream, now);
    };
  }
}

void ContentRelay::on_client_event(const StreamEvent& event, Time now) {
  using Kind = StreamEvent::Kind;
  if (event.kind == Kind::kReadable && !exchanges_.contains(event.stream) && !begin(event.stream)) {
    return;
  }
  const auto found = exchanges_.find(event.stream);
  if (found == exchanges_.end()) return;
  Exchange& exchange = found->second;
  if (event.kind == Kind::kReadable) pump(exchange.up, now);
  if (event.kind == Kind::kWritable) {
    exchange.down.full = false;
    pump(exchange.down, now);
  }
  if (event.kind == Kind::kStopSending || event.kind == Kind::kReset) fail(exchange);
  if (event.kind == Kind::kClosed) {
    sides_.erase({exchange.backend, exchange.up.to_stream});
    exchanges_.erase(found);
  }
}

void ContentRelay::on_upstream_event(std::size_t backend, const StreamEvent& event, Time now) {
  using Kind = StreamEvent::Kind;
  const auto side = sides_.find({backend, event.stream});
  if (side == sides_.end()) return;
  Exchange& exchange = exchanges_.at(side->second);
  if (event.kind == Kind::kReadable) pump(exchange.down, now);
  if (event.kind == Kind::kWritable) {
    exchange.up.full = false;
    pump(exchange.up, now);
  }
  if (event.kind == Kind::kStopSending || event.kind == Kind::kReset) fail(exchange);
}

bool ContentRelay::begin(StreamId stream) {
  const auto request = ContentRequest::decode(facing_.connection.streams().reader().peek(stream));
  if (!request) return false;
  const auto backend = first_up(request->backend);
  if (!backend) {
    static_cast<void>(facing_.connection.streams().writer().reset(stream, k_unavailable));
    static_cast<void>(facing_.connection.streams().reader().stop_sending(stream, k_unavailable));
    return false;
  }
  ConnectionHost& up = *upstream_[*backend];
  const auto opened = up.connection.streams().writer().open(Directionality::kBidirectional);
  if (!opened) return false;
  exchanges_[stream] = {
      .backend = *backend,
      .up = {.from = &facing_, .from_stream = stream, .to = &up, .to_stream = *opened},
      .down = {.from = &up, .from_stream = *opened, .to = &facing_, .to_stream = stream}};
  sides_[{*backend, *opened}] = stream;
  return true;
}

std::optional<std::size_t> ContentRelay::first_up(std::uint64_t wanted) const {
  for (std::size_t i = 0; i < upstream_.size(); ++i) {
    const std::size_t backend = (wanted + i) % upstream_.size();
    if (!down_[backend]) return backend;
  }
  return std::nullopt;
}

void ContentRelay::pump(Pipe& pipe, Time now) {
  while (!pipe.full && !pipe.finished) {
    const Bytes bytes = pipe.from->connection.streams().reader().peek(pipe.from_stream);
    SendChunk copy = SendChunk::copy_of(bytes);
    const auto read =
        pipe.from->connection.streams().reader().consume(pipe.from_stream, bytes.size(), now);
    if (!read || read->reset || (read->bytes == 0 && !read->finished)) return;
    pipe.finished = read->finished;
    const auto room = pipe.to->connection.streams().writer().write(pipe.to_stream, std::move(copy),
                                                                   pipe.finished);
    pipe.full = room && !*room;
    settle();
  }
}

void ContentRelay::fail(Exchange& exchange) {
  for (const Pipe* pipe : {&exchange.up, &exchange.down}) {
    static_cast<void>(
        pipe->to->connection.streams().writer().reset(pipe->to_stream, k_unavailable));
    static_cast<void>(
        pipe->from->connection.streams().reader().stop_sending(pipe->from_stream, k_unavailable));
  }
  settle();
}

void ContentRelay::set_down(std::size_t backend) {
  if (backend >= down_.size() || down_[backend]) return;
  down_[backend] = true;
  for (auto& [stream, exchange] : exchanges_) {
    if (exchange.backend == backend) fail(exchange);
  }
}

}  // namespace sheaf::quic
