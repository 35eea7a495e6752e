#include "direct_return/executor.h"

#include <algorithm>

#include "direct_return/silence.h"
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
constexpr std::size_t k_max_failed = 64;
constexpr std::uint64_t k_internal_error = 0x102;  // H3_INTERNAL_ERROR (RFC 9114 §8.1)

std::size_t frame_header_length(StreamId stream) {
  return 1 + varint_size(stream.value) + k_offset_length;
}

}  // namespace

Executor::Executor(ExecutorConfig config, Random& random, Time now)
    : config_(std::move(config)),
      random_(random),
      own_(config_.session, config_.crypto, random),
      runs_(config_.max_runs),
      last_word_(now) {}

bool Executor::is_permitted(const Address& source) const {
  return std::ranges::find(config_.sources, source) != config_.sources.end();
}

Status<GrantRefusal> Executor::accept(const Grant& grant, std::unique_ptr<PayloadSource> source,
                                      Time now, std::optional<Whole> whole) {
  if (grant.process != config_.process) return GrantRefusal::kForeignProcess;
  if (!is_permitted(grant.addresses.local)) return GrantRefusal::kForeignSource;
  if (grants_.contains(grant.id) || own_.contains(grant.id)) return GrantRefusal::kTaken;
  if (grants() >= config_.max_grants) return GrantRefusal::kTooMany;
  if (!grant.keys.valid() || grant.first_offset > grant.limit) return GrantRefusal::kUnfit;
  if (is_lent_path(grant.connection)) {
    if (!config_.lent_paths) return GrantRefusal::kUnfit;
    if (own_.accept(grant, std::move(source), now)) return {};
    return GrantRefusal::kUnfit;
  }
  auto known = clients_.find(grant.connection);
  if (known == clients_.end()) {
    known = clients_
                .try_emplace(grant.connection,
                             Client{.sealer = BoundedSealer(grant.keys, config_.crypto),
                                    .suite = grant.keys.suite,
                                    .phases = PhaseSealer(grant.keys),
                                    .addresses = grant.addresses,
                                    .client_id = grant.client_id,
                                    .grease_fixed_bit = grant.grease_fixed_bit,
                                    .grants = {},
                                    .settled = {}})
                .first;
  } else if (known->second.suite != grant.keys.suite) {
    return GrantRefusal::kUnfit;
  } else {
    // The grant may be older than the messages that changed keys and addresses meanwhile.
    static_cast<void>(known->second.sealer.follow(grant.keys));
  }
  known->second.grants.push_back(grant.id);
  Granted& granted = grants_[grant.id];
  granted.connection = grant.connection;
  granted.stream = grant.stream;
  granted.first_offset = grant.first_offset;
  granted.limit = grant.limit;
  granted.max_datagram = grant.max_datagram;
  granted.accepted_at = granted.reported_at = now;
  granted.silence = grant.silence;
  granted.source = std::move(source);
  if (whole) take_first(grant, granted, *whole);
  times_.set(grant.id, due_of(granted));
  mark_available(grant.id, granted);
  return {};
}

// The gateway knows by the length of the response whether such a packet can be.
void Executor::take_first(const Grant& grant, Granted& granted, const Whole& whole) {
  const std::uint16_t bytes = grant.first.bytes;
  if (bytes == 0 || whole.end < bytes) return;
  granted.first = Waiting{.due = whole.asked_at,
                          .dies = whole.asked_at + grant.first.lifetime,
                          .run = {.grant = grant.id,
                                  .first = grant.first.number,
                                  .bytes = bytes,
                                  .packets = 1,
                                  .phase_name = grant.keys.phase_name(),
                                  .fin = whole.end == bytes}};
  first_due_.push_back(grant.id);
}

Time Executor::due_of(const Granted& granted) const {
  const Time dies = granted.first ? granted.first->dies : k_never;
  return std::min({granted.reported_at + k_repeat_interval, silent_at(granted), dies});
}

// The gateway knows that the grant is accepted. What it lacks are bytes that it may order. While a
// first packet waits for its own, there are none.
void Executor::mark_available(GrantId id, Granted& granted) {
  if (granted.first) return;
  const bool more = granted.orderable();
  if (granted.announced || more) mark_changed(id, granted);
  announces_ = announces_ || (more && !granted.announced);
}

