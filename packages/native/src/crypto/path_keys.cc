#include "crypto/path_keys.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "crypto/key_schedule.h"
#include "wire/packet_header.h"

namespace sheaf::quic {
namespace {

void fail(OpenedPacket& packet, TransportErrorCode error) {
  packet.outcome = OpenedPacket::Outcome::kError;
  packet.error = error;
}

DirectionKeys first_phase(const TrafficSecret& secret) {
  return {.secret = secret, .header_key = derive_header_key(secret)};
}

}  // namespace

PathKeys::Send::Send(const DirectionKeys& first, CryptoProvider provider)
    : keys(first),
      aead(make_aead(first.secret, provider)),
      header_protection(make_header_protection(first.secret.suite, first.header_key, provider)) {}

void PathKeys::Send::advance(CryptoProvider provider) {
  keys.secret = next_generation(keys.secret);
  aead = make_aead(keys.secret, provider);
  ++keys.generation;
  used = false;
  acknowledged = false;
  first_sent.clear();
}

PathKeys::Receive::Receive(const DirectionKeys& first, CryptoProvider provider)
    : keys(first),
      aead(make_aead(first.secret, provider)),
      header_protection(make_header_protection(first.secret.suite, first.header_key, provider)) {
  prepare_next(provider);
}

void PathKeys::Receive::prepare_next(CryptoProvider provider) {
  next_secret = next_generation(keys.secret);
  next = make_aead(next_secret, provider);
}

// Advances the keys, since the next generation has opened a packet.
void PathKeys::Receive::advance() {
  keys.secret = next_secret;
  previous = std::move(aead);
  aead = std::move(next);
  previous_until = k_never;
  ++keys.generation;
  first_received.clear();
}

// Discards old keys after three PTO (RFC 9001 §6.5). Only then the following keys are derived, so
// that the packet that updates the keys takes no longer than others (§9.5).
void PathKeys::Receive::expire_previous(CryptoProvider provider, Time now) {
  if (!previous || now < previous_until) return;
  previous.reset();
  prepare_next(provider);
}

PathKeys::PathKeys(const PathHandOver& state, CryptoProvider provider) : provider_(provider) {
  const CipherSuite suite = (state.send ? state.send : state.receive)->secret.suite;
  usage_ = state.mode == KeyMode::kShared ? AeadUsage::part(suite) : AeadUsage(suite);
  may_be_behind_ = state.mode == KeyMode::kShared;
  usage_.on_sealed(state.sealed);
  usage_.on_forged(state.forged);
  if (state.send) {
    send_.emplace(*state.send, provider);
    send_->used = true;  // perhaps, by the earlier node
  }
  if (!state.receive) return;
  receive_.emplace(*state.receive, provider);
  receive_->last_opened_generation = receive_->keys.generation;
}

void PathKeys::save(PathHandOver& state) const {
  if (send_) state.send = send_->keys;
  if (receive_) state.receive = receive_->keys;
}

// Returns whether the header keys are the same, which stay for the life of the connection, whatever
// the key phase.
bool PathKeys::same_header_keys(const PathHandOver& state) const {
  const auto same = [](const auto& own, const std::optional<DirectionKeys>& given) {
    return own.has_value() == given.has_value() &&
           (!own || own->keys.header_key.key == given->header_key.key);
  };
  return same(send_, state.send) && same(receive_, state.receive);
}

void PathKeys::install_send_secret(const TrafficSecret& secret) {
  send_.emplace(first_phase(secret), provider_);
  if (!receive_) usage_ = AeadUsage(secret.suite);
}

void PathKeys::install_receive_secret(const TrafficSecret& secret) {
  receive_.emplace(first_phase(secret), provider_);
  if (!send_) usage_ = AeadUsage(secret.suite);
}

std::uint8_t PathKeys::key_phase_bit() const {
  return send_ && (send_->keys.generation & 1) != 0 ? k_key_phase_bit : 0;
}

void PathKeys::seal(std::span<const SealJob> jobs) {
  send_->used = true;
  if (!send_->acknowledged) {
    for (const SealJob& job : jobs) send_->first_sent.add(job.path, job.number);
  }
  usage_.on_sealed(jobs.size());
  send_->aead->seal(jobs);
  send_->header_protection->protect(jobs);
}

PhaseKeys PathKeys::phase_for_sending(PathId path, PacketNumber first_number) const {
  const DirectionKeys& keys = send_->keys;
  return {.suite = keys.secret.suite,
          .path = path,
          .packet = derive_packet_keys(keys.secret),
          .header = keys.header_key,
          .generation = keys.generation,
          .first_number = first_number};
}

void PathKeys::note_numbered_elsewhere(PathId path, PacketNumber first, std::uint64_t count) {
  send_->used = true;
  if (!send_->acknowledged) send_->first_sent.add(path, first);
  usage_.on_sealed(count);
}

OpenedPacket PathKeys::open(MutableBytes packet, std::size_t packet_number_offset, PathId path,
                            PacketNumber largest_received, Time now) {
  // Every return uses this one object, so that it is built in the caller's memory.
  OpenedPacket opened;
  if (acknowledged_with_old_keys_) {
    fail(opened, TransportErrorCode::kKeyUpdateError);
    return opened;
  }
  Receive& receive = *receive_;
  receive.expire_previous(provider_, now);

  const auto unprotected =
      remove_header_protection(*receive.header_protection, packet, packet_number_offset);
  if (!unprotected) return opened;
  const std::size_t header_length = packet_number_offset + unprotected->packet_number_length;
  opened.number = decode_packet_number(largest_received, unprotected->truncated_packet_number,
                                       unprotected->packet_number_length);
  // RFC 9001 §6.3: the other phase is the previous one while its keys exist, and later the next
  // one. There are always keys to try, so a forged phase bit takes the same time.
  const bool phase = (packet[0] & k_key_phase_bit) != 0;
  const bool is_current = may_be_behind_ || phase == ((receive.keys.generation & 1) != 0);
  const std::uint64_t updates_before = updates();
  const bool genuine = may_be_behind_
                           ? find_generation(packet, header_length, path, opened.number)
                           : decrypt(packet, header_length, path, opened.number, is_current);
  if (!genuine) {
    usage_.on_forged();
    if (usage_.forgery_limit_reached()) fail(opened, TransportErrorCode::kAeadLimitReached);
    return opened;
  }
  opened.outcome = OpenedPacket::Outcome::kOpened;
  opened.payload =
      packet.subspan(header_length).first(packet.size() - header_length - k_aead_tag_length);
  opened.generation = receive.last_opened_generation = receive.keys.generation;
  if (std::exchange(may_be_behind_, false)) {
    opened.key_updated = updates() > updates_before;
  } else if (is_current) {
    if (receive.previous) receive.first_received.add(path, opened.number);
  } else if (receive.previous) {
    // RFC 9001 §6.4: old keys must not be used above a packet number that had newer ones.
    const auto lowest = receive.first_received.lowest(path);
    if (lowest && opened.number > *lowest) {
      fail(opened, TransportErrorCode::kKeyUpdateError);
      return opened;
    }
    opened.generation = receive.last_opened_generation = receive.keys.generation - 1;
  } else {
    receive.first_received.clear();
    on_peer_update(opened);
    receive.first_received.add(path, opened.number);
  }
  return opened;
}

bool PathKeys::decrypt(MutableBytes packet, std::size_t header_length, PathId path,
                       PacketNumber number, bool is_current) {
  Receive& receive = *receive_;
  Aead& aead = is_current ? *receive.aead : receive.previous ? *receive.previous : *receive.next;
  const MutableBytes header = packet.first(header_length);
  const MutableBytes payload = packet.subspan(header_length);
  if (is_current || !receive.previous) return aead.open_in_place(header, payload, path, number);
  // The peer may update again sooner than we expect, if its probe timeout is shorter (RFC 9001
  // §6.5). If the number is higher than that of newer keys, the other phase is rather the next one.
  const auto lowest_new = receive.first_received.lowest(path);
  std::vector<std::uint8_t> sealed;
  if (lowest_new && number > *lowest_new) sealed.assign(payload.begin(), payload.end());
  if (aead.open_in_place(header, payload, path, number)) return true;
  if (sealed.empty()) return false;
  std::ranges::copy(sealed, payload.begin());
  if (!receive.next) receive.prepare_next(provider_);
  const bool genuine = receive.next->open_in_place(header, payload, path, number);
  if (genuine) receive.previous.reset();
  return genuine;
}

bool PathKeys::find_generation(MutableBytes packet, std::size_t header_length, PathId path,
                               PacketNumber number) {
  constexpr std::uint64_t k_max_missed = 8;
  Receive& receive = *receive_;
  const MutableBytes payload = packet.subspan(header_length);
  const std::vector<std::uint8_t> sealed(payload.begin(), payload.end());
  const std::uint64_t phase = (packet[0] & k_key_phase_bit) != 0 ? 1 : 0;
  DirectionKeys keys = receive.keys;
  for (std::uint64_t missed = 0; missed <= k_max_missed; ++missed) {
    if ((keys.generation & 1) == phase) {
      std::unique_ptr<Aead> aead = make_aead(keys.secret, provider_);
      std::ranges::copy(sealed, payload.begin());
      if (aead->open_in_place(packet.first(header_length), payload, path, number)) {
        receive.keys = keys;
        receive.aead = std::move(aead);
        receive.prepare_next(provider_);
        while (send_ && send_->keys.generation < keys.generation) advance_send();
        return true;
      }
    }
    keys.secret = next_generation(keys.secret);
    ++keys.generation;
  }
  return false;
}

void PathKeys::advance_send() {
  send_->advance(provider_);
  usage_.on_new_key();
}

// Follows the peer's update, since the first packet of the next generation is genuine (RFC 9001
// §6.2).
void PathKeys::on_peer_update(OpenedPacket& packet) {
  receive_->advance();
  packet.began_phase = true;
  packet.generation = receive_->last_opened_generation = receive_->keys.generation;
  // This may be the response to our update.
  if (!send_ || send_->keys.generation >= receive_->keys.generation) return;
  // This is a second update although nothing of ours can have confirmed the first.
  if (send_->keys.generation > 0 && !send_->used) {
    return fail(packet, TransportErrorCode::kKeyUpdateError);
  }
  advance_send();
  packet.key_updated = true;
}

bool PathKeys::initiate_update(Time now, Duration probe_timeout) {
  if (!send_) return false;
  const Send& send = *send_;
  // RFC 9001 §6.1: not before a packet of this phase was acknowledged. RFC 9001 §6.5 and RFC 10069
  // §5.6: and not before the peer has dropped the keys of the previous phase.
  if (!send.acknowledged) return false;
  if (send.keys.generation > 0 && now < send.acknowledged_at + 3 * probe_timeout) return false;
  // Our own previous keys have the same phase bit as the keys that the peer will answer with.
  if (receive_) {
    receive_->expire_previous(provider_, now);
    if (receive_->previous) return false;
  }
  advance_send();
  return true;
}

void PathKeys::on_acknowledged(PathId path, PacketNumber number, Time now) {
  if (!send_ || send_->acknowledged) return;
  Send& send = *send_;
  const auto first = send.first_sent.lowest(path);
  if (!first || number < *first) return;
  // RFC 9001 §6.2: a peer that has read a packet with the new keys must answer with the new keys.
  if (receive_ && receive_->last_opened_generation < send.keys.generation) {
    acknowledged_with_old_keys_ = true;
    return;
  }
  send.acknowledged = true;
  send.acknowledged_at = now;
  send.first_sent.clear();
}

std::uint64_t PathKeys::updates() const {
  return send_ ? send_->keys.generation : (receive_ ? receive_->keys.generation : 0);
}

}  // namespace sheaf::quic
