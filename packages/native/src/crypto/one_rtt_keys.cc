#include "crypto/one_rtt_keys.h"

#include "crypto/aead_usage.h"
#include "crypto/key_schedule.h"
#include "crypto/path_packet_numbers.h"
#include "wire/packet_header.h"

namespace sheaf::quic {
namespace {

struct SendKeys {
  SendKeys(const TrafficSecret& first, CryptoProvider provider)
      : secret(first),
        aead(make_aead(first, provider)),
        header_protection(make_header_protection(first, provider)) {}

  void advance(CryptoProvider provider) {
    secret = next_generation(secret);
    aead = make_aead(secret, provider);
    ++generation;
    acknowledged = false;
    first_sent.clear();
  }

  TrafficSecret secret;
  std::unique_ptr<Aead> aead;
  std::unique_ptr<HeaderProtection> header_protection;
  std::uint64_t generation = 0;
  bool acknowledged = false;     // a packet of this generation was
  Time acknowledged_at{};        // only when `acknowledged`
  PathPacketNumbers first_sent;  // kept until `acknowledged`
};

struct ReceiveKeys {
  ReceiveKeys(const TrafficSecret& first, CryptoProvider provider)
      : secret(first),
        aead(make_aead(first, provider)),
        header_protection(make_header_protection(first, provider)) {
    prepare_next(provider);
  }

  void prepare_next(CryptoProvider provider) {
    next_secret = next_generation(secret);
    next = make_aead(next_secret, provider);
  }

  // The next generation has opened a packet.
  void advance(Time old_keys_until) {
    secret = next_secret;
    previous = std::move(aead);
    aead = std::move(next);
    previous_until = old_keys_until;
    ++generation;
    first_received.clear();
  }

  // RFC 9001 §6.5: old keys are kept for three PTO. Only then the keys that follow are made, so
  // that the packet which updates the keys does not take longer than others (§9.5).
  void expire_previous(CryptoProvider provider, Time now) {
    if (!previous || now < previous_until) return;
    previous.reset();
    prepare_next(provider);
  }

  TrafficSecret secret;
  TrafficSecret next_secret;
  std::unique_ptr<Aead> aead;
  std::unique_ptr<Aead> previous;  // either this
  std::unique_ptr<Aead> next;      // or this
  std::unique_ptr<HeaderProtection> header_protection;
  Time previous_until{};
  std::uint64_t generation = 0;
  std::uint64_t last_opened_generation = 0;
  PathPacketNumbers first_received;  // in this generation, as long as `previous` exists
};

OpenedPacket dropped() { return {}; }

OpenedPacket failed(TransportErrorCode error) {
  OpenedPacket packet;
  packet.outcome = OpenedPacket::Outcome::kError;
  packet.error = error;
  return packet;
}

}  // namespace

struct OneRttKeys::State {
  explicit State(CryptoProvider wanted) : provider(wanted) {}

  CryptoProvider provider;
  AeadUsage usage{CipherSuite::kAes128GcmSha256};  // replaced with the first secret
  std::optional<SendKeys> send;
  std::optional<ReceiveKeys> receive;
  bool handshake_confirmed = false;
  bool acknowledged_with_old_keys = false;

