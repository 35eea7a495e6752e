#pragma once

#include "connection/connection_extension.h"

namespace sheaf::quic {

// The part of a gateway that leaves sending on some paths to backends
class ReturnPathListener {
 public:
  virtual ~ReturnPathListener() = default;
  // The client acknowledges packets on a lent path.
  virtual void on_path_acknowledged(PathId path, const AckFrame& frame, Time now) = 0;
  // Nothing may be sent on a lent path any more.
  virtual void on_path_abandoned(PathId path, Time now) = 0;
};

// Paths of a connection on which backends send to the client from the server's address, each with
// packet numbers, keys and recovery of its own (docs/internals/direct-return.md). They have odd
// ids. The client only receives there: what it says about them travels on its other paths. So it
// needs no connection id of the server, and there is no address to validate.
class ReturnPaths final : public PathPolicy {
 public:
  ReturnPaths(ConnectionExtension connection, std::size_t at_a_time)
      : connection_(connection), at_a_time_(at_a_time) {}

  static bool is_return_path(PathId path) { return path.value % k_path_id_step == 1; }
  static constexpr std::uint32_t k_path_id_step = 2;

  // --- server -----------------------------------------------------------------------------------
  // Paths that may be lent at a time, as both sides agreed
  std::size_t at_a_time() const { return at_a_time_; }
  // Lends a path that was never used, with a connection id of the client. Returns null when there
  // is none, or the handshake is not confirmed.
  PathEntry* lend();
  // Null: nobody listens.
  void listen(ReturnPathListener* listener) { listener_ = listener; }

  TransportStatus on_frame(PathEntry& entry, const Frame& frame, Time now) override;
  bool accept_path(PathEntry& entry, const AddressPair& addresses, Time now) override;
  void on_abandoned(PathEntry& entry, Time now) override;
  bool update_keys(Time now) override;
  ReturnPaths* return_paths() override { return this; }

 private:
  ConnectionExtension connection_;
  std::size_t at_a_time_;
  ReturnPathListener* listener_ = nullptr;
};

// Makes connections agree that backends send to the client from the server's address, on up to
// eight paths at a time. Both sides must. Replaces `ConnectionConfig::path_policy`.
void offer_return_paths(ConnectionConfig& config);
// The same, for a configuration that offers another extension as well (PathPolicyChoice).
const PathPolicyFactory& return_paths_offer();

}  // namespace sheaf::quic
