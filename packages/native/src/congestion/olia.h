#pragma once

#include <vector>

#include "congestion/loss_based_controller.h"

namespace sheaf::quic {

// Shares facts between the controllers of one connection's paths. The connection owns it, and
// passes it to each path's controller in CongestionConfig, since controllers come and go.
class OliaCoupling {
 public:
  struct Member {
    double window = 0;       // bytes
    double datagram = 0;     // bytes
    double round_trip = 0;   // smoothed, seconds; 0 before the first sample
    double since_loss = 0;   // bytes acknowledged since the last loss
    double before_loss = 0;  // bytes acknowledged between the last two losses
  };
  // Adds a member, which must not move until it leaves.
  void join(const Member& member) { members_.push_back(&member); }
  // Removes a member. It may be called twice.
  void leave(const Member& member) { std::erase(members_, &member); }
  std::size_t size() const { return members_.size(); }

  // Returns the growth of a window for each acknowledged byte, in datagrams per byte. It is
  // negative if a large window makes room for better paths.
  double growth(const Member& member) const;

 private:
  double alpha(const Member& member) const;

  std::vector<const Member*> members_;
};

// OLIA, the Opportunistic Linked Increases Algorithm (Khalili et al., "MPTCP is not
// Pareto-optimal", CoNEXT 2012; draft-khalili-mptcp-congestion-control-05). It takes no more than
// one flow would on the best path, moves traffic to the less congested paths, and keeps a little on
// the others to notice when they improve. On one path it equals NewReno.
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
