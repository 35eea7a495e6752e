#pragma once

#include <vector>

#include "congestion/loss_based_controller.h"

namespace sheaf::quic {

// What the controllers of one connection's paths know of each other. The connection owns it, and
// gives it to each path's controller in CongestionConfig; controllers come and go.
class OliaCoupling {
 public:
  struct Member {
    double window = 0;       // bytes
    double datagram = 0;     // bytes
    double round_trip = 0;   // smoothed, seconds; 0 before the first sample
    double since_loss = 0;   // bytes acknowledged since the last loss
    double before_loss = 0;  // bytes acknowledged between the last two losses
  };
  // The member stays where it is until it leaves.
  void join(const Member& member) { members_.push_back(&member); }
  // No harm in doing it twice.
  void leave(const Member& member) { std::erase(members_, &member); }
  std::size_t size() const { return members_.size(); }

  // What a window grows by for each byte that is acknowledged, in datagrams per byte. Negative
  // where a large window makes room for better paths.
  double growth(const Member& member) const;

 private:
  double alpha(const Member& member) const;

  std::vector<const Member*> members_;
};

// OLIA, the Opportunistic Linked Increases Algorithm (Khalili et al., "MPTCP is not
// Pareto-optimal", CoNEXT 2012; draft-khalili-mptcp-congestion-control-05): takes no more than one
// flow would on the best path, moves traffic to the less congested paths, and keeps a little on the
// others to see when they get better. On one path it is NewReno.
class Olia final : public LossBasedController {
 public:
  explicit Olia(const CongestionConfig& config);
  ~Olia() override { coupling_->leave(member_); }
  Olia(const Olia&) = delete;
  Olia& operator=(const Olia&) = delete;

  void on_acknowledgement(const AckSample& sample) override;
  void on_path_abandoned() override { coupling_->leave(member_); }
  const char* name() const override { return "olia"; }

 private:
  double grown_window(const AckSample& sample) override;
  double reduced_window() override;
  void on_remember() override { remembered_ = member_; }
  void on_undo() override;

  std::shared_ptr<OliaCoupling> coupling_;
  OliaCoupling::Member member_;
  OliaCoupling::Member remembered_;
};

}  // namespace sheaf::quic
