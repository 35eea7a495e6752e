#include "http3/session_config.h"

namespace sheaf::http3 {

Settings SessionConfig::settings(Role role) const {
  Settings settings;
  settings.qpack_max_table_capacity = requests_only ? 0 : qpack_table_capacity;
  settings.qpack_blocked_streams = requests_only ? 0 : qpack_blocked_streams;
  settings.max_field_section_size = max_field_section_size;
  settings.enable_connect_protocol = (extended_connect || webtransport) && role == Role::kServer;
  settings.datagrams = takes_datagrams();
  if (webtransport) {
    settings.webtransport = {.draft02 = true,
                             .max_sessions_draft07 = max_webtransport_sessions,
                             .max_sessions_draft13 = max_webtransport_sessions,
                             .enabled_draft15 = 1,
                             .flow_control = false};
  }
  return settings;
}

}  // namespace sheaf::http3
