#pragma once

#include "connection/connection_extension.h"
#include "multi_end/backend_table.h"

namespace sheaf::quic {

// Implements the client's policy for silence (docs/internals/multi-end.md): asks quiet servers for
// a sign of life, abandons the path of a backend that does not respond, and reports a lost primary.
class SilenceWatch {
 public:
  // Quiet times after which a backend with open streams is asked, and the primary while backends
  // have open streams. Each time is at least three probe timeouts.
  static constexpr Duration k_quiet = std::chrono::milliseconds(500);
  static constexpr Duration k_quiet_primary = std::chrono::seconds(1);
  // Time for which a server may leave probes unacknowledged.
  static constexpr Duration k_silence = std::chrono::seconds(2);
  // Time for which a stream may wait for credit while the primary is lost.
  static constexpr Duration k_starved = std::chrono::milliseconds(500);

  SilenceWatch(ConnectionExtension connection, const BackendTable& table)
      : connection_(connection), table_(table) {}

  Time next_timeout() const;
  void on_timeout(Time now);

 private:
  Time quiet_deadline(const PathEntry& entry) const;
  Time silence_deadline(const PathEntry& entry) const;
  Time starved_deadline(const PathEntry& entry) const;
  Time primary_deadline() const;
  bool backends_serve_streams() const;

  ConnectionExtension connection_;
  const BackendTable& table_;
  bool primary_lost_ = false;  // the application was informed
  Time primary_lost_at_{};     // latest time
};

}  // namespace sheaf::quic
