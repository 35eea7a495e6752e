#include "sim/multi_end/backend_host.h"

#include <algorithm>

#include "multi_end/backends.h"
#include "multi_end/connection_snapshot.h"

namespace sheaf::quic {

TransportStatus BackendHost::import(Bytes snapshot, const ConnectionConfig& own, Time now) {
  auto seed = decode_snapshot(snapshot);
  if (!seed) return TransportError{TransportErrorCode::kInternalError, 0, "snapshot refused"};
  host_ = std::make_unique<ConnectionHost>(Role::kServer, seed->adapt(own), random_, now);
  host_->on_event = on_event;
  host_->on_activity = on_activity;
  Connection& connection = host_->connection;
  connection.routing().set_id_maker(
      std::make_shared<LocalIdMaker>(std::vector<std::uint8_t>(32, 0x3c)));
  leases_ = std::make_unique<LeaseHolder>(leased_limits(connection), seed->lease);
  return establish_backend(connection, *seed, now);
}

void BackendHost::forget() {
  leases_.reset();
  host_.reset();
}

void BackendHost::receive(const Datagram& datagram, Time now) {
  constexpr std::uint8_t k_long_header = 0x80;
  ++datagrams_;
  handshake_datagrams_ += (datagram.payload[0] & k_long_header) != 0;
  if (host_) host_->receive(datagram, now);
}

void BackendHost::poll_transmit(TransmitBatch& batch, Time now) {
  batch.size = 0;
  if (host_) host_->poll_transmit(batch, now);
}

Time BackendHost::next_timeout() const {
  return host_ ? std::min(host_->next_timeout(), leases_->next_timeout()) : k_never;
}

void BackendHost::on_timeout(Time now) {
  if (host_) host_->on_timeout(now);
}

}  // namespace sheaf::quic
