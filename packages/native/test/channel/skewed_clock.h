#pragma once

#include <memory>

#include "channel_authentication/authenticator.h"

namespace sheaf::quic {

// The clock of a source that is not that of its members
struct ClockSkew {
  Duration ahead{};
  std::int64_t drift_per_million = 0;
  Duration told_late{};  // by how much it says less than it shows, as no source may

  bool any() const { return ahead != 0ms || drift_per_million != 0 || told_late != 0ms; }
  Time shown_at(Time now) const {
    return now + ahead + now.time_since_epoch() * drift_per_million / 1'000'000;
  }
  Time when_shown(Time shown) const {
    const Time near = shown - ahead;
    return near - near.time_since_epoch() * drift_per_million / (1'000'000 + drift_per_million);
  }
};

// An authenticator whose clock is skewed
class SkewedAuthenticator final : public Authenticator {
 public:
  SkewedAuthenticator(std::unique_ptr<Authenticator> inner, const ClockSkew& skew)
      : inner_(std::move(inner)), skew_(skew) {}

  AuthenticationOffer offer(Time now) override { return inner_->offer(skew_.shown_at(now)); }
  std::optional<SourceClock> clock(Time now) override {
    auto clock = inner_->clock(skew_.shown_at(now));
    if (clock) clock->time -= skew_.told_late;
    return clock;
  }
  std::size_t trailer_length() const override { return inner_->trailer_length(); }
  bool accepts(Time now) const override { return inner_->accepts(skew_.shown_at(now)); }
  void add(std::span<const SealedPacket> packets, Time now) override {
    inner_->add(packets, skew_.shown_at(now));
  }
  std::size_t max_frame() const override { return inner_->max_frame(); }
  Time next_timeout() const override {
    const Time shown = inner_->next_timeout();
    // A nanosecond for what the division leaves
    return shown == k_never ? k_never : skew_.when_shown(shown) + 1ns;
  }
  void on_timeout(Time now) override { inner_->on_timeout(skew_.shown_at(now)); }
  std::size_t write_frame(MutableBytes room, Time now) override {
    return inner_->write_frame(room, skew_.shown_at(now));
  }

 private:
  std::unique_ptr<Authenticator> inner_;
  ClockSkew skew_;
};

}  // namespace sheaf::quic
