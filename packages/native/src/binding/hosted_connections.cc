#include "binding/hosted_connections.h"

namespace sheaf::binding {

HostedConnections::HostedConnections(const EndpointSettings& settings, quic::Random& random)
    : settings_(settings), random_(random) {
  if (!settings.qlog_directory.empty()) qlogs_.emplace(settings.qlog_directory);
}

HostedConnection& HostedConnections::host(quic::ConnectionDriver& driver) {
  if (driver.user_data) return *static_cast<HostedConnection*>(driver.user_data);
  const std::uint32_t handle = next_handle_++;
  auto made = std::make_unique<HostedConnection>(handle, driver, random_, settings_.session,
                                                 qlogs_ ? &*qlogs_ : nullptr);
  HostedConnection& hosted = *made;
  driver.user_data = &hosted;
  hosted_.emplace(handle, std::move(made));
  return hosted;
}

HostedConnection* HostedConnections::find(std::uint32_t handle) {
  const auto found = hosted_.find(handle);
  return found == hosted_.end() ? nullptr : found->second.get();
}

void HostedConnections::note_pending(HostedConnection& hosted) {
  if (std::exchange(hosted.pending, true)) return;
  pending_.push_back(hosted.handle());
}

}  // namespace sheaf::binding
