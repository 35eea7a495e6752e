#pragma once

#include <optional>

#include "congestion/bbr/ack_aggregation.h"
#include "congestion/bbr/bandwidth_filter.h"
#include "congestion/bbr/bounds.h"
#include "congestion/bbr/delivery_signals.h"
#include "congestion/bbr/full_pipe.h"
#include "congestion/bbr/minimum_rtt_filter.h"
#include "congestion/bbr/probe_cycle.h"
#include "congestion/bbr/random_loss.h"
#include "congestion/bbr/round_counter.h"
#include "congestion/controller.h"
#include "util/random.h"

namespace sheaf::quic {

// BBR version 3 (draft-ietf-ccwg-bbr-06). It models the path by its bandwidth and its round trip
// without queues, and derives pacing rate and window from the model. Losses bound the model, but do
// not drive it. Section numbers are the draft's.
class Bbr final : public CongestionController {
 public:
  enum class State : std::uint8_t {
    kStartup,    // §5.3.1: doubles the rate each round until the pipe is full
    kDrain,      // §5.3.2: empties the resulting queue
    kProbeDown,  // §5.3.3: the four phases of a bandwidth probing cycle
    kProbeCruise,
    kProbeRefill,
    kProbeUp,
    kProbeRtt,  // §5.3.4: half the window for a moment, to measure the path without a queue
  };

  explicit Bbr(const CongestionConfig& config);

  void on_packet_sent(Time now, PacketNumber number, std::uint64_t bytes,
                      std::uint64_t bytes_in_flight) override;
  void on_acknowledgement(const AckSample& sample) override;
  void on_packet_lost(const LostPacket& packet) override;
  void on_congestion(const LossSample& sample) override;
  void on_spurious_congestion(Time now) override;
  void on_mtu_change(std::uint64_t max_datagram_size) override;
  std::uint64_t window() const override;
  std::uint64_t pacing_rate() const override;
  bool in_slow_start() const override { return state_ == State::kStartup; }
  const char* name() const override { return "bbr"; }

  State state() const { return state_; }
  // Estimated bandwidth in bytes per second
  double bandwidth() const { return std::min(bandwidth_filter_.maximum(), bounds_.rate); }
  Duration minimum_rtt() const { return minimum_rtt_.minimum(); }
  const bbr::Bounds& bounds() const { return bounds_; }

 private:
  // --- bbr.cc: sequence of the work, control parameters (§5.6)
  void update_model(const AckSample& sample);
  void update_aggregation(const AckSample& sample);
  void update_minimum_rtt(const AckSample& sample);
  void set_pacing_rate(double gain);
  void set_window(const AckSample& sample);
  double window_bound() const;
  double minimum_window() const { return 4 * datagram_; }
  // Returns the bytes that the path holds at that bandwidth, without a queue.
  double path_volume(double bandwidth) const;
  double with_quanta(double volume) const;
  bool is_application_limited(const AckSample& sample) const;

  // --- startup.cc: §5.3.1, §5.3.2
  void check_full_pipe(const AckSample& sample);
  void check_startup_loss(const AckSample& sample);
  void check_startup_done(const AckSample& sample);

  // --- probe_bandwidth.cc: §5.3.3
  bool in_probe_bandwidth() const {
    return state_ >= State::kProbeDown && state_ <= State::kProbeUp;
  }
  void update_cycle(const AckSample& sample);
  bool adapt_long_term(const AckSample& sample);
  void raise_long_term(const AckSample& sample);
  void steepen_slope();
  void start_down(Time now, std::uint64_t delivered);
  void start_refill(std::uint64_t delivered);
  void start_up(const AckSample& sample);
  bool is_time_to_probe(Time now) const;
  bool is_time_to_cruise(const AckSample& sample) const;
  bool is_time_to_go_down(const AckSample& sample);
  bool is_limited_by_long_term(const AckSample& sample) const;
  double with_headroom() const;

  // --- probe_rtt.cc: §5.3.4
  void check_probe_rtt(const AckSample& sample, bool expired);
  void hold_probe_rtt(const AckSample& sample);
  void leave_probe_rtt_when_done(Time now, std::uint64_t delivered);

  // --- loss_response.cc: §5.5.10, §5.5.11
  double tolerated_loss(double in_flight) const;
  bool is_too_much(std::uint64_t lost, std::uint64_t in_flight) const;
  void learn_random_loss(const AckSample& sample);
  void remember_state(const LostPacket& packet);
  void on_too_much_in_flight(Time now, double in_flight, bool application_limited);
  void adapt_short_term(const AckSample& sample);

  double datagram_;
  double initial_window_;
  double window_;
  double pacing_rate_;
  State state_ = State::kStartup;
  bool saw_rtt_ = false;

  bbr::RoundCounter rounds_;
  bbr::BandwidthFilter bandwidth_filter_;
  bbr::MinimumRttFilter minimum_rtt_;
  bbr::AckAggregation aggregation_;
  bbr::DeliverySignals signals_;
  bbr::FullPipe full_pipe_;
  bbr::Bounds bounds_;
  bbr::RandomLoss random_loss_;
  std::uint64_t cruise_rounds_ = 0;
  bool pipe_was_full_ = false;     // full_bw_reached: Startup is over for good
  std::uint64_t drain_start_ = 0;  // round
  bbr::ProbeCycle cycle_;
  bbr::ProbeRtt probe_rtt_;

  std::uint64_t delivered_ = 0;  // as of the last acknowledgement
  bool application_limited_ = false;
  bool restarts_from_idle_ = false;
  // §2.15: state before losses that may turn out spurious
  struct Undo {
    bbr::Bounds bounds;
    double window = 0;
    std::optional<State> interrupted;  // by those losses
  };
  std::optional<Undo> undo_;
  Time episode_start_ = Time::min();  // losses of earlier packets belong to the last episode
  SeededRandom random_;
};

}  // namespace sheaf::quic