void Executor::mark_changed(GrantId id, Granted& granted) {
  if (granted.changed || granted.revoked) return;
  granted.changed = true;
  changed_.push_back(id);
}

void Executor::on_available(GrantId id) {
  const auto grant = grants_.find(id);
  if (grant == grants_.end()) return own_.on_available(id);
  if (grant->second.first) first_due_.push_back(id);
  mark_available(id, grant->second);
}

void Executor::fail(GrantId id, std::uint64_t code) {
  if (grants_.contains(id) || own_.contains(id))
    end({.end = GrantEnd::kReset, .grant = id, .code = code});
}

// Its keys have changed, or its address.
void Executor::report_all(const Client& client) {
  for (const GrantId id : client.grants) mark_changed(id, grants_.at(id));
}

// Runs of it that wait find no grant any more.
void Executor::forget(Grants::iterator grant) {
  const auto client = clients_.find(grant->second.connection);
  std::erase(client->second.grants, grant->first);
  if (client->second.grants.empty()) clients_.erase(client);  // wipes its keys
  times_.erase(grant->first);
  grants_.erase(grant);
}

void Executor::end(const GrantEnded& ended) {
  if (own_.contains(ended.grant)) {
    own_.forget(ended.grant);
  } else {
    forget(grants_.find(ended.grant));
  }
  if (ended.end == GrantEnd::kReset) remember_failed(ended);
  say_ended(ended);
}

void Executor::remember_failed(const GrantEnded& ended) {
  failed_.push_back(ended);
  if (failed_.size() > k_max_failed) failed_.pop_front();
}

void Executor::say_ended(const GrantEnded& ended) {
  if (std::ranges::find(ended_, ended.grant, &GrantEnded::grant) != ended_.end()) return;
  if (ended_.size() < k_max_ended) ended_.push_back(ended);
}

void Executor::answer_unknown(GrantId id) {
  ++stats_.foreign;
  const auto failed = std::ranges::find(failed_, id, &GrantEnded::grant);
  say_ended(failed == failed_.end() ? GrantEnded{.end = GrantEnd::kRevoke, .grant = id} : *failed);
}

bool Executor::receive(Bytes bytes, Time now) {
  const auto datagram = decode_run_datagram(bytes);
  if (!datagram || datagram->session != config_.session) return false;
  const auto* ended = std::get_if<std::vector<GrantEnded>>(&datagram->messages);
  const bool of_backend = std::holds_alternative<std::vector<Progress>>(datagram->messages) ||
                          std::holds_alternative<std::vector<SenderState>>(datagram->messages) ||
                          std::holds_alternative<std::vector<Delivered>>(datagram->messages) ||
                          std::holds_alternative<std::vector<VoidRuns>>(datagram->messages) ||
                          (ended && ended->front().end == GrantEnd::kReset);
  const bool of_path = std::holds_alternative<std::vector<AckReport>>(datagram->messages);
  if (of_backend || (of_path && !config_.lent_paths)) return false;
  last_word_ = std::max(last_word_, now);
  if (!std::holds_alternative<std::vector<RunMessage>>(datagram->messages)) {
    arrivals_.note(datagram->number, now);
  } else if (!arrivals_.take(datagram->number, now)) {
    ++stats_.unwanted;
    return true;
  }
  std::visit(
      [&](const auto& messages) {
        for (const auto& message : messages) handle(message, now);
      },
      datagram->messages);
  return true;
}

void Executor::handle(const RunMessage& run, Time now) {
  const auto grant = grants_.find(run.grant);
  if (grant == grants_.end() || grant->second.revoked) return answer_unknown(run.grant);
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
    if (!own_.handle(acknowledged)) answer_unknown(acknowledged.grant);
    return;
  }
  grant->second.limit = std::max(grant->second.limit, acknowledged.limit);
  grant->second.source->release(acknowledged.offset);
}

void Executor::handle(const AckReport& report, Time now) {
  if (!own_.handle(report, now)) answer_unknown(report.path);
}

void Executor::handle(const PhaseChange& change, Time) {
  if (is_lent_path(change.connection)) {
    if (!own_.handle(change)) ++stats_.foreign;
    return;
  }
  const auto client = clients_.find(change.connection);
  if (client == clients_.end()) {
    ++stats_.foreign;
    return;
  }
  const auto keys = client->second.phases.open(change);
  if (!keys) {
    ++stats_.foreign;
    return;
  }
  // A repeated message changes nothing, and is answered, since the confirmation may have been lost.
  static_cast<void>(client->second.sealer.follow(*keys));
  report_all(client->second);
}

