#include "direct_return/executor.h"

#include <algorithm>

#include "util/inplace_vector.h"
#include "wire/packet_header.h"

namespace sheaf::quic {

namespace {

constexpr std::size_t k_number_length = 4;
// A STREAM frame with an offset and without a length (RFC 9000 §19.8)
constexpr std::uint8_t k_stream_with_offset = 0x0c;
constexpr std::uint8_t k_stream_fin = 0x01;
constexpr std::size_t k_offset_length = 8;
// Refused runs of a grant that wait to be reported. Of more the gateway learns when nobody
// acknowledges them.
constexpr std::size_t k_max_unreported = 4 * Progress::k_max_refused;
constexpr std::size_t k_max_ended = 256;
constexpr std::uint64_t k_internal_error = 0x102;  // H3_INTERNAL_ERROR (RFC 9114 §8.1)

std::size_t frame_header_length(StreamId stream) {
  return 1 + varint_size(stream.value) + k_offset_length;
}

}  // namespace

Executor::Executor(ExecutorConfig config, Random& random, Time now)
    : config_(std::move(config)),
      random_(random),
      runs_(config_.max_runs),
      last_word_(now),
      last_said_(now) {}

bool Executor::is_permitted(const Address& source) const {
  return std::ranges::find(config_.sources, source) != config_.sources.end();
}

Status<GrantRefusal> Executor::accept(const Grant& grant, std::unique_ptr<PayloadSource> source,
                                      Time now) {
  if (grant.process != config_.process) return GrantRefusal::kForeignProcess;
  if (!is_permitted(grant.addresses.local)) return GrantRefusal::kForeignSource;
  if (grants_.contains(grant.id)) return GrantRefusal::kTaken;
  if (grants_.size() >= config_.max_grants) return GrantRefusal::kTooMany;
  if (!grant.keys.valid() || grant.first_offset > grant.limit) return GrantRefusal::kUnfit;
  auto known = clients_.find(grant.connection);
  if (known == clients_.end()) {
    known = clients_
                .try_emplace(grant.connection,
                             Client{.sealer = BoundedSealer(grant.keys, config_.crypto),
                                    .suite = grant.keys.suite,
                                    .addresses = grant.addresses,
                                    .client_id = grant.client_id,
                                    .grease_fixed_bit = grant.grease_fixed_bit,
                                    .settled = {}})
                .first;
  } else if (known->second.suite != grant.keys.suite) {
    return GrantRefusal::kUnfit;
  } else {
    // The grant may be older than the messages that changed keys and addresses meanwhile.
    static_cast<void>(known->second.sealer.follow(grant.keys));
  }
  ++known->second.grants;
  Granted& granted = grants_[grant.id];
  granted.connection = grant.connection;
  granted.stream = grant.stream;
  granted.first_offset = granted.highest_offset = grant.first_offset;
  granted.limit = grant.limit;
  granted.max_datagram = grant.max_datagram;
  granted.accepted_at = now;
  granted.silence = grant.silence;
  granted.source = std::move(source);
  mark_changed(grant.id, granted);
  return {};
}

void Executor::mark_changed(GrantId id, Granted& granted) {
  if (granted.changed) return;
  granted.changed = true;
  changed_.push_back(id);
}

void Executor::on_available(GrantId id) {
  const auto grant = grants_.find(id);
  if (grant != grants_.end()) mark_changed(id, grant->second);
}

void Executor::fail(GrantId id, std::uint64_t code) {
  if (grants_.contains(id)) end(id, GrantEnd::kReset, code);
}

// Runs of it that wait find no grant any more.
void Executor::forget(Grants::iterator grant) {
  const auto client = clients_.find(grant->second.connection);
  if (--client->second.grants == 0) clients_.erase(client);  // wipes its keys
  grants_.erase(grant);
}

void Executor::end(GrantId id, GrantEnd how, std::uint64_t code) {
  GrantEnded ended{.end = how, .grant = id, .code = code};
  if (const auto grant = grants_.find(id); grant != grants_.end()) {
    ended.offset = grant->second.highest_offset;
    ended.executed_end = grant->second.executed_end;
    forget(grant);
  }
  const bool told = std::ranges::any_of(
      ended_, [&](const GrantEnded& other) { return other.grant == id && other.end == how; });
  if (!told && ended_.size() < k_max_ended) ended_.push_back(ended);
}

bool Executor::receive(Bytes bytes, Time now) {
  const auto datagram = decode_run_datagram(bytes);
  if (!datagram || datagram->session != config_.session ||
      std::holds_alternative<std::vector<Progress>>(datagram->messages)) {
    return false;
  }
  last_word_ = std::max(last_word_, now);
  std::visit(
      [&](const auto& messages) {
        for (const auto& message : messages) handle(message, now);
      },
      datagram->messages);
  return true;
}

void Executor::handle(const RunMessage& run, Time now) {
  const auto grant = grants_.find(run.grant);
  if (grant == grants_.end()) {
    ++stats_.foreign;
    return end(run.grant, GrantEnd::kRevoke, 0);
  }
  Client& client = clients_.at(grant->second.connection);
  if (runs_.full()) return refuse(run, grant->second, client, RunRefusal::kTooMany);
  // Shorter waits than before must not change the order of the numbers.
  client.last_due = std::max(client.last_due, now + run.wait);
  runs_.push({.due = client.last_due,
              .dies = client.last_due + std::max(run.lifetime - run.wait, Duration::zero()),
              .run = run});
}

void Executor::handle(const Acknowledged& acknowledged, Time) {
  const auto grant = grants_.find(acknowledged.grant);
  if (grant == grants_.end()) {
    ++stats_.foreign;
    return;
  }
  grant->second.limit = std::max(grant->second.limit, acknowledged.limit);
  grant->second.source->release(acknowledged.offset);
}

void Executor::handle(const PhaseChange& change, Time) {
  const auto client = clients_.find(change.connection);
  if (client == clients_.end()) {
    ++stats_.foreign;
    return;
  }
  PhaseKeys keys;
  keys.suite = client->second.suite;
  keys.packet = change.packet;
  keys.packet.key_length = keys.header.key_length = key_length(keys.suite);
  keys.generation = change.generation;
  keys.first_number = change.first_number;
  // A repeated message changes nothing.
  static_cast<void>(client->second.sealer.follow(keys));
}

void Executor::handle(const AddressChange& change, Time) {
  const auto client = clients_.find(change.connection);
  if (client == clients_.end() || !is_permitted(change.addresses.local)) {
    ++stats_.foreign;
    return;
  }
  client->second.addresses = change.addresses;
  client->second.client_id = change.client_id;
  client->second.paused = change.paused;
}

void Executor::handle(const GrantEnded& ended, Time) {
  const auto grant = grants_.find(ended.grant);
  if (ended.end == GrantEnd::kStop) return end(ended.grant, GrantEnd::kFinish, 0);
  if (ended.end == GrantEnd::kRevoke && grant != grants_.end()) forget(grant);
}

void Executor::refuse(const RunMessage& run, Granted& granted, Client& client, RunRefusal reason) {
  if (client.settled.look_up(run.first, client.sealer.next_run()) ==
      SettledRuns::Answer::kSettled) {
    ++stats_.repeated;
    return;
  }
  ++stats_.refused[static_cast<std::size_t>(reason)];
  client.settled.on_refused(run.first);
  if (granted.refused < UINT16_MAX) ++granted.refused;
  granted.newest_refused.push_back(run.first);
  if (granted.newest_refused.size() > k_max_unreported) granted.newest_refused.pop_front();
  granted.unreported = std::min(granted.unreported + 1, granted.newest_refused.size());
  mark_changed(run.grant, granted);
}

std::optional<RunRefusal> Executor::check(const Waiting& waiting, const Granted& granted,
                                          const Client& client, Time now) const {
  const RunMessage& run = waiting.run;
  const std::size_t size = 1 + client.client_id.length + k_number_length +
                           frame_header_length(granted.stream) + run.bytes + k_aead_tag_length;
  if (now >= waiting.dies) return RunRefusal::kLate;
  if (client.paused) return RunRefusal::kPaused;
  if (size > granted.max_datagram || run.offset < granted.first_offset ||
      run.end() > granted.limit) {
    return RunRefusal::kOutOfBounds;
  }
  if (run.first < client.sealer.next_run()) return RunRefusal::kLow;
  return std::nullopt;
}

bool Executor::poll_transmit(TransmitBatch& batch, Time now) {
  batch.size = 0;
  while (runs_.next_due() <= now) {
    const Waiting waiting = runs_.pop();
    const RunMessage& run = waiting.run;
    const auto grant = grants_.find(run.grant);
    if (grant == grants_.end()) continue;
    Granted& granted = grant->second;
    Client& client = clients_.at(granted.connection);
    if (client.settled.look_up(run.first, client.sealer.next_run()) ==
        SettledRuns::Answer::kSettled) {
      ++stats_.repeated;
      continue;
    }
    auto refusal = check(waiting, granted, client, now);
    if (!refusal) refusal = execute(run, granted, client, batch);
    if (!refusal) return true;
    refuse(run, granted, client, *refusal);
    if (refusal == RunRefusal::kBroken) end(run.grant, GrantEnd::kReset, k_internal_error);
  }
  return false;
}

// The spin bit does not follow the client here, so it is random (RFC 9000 §17.4).
std::uint8_t Executor::first_byte(const Client& client) {
  const auto random = static_cast<std::uint8_t>(random_.next());
  const std::uint8_t fixed =
      client.grease_fixed_bit ? random & k_fixed_bit : std::uint8_t{k_fixed_bit};
  return static_cast<std::uint8_t>(fixed | (random & k_spin_bit) | client.sealer.key_phase_bit() |
                                   (k_number_length - 1));
}

std::optional<RunRefusal> Executor::execute(const RunMessage& run, Granted& granted, Client& client,
                                            TransmitBatch& batch) {
  const std::size_t header = 1 + client.client_id.length + k_number_length;
  const std::size_t payload = frame_header_length(granted.stream) + run.bytes;
  const std::size_t size = header + payload + k_aead_tag_length;
  if (size * run.packets > batch.buffer.size() || run.packets > batch.max_segments) {
    return RunRefusal::kOutOfBounds;
  }
  InplaceVector<SealJob, RunMessage::k_max_packets> jobs;
  for (std::size_t i = 0; i < run.packets; ++i) {
    const MutableBytes packet = batch.buffer.subspan(i * size, size);
    const std::uint64_t offset = run.offset + i * run.bytes;
    const bool fin = run.fin && i + 1u == run.packets;
    Writer out(packet);
    out.write_u8(first_byte(client));
    out.write_bytes(client.client_id.view());
    out.write_u32(static_cast<std::uint32_t>(run.first + i));
    out.write_u8(fin ? k_stream_with_offset | k_stream_fin : k_stream_with_offset);
    out.write_varint(granted.stream.value);
    out.write_varint(offset, k_offset_length);
    switch (granted.source->read(offset, {out.position(), run.bytes})) {
      case PayloadRead::kDone:
        break;
      case PayloadRead::kNotThere:
        return RunRefusal::kNoData;
      case PayloadRead::kBroken:
        return RunRefusal::kBroken;
    }
    jobs.push_back({.packet = packet.data(),
                    .payload_length = static_cast<std::uint32_t>(payload),
                    .header_length = static_cast<std::uint16_t>(header),
                    .packet_number_length = k_number_length,
                    .path = {},
                    .number = run.first + i});
  }
  if (!client.sealer.permit(run.first, run.packets, run.phase_name)) {
    return RunRefusal::kOtherPhase;
  }
  if (!client.sealer.seal(jobs.view())) return RunRefusal::kOtherPhase;
  client.settled.on_sent(run.first);
  granted.executed_end = run.first + run.packets;
  granted.highest_offset = std::max(granted.highest_offset, run.end());
  mark_changed(run.grant, granted);
  batch.size = size * run.packets;
  batch.segment_size = size;
  batch.path = client.addresses;
  batch.ecn = run.ecn;
  ++stats_.runs;
  stats_.packets += run.packets;
  stats_.bytes += batch.size;
  return std::nullopt;
}

std::vector<std::uint8_t> Executor::ended_message() {
  std::vector<GrantEnded> messages;
  const GrantEnd how = ended_.front().end;
  while (!ended_.empty() && ended_.front().end == how &&
         messages.size() < most_in_datagram(messages)) {
    messages.push_back(ended_.front());
    ended_.pop_front();
  }
  return encode_run_datagram({config_.session, std::move(messages)});
}

// A refused run is named in the next messages, too, since one may be lost.
std::vector<std::uint8_t> Executor::progress_message() {
  std::vector<Progress> messages;
  while (!changed_.empty() && messages.size() < most_in_datagram(messages)) {
    const GrantId id = changed_.front();
    const auto grant = grants_.find(id);
    if (grant == grants_.end()) {
      changed_.pop_front();
      continue;
    }
    Granted& granted = grant->second;
    Progress& message = messages.emplace_back();
    message.grant = id;
    message.available = granted.source->available();
    message.executed_end = granted.executed_end;
    message.refused = granted.refused;
    const std::size_t known = granted.newest_refused.size();
    const std::size_t oldest = std::max(granted.unreported, Progress::k_max_refused);
    const std::size_t from = known - std::min(oldest, known);
    const std::size_t to = std::min(from + Progress::k_max_refused, known);
    for (std::size_t i = from; i < to; ++i) {
      message.newest_refused.push_back(granted.newest_refused[i]);
    }
    granted.unreported = std::min(granted.unreported, known - to);
    if (granted.unreported > 0) continue;  // another message about it follows
    granted.changed = false;
    changed_.pop_front();
  }
  if (messages.empty()) return {};
  return encode_run_datagram({config_.session, std::move(messages)});
}

std::vector<std::uint8_t> Executor::poll_message(Time now) {
  std::vector<std::uint8_t> message;
  if (!ended_.empty()) {
    message = ended_message();
  } else if (!changed_.empty() && now >= last_progress_ + k_progress_interval) {
    message = progress_message();
    if (changed_.empty()) last_progress_ = now;
  }
  if (message.empty() && !grants_.empty() && now >= last_said_ + k_ping_interval) {
    message = encode_run_datagram({config_.session, std::vector{Ping{config_.process}}});
  }
  if (!message.empty()) last_said_ = now;
  return message;
}

Time Executor::silence_deadline() const {
  Time next = k_never;
  for (const auto& [id, granted] : grants_) {
    next = std::min(next, std::max(last_word_, granted.accepted_at) + granted.silence);
  }
  return next;
}

Time Executor::next_timeout() const {
  Time next = std::min(runs_.next_due(), silence_deadline());
  if (!grants_.empty()) next = std::min(next, last_said_ + k_ping_interval);
  if (!ended_.empty()) return Time::min();
  if (!changed_.empty()) next = std::min(next, last_progress_ + k_progress_interval);
  return next;
}

void Executor::on_timeout(Time now) {
  for (auto grant = grants_.begin(); grant != grants_.end();) {
    const auto next = std::next(grant);
    if (now >= std::max(last_word_, grant->second.accepted_at) + grant->second.silence) {
      ++stats_.expired;
      forget(grant);
    }
    grant = next;
  }
}

}  // namespace sheaf::quic
