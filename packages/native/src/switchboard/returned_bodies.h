#pragma once

#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "direct_return/grant.h"
#include "direct_return/held_payload.h"
#include "direct_return/payload_source.h"
#include "switchboard/switchboard.h"

namespace sheaf::switchboard {

// The bodies that a backend sends at the orders of its gateways, by numbers for the application,
// which hears when one is over, and when one has room for more bytes.
class ReturnedBodies {
 public:
  using Number = std::uint32_t;
  struct Event {
    Number body = 0;
    bool over = false;       // otherwise it has room
    std::uint64_t sent = 0;  // bytes at the beginning of the body that were sent at least once
  };
  // Bytes that all bodies together may hold. A body counts by the most that it will ever hold.
  static constexpr std::size_t k_max_held = std::size_t{256} << 20;

  // `notify` is called when there are events. It must not call this object.
  explicit ReturnedBodies(std::function<void()> notify) : notify_(std::move(notify)) {}

  struct Place {
    Switchboard::SessionNumber session = 0;
    quic::GrantId grant = 0;
    std::uint64_t start = 0;   // offset in the stream of the first byte
    std::uint64_t length = 0;  // of the body
  };
  struct Followed {
    Number number = 0;
    std::unique_ptr<quic::PayloadSource> source;
  };
  // Numbers a body whose bytes are all there. It is over when the source is destroyed.
  Followed follow(const Place& place, std::unique_ptr<quic::PayloadSource> source);
  // Numbers one that holds its bytes, which `append` brings. Without a source when too much is
  // held.
  Followed hold(const Place& place);

  // Returns null when it is over, or not held.
  quic::HeldPayload* held(Number body);
  // Says once when the held body has room.
  void await_room(Number body);
  // Returns null when it is over.
  const Place* find(Number body) const;
  // Returns how much was sent; 0 when it is over.
  std::uint64_t sent(Number body) const;

  bool any_events() const { return !events_.empty(); }
  std::vector<Event> take_events() { return std::exchange(events_, {}); }

 private:
  class Source;
  struct Body {
    Place place;
    quic::HeldPayload* held = nullptr;
    std::size_t most_held = 0;
    std::uint64_t sent = 0;
    bool awaited = false;
  };

  Followed add(const Body& body, std::unique_ptr<quic::PayloadSource> source);
  void report(const Event& event);

  std::function<void()> notify_;
  std::unordered_map<Number, Body> bodies_;
  std::vector<Event> events_;
  std::size_t held_ = 0;
  Number next_ = 1;
};

}  // namespace sheaf::switchboard