void Executor::handle(const AddressChange& change, Time now) {
  if (is_lent_path(change.connection)) {
    if (!is_permitted(change.addresses.local)) {
      const GrantId path = lent_path_of(change.connection);
      if (own_.end(path)) say_ended({.end = GrantEnd::kRevoke, .grant = path});
    } else if (!own_.handle(change, now)) {
      ++stats_.foreign;
    }
    return;
  }
  const auto found = clients_.find(change.connection);
  if (found == clients_.end()) {
    ++stats_.foreign;
    return;
  }
  Client& client = found->second;
  if (!is_permitted(change.addresses.local)) {
    // It can do nothing for the connection any more.
    for (const GrantId id : std::vector(client.grants)) {
      end({.end = GrantEnd::kRevoke, .grant = id});
    }
    return;
  }
  if (change.number > client.address) {
    client.address = change.number;
    client.addresses = change.addresses;
    client.client_id = change.client_id;
    client.paused = change.paused;
  }
  report_all(client);
}

// Runs that wait have their numbers, and none of them waits for long. If they did not leave, their
// packets would count as lost, and every request that a client cancels would shrink its congestion
// window.
void Executor::handle(const GrantEnded& ended, Time) {
  const auto grant = grants_.find(ended.grant);
  if (grant == grants_.end()) {
    own_.end(ended.grant);
  } else if (runs_.has_run_of(ended.grant)) {
    grant->second.revoked = true;
    grant->second.first.reset();
  } else {
    forget(grant);
  }
}

void Executor::forget_revoked(GrantId id) {
  const auto grant = grants_.find(id);
  if (grant == grants_.end() || !grant->second.revoked) return;
  if (!runs_.has_run_of(id)) forget(grant);
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
  granted.tellings = k_tellings;
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
  if (own_.poll_transmit(batch, last_word_, now)) {
    stats_.packets += batch.segments();
    stats_.bytes += batch.size;
    return true;
  }
  while (const auto broken = own_.poll_broken()) {
    const GrantEnded failed{.end = GrantEnd::kReset, .grant = *broken, .code = k_internal_error};
    remember_failed(failed);
    say_ended(failed);
  }
  batch.size = 0;
  while (!first_due_.empty()) {
    const GrantId id = first_due_.front();
    first_due_.pop_front();
    if (send_first(id, batch, now)) return true;
  }
  while (runs_.next_due() <= now) {
    const Waiting waiting = runs_.pop();
    const RunMessage& run = waiting.run;
    const auto grant = grants_.find(run.grant);
    if (grant == grants_.end()) continue;
    Granted& granted = grant->second;
    Client& client = clients_.at(granted.connection);
    bool sent = false;
    if (client.settled.look_up(run.first, client.sealer.next_run()) ==
        SettledRuns::Answer::kSettled) {
      ++stats_.repeated;
    } else {
      sent = carry_out(waiting, granted, batch, now);
    }
    forget_revoked(run.grant);
    if (sent) return true;
  }
  return false;
}

bool Executor::carry_out(const Waiting& waiting, Granted& granted, TransmitBatch& batch, Time now) {
  Client& client = clients_.at(granted.connection);
  const RunMessage& run = waiting.run;
  auto refusal = check(waiting, granted, client, now);
  if (!refusal) refusal = execute(run, granted, client, batch);
  if (!refusal) return true;
  refuse(run, granted, client, *refusal);
  if (refusal == RunRefusal::kBroken) fail(run.grant, k_internal_error);
  return false;
}

bool Executor::send_first(GrantId id, TransmitBatch& batch, Time now) {
  const auto grant = grants_.find(id);
  if (grant == grants_.end() || !grant->second.first) return false;
  Granted& granted = grant->second;
  const Waiting first = *granted.first;
  if (now < first.dies && granted.source->available() < first.run.end()) return false;
  granted.first.reset();
  const bool sent = carry_out(first, granted, batch, now);
  settle_first(id, sent ? first.run.end() : 0);
  return sent;
}

