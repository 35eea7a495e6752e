#include "webtransport/session_datagrams.h"

#include <utility>

namespace sheaf::webtransport {

std::size_t SessionDatagrams::max_payload(StreamId session) const {
  return http_.datagrams().peer_lacks_datagrams() ? http3::k_max_capsule_datagram
                                                  : http_.datagrams().max_payload(session);
}

// The session's id also identifies the datagram, which is enough for counting.
bool SessionDatagrams::send(StreamId id, Bytes payload, bool waits) {
  Session* session = sessions_.find_established(id);
  if (!session) return false;
  const bool taken = http_.datagrams().peer_lacks_datagrams()
                         ? send_capsule(id, *session, payload)
                         : http_.datagrams().send(id, payload, id.value);
  if (taken) ++session->datagrams().sent;
  if (!taken && !waits) ++session->datagrams().expired;
  return taken;
}

bool SessionDatagrams::send_capsule(StreamId id, Session& session, Bytes payload) {
  if (!session.may_send_capsules || payload.size() > http3::k_max_capsule_datagram) return false;
  const auto capsule = http3::encode_capsule({http3::k_capsule_datagram, payload});
  const auto room = http_.write_body(id, quic::SendChunk::copy_of(capsule), false);
  session.may_send_capsules = room && *room;
  return static_cast<bool>(room);
}

std::optional<DatagramCounts> SessionDatagrams::counts(StreamId id) const {
  const Session* session = sessions_.find(id);
  if (!session) return std::nullopt;
  return session->datagrams();
}

void SessionDatagrams::on_datagram(http3::HttpDatagram datagram) {
  if (sessions_.find_established(datagram.stream)) consumer_.on_datagram(datagram);
}

bool SessionDatagrams::on_outcome(const http3::DatagramOutcome& outcome) {
  Session* session = sessions_.find({outcome.identifier});
  if (!session) return false;
  ++(outcome.acknowledged ? session->datagrams().acknowledged : session->datagrams().lost);
  return true;
}

void SessionDatagrams::on_capsules_writable(Session& session) {
  if (!std::exchange(session.may_send_capsules, true)) on_writable();
}

}  // namespace sheaf::webtransport
