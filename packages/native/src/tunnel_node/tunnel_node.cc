#include "tunnel_node/tunnel_node.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "io/monotonic_clock.h"
#include "tunnel_node/target_side.h"

namespace sheaf::tunnel_node {

namespace {

// A tunnel may be idle for this part of its limit longer, so that the timer rings seldom.
constexpr int k_sweeps_in_idle_limit = 8;

// A budget of nobody is kept for as long: one that is forgotten earlier begins anew, full.
constexpr Duration k_budget_kept = std::chrono::minutes(2);

}  // namespace

quic::Result<std::unique_ptr<TunnelNode>, io::SocketError> TunnelNode::open(
    uv_loop_t* loop, std::size_t max_tunnels) {
  std::unique_ptr<TunnelNode> node(new TunnelNode(max_tunnels));
  auto group = io::PollGroup::open(loop);
  if (!group) return group.error();
  node->group_ = std::move(*group);
  auto timer = io::DeadlineTimer::open(loop, [self = node.get()] { self->sweep(); });
  if (!timer) return timer.error();
  node->timer_ = std::move(*timer);
  return node;
}

quic::Status<io::SocketError> TunnelNode::add(TargetSide& side) {
  if (open_ >= max_tunnels_) return io::SocketError{EMFILE, "too many tunnels for one process"};
  if (const Outlet& outlet = side.outlet_; outlet.own()) {
    if (auto status = group_->add(outlet.socket->descriptor(), side); !status) return status;
  }
  side.index_ = sides_.size();
  sides_.push_back(&side);
  side.listening_ = true;
  ++open_;
  sweep_by(side.active_at_, side);
  timer_->set(sweep_at_);
  return {};
}

void TunnelNode::remove(TargetSide& side) {
  if (gathers_ == &side) {
    gathered_.clear();
    gathers_ = nullptr;
  }
  if (side.index_ >= sides_.size() || sides_[side.index_] != &side) return;  // it was never added
  past_.add(side.client_.counts());
  sides_[side.index_] = sides_.back();
  sides_[side.index_]->index_ = side.index_;
  sides_.pop_back();
}

void TunnelNode::stop_listening(TargetSide& side) {
  if (!std::exchange(side.listening_, false)) return;
  if (const Outlet& outlet = side.outlet_; outlet.own()) {
    group_->remove(outlet.socket->descriptor(), side);
  }
  --open_;
}

tunnel::Counts TunnelNode::counts() const {
  tunnel::Counts sum = past_;
  for (const TargetSide* side : sides_) sum.add(side->client_.counts());
  return sum;
}

std::shared_ptr<tunnel::RateBudget> TunnelNode::budget_of(const std::string& name, double rate) {
  if (name.empty()) return nullptr;
  auto& budget = budgets_[name];
  if (!budget) budget = std::make_shared<tunnel::RateBudget>(rate);
  return budget;
}

void TunnelNode::append(TargetSide& side, const tunnel::Packet& packet) {
  if (gathers_ != &side) flush();
  gathers_ = &side;
  const quic::Bytes header = side.outlet_.header;
  if (gathered_.append(header, packet.payload, packet.ecn)) return;
  flush();
  gathers_ = &side;
  gathered_.append(header, packet.payload, packet.ecn);
}

void TunnelNode::flush() {
  TargetSide* side = std::exchange(gathers_, nullptr);
  if (!side || gathered_.empty()) return;
  if (!side->outlet_.socket) return gathered_.clear();  // its tunnel is over
  side->on_sent(side->outlet_.socket->send(gathered_, *buffers_));
}

void TunnelNode::sweep() {
  const Time now = io::monotonic_now();
  sweep_at_ = quic::k_never;
  // The end of a tunnel may end others of its connection, but none is removed before its next turn.
  for (TargetSide* side : sides_) {
    side->check_idle(now);
    sweep_by(now, *side);
  }
  timer_->set(sweep_at_);
  std::erase_if(budgets_, [&](const auto& entry) {
    const auto& budget = entry.second;
    return budget.use_count() == 1 && now >= budget->used_at() + k_budget_kept;
  });
}

void TunnelNode::sweep_by(Time now, const TargetSide& side) {
  sweep_at_ = std::min(sweep_at_, now + side.idle_ / k_sweeps_in_idle_limit);
}

}  // namespace sheaf::tunnel_node
