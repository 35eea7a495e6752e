#include "tunnel_node/tunnel_node.h"

#include <algorithm>
#include <utility>

#include "io/monotonic_clock.h"
#include "tunnel_node/tunnel_end.h"

namespace sheaf::tunnel_node {

namespace {

// A tunnel may be idle for this part of its limit longer, so that the timer rings seldom.
constexpr int k_sweeps_in_idle_limit = 8;

}  // namespace

quic::Result<std::unique_ptr<TunnelNode>, io::SocketError> TunnelNode::open(uv_loop_t* loop) {
  std::unique_ptr<TunnelNode> node(new TunnelNode);
  auto group = io::PollGroup::open(loop);
  if (!group) return group.error();
  node->group_ = std::move(*group);
  auto timer = io::DeadlineTimer::open(loop, [self = node.get()] { self->sweep(); });
  if (!timer) return timer.error();
  node->timer_ = std::move(*timer);
  return node;
}

quic::Status<io::SocketError> TunnelNode::add(TunnelEnd& end) {
  if (auto status = group_->add(end.socket_->descriptor(), end); !status) return status;
  ends_.push_back(&end);
  end.listening_ = true;
  set_timer(end.active_at_);
  return {};
}

void TunnelNode::remove(TunnelEnd& end) {
  if (gathers_ == &end) {
    gathered_.clear();
    gathers_ = nullptr;
  }
  const auto found = std::ranges::find(ends_, &end);
  if (found == ends_.end()) return;
  past_.add(end.request().counts());
  *found = ends_.back();
  ends_.pop_back();
}

tunnel::Counts TunnelNode::counts() const {
  tunnel::Counts sum = past_;
  for (const TunnelEnd* end : ends_) sum.add(end->request().counts());
  return sum;
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
  for (std::size_t i = 0; i < ends_.size(); ++i) ends_[i]->check_idle(now);
  set_timer(now);
}

void TunnelNode::set_timer(Time now) {
  for (const TunnelEnd* end : ends_) {
    sweep_at_ = std::min(sweep_at_, now + end->idle_ / k_sweeps_in_idle_limit);
  }
  timer_->set(sweep_at_);
}

}  // namespace sheaf::tunnel_node
