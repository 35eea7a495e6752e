#pragma once

#include "crypto/tls_config.h"

namespace sheaf::quic {

// Takes the place of `predecessor`, with another certificate: its tickets are as good as before,
// for 0-RTT too, and what it has seen is no new 0-RTT. The secrets of `config` are not used. The
// error as of `make_tls_server_context`.
Result<std::shared_ptr<TlsContext>, std::string> renew_tls_server_context(
    const TlsServerConfig& config, const TlsContext& predecessor);

}  // namespace sheaf::quic
