#include "emulation/link.h"

#include <algorithm>
#include <utility>

#include "emulation/codel.h"

namespace sheaf::quic {

namespace {

std::unique_ptr<QueueDiscipline> make_discipline(QueueDisciplineKind kind) {
  if (kind == QueueDisciplineKind::kCoDel) return std::make_unique<CoDel>();
  return std::make_unique<DropTail>();
}

}  // namespace

Link::Link(const LinkConfig& config, std::uint64_t seed)
    : config_(config), random_(seed), discipline_(make_discipline(config.queue_discipline)) {}

void Link::send(Bytes payload, const LinkHeader& header, Time now) {
  if (admit(payload.size(), now)) push(pool_.take(payload, header), now);
}

void Link::send(const LinkDatagram& datagram, const LinkHeader& header, Time now) {
  if (admit(datagram.payload().size(), now)) push(pool_.take(datagram, header), now);
}

bool Link::admit(std::size_t bytes, Time now) {
  advance(now);
  apply_changes(now);
  ++stats_.sent;
  if (bytes > config_.mtu) {
    ++stats_.too_large;
    return false;
  }
  if (config_.down) ++stats_.down;
  return !config_.down;
}

void Link::push(LinkDatagramPointer datagram, Time now) {
  if (has_no_queue()) return propagate(std::move(datagram), now);
  // The queue does not limit datagrams while the link is free.
  const bool limited = transmitting_ != nullptr;
  queue_.push(std::move(datagram), config_, limited, now);
  if (!transmitting_) start_transmission(now);
  advance(now);
}

Time Link::next_timeout() const {
  return transmitting_ ? std::min(transmission_end_, arrivals_.next()) : arrivals_.next();
}

LinkDatagram* Link::poll_arrival(Time now) {
  advance(now);
  pool_.give_back(std::move(arrived_));
  arrived_ = arrivals_.take(now);
  if (!arrived_) return nullptr;
  ++stats_.delivered;
  stats_.bytes_delivered += arrived_->payload().size();
  return arrived_.get();
}

void Link::advance(Time now) {
  while (transmitting_ && transmission_end_ <= now) {
    const Time end = transmission_end_;
    apply_changes(end);
    propagate(std::move(transmitting_), end);
    start_transmission(end);
  }
}

void Link::drop(LinkDatagramPointer datagram, std::uint64_t& counter) {
  ++counter;
  pool_.give_back(std::move(datagram));
}

// --- changes ------------------------------------------------------------------------------------

void Link::change(const LinkConfig& config, Time now) {
  advance(now);
  apply_changes(now);
  apply(config);
}

void Link::apply_changes(Time now) {
  while (!changes_.empty() && changes_.front().when <= now) {
    apply(changes_.front().config);
    changes_.pop_front();
  }
}

void Link::apply(const LinkConfig& config) {
  if (config.queue_discipline != config_.queue_discipline) {
    discipline_ = make_discipline(config.queue_discipline);
  }
  if (config.trace != config_.trace) capacity_.restart();
  config_ = config;
}

// --- transmission -------------------------------------------------------------------------------

void Link::start_transmission(Time now) {
  transmitting_ = discipline_->dequeue(queue_, now);
  if (transmitting_) transmission_end_ = transmission_end(transmitting_->payload().size(), now);
}

Time Link::transmission_end(std::size_t bytes, Time now) {
  if (config_.trace) return capacity_.transmit(*config_.trace, bytes, now);
  if (config_.rate == 0) return now;
  // Rounds nanoseconds up, so that the rate is never exceeded.
  const std::uint64_t nanoseconds = (bytes * 1'000'000'000 + config_.rate - 1) / config_.rate;
  return now + Duration(static_cast<std::int64_t>(nanoseconds));
}

// --- loss and propagation -----------------------------------------------------------------------

void Link::propagate(LinkDatagramPointer datagram, Time now) {
  if (config_.down) return drop(std::move(datagram), stats_.down);
  // Both processes advance with every datagram.
  const bool at_random = random_loss_.next(config_, random_);
  const bool in_burst = burst_loss_.next(config_.burst_loss, random_);
  if (at_random || in_burst) return drop(std::move(datagram), stats_.lost);
  if (happens(config_.duplication)) {
    ++stats_.duplicated;
    schedule_arrival(pool_.take(datagram->payload(), datagram->header), now);
  }
  schedule_arrival(std::move(datagram), now);
}

void Link::schedule_arrival(LinkDatagramPointer datagram, Time now) {
  Time arrival = now + config_.delay;
  if (config_.jitter > Duration::zero()) {
    const double share =
        jitter_.next(random_, config_.jitter_correlation, config_.correlation_kind);
    const double jitter = share * static_cast<double>(config_.jitter.count() + 1);
    arrival += Duration(static_cast<std::int64_t>(jitter));
  }
  if (happens(config_.reordering)) {
    arrival += config_.reordering_delay;
  } else if (!config_.jitter_reorders) {
    arrival = last_arrival_ = std::max(arrival, last_arrival_);
  }
  arrivals_.add(arrival, std::move(datagram));
}

}  // namespace sheaf::quic
