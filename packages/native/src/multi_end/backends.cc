#include "multi_end/backends.h"

#include <array>

#include "multi_end/client_backends.h"
#include "multi_end/own_path.h"
#include "multi_end/primary_backends.h"

namespace sheaf::quic {

namespace {

// Backends use up path ids for good, so this bounds the ids that a client permits.
constexpr std::uint32_t k_highest_path_id = 1023;

class MultiEnd final : public PathPolicyFactory {
 public:
  explicit constexpr MultiEnd(std::uint64_t key_modes) : key_modes_(key_modes) {}

  void offer(TransportParameters& own) const override {
    own.initial_max_path_id = BackendTable::k_path_id_step * PathIds::k_max_concurrent - 1;
    own.multi_end = key_modes_;
  }

  std::unique_ptr<PathPolicy> agree(ConnectionExtension connection,
                                    const TransportParameters& peer) const override {
    const std::uint64_t common = peer.multi_end.value_or(0) & key_modes_ & BackendKeyModes::k_all;
    if (common == 0) return nullptr;
    // Prefers keys per path, since a backend should not know more than it needs.
    connection.keys().set_mode(common & BackendKeyModes::k_per_path ? KeyMode::kPerPath
                                                                    : KeyMode::kShared);
    connection.paths().ids().share(BackendTable::k_path_id_step, PathId{k_highest_path_id});
    connection.paths().set_rules(k_primary_path_rules);
    connection.streams().share();
    if (connection.role() == Role::kClient) return std::make_unique<ClientBackends>(connection);
    return std::make_unique<PrimaryBackends>(connection);
  }

 private:
  std::uint64_t key_modes_;
};

// Factories, indexed by the offered key modes.
constexpr std::array<MultiEnd, BackendKeyModes::k_all + 1> k_multi_end{MultiEnd(0), MultiEnd(1),
                                                                       MultiEnd(2), MultiEnd(3)};

// Another extension may have made the policy.
bool has_multi_end(const ConnectionExtension& extension) {
  return extension.policy() && !extension.policy()->return_paths();
}

// These two return null in another role.
PrimaryBackends* primary(const Connection& connection) {
  const ConnectionExtension& extension = connection.extension();
  const bool is_primary = has_multi_end(extension) && extension.role() == Role::kServer &&
                          !extension.paths().ids().only_one();
  return is_primary ? static_cast<PrimaryBackends*>(extension.policy()) : nullptr;
}

ClientBackends* client(const Connection& connection) {
  const ConnectionExtension& extension = connection.extension();
  const bool is_client = has_multi_end(extension) && connection.role() == Role::kClient;
  return is_client ? static_cast<ClientBackends*>(extension.policy()) : nullptr;
}

// Returns null on a backend, which knows only itself.
const BackendTable* table_of(const Connection& connection) {
  if (const PrimaryBackends* backends = primary(connection)) return &backends->table();
  if (const ClientBackends* backends = client(connection)) return &backends->table();
  return nullptr;
}

}  // namespace

void offer_multi_end(ConnectionConfig& config, std::uint64_t key_modes) {
  const std::uint64_t known = key_modes & BackendKeyModes::k_all;
  config.path_policy = known == 0 ? nullptr : &k_multi_end[known];
}

bool multi_end_negotiated(const Connection& connection) { return table_of(connection) != nullptr; }

std::vector<BackendStats> backend_stats(const Connection& connection) {
  std::vector<BackendStats> stats;
  const BackendTable* table = table_of(connection);
  if (!table) return stats;
  for (const BackendRecord& record : table->records()) {
    const PathEntry* entry = connection.extension().paths().find(record.path);
    stats.push_back({.backend = record.backend,
                     .path = record.path,
                     .address = record.address,
                     .offered = record.offered,
                     .drains = record.drains,
                     .abandoned = !entry || entry->abandonment.has_value()});
  }
  return stats;
}

// --- primary ------------------------------------------------------------------------------------

Result<BackendSeed, BackendRefusal> hand_over(Connection& connection, BackendId backend,
                                              const Address& address, const StreamLease& wanted) {
  PrimaryBackends* backends = primary(connection);
  if (!backends) return BackendRefusal::kNotNegotiated;
  return backends->hand_over(backend, address, wanted);
}

FreePaths free_backend_paths(const Connection& connection) {
  const PrimaryBackends* backends = primary(connection);
  return backends ? backends->free_paths() : FreePaths{};
}

Status<BackendRefusal> offer_backend(Connection& connection, BackendId backend) {
  PrimaryBackends* backends = primary(connection);
  return backends ? backends->offer(backend) : BackendRefusal::kUnknownBackend;
}

Status<BackendRefusal> withdraw_backend(Connection& connection, BackendId backend,
                                        std::uint64_t reason, Time now) {
  PrimaryBackends* backends = primary(connection);
  return backends ? backends->withdraw(backend, reason, now) : BackendRefusal::kUnknownBackend;
}

// --- client -------------------------------------------------------------------------------------

Result<PathId, BackendRefusal> open_backend(Connection& connection, BackendId backend,
                                            const Address& local, Time now) {
  ClientBackends* backends = client(connection);
  if (!backends) return BackendRefusal::kNotNegotiated;
  return backends->open(backend, local, now);
}

bool at_backend(const Connection& connection, StreamId stream) {
  return connection.extension().streams().pinned().apart(stream);
}

// --- backend ------------------------------------------------------------------------------------

TransportStatus establish_backend(Connection& connection, const BackendSeed& seed, Time now) {
  const auto unusable = [](const char* reason) {
    return TransportError{TransportErrorCode::kInternalError, 0, reason};
  };
  ConnectionExtension& extension = connection.extension();
  PathEntry& entry = extension.paths().keep_only(seed.keys.path);
  extension.paths().ids().enable(seed.keys.path, seed.keys.path);
  if (!entry.local_ids.take_over(seed.local_ids)) return unusable("bad connection ids");
  for (const NewConnectionIdFrame& id : seed.remote_ids) {
    if (TransportStatus status = entry.remote_ids.on_new(id); !status) return status;
  }
  if (TransportStatus status = extension.set_peer_parameters(seed.peer_parameters); !status) {
    return status;
  }
  extension.streams().leased_limits().start(seed.lease);
  if (!extension.keys().take_over(seed.keys)) return unusable("bad keys");
  extension.establish(std::make_unique<OwnPath>(extension), now);
  return {};
}

// --- primary and backend ------------------------------------------------------------------------

SharedLimits& shared_limits(Connection& connection) {
  return connection.extension().streams().shared_limits();
}

LeasedLimits& leased_limits(Connection& connection) {
  return connection.extension().streams().leased_limits();
}

void heard_elsewhere(Connection& connection, Time now) {
  connection.extension().heard_elsewhere(now);
}

}  // namespace sheaf::quic
