#include "path/path.h"

#include <algorithm>

namespace sheaf::quic {

namespace {

// Jumbo frames end at routers, so the round trip is short where they work. Where they do not work,
// the search costs three packets, which a short transfer would not earn back.
constexpr Duration k_jumbo_rtt = std::chrono::milliseconds(1);
constexpr std::uint64_t k_jumbo_after = 4 << 20;

}  // namespace

Path::Path(PathId path_id, const AddressPair& pair, const PathConfig& config)
    : id(path_id),
      addresses(pair),
      controller(make_congestion_controller(config.congestion)),
      loss(path_id, rtt, *controller),
      mtu(config.initial_mtu, config.maximum_mtu, config.jumbo_mtu),
      config_(config) {
  if (config.use_ecn) loss.set_ecn_validation(ecn);
  // A size that is given falls back to no other one.
  if (config_.maximum_mtu > 0) loss.set_mtu_discovery(mtu);
}

std::uint64_t Path::send_allowance(Time now) const {
  const std::uint64_t window = controller->window();
  const std::uint64_t in_flight = loss.bytes_in_flight();
  const std::uint64_t room = window > in_flight ? window - in_flight : 0;
  return std::min({room, pacer.budget(now), amplification.allowance()});
}

std::optional<std::uint16_t> Path::mtu_probe_due(std::size_t room, Time now) const {
  const auto size = mtu.probe_due(now);
  const bool possible = size && *size <= room && amplification.validated() && !validation.pending();
  return possible ? size : std::nullopt;
}

// Afterwards the pacer waits for the bytes beyond an ordinary packet's size.
bool Path::may_probe(std::uint16_t size, Time now) const {
  return controller->window() >= loss.bytes_in_flight() + size &&
         pacer.budget(now) >= mtu.paced_as(size);
}

std::uint64_t Path::kept_for_probe(std::uint16_t size) const {
  const bool jumbo = size > mtu.paced_as(size);
  // A small window has no room to spare, and empties often.
  return jumbo && controller->window() >= 4 * std::uint64_t{size} ? size : 0;
}

void Path::follow(const Guidance& guidance) {
  if (!guided_) {
    auto guided = std::make_unique<GuidedController>(std::move(controller), mtu.current());
    guided_ = guided.get();
    controller = std::move(guided);
    loss.set_controller(*controller);
  }
  guided_->set_guidance(guidance);
  update_pacing(guidance.now);
}

void Path::update_pacing(Time now) {
  std::uint64_t rate = controller->pacing_rate();
  if (rate == 0 && rtt.has_sample()) {
    // RFC 9002 §7.7: somewhat faster than one window per RTT, so that the window is the limit.
    const auto smoothed =
        static_cast<std::uint64_t>(std::max<std::int64_t>(rtt.smoothed().count(), 1));
    const double gain = controller->in_slow_start() ? 2.0 : 1.25;
    rate = static_cast<std::uint64_t>(gain * 1e9 * static_cast<double>(controller->window()) /
                                      static_cast<double>(smoothed));
  }
  if (bytes_sent >= k_jumbo_after && rtt.has_sample() && rtt.minimum() < k_jumbo_rtt) {
    mtu.try_jumbo();
  }
  pacer.set_rate(rate, mtu.current(), now);
}

void Path::migrate(const AddressPair& to, bool known_to_work, Time now, Duration probe_timeout) {
  if (!validation.pending()) last_validated_ = addresses;
  const bool rebinding = to.local == addresses.local && to.remote.same_ip(addresses.remote);
  const bool works = known_to_work || last_validated_ == to;
  addresses = to;
  if (!rebinding) reset_congestion(now);
  amplification = AntiAmplification{};
  if (works) amplification.validate();
  validation = PathValidation{};
  // RFC 9000 §8.2.4: the new path may be much slower than the old one.
  const Duration unknown_path = RttEstimator{}.probe_timeout(Duration::zero());
  if (!works) validation.start(now, std::max(probe_timeout, unknown_path));
}

bool Path::revert(Time now) {
  if (!last_validated_) return false;
  if (!last_validated_->remote.same_ip(addresses.remote)) reset_congestion(now);
  addresses = *last_validated_;
  last_validated_.reset();
  amplification = AntiAmplification{};
  amplification.validate();
  validation = PathValidation{};
  return true;
}

void Path::reset_congestion(Time now) {
  rtt = RttEstimator{};
  controller = make_congestion_controller(config_.congestion);
  guided_ = nullptr;
  loss.set_controller(*controller);
  mtu = MtuDiscovery(config_.initial_mtu, config_.maximum_mtu, config_.jumbo_mtu);
  ecn.restart();
  update_pacing(now);
}

}  // namespace sheaf::quic
