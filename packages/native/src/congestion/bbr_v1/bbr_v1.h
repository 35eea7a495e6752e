#pragma once

#include "congestion/bbr/full_pipe.h"
#include "congestion/bbr/minimum_rtt_filter.h"
#include "congestion/bbr/round_counter.h"
#include "congestion/bbr/round_maxima.h"
#include "congestion/controller.h"
#include "util/random.h"

namespace sheaf::quic {

// BBR in its first version (N. Cardwell et al., ACM Queue 14(5), 2016), which experiments of that
// time used. Section numbers are those of draft-cardwell-iccrg-bbr-congestion-control-00. Losses do
// not bound its model, so it neither slows down where many packets are lost at random nor where its
// own queue overflows: a laboratory compares with it, and nodes use Bbr.
class BbrV1 final : public CongestionController {
 public:
  enum class State : std::uint8_t {
    kStartup,         // §4.3.2: doubles the rate each round until the pipe is full
    kDrain,           // §4.3.3: empties the resulting queue
    kProbeBandwidth,  // §4.3.4: cycles through pacing gains
    kProbeRtt,        // §4.3.5: four packets for a moment, to measure the path without a queue
  };

  explicit BbrV1(const CongestionConfig& config);

  void on_packet_sent(Time now, PacketNumber number, std::uint64_t bytes,
                      std::uint64_t bytes_in_flight) override;
  void on_acknowledgement(const AckSample& sample) override;
  void on_congestion(const LossSample& sample) override;
  void on_spurious_congestion(Time now) override;
  void on_mtu_change(std::uint64_t max_datagram_size) override;
  std::uint64_t window() const override { return static_cast<std::uint64_t>(window_); }
  std::uint64_t pacing_rate() const override { return static_cast<std::uint64_t>(pacing_rate_); }
  bool in_slow_start() const override { return state_ == State::kStartup; }
  const char* name() const override { return "bbr_v1"; }

  State state() const { return state_; }
  // Estimated bandwidth in bytes per second
  double bandwidth() const { return bandwidth_.maximum(); }
  Duration minimum_rtt() const { return minimum_rtt_.minimum(); }

 private:
  void update_bandwidth(const AckSample& sample);
  void check_full_pipe(const AckSample& sample);
  void check_drain(const AckSample& sample);
  void start_probe_bandwidth(Time now);
  void update_cycle(const AckSample& sample);
  bool is_time_to_advance(const AckSample& sample) const;
  void update_minimum_rtt(const AckSample& sample);
  void hold_probe_rtt(const AckSample& sample);
  void leave_probe_rtt(Time now);
  void set_pacing_rate(double gain);
  void set_window(const AckSample& sample);
  double pacing_gain() const;
  // Returns the bytes that the path holds without a queue, times a gain, with what is sent
  // together.
  double volume(double gain) const;
  double minimum_window() const { return 4 * datagram_; }

  double datagram_;
  double initial_window_;
  double window_;
  double window_before_ = 0;  // before ProbeRTT, or before the path seemed gone
  double pacing_rate_;
  State state_ = State::kStartup;
  bool saw_rtt_ = false;
  bool application_limited_ = false;
  bbr::RoundCounter rounds_;
  bbr::RoundMaxima bandwidth_;
  bbr::MinimumRttFilter minimum_rtt_;
  bbr::FullPipe full_pipe_;
  std::size_t phase_ = 0;  // of the cycle of gains
  Time phase_start_{};
  Time probe_rtt_done_ = k_never;
  bool probe_rtt_round_done_ = false;
  SeededRandom random_;
};

}  // namespace sheaf::quic