  void advance_send() {
    send->advance(provider);
    usage.on_new_key();
  }
  OpenedPacket on_peer_update(OpenedPacket packet, Time now, Duration probe_timeout);
};

OneRttKeys::OneRttKeys(CryptoProvider provider) : state_(std::make_unique<State>(provider)) {}
OneRttKeys::~OneRttKeys() = default;

void OneRttKeys::install_send_secret(const TrafficSecret& secret) {
  state_->send.emplace(secret, state_->provider);
  if (!state_->receive) state_->usage = AeadUsage(secret.suite);
}

void OneRttKeys::install_receive_secret(const TrafficSecret& secret) {
  state_->receive.emplace(secret, state_->provider);
  if (!state_->send) state_->usage = AeadUsage(secret.suite);
}

bool OneRttKeys::can_send() const { return state_->send.has_value(); }
bool OneRttKeys::confidentiality_limit_reached() const { return state_->usage.exhausted(); }
bool OneRttKeys::can_receive() const { return state_->receive.has_value(); }

std::uint8_t OneRttKeys::key_phase_bit() const {
  return state_->send && (state_->send->generation & 1) != 0 ? k_key_phase_bit : 0;
}

void OneRttKeys::seal(std::span<const SealJob> jobs) {
  SendKeys& send = *state_->send;
  if (!send.acknowledged) {
    for (const SealJob& job : jobs) send.first_sent.add(job.path, job.number);
  }
  state_->usage.on_sealed(jobs.size());
  send.aead->seal(jobs);
  send.header_protection->protect(jobs);
}

OpenedPacket OneRttKeys::open(MutableBytes packet, std::size_t packet_number_offset, PathId path,
                              PacketNumber largest_received, Time now, Duration probe_timeout) {
  if (state_->acknowledged_with_old_keys) return failed(TransportErrorCode::kKeyUpdateError);
  ReceiveKeys& receive = *state_->receive;
  receive.expire_previous(state_->provider, now);

  const auto unprotected =
      remove_header_protection(*receive.header_protection, packet, packet_number_offset);
  if (!unprotected) return dropped();
  const std::size_t header_length = packet_number_offset + unprotected->packet_number_length;
  OpenedPacket opened;
  opened.number = decode_packet_number(largest_received, unprotected->truncated_packet_number,
                                       unprotected->packet_number_length);

  // RFC 9001 §6.3: the other phase is the previous one while its keys exist, later the next one.
  // There are always keys to try, so a phase bit that was tampered with takes the same time.
  const bool phase = (packet[0] & k_key_phase_bit) != 0;
  const bool is_current = phase == ((receive.generation & 1) != 0);
  Aead& aead = is_current ? *receive.aead : receive.previous ? *receive.previous : *receive.next;
  const MutableBytes payload = packet.subspan(header_length);
  if (!aead.open(packet.first(header_length), payload, path, opened.number)) {
    state_->usage.on_forged();
    return state_->usage.forgery_limit_reached() ? failed(TransportErrorCode::kAeadLimitReached)
                                                 : dropped();
  }
  opened.outcome = OpenedPacket::Outcome::kOpened;
  opened.payload = payload.first(payload.size() - k_aead_tag_length);

  receive.last_opened_generation = receive.generation;
  if (is_current) {
    if (receive.previous) receive.first_received.add(path, opened.number);
    return opened;
  }
  if (receive.previous) {
    // RFC 9001 §6.4: old keys above a packet number that already had newer ones.
    const auto lowest = receive.first_received.lowest(path);
    if (lowest && opened.number > *lowest) return failed(TransportErrorCode::kKeyUpdateError);
    receive.last_opened_generation = receive.generation - 1;
    return opened;
  }
  receive.first_received.clear();
  opened = state_->on_peer_update(opened, now, probe_timeout);
  receive.first_received.add(path, opened.number);
  return opened;
}

// RFC 9001 §6.2: the first packet of the next generation is genuine.
OpenedPacket OneRttKeys::State::on_peer_update(OpenedPacket packet, Time now,
                                               Duration probe_timeout) {
  receive->advance(now + 3 * probe_timeout);
  receive->last_opened_generation = receive->generation;
  if (!send || send->generation >= receive->generation) return packet;  // it answers our update
  // A second update although nothing of ours can have confirmed the first.
  if (send->generation > 0 && send->first_sent.empty() && !send->acknowledged) {
    return failed(TransportErrorCode::kKeyUpdateError);
  }
  advance_send();
  packet.key_updated = true;
  return packet;
}

bool OneRttKeys::initiate_update(Time now, Duration probe_timeout) {
  if (!state_->send || !state_->handshake_confirmed) return false;
  const SendKeys& send = *state_->send;
  // RFC 9001 §6.1: not before a packet of this phase was acknowledged; §6.5 and RFC 10069 §5.6:
  // and not before the peer has dropped the keys of the phase before.
  if (!send.acknowledged) return false;
  if (send.generation > 0 && now < send.acknowledged_at + 3 * probe_timeout) return false;
  // Our own previous keys share the phase bit with the ones that the peer will answer with.
  if (state_->receive) {
    state_->receive->expire_previous(state_->provider, now);
    if (state_->receive->previous) return false;
  }
  state_->advance_send();
  return true;
}

void OneRttKeys::confirm_handshake() { state_->handshake_confirmed = true; }

void OneRttKeys::on_acknowledged(PathId path, PacketNumber number, Time now) {
  if (!state_->send || state_->send->acknowledged) return;
  SendKeys& send = *state_->send;
  const auto first = send.first_sent.lowest(path);
  if (!first || number < *first) return;
  // RFC 9001 §6.2: who has read the new keys' packet must answer with the new keys.
  if (state_->receive && state_->receive->last_opened_generation < send.generation) {
    state_->acknowledged_with_old_keys = true;
    return;
  }
  send.acknowledged = true;
  send.acknowledged_at = now;
  send.first_sent.clear();
}

bool OneRttKeys::wants_update() const { return state_->usage.wants_new_key(); }

std::uint64_t OneRttKeys::updates() const {
  return state_->send ? state_->send->generation
                      : (state_->receive ? state_->receive->generation : 0);
}

const TrafficSecret* OneRttKeys::send_secret() const {
  return state_->send ? &state_->send->secret : nullptr;
}

const TrafficSecret* OneRttKeys::receive_secret() const {
  return state_->receive ? &state_->receive->secret : nullptr;
}

}  // namespace sheaf::quic
