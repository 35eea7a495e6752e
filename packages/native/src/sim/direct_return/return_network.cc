#include "sim/direct_return/return_network.h"

#include <algorithm>
#include <string>

#include "sim/addresses.h"
#include "sim/direct_return/pattern_payload.h"

namespace sheaf::quic {

namespace {

constexpr Address k_client = ipv4({192, 0, 2, 9}, 50000);
constexpr Address k_gateway = ipv4({203, 0, 113, 7}, 443);
constexpr std::uint32_t k_session = 1;
constexpr std::uint64_t k_gateway_process = 100;

// The gateway asks the next backend this time after a request was lost.
constexpr Duration k_answer_within = 600ms;
constexpr Duration k_doubt_interval = 10ms;
constexpr std::uint64_t k_internal_error = 0x102;  // H3_INTERNAL_ERROR

std::string name_of(std::size_t backend) { return "backend " + std::to_string(backend); }
std::uint64_t process_of(std::size_t backend) { return 200 + backend; }

}  // namespace

ConnectionPair::Options ReturnNetwork::pair_options(const Options& options, Host& gateway) {
  ConnectionConfig client = options.client;
  ConnectionConfig gateway_config = options.gateway;
  if (options.own_recovery) {
    offer_return_paths(client);
    offer_return_paths(gateway_config);
  }
  return {.client = client,
          .server = gateway_config,
          .path = client_path(),
          .server_name = "gateway",
          .client_host = options.client_host,
          .server_host = &gateway};
}

AddressPair ReturnNetwork::client_path() { return {.local = k_client, .remote = k_gateway}; }

ReturnNetwork::ReturnNetwork(std::uint64_t seed, const Options& options)
    : simulation(seed),
      pair(simulation, pair_options(options, gateway)),
      gateway(pair.server),
      access(simulation.connect({"client", k_client}, {"gateway", k_gateway}, options.access)),
      options_(options),
      links_(options.backends.size()),
      loss_(seed + 1) {
  simulation.lead_through(access, simulation.add_trunk({.delay = options.gateway_way}));
  for (std::size_t i = 0; i < options.backends.size(); ++i) add_backend(i);
  gateway.on_message = [this](std::size_t backend, std::vector<std::uint8_t> message) {
    carry(backend, true, [this, backend, message = as_read(std::move(message))] {
      backends[backend].executor.receive(message, simulation.now());
    });
  };
  gateway.on_orphan = [this](const DelegatedStreams::Orphan& orphan, Time now) {
    orphans.push_back(orphan);
    Exchange& exchange = exchanges_[orphan.stream];
    // What does not reach this client is not asked for its next responses.
    if (orphan.reason == DelegatedStreams::Orphan::Reason::kUnreachable) {
      links_[exchange.backend].unreachable = true;
    }
    exchange.from = orphan.acknowledged;
    exchange.refusals = 0;
    go_on(orphan.stream, now);
  };
  pair.client.on_event = [this](const Event& event, Time now) {
    if (const auto* stream = std::get_if<StreamEvent>(&event)) on_client_event(*stream, now);
  };
  pair.server.on_event = [this](const Event& event, Time now) {
    if (const auto* stream = std::get_if<StreamEvent>(&event)) on_gateway_event(*stream, now);
  };
}

void ReturnNetwork::add_backend(std::size_t index) {
  links_[index].loss = options_.backends[index].order_loss;
  const Time now = simulation.now();
  BackendExecutorHost& backend =
      backends.emplace_back(ExecutorConfig{.session = k_session,
                                           .process = process_of(index),
                                           .sources = {k_gateway},
                                           .lent_paths = options_.own_recovery},
                            simulation.random(), now);
  backend.on_message = [this, index](std::vector<std::uint8_t> message) {
    carry(index, false, [this, index, message = std::move(message)] {
      gateway.orders[index].receive(message, simulation.now());
    });
  };
  gateway.orders.emplace_back(
      RunOrders::Config{
          .session = k_session, .process = k_gateway_process, .backend_process = process_of(index)},
      now);
  simulation.add_host(name_of(index), backend);
  if (options_.backends[index].reaches) {
    simulation.connect_as(name_of(index), access, {.delay = options_.backends[index].way});
  }
}

// Lets something happen at the other end of the connection of gateway and backend.
void ReturnNetwork::carry(std::size_t backend, bool to_backend,
                          const std::function<void()>& arrival) {
  if (!connected(backend) || loss_.uniform() < links_[backend].loss) return;
  const std::uint64_t message = messages_[to_backend ? 0 : 1]++;
  const std::optional<Duration> longer = fate ? fate(to_backend, message) : Duration{};
  if (!longer) return;
  simulation.after(options_.backends[backend].order + *longer, [this, backend, arrival] {
    if (connected(backend)) arrival();
  });
}

std::vector<std::uint8_t> ReturnNetwork::as_read(std::vector<std::uint8_t> message) const {
  if (options_.backends_wait) return message;
  auto datagram = decode_run_datagram(message);
  auto* runs = datagram ? std::get_if<std::vector<RunMessage>>(&datagram->messages) : nullptr;
  if (runs == nullptr) return message;
  for (RunMessage& run : *runs) run.wait = {};
  return encode_run_datagram(*datagram);
}

bool ReturnNetwork::connected(std::size_t backend) const {
  return links_[backend].alive && !links_[backend].cut && !gateway.dead;
}

void ReturnNetwork::kill(std::size_t backend) {
  links_[backend].alive = false;
  backends[backend].dead = true;
}

void ReturnNetwork::kill_and_close(std::size_t backend) {
  kill(backend);
  simulation.after(options_.backends[backend].order,
                   [this, backend] { gateway.orders[backend].end_all(simulation.now()); });
}

void ReturnNetwork::kill_gateway() { gateway.dead = true; }

void ReturnNetwork::set_order_loss(double loss) {
  for (BackendLink& link : links_) link.loss = loss;
}

void ReturnNetwork::fail(std::size_t backend) { backends[backend].fail_all(); }

void ReturnNetwork::set_reading(bool reading) {
  reading_ = reading;
  if (!reading) return;
  for (const auto& [stream, response] : responses_) {
    if (!response.finished && !response.reset) read(stream, simulation.now());
  }
}

StreamId ReturnNetwork::request(std::size_t backend, std::uint64_t bytes) {
  StreamWriter& writer = pair.client.connection.streams().writer();
  const StreamId stream = *writer.open(Directionality::kBidirectional);
  const auto head = ContentRequest{.length = bytes, .backend = backend}.encode();
  static_cast<void>(writer.write(stream, SendChunk::copy_of(head), true));
  Response& response = responses_[stream];
  response.wanted = bytes;
  response.asked_at = response.progressed_at = simulation.now();
  return stream;
}

void ReturnNetwork::on_client_event(const StreamEvent& event, Time now) {
  if (event.kind == StreamEvent::Kind::kReset) responses_[event.stream].reset = true;
  if (event.kind == StreamEvent::Kind::kReadable && reading_) read(event.stream, now);
}

void ReturnNetwork::read(StreamId stream, Time now) {
  Response& response = responses_[stream];
  StreamReader& reader = pair.client.connection.streams().reader();
  for (;;) {
    const Bytes bytes = reader.peek(stream);
    response.intact &= matches_pattern(bytes, response.received);
    const auto result = reader.consume(stream, bytes.size(), now);
    if (!result) return;
    if (result->bytes > 0 || result->finished) {
      response.longest_stall = std::max(response.longest_stall, now - response.progressed_at);
      response.progressed_at = now;
    }
    if (response.received == 0 && result->bytes > 0) response.first_at = now;
    const bool before_body = response.received <= options_.head;
    response.received += result->bytes;
    if (before_body && response.received > options_.head) response.first_body_at = now;
    response.finished |= result->finished;
    if (result->finished) response.finished_at = now;
    if (result->bytes == 0) return;
  }
}

void ReturnNetwork::on_gateway_event(const StreamEvent& event, Time now) {
  if (event.kind != StreamEvent::Kind::kReadable) return;
  Exchange& exchange = exchanges_[event.stream];
  StreamReader& reader = pair.server.connection.streams().reader();
  for (;;) {
    const Bytes bytes = reader.peek(event.stream);
    exchange.head.insert(exchange.head.end(), bytes.begin(), bytes.end());
    const auto result = reader.consume(event.stream, bytes.size(), now);
    if (!result) return;
    if (result->finished) break;
    if (result->bytes == 0) return;
  }
  const auto wanted = ContentRequest::decode(exchange.head);
  exchange.backend = wanted->backend;
  exchange.end = wanted->length;
  // Responses take turns, so that backends do.
  pair.server.connection.streams().writer().set_priority(event.stream, {.incremental = true});
  delegate(event.stream, now);
}

// The request and its grant travel to the backend, and what it says travels back.
void ReturnNetwork::delegate(StreamId stream, Time now) {
  Exchange& exchange = exchanges_[stream];
  const std::size_t index = exchange.backend;
  const bool any = std::ranges::any_of(links_, [](const auto& link) { return !link.unreachable; });
  if (index >= backends.size() || !any) return respond(stream, exchange.from);
  if (links_[index].unreachable) return go_on(stream, now);
  if (options_.proxied) {
    return simulation.after(2 * options_.backends[index].order,
                            [this, stream] { respond(stream, 0); });
  }
  std::optional<ReturnStart> own;
  if (options_.own_recovery) own = options_.start;
  const auto grant = gateway.delegated.offer(stream, gateway.orders[index], now, own);
  if (!grant) return respond(stream, exchange.from);
  ++exchange.attempt;
  ask(index, stream, *grant);
}

void ReturnNetwork::ask(std::size_t backend, StreamId stream, const Grant& grant) {
  const Duration there = options_.backends[backend].order;
  const std::uint64_t attempt = exchanges_[stream].attempt;
  simulation.after(there, [this, backend, stream, attempt, bytes = encode_grant(grant)] {
    if (!connected(backend)) return give_up(stream, attempt);
    const Time asked_at = simulation.now();
    simulation.after(options_.backends[backend].decides, [=, this] {
      if (!links_[backend].alive) return give_up(stream, attempt);
      answer(backend, stream, attempt, decide(backend, stream, bytes, asked_at));
    });
  });
}

// A backend that begins when it is accepted, on a path of its own, leaves the head to the gateway.
std::unique_ptr<PayloadSource> ReturnNetwork::payload_of(StreamId stream) const {
  const bool leaves = options_.own_recovery && options_.start == ReturnStart::kWhenAccepted;
  return std::make_unique<PatternPayload>(leaves ? options_.head : 0, exchanges_.at(stream).end);
}

// Returns whether the backend accepts.
bool ReturnNetwork::decide(std::size_t backend, StreamId stream, Bytes bytes, Time asked_at) {
  const auto grant = decode_grant(bytes);
  const bool accepted = !links_[backend].drains && grant &&
                        backends[backend].executor.accept(
                            *grant, payload_of(stream), simulation.now(),
                            Executor::Whole{.end = exchanges_[stream].end, .asked_at = asked_at});
  if (accepted) backends[backend].granted.push_back(grant->id);
  return accepted;
}

// What has left arrives, even if the backend dies meanwhile.
void ReturnNetwork::answer(std::size_t backend, StreamId stream, std::uint64_t attempt,
                           bool accepted) {
  const ReturnNetwork::Backend& way = options_.backends[backend];
  simulation.after(way.thinks + way.order, [=, this] {
    if (links_[backend].cut || gateway.dead) return give_up(stream, attempt);
    on_answer(stream, attempt, accepted);
  });
}

// The request, or its answer, was lost with the connection of both nodes.
void ReturnNetwork::give_up(StreamId stream, std::uint64_t attempt) {
  simulation.after(k_answer_within, [this, stream, attempt] {
    if (exchanges_[stream].attempt != attempt || gateway.dead) return;
    gateway.delegated.revoke(stream);
    go_on_without_answer(stream, attempt);
  });
}

// The client may have bytes that the backend sent before its answer was lost.
void ReturnNetwork::go_on_without_answer(StreamId stream, std::uint64_t attempt) {
  const Time now = simulation.now();
  if (exchanges_[stream].attempt != attempt || gateway.dead) return;
  switch (gateway.delegated.doubt(stream, now)) {
    case DelegatedStreams::Doubt::kNone:
      return go_on(stream, now);
    case DelegatedStreams::Doubt::kOpen:
      return simulation.after(k_doubt_interval,
                              [=, this] { go_on_without_answer(stream, attempt); });
    case DelegatedStreams::Doubt::kTaken:
      static_cast<void>(pair.server.connection.streams().writer().reset(stream, k_internal_error));
  }
}

void ReturnNetwork::on_answer(StreamId stream, std::uint64_t attempt, bool accepted) {
  Exchange& exchange = exchanges_[stream];
  if (exchange.attempt != attempt) return;
  const Time now = simulation.now();
  if (!accepted) {
    gateway.delegated.decline(stream, now);
    if (++exchange.refusals == backends.size()) return respond(stream, exchange.from);
    return go_on(stream, now);
  }
  if (exchange.end < gateway.delegated.first_bytes(stream)) {
    gateway.delegated.drop_first(stream, now);
  }
  if (options_.head > 0 && !std::exchange(exchange.began, true)) {
    const Bytes head = pattern_from(0, options_.head);
    static_cast<void>(pair.server.connection.streams().writer().replace(
        stream, 0, SendChunk::copy_of(head), false));
  }
  if (gateway.delegated.accept(stream, exchange.end, now)) return;
  gateway.delegated.revoke(stream);
  respond(stream, exchange.from);
}

// Asks the next backend.
void ReturnNetwork::go_on(StreamId stream, Time now) {
  Exchange& exchange = exchanges_[stream];
  exchange.backend = (exchange.backend + 1) % backends.size();
  delegate(stream, now);
}

// The gateway itself sends what no backend does.
void ReturnNetwork::respond(StreamId stream, std::uint64_t from) {
  ++proxied;
  const Exchange& exchange = exchanges_[stream];
  const std::uint64_t end = exchange.end;
  if (exchange.began) from = std::max(from, options_.head);
  StreamWriter& writer = pair.server.connection.streams().writer();
  while (from < end) {
    const Bytes piece = pattern_from(from, end - from);
    const auto write = [&](bool fin) {
      return bool(writer.replace(stream, from, SendChunk(piece, nullptr, nullptr), fin));
    };
    // The end may be known already.
    const bool last = from + piece.size() == end;
    if (!(last && write(true)) && !write(false)) return;
    from += piece.size();
  }
}

// The gateway counts packets of runs as its own.
ReturnNetwork::Traffic ReturnNetwork::traffic() const {
  const PathStats path = pair.server.connection.paths().stats().front();
  Traffic traffic{.packets = path.packets_sent, .lost = path.packets_lost};
  if (!options_.own_recovery) return traffic;
  for (const BackendExecutorHost& backend : backends) {
    traffic.packets += backend.executor.stats().packets;
    traffic.lost += backend.executor.packets_lost();
  }
  return traffic;
}

bool ReturnNetwork::all_finished() const {
  return std::ranges::all_of(responses_, [](const auto& entry) { return entry.second.finished; });
}

bool ReturnNetwork::all_intact() const {
  return std::ranges::all_of(responses_, [](const auto& entry) {
    const Response& response = entry.second;
    return response.intact && (!response.finished || response.received == response.wanted);
  });
}

}  // namespace sheaf::quic
