#include "tunnel_node/tunnel_node.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "io/monotonic_clock.h"
#include "tunnel_node/tunnel_end.h"

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

quic::Status<io::SocketError> TunnelNode::add(TunnelEnd& end) {
  if (open_ >= max_tunnels_) return io::SocketError{EMFILE, "too many tunnels for one process"};
  if (auto status = group_->add(end.socket_->descriptor(), end); !status) return status;
  end.index_ = ends_.size();
  ends_.push_back(&end);
  end.listening_ = true;
  ++open_;
  sweep_by(end.active_at_, end);
  timer_->set(sweep_at_);
  return {};
}

void TunnelNode::remove(TunnelEnd& end) {
  if (gathers_ == &end) {
    gathered_.clear();
    gathers_ = nullptr;
  }
  if (end.index_ >= ends_.size() || ends_[end.index_] != &end) return;  // it was never added
  past_.add(end.request().counts());
  ends_[end.index_] = ends_.back();
  ends_[end.index_]->index_ = end.index_;
  ends_.pop_back();
}

void TunnelNode::stop_listening(TunnelEnd& end) {
  if (!std::exchange(end.listening_, false)) return;
  group_->remove(end.socket_->descriptor(), end);
  --open_;
}

tunnel::Counts TunnelNode::counts() const {
  tunnel::Counts sum = past_;
  for (const TunnelEnd* end : ends_) sum.add(end->request().counts());
  return sum;
}

std::shared_ptr<tunnel::RateBudget> TunnelNode::budget_of(const std::string& name, double rate) {
  if (name.empty()) return nullptr;
  auto& budget = budgets_[name];
  if (!budget) budget = std::make_shared<tunnel::RateBudget>(rate);
  return budget;
}

void TunnelNode::append(TunnelEnd& end, quic::Bytes payload) {
  if (gathers_ != &end) flush();
  gathers_ = &end;
  if (gathered_.append(payload)) return;
  flush();
  gathers_ = &end;
  gathered_.append(payload);
}

void TunnelNode::flush() {
  TunnelEnd* end = std::exchange(gathers_, nullptr);
  if (!end || gathered_.empty()) return;
  end->on_sent(end->socket_->send(gathered_, *buffers_));
}

void TunnelNode::sweep() {
  const Time now = io::monotonic_now();
  sweep_at_ = quic::k_never;
  // What an end does may end others of its connection, but removes none before its next turn.
  for (TunnelEnd* end : ends_) {
    end->check_idle(now);
    sweep_by(now, *end);
  }
  timer_->set(sweep_at_);
  std::erase_if(budgets_, [&](const auto& entry) {
    const auto& budget = entry.second;
    return budget.use_count() == 1 && now >= budget->used_at() + k_budget_kept;
  });
}

void TunnelNode::sweep_by(Time now, const TunnelEnd& end) {
  sweep_at_ = std::min(sweep_at_, now + end.idle_ / k_sweeps_in_idle_limit);
}

}  // namespace sheaf::tunnel_node
