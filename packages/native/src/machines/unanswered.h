#pragma once

#include <algorithm>
#include <array>
#include <list>
#include <vector>

#include "connection/transmit.h"

namespace sheaf::machines {

// The latest datagrams that were passed on to machines which may be lost, one of each client. A
// client doubles its pauses while nobody answers (RFC 9002 §6.2.1), so that it hears of the loss
// much later when it has to ask again. Bounded.
class Unanswered {
 public:
  static constexpr std::size_t k_max_datagrams = 200;
  // Enough for what answers it: no stateless reset is longer (RFC 9000 §10.3)
  static constexpr std::size_t k_max_bytes = 64;

  struct Kept {
    std::vector<std::uint8_t> server_id;
    std::vector<std::uint8_t> bytes;
    quic::AddressPair path;
    quic::Ecn ecn = quic::Ecn::kNotEct;
  };

  void keep(const std::vector<std::uint8_t>& server_id, const quic::Datagram& datagram) {
    std::erase_if(kept_, [&](const Kept& kept) { return kept.path == datagram.path; });
    if (kept_.size() == k_max_datagrams) kept_.pop_front();
    const quic::Bytes begin =
        datagram.payload.first(std::min(datagram.payload.size(), k_max_bytes));
    kept_.push_back({server_id, {begin.begin(), begin.end()}, datagram.path, datagram.ecn});
  }
  // Forgets the datagrams for a machine, and returns them.
  std::list<Kept> take(const std::vector<std::uint8_t>& server_id) {
    std::list<Kept> taken;
    for (auto at = kept_.begin(); at != kept_.end();) {
      const auto next = std::next(at);
      if (at->server_id == server_id) taken.splice(taken.end(), kept_, at);
      at = next;
    }
    return taken;
  }

 private:
  std::list<Kept> kept_;  // oldest first
};

}  // namespace sheaf::machines
