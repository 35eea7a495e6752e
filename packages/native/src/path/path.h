#pragma once

#include <memory>
#include <optional>

#include "congestion/controller.h"
#include "congestion/guided.h"
#include "path/anti_amplification.h"
#include "path/path_responses.h"
#include "path/path_validation.h"
#include "recovery/ecn_validation.h"
#include "recovery/loss_detection.h"
#include "recovery/mtu_discovery.h"
#include "recovery/pacer.h"
#include "recovery/received_packets.h"
#include "recovery/rtt_estimator.h"
#include "util/address.h"

namespace sheaf::quic {

// UDP payload of a jumbo frame: 9000 bytes with the headers of IPv6 and UDP.
inline constexpr std::uint16_t k_jumbo_mtu = 8952;

// The settings of a new path.
struct PathConfig {
  CongestionConfig congestion;
  std::uint16_t initial_mtu = MtuDiscovery::k_base;
  std::uint16_t maximum_mtu = MtuDiscovery::k_base;
  std::uint16_t jumbo_mtu = 0;  // 0: never
  bool use_ecn = true;
};

// A path owns its packet number space, RTT, congestion controller, pacer and MTU (RFC 10069 §1.1).
// Its addresses may change while it stays the same path: a migration (RFC 9000 §9).
class Path {
 public:
  Path(PathId id, const AddressPair& addresses, const PathConfig& config);

  PathId id;
  AddressPair addresses;
  RttEstimator rtt;
  std::unique_ptr<CongestionController> controller;
  LossDetection loss;
  ReceivedPackets received;
  Pacer pacer;
  MtuDiscovery mtu;
  EcnValidation ecn;
  AntiAmplification amplification;
  PathValidation validation;

  // Packets that may leave beyond the congestion window after a probe timeout (RFC 9002 §6.2.4).
  std::uint32_t probe_credits = 0;
  bool ping_due = false;
  bool batch_open = false;  // acknowledgements were settled, and `loss.conclude` must follow
  // Nothing was left to send although the window had room (RFC 9002 §7.8).
  bool application_limited = true;
  PathResponses responses;  // on this path's addresses

  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  std::uint64_t packets_sent = 0;
  std::uint64_t packets_received = 0;

  // Returns how many bytes of ack-eliciting packets may leave now under window, pacer and
  // anti-amplification limit.
  std::uint64_t send_allowance(Time now) const;
  // Returns the size of the MTU probe that should leave when it may, in a buffer with this much
  // room.
  std::optional<std::uint16_t> mtu_probe_due(std::size_t room, Time now) const;
  bool may_probe(std::uint16_t size, Time now) const;
  // Returns how many bytes of the window data leaves to a probe that is due. Data takes the room of
  // each packet as soon as it is acknowledged, so a jumbo frame would never find enough otherwise.
  std::uint64_t kept_for_probe(std::uint16_t size) const;
  // Keeps within what is known from outside, for a while. An ordinary path pays nothing for it.
  void follow(const Guidance& guidance);
  // Adjusts the pacer after the RTT or the window changed.
  void update_pacing(Time now);
  // Starts over on other addresses, which are validated unless they are known to work. Keeps RTT
  // and window when only the peer's port changed, as a NAT changes it (RFC 9000 §9.4).
  void migrate(const AddressPair& to, bool known_to_work, Time now, Duration probe_timeout);
  // Learns the local address from the first datagram, where the socket is bound to the unspecified
  // address and the kernel chose.
  void learn_local_address(const Address& local) {
    if (addresses.local.ip == decltype(Address::ip){}) addresses.local = local;
  }
  // Goes back to the last addresses that worked, after the present ones failed validation. False
  // when there are none.
  bool revert(Time now);

 private:
  void reset_congestion(Time now);

  PathConfig config_;
  GuidedController* guided_ = nullptr;  // `controller`, once there was guidance
  std::optional<AddressPair> last_validated_;
};

}  // namespace sheaf::quic
