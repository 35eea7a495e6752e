#include "sim/link.h"

#include <algorithm>
#include <utility>

namespace sheaf::quic {

void Link::send(LinkDatagram datagram, Time now) {
  advance(now);
  apply_changes(now);
  ++stats_.sent;
  if (datagram.payload.size() > config_.mtu) {
    ++stats_.too_large;
    return;
  }
  enqueue(std::move(datagram));
  if (!transmitting_) start_transmission(now);
  advance(now);
}

Time Link::next_timeout() const {
  const Time arrival = arrivals_.empty() ? k_never : arrivals_.front().when;
  return transmitting_ ? std::min(transmission_end_, arrival) : arrival;
}

std::optional<LinkDatagram> Link::poll_arrival(Time now) {
  advance(now);
  if (arrivals_.empty() || arrivals_.front().when > now) return std::nullopt;
  std::pop_heap(arrivals_.begin(), arrivals_.end());
  LinkDatagram datagram = std::move(arrivals_.back().datagram);
  arrivals_.pop_back();
  ++stats_.delivered;
  stats_.bytes_delivered += datagram.payload.size();
  return datagram;
}

void Link::advance(Time now) {
  while (transmitting_ && transmission_end_ <= now) {
    const Time end = transmission_end_;
    apply_changes(end);
    propagate(std::move(*transmitting_), end);
    transmitting_.reset();
    start_transmission(end);
  }
}

void Link::apply_changes(Time now) {
  while (!changes_.empty() && changes_.front().when <= now) {
    config_ = changes_.front().config;
    changes_.pop_front();
  }
}

// --- queue --------------------------------------------------------------------------------------

void Link::enqueue(LinkDatagram datagram) {
  const std::size_t bytes = datagram.payload.size();
  // Nothing waits for a free link.
  if (transmitting_ && waiting_bytes_ + bytes > config_.queue_bytes) {
    ++stats_.queue_full;
    return;
  }
  if (waiting_bytes_ > config_.mark_bytes && datagram.ecn != Ecn::kNotEct) {
    datagram.ecn = Ecn::kCe;
    ++stats_.marked;
  }
  waiting_bytes_ += bytes;
  waiting_.push_back(std::move(datagram));
}

std::optional<LinkDatagram> Link::dequeue() {
  if (waiting_.empty()) return std::nullopt;
  LinkDatagram datagram = std::move(waiting_.front());
  waiting_.pop_front();
  waiting_bytes_ -= datagram.payload.size();
  return datagram;
}

// --- transmission -------------------------------------------------------------------------------

void Link::start_transmission(Time now) {
  transmitting_ = dequeue();
  if (!transmitting_) return;
  // Times count nanoseconds; rounded up, so that the rate is never exceeded.
  const std::uint64_t bytes = transmitting_->payload.size();
  const std::uint64_t nanoseconds =
      config_.rate == 0 ? 0 : (bytes * 1'000'000'000 + config_.rate - 1) / config_.rate;
  transmission_end_ = now + Duration(static_cast<std::int64_t>(nanoseconds));
}

// --- loss ---------------------------------------------------------------------------------------

bool Link::is_lost() { return happens(config_.loss); }

// --- propagation --------------------------------------------------------------------------------

void Link::propagate(LinkDatagram datagram, Time now) {
  if (is_lost()) {
    ++stats_.lost;
    return;
  }
  if (happens(config_.duplication)) {
    ++stats_.duplicated;
    schedule_arrival(datagram, now);
  }
  schedule_arrival(std::move(datagram), now);
}

void Link::schedule_arrival(LinkDatagram datagram, Time now) {
  const auto jitter = random_.below(static_cast<std::uint64_t>(config_.jitter.count()) + 1);
  Time arrival = now + config_.delay + Duration(static_cast<std::int64_t>(jitter));
  if (happens(config_.reordering)) {
    arrival += config_.reordering_delay;
  } else {
    arrival = last_arrival_ = std::max(arrival, last_arrival_);
  }
  arrivals_.push_back({arrival, next_sequence_++, std::move(datagram)});
  std::push_heap(arrivals_.begin(), arrivals_.end());
}

}  // namespace sheaf::quic
