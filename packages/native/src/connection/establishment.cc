#include "connection/establishment.h"

#include "connection/frame_outcome.h"
#include "connection/packet_receiver.h"
#include "connection/parts.h"
#include "connection/path_management.h"

namespace sheaf::quic {

TransportStatus Establishment::start_early(const TrafficSecret& secret,
                                           const ConnectionSeed& remembered, Time now) {
  parts_.early.keys.emplace(secret, parts_.config.crypto);
  parts_.make_first_path(remembered, now);
  parts_.first_entry().remote_ids.set_initial(remembered.remote_id);
  parts_.peer_parameters = remembered.peer_parameters;
  return parts_.streams.set_peer_parameters(remembered.peer_parameters);
}

void Establishment::reject_early_data(Time now) {
  parts_.early.keys.reset();
  if (parts_.early.packets_sent) {
    FrameOutcome outcome(parts_, now);
    parts_.first_path()->loss.abandon_outstanding(outcome);
  }
  // Also when nothing was sent: the real limits may be below the remembered ones now.
  parts_.streams.restart_sending();
}

TransportStatus Establishment::establish(const ConnectionSeed& seed, Time now) {
  if (!parts_.first_path()) parts_.make_first_path(seed, now);
  if (seed.address_validated) validate_address();
  set_initial_rtt(seed.initial_rtt);
  RemoteConnectionIds& remote_ids = parts_.first_entry().remote_ids;
  remote_ids.set_initial(seed.remote_id);
  if (seed.peer_parameters.stateless_reset_token) {
    remote_ids.set_initial_token(*seed.peer_parameters.stateless_reset_token);
  }
  if (const auto& preferred = seed.peer_parameters.preferred_address) {
    if (seed.remote_id.length == 0) {
      return TransportError{TransportErrorCode::kTransportParameterError, 0,
                            "preferred_address with a connection id of length zero"};
    }
    // RFC 9000 §5.1.1: its id has the sequence number 1.
    TransportStatus given = remote_ids.on_new({.sequence = 1,
                                               .retire_prior_to = 0,
                                               .id = preferred->id,
                                               .reset_token = preferred->reset_token});
    if (!given) return given;
  }
  parts_.peer_parameters = seed.peer_parameters;
  parts_.ack_requests.set_peer(seed.peer_parameters.min_ack_delay,
                               seed.peer_parameters.first_min_ack_delay);
  parts_.idle.set_peer_timeout(seed.peer_parameters.max_idle_timeout);
  TransportStatus status = parts_.streams.set_peer_parameters(seed.peer_parameters);
  PathManagement management(parts_, now);
  if (status) status = management.enable(seed.peer_parameters);
  if (!status) return status;
  if (seed.send_secret) parts_.keys.install_send_secret(*seed.send_secret);
  if (seed.receive_secret) parts_.keys.install_receive_secret(*seed.receive_secret);
  // The client knows the handshake to be complete, and so does a server that reads its 1-RTT
  // packets.
  if (parts_.role == Role::kClient) management.issue_connection_ids();
  parts_.handshake.establish();
  parts_.events.push_back(EstablishedEvent{});
  return {};
}

void Establishment::install_receive_secret(const TrafficSecret& secret, Time now) {
  parts_.keys.install_receive_secret(secret);
  for (HeldPackets::Held& packet : parts_.held.take()) {
    PacketReceiver(parts_, now).receive({packet.bytes, packet.path, packet.ecn, true});
  }
}

void Establishment::confirm_handshake(Bytes post_handshake_messages, Time now) {
  parts_.handshake.confirm();
  parts_.handshake_frames.send_done();
  parts_.keys.confirm_handshake();
  // RFC 9001 §4.9.3: the client has 1-RTT keys now. It repeats in 1-RTT what comes too late.
  parts_.early.keys.reset();
  // RFC 9000 §5.1: a peer may use any id at once, in Initial and Handshake packets too. Those
  // belong to the handshake, which knows the first id alone.
  PathManagement(parts_, now).issue_connection_ids();
  parts_.crypto.write(post_handshake_messages);
  validate_address();
  parts_.first_path()->update_pacing(now);
  parts_.events.push_back(HandshakeConfirmedEvent{});
}

void Establishment::set_initial_rtt(Duration rtt) {
  if (rtt > Duration::zero()) parts_.first_path()->rtt.set_initial(rtt);
}

void Establishment::set_carried(std::uint16_t size, Time now) {
  Path& path = *parts_.first_path();
  if (size <= path.mtu.current()) return;
  path.mtu.on_carried(size);
  path.controller->on_mtu_change(path.mtu.current());
  path.update_pacing(now);
}

void Establishment::try_first(std::uint16_t size) { parts_.first_path()->mtu.try_first(size); }

void Establishment::count_handshake_bytes(std::uint64_t received, std::uint64_t sent) {
  parts_.first_path()->amplification.on_received(received);
  parts_.first_path()->amplification.on_sent(sent);
}

std::uint64_t Establishment::amplification_allowance() const {
  return parts_.first_path()->amplification.allowance();
}

void Establishment::validate_address() { parts_.first_path()->amplification.validate(); }

void Establishment::send_new_token(Bytes token) { parts_.handshake_frames.send_token(token); }

Bytes Establishment::address_token() const { return parts_.address_token; }

std::vector<std::uint8_t> Establishment::read_crypto() { return parts_.crypto.read(); }

}  // namespace sheaf::quic