// From now on, orders bring what the first packet did not.
void Executor::settle_first(GrantId id, std::uint64_t begun) {
  const auto grant = grants_.find(id);
  if (grant == grants_.end()) return;  // its source is broken
  grant->second.begun = begun;
  mark_available(id, grant->second);
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
Progress Executor::report(GrantId id, Granted& granted, Time now) {
  const Client& client = clients_.at(granted.connection);
  Progress message;
  message.grant = id;
  message.available = granted.source->available();
  message.executed_end = granted.executed_end;
  message.generation = static_cast<std::uint32_t>(client.sealer.generation());
  message.address = client.address;
  message.refused = granted.refused;
  const std::size_t known = granted.newest_refused.size();
  const std::size_t oldest = std::max(granted.unreported, Progress::k_max_refused);
  const std::size_t from = known - std::min(oldest, known);
  const std::size_t to = std::min(from + Progress::k_max_refused, known);
  for (std::size_t i = from; i < to; ++i) {
    message.newest_refused.push_back(granted.newest_refused[i]);
  }
  granted.unreported = std::min(granted.unreported, known - to);
  granted.reported_at = now;
  granted.announced = granted.orderable();
  return message;
}

std::vector<std::uint8_t> Executor::progress_message(Time now) {
  std::vector<Progress> messages;
  while (!changed_.empty() && messages.size() < most_in_datagram(messages)) {
    const GrantId id = changed_.front();
    const auto grant = grants_.find(id);
    if (grant == grants_.end() || grant->second.revoked) {
      changed_.pop_front();
      continue;
    }
    Granted& granted = grant->second;
    messages.push_back(report(id, granted, now));
    if (granted.unreported > 0) continue;  // another message about it follows
    granted.changed = false;
    changed_.pop_front();
    if (granted.tellings > 0 && --granted.tellings > 0) again_.push_back(id);
  }
  if (messages.empty()) return {};
  return encode_run_datagram({config_.session, std::move(messages)});
}

void Executor::tell_again() {
  for (const GrantId id : std::exchange(again_, {})) {
    const auto grant = grants_.find(id);
    if (grant == grants_.end()) continue;
    grant->second.unreported = grant->second.newest_refused.size();
    mark_changed(id, grant->second);
  }
}

std::vector<std::uint8_t> Executor::poll_message(Time now) {
  if (!ended_.empty()) return ended_message();
  if (auto lost = arrivals_.poll(now); !lost.empty()) {
    return encode_run_datagram({config_.session, std::move(lost)});
  }
  if (auto message = own_.poll_message(now); !message.empty()) return message;
  if (changed_.empty() || (now < next_progress_ && !announces_)) return {};
  auto message = progress_message(now);
  if (changed_.empty() || ++progress_said_ == k_max_progress) {
    next_progress_ = now + k_progress_interval;
    progress_said_ = 0;
    announces_ = false;
    tell_again();
  }
  return message;
}

Time Executor::next_timeout() const {
  if (!ended_.empty() || !first_due_.empty()) return Time::min();
  const Time next =
      std::min({runs_.next_due(), times_.next(), own_.next_timeout(last_word_), arrivals_.next()});
  if (changed_.empty()) return next;
  return announces_ ? Time::min() : std::min(next, next_progress_);
}

void Executor::on_timeout(Time now) {
  stats_.expired += own_.on_timeout(last_word_, now);
  while (const auto id = times_.pop(now)) {
    const auto grant = grants_.find(*id);
    Granted& granted = grant->second;
    const bool doubted = std::exchange(granted.doubted, now >= silent_at(granted));
    if (granted.doubted && doubted) {
      ++stats_.expired;
      forget(grant);
      continue;
    }
    if (granted.doubted) {
      // What has come while this process did not run is read first.
      times_.set(*id, now + Silence::k_to_read);
      continue;
    }
    if (granted.first && now >= granted.first->dies) {
      const RunMessage late = std::exchange(granted.first, {})->run;
      refuse(late, granted, clients_.at(granted.connection), RunRefusal::kLate);
      settle_first(*id, 0);
    }
    if (now >= granted.reported_at + k_repeat_interval) {
      granted.reported_at = now;
      mark_changed(*id, granted);
    }
    times_.set(*id, due_of(granted));
  }
}

}  // namespace sheaf::quic
