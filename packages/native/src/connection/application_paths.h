#pragma once

#include <vector>

#include "connection/path_refusal.h"
#include "connection/stats.h"
#include "util/result.h"

namespace sheaf::quic {

struct ConnectionParts;

// The paths of a connection as its application sees them (RFC 10069; RFC 9000 §9).
class ApplicationPaths {
 public:
  explicit ApplicationPaths(ConnectionParts& parts) : parts_(parts) {}

  // Both sides offered multipath; known once established.
  bool enabled() const;
  // Client: begins a path between these addresses. It carries data after PathValidatedEvent.
  Result<PathId, PathRefusal> open(const AddressPair& addresses, Time now);
  // `error` goes to the peer (RFC 10069 §4.2.1). Refused for the last path: close the connection.
  Status<PathRefusal> abandon(PathId path, std::uint64_t error, Time now);
  // Tells the peer how both sides should use the path from now on.
  Status<PathRefusal> set_status(PathId path, PathStatus status, Time now);
  // Sets the path's share of packets for the weighted scheduler.
  Status<PathRefusal> set_weight(PathId path, std::uint32_t weight);
  // Tells the path's controller a rate that the application knows, in bytes per second. Only
  // CongestionAlgorithm::kOutsideRate obeys.
  Status<PathRefusal> set_outside_rate(PathId path, std::uint64_t rate);
  // Grants the path's controller a rate and so many bytes until the next grant. Only
  // CongestionAlgorithm::kOutsideRate obeys.
  Status<PathRefusal> set_outside_credit(PathId path, std::uint64_t rate, std::uint64_t bytes);
  // Client: tells the peer what the other end of a tunnel that carries the connection has reported
  // (tunnel/feedback_report.h). Returns false when the peer does not follow reports.
  bool report_tunnel(Bytes report);
  // Waits this much longer before overtaken packets count as lost, and adapts to how far packets
  // overtake each other.
  Status<PathRefusal> tolerate_reordering(PathId path, Duration delay);
  // Sends this side's data of the stream on this path alone, until the path is abandoned.
  Status<PathRefusal> pin(StreamId stream, PathId path);

  // Client: moves a path to another local address (RFC 9000 §9).
  bool migrate(const Address& local, Time now, PathId path = {});
  // Uses a fresh connection id from now on (RFC 9000 §5.1).
  bool rotate_connection_id(PathId path = {});
  // Returns the addresses at which packets of the peer may arrive. Those that a path left not long
  // ago are included.
  std::vector<Address> local_addresses() const;
  // Some of the local addresses are needed only for a while.
  bool leaves_addresses() const;

  std::vector<PathStats> stats() const;

 private:
  ConnectionParts& parts_;
};

}  // namespace sheaf::quic
