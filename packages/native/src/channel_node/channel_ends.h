#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "channel_node/channel_end.h"

namespace sheaf::channel_node {

// The ends of channels on one connection
class ChannelEnds {
 public:
  static constexpr std::size_t k_most = 16;

  // Returns a slot for another end, or nothing when there are too many.
  std::optional<std::uint16_t> free_slot() const {
    for (std::uint16_t slot = 0; slot < k_most; ++slot) {
      if (slot == ends_.size() || !ends_[slot]) return slot;
    }
    return std::nullopt;
  }
  ChannelEnd& keep(std::uint16_t slot, std::unique_ptr<ChannelEnd> end) {
    if (slot == ends_.size()) ends_.emplace_back();
    ends_[slot] = std::move(end);
    return *ends_[slot];
  }
  // Returns null for a stream without an end.
  ChannelEnd* find(quic::StreamId stream) const {
    const auto found = std::ranges::find_if(
        ends_, [stream](const auto& end) { return end && end->request().stream() == stream; });
    return found == ends_.end() ? nullptr : found->get();
  }

  // Whether the peer has a request for this channel that is not over. Another one would take a
  // second place of the channel.
  bool serves(const SourceNode& node) const {
    return std::ranges::any_of(ends_, [&node](const auto& end) {
      return end && end->source() == &node && !end->request().over();
    });
  }

  // Returns true when nobody else needs the event.
  bool on_event(const http3::SessionEvent& event, Time now) {
    bool taken = false;
    for (const auto& end : ends_) taken = (end && end->on_event(event, now)) || taken;
    return taken;
  }
  void on_turn(Time now) {
    for (const auto& end : ends_) {
      if (end) end->on_turn(now);
    }
  }
  template <typename Visit>
  void for_each(Visit&& visit) {
    for (const auto& end : ends_) {
      if (end) visit(*end);
    }
  }
  void remove(quic::StreamId stream) {
    for (auto& end : ends_) {
      if (end && end->request().stream() == stream) end.reset();
    }
  }
  // Frees the source's sides whose streams are gone. What a receiver has can still be read.
  void remove_closed() {
    for (auto& end : ends_) {
      if (end && end->request().closed() && !end->receiver()) end.reset();
    }
  }

 private:
  std::vector<std::unique_ptr<ChannelEnd>> ends_;  // by slot
};

}  // namespace sheaf::channel_node
