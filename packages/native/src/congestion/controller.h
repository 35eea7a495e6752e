#pragma once

#include <cstdint>
#include <memory>

#include "util/time.h"
#include "wire/types.h"

namespace sheaf::quic {

// All sizes are in bytes.

// Facts about the acknowledgements that were received at once, after their packets were removed
// from flight, and the losses that they reveal were reported
struct AckSample {
  Time now{};
  std::uint64_t acknowledged_bytes = 0;
  std::uint64_t bytes_in_flight_before = 0;  // before these acknowledgements
  std::uint64_t bytes_in_flight = 0;         // after them and after their losses
  PacketNumber largest_acknowledged = 0;
  // Says whether all of them were sent after the last response to congestion. RFC 9002 §7.3.2
  // judges each packet: the difference is at most the packets of one sample for each response.
  Time largest_time_sent{};
  Duration smallest_rtt = Duration::zero();  // of the samples that they gave; zero: none
  std::uint32_t rtt_samples = 0;
  Duration min_rtt = Duration::zero();
  Duration smoothed_rtt = Duration::zero();
  // The rate sample (draft-ietf-ccwg-bbr §4.1), of the packet that was sent last of those
  // acknowledged now
  std::uint64_t delivery_rate = 0;                 // bytes per second; 0 when unknown
  bool delivery_rate_application_limited = false;  // the path may be faster
  std::uint64_t delivered = 0;                     // on this path so far, with these bytes
  std::uint64_t delivered_at_send = 0;             // the same when that packet was sent
  std::uint64_t in_flight_at_send = 0;             // including that packet
  std::uint64_t lost_since_send = 0;               // declared lost since that packet was sent

  bool application_limited = false;  // the window was not in use (RFC 9002 §7.8)
};

// One packet that was declared lost. MTU probes are not reported.
struct LostPacket {
  Time now{};
  Time time_sent{};
  PacketNumber number = 0;
  std::uint64_t bytes = 0;
  std::uint64_t in_flight_at_send = 0;  // including this packet
  std::uint64_t lost_since_send = 0;    // including this packet
  std::uint64_t delivered = 0;          // on this path so far
  bool application_limited = false;     // the rate sample would have been
};

// Everything that was declared lost at one time
struct LossSample {
  Time now{};
  std::uint64_t lost_bytes = 0;
  std::uint64_t bytes_in_flight = 0;  // after the loss
  PacketNumber largest_lost = 0;
  Time largest_lost_time_sent{};
  bool persistent = false;  // RFC 9002 §7.6
  bool ecn = false;         // CE marks instead of loss; lost_bytes is 0
};

// A window that never limits, and a pacing rate that never delays
inline constexpr std::uint64_t k_unlimited = UINT64_MAX;
// Bound on the window of all other controllers: 100 Gbit/s at a third of a second
inline constexpr std::uint64_t k_max_congestion_window = std::uint64_t{1} << 32;

// A congestion controller (RFC 9002 §7). It knows nothing of connections, and can be tested alone.
class CongestionController {
 public:
  virtual ~CongestionController() = default;
  // `bytes_in_flight` includes this packet.
  virtual void on_packet_sent(Time now, PacketNumber number, std::uint64_t bytes,
                              std::uint64_t bytes_in_flight) = 0;
  virtual void on_acknowledgement(const AckSample& sample) = 0;
  // Called for each packet, in order of numbers, before `on_congestion` for all of them.
  virtual void on_packet_lost(const LostPacket& packet) { static_cast<void>(packet); }
  virtual void on_congestion(const LossSample& sample) = 0;
  // Called when every packet whose loss led to the last response was acknowledged after all.
  virtual void on_spurious_congestion(Time now) = 0;
  virtual void on_mtu_change(std::uint64_t max_datagram_size) = 0;
  // Sets a rate that the owner knows, or 0 while it knows none. Only OutsideRate uses it.
  virtual void set_outside_rate(std::uint64_t bytes_per_second) {
    static_cast<void>(bytes_per_second);
  }
  // Grants so many bytes beyond what is in flight, in place of earlier credit and of a window. Only
  // OutsideRate uses it.
  virtual void set_outside_credit(std::uint64_t bytes) { static_cast<void>(bytes); }
  // Says by which factor round trips are longer than they would be if this node sent everything
  // itself: 1 at least. A window that grows with acknowledgements then permits the rate that it
  // would permit without the detour.
  virtual void set_detour(double factor) { static_cast<void>(factor); }
  // Called when the path was abandoned, so that nothing is sent or acknowledged on it any more.
  virtual void on_path_abandoned() {}
  virtual std::uint64_t window() const = 0;
  // Pacing rate in bytes per second. 0 means window over RTT, with a margin (RFC 9002 §7.7);
  // k_unlimited means not paced.
  virtual std::uint64_t pacing_rate() const = 0;
  virtual bool in_slow_start() const = 0;
  virtual const char* name() const = 0;
};

enum class CongestionAlgorithm : std::uint8_t {
  kNewReno,
  kCubic,
  kBbr,
  kBbrV1,        // without a response to loss, for comparisons
  kOlia,         // coupled over the paths of a connection
  kOutsideRate,  // fed by set_outside_rate
  kNone,         // an unlimited window: isolated benchmarks and links with their own control
};

class OliaCoupling;

struct CongestionConfig {
  CongestionAlgorithm algorithm = CongestionAlgorithm::kCubic;
  std::uint64_t initial_window_packets = 10;  // RFC 9002 §7.2
  std::uint64_t max_datagram_size = 1200;
  // Seed of random decisions. Give each path another, so that competing paths do not probe
  // together.
  std::uint64_t seed = 0;
  // For kOlia: one object for all paths of a connection. Null if the path is alone.
  std::shared_ptr<OliaCoupling> coupling = nullptr;
};
std::unique_ptr<CongestionController> make_congestion_controller(const CongestionConfig& config);

}  // namespace sheaf::quic
