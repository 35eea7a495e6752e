#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "connection/config.h"
#include "connection/routable_ids.h"
#include "crypto/seen_filter.h"
#include "crypto/tls_context.h"
#include "endpoint/admission.h"
#include "endpoint/memory_governor.h"
#include "endpoint/placement.h"
#include "endpoint/shared_counts.h"

namespace sheaf::quic {

struct EndpointConfig {
  ConnectionConfig connection;
  AdmissionConfig admission;
  MemoryConfig memory;
  // Error code that closes an idle connection to make room for others.
  std::uint64_t idle_close_error = 0;
  std::uint64_t overload_error = 0;
  // Null for a client.
  std::shared_ptr<TlsContext> server_tls;
  // For tokens and stateless resets that outlive the process; empty: the keys are random.
  ServerSecrets secrets;
  // Names this endpoint among all with the same secrets, and among those of one server if `server`
  // is there. Each has reset keys of its own: one that made tokens for connections of another would
  // be an oracle for them (RFC 9000 §21.11).
  std::string reset_scope;
  // Behind balancers that find servers by connection ids. The number of the first secret stands in
  // the ids; without secrets it is 0, and the ids cannot be encrypted.
  std::optional<RoutableIds::Server> server;
  // What to add to a time to get one by the clock on which all servers with the same secrets agree.
  // Tokens contain the latter.
  Duration shared_clock{};
  // Null for the only endpoint of its address
  std::shared_ptr<Placement> placement;
  // What endpoints with the same keys of tokens have in common; null: a memory of its own
  std::shared_ptr<SeenFilter> used_tokens;
  // What endpoints count together of connections and pending handshakes, so that `admission` limits
  // all of them; null: this endpoint alone
  std::shared_ptr<SharedCounts> clients;
  std::function<void(std::string_view line)> key_log;
};

}  // namespace sheaf::quic
