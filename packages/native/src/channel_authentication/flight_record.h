#pragma once

#include <algorithm>
#include <bitset>
#include <vector>

#include "channel_authentication/flight_hashes.h"

namespace sheaf::quic {

// The latest flights whose signature was right, and lists that came before their flight
class FlightRecord {
 public:
  struct Flight {
    FlightFrame frame;  // its spans point into the two below
    std::array<std::uint8_t, k_max_lists * k_max_hash_length> hashes{};
    Ed25519Signature signature{};
    std::bitset<k_max_lists> lists_seen;

    Bytes list_hash(std::size_t index) const {
      return Bytes(hashes).subspan(index * frame.hash_length, frame.hash_length);
    }
  };
  struct EarlyList {
    bool used = false;
    ListFrame frame;
    std::array<std::uint8_t, k_max_list_hashes * k_max_hash_length> hashes{};
  };

  FlightRecord() : flights_(k_flights), early_(k_max_lists) {}

  // Whether the same flight was accepted before
  bool knows(const FlightFrame& frame) const {
    return std::ranges::any_of(flights_, [&](const Flight& flight) {
      return flight.frame.count != 0 && flight.frame.first == frame.first &&
             std::ranges::equal(flight.signature, frame.signature);
    });
  }
  Flight& add(const FlightFrame& frame) {
    Flight& flight = flights_[next_flight_++ % k_flights];
    flight.frame = frame;
    flight.lists_seen.reset();
    std::ranges::copy(frame.signature, flight.signature.begin());
    flight.frame.signature = flight.signature;
    if (frame.per_list != 0) std::ranges::copy(frame.hashes, flight.hashes.begin());
    flight.frame.hashes = flight.hashes;
    return flight;
  }
  // Returns the flight that has this list; null when none is known.
  Flight* flight_of(const ListFrame& list) {
    const auto found = std::ranges::find_if(
        flights_, [&](const Flight& flight) { return contains(flight.frame, list); });
    return found == flights_.end() ? nullptr : &*found;
  }

  // Keeps a list until its flight comes. Others that come early take its place in turn.
  void keep_early(const ListFrame& list) {
    EarlyList& early = early_[next_early_++ % early_.size()];
    early.used = true;
    early.frame = list;
    std::ranges::copy(list.hashes, early.hashes.begin());
    early.frame.hashes = Bytes(early.hashes).first(list.hashes.size());
  }
  std::span<EarlyList> early() { return early_; }

  static bool contains(const FlightFrame& flight, const ListFrame& list) {
    if (flight.per_list == 0 || list.first < flight.first ||
        list.first - flight.first >= flight.count || list.hash_length != flight.hash_length) {
      return false;
    }
    const std::size_t offset = list.first - flight.first;
    return offset % flight.per_list == 0 &&
           list.count() == std::min<std::size_t>(flight.per_list, flight.count - offset);
  }

 private:
  static constexpr std::size_t k_flights = 8;

  std::vector<Flight> flights_;
  std::vector<EarlyList> early_;
  std::size_t next_flight_ = 0;
  std::size_t next_early_ = 0;
};

}  // namespace sheaf::quic
