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

std::string name_of(std::size_t backend) { return "backend " + std::to_string(backend); }
std::uint64_t process_of(std::size_t backend) { return 200 + backend; }

}  // namespace

ConnectionPair::Options ReturnNetwork::pair_options(const Options& options, Host& gateway) {
  return {.client = options.client,
          .server = options.gateway,
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
      alive_(options.backends.size(), true),
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
    exchange.backend = (exchange.backend + 1) % backends.size();
    delegate(orphan.stream, orphan.acknowledged, now);
  };
  pair.client.on_event = [this](const Event& event, Time now) {
    if (const auto* stream = std::get_if<StreamEvent>(&event)) on_client_event(*stream, now);
  };
  pair.server.on_event = [this](const Event& event, Time now) {
    if (const auto* stream = std::get_if<StreamEvent>(&event)) on_gateway_event(*stream, now);
  };
}

void ReturnNetwork::add_backend(std::size_t index) {
  const Time now = simulation.now();
  BackendExecutorHost& backend = backends.emplace_back(
      ExecutorConfig{.session = k_session, .process = process_of(index), .sources = {k_gateway}},
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
  if (!alive_[backend] || loss_.uniform() < options_.backends[backend].order_loss) return;
  const std::uint64_t message = messages_[to_backend ? 0 : 1]++;
  const std::optional<Duration> longer = fate ? fate(to_backend, message) : Duration{};
  if (!longer) return;
  simulation.after(options_.backends[backend].order + *longer, [this, backend, arrival] {
    if (alive_[backend]) arrival();
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

void ReturnNetwork::kill(std::size_t backend) {
  alive_[backend] = false;
  backends[backend].dead = true;
}

StreamId ReturnNetwork::request(std::size_t backend, std::uint64_t bytes) {
  StreamWriter& writer = pair.client.connection.streams().writer();
  const StreamId stream = *writer.open(Directionality::kBidirectional);
  const auto head = ContentRequest{.length = bytes, .backend = backend}.encode();
  static_cast<void>(writer.write(stream, SendChunk::copy_of(head), true));
  responses_[stream].wanted = bytes;
  return stream;
}

void ReturnNetwork::on_client_event(const StreamEvent& event, Time now) {
  if (event.kind != StreamEvent::Kind::kReadable) return;
  Response& response = responses_[event.stream];
  StreamReader& reader = pair.client.connection.streams().reader();
  for (;;) {
    const Bytes bytes = reader.peek(event.stream);
    response.intact &= matches_pattern(bytes, response.received);
    const auto result = reader.consume(event.stream, bytes.size(), now);
    if (!result) return;
    response.received += result->bytes;
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
  delegate(event.stream, 0, now);
}

// The request and its grant travel to the backend, and what it says travels back.
void ReturnNetwork::delegate(StreamId stream, std::uint64_t from, Time now) {
  const Exchange& exchange = exchanges_[stream];
  const std::size_t index = exchange.backend;
  if (index >= backends.size()) return respond(stream, from);
  auto grant = gateway.delegated.offer(stream, gateway.orders[index], now);
  if (!grant) return respond(stream, from);
  const Duration there = options_.backends[index].order;
  simulation.after(there, [this, index, stream, there, bytes = encode_grant(*grant)] {
    if (!alive_[index]) return;
    const auto read = decode_grant(bytes);
    const bool accepted =
        read &&
        backends[index].executor.accept(
            *read, std::make_unique<PatternPayload>(exchanges_[stream].end), simulation.now());
    const Duration back = there + options_.backends[index].thinks;
    simulation.after(back, [this, stream, accepted] {
      if (accepted && gateway.delegated.accept(stream, exchanges_[stream].end, simulation.now())) {
        return;
      }
      gateway.delegated.revoke(stream);
      respond(stream, 0);
    });
  });
}

// The gateway itself sends what no backend does.
void ReturnNetwork::respond(StreamId stream, std::uint64_t from) {
  ++proxied;
  const std::uint64_t end = exchanges_[stream].end;
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
