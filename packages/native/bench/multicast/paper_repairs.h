#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "fec/field.h"
#include "fec/symbol.h"

// How MCQUIC repairs, as the base of comparisons: rows over the whole window, whichever packets are
// missing.
namespace sheaf::quic::multicast_bench {

// Returns the coefficient of the packet at a place in the window: a Vandermonde matrix.
constexpr std::uint8_t vandermonde(std::size_t row, std::size_t place) {
  return fec::k_field_tables.powers[(row + 1) * place % 255];
}

// Makes one row over a window of payloads. The buffer is as long as the longest symbol.
inline void encode_window(const fec::Kernel& kernel, std::span<const Bytes> window, std::size_t row,
                          MutableBytes repair) {
  std::ranges::fill(repair, std::uint8_t{0});
  std::uint8_t* destination = repair.data();
  for (std::size_t place = 0; place < window.size(); ++place) {
    const std::uint8_t coefficient = vandermonde(row, place);
    fec::add_symbol(kernel, &destination, &coefficient, 1, window[place]);
  }
}

// Recovers the one packet that is missing from the window, into `symbol`. Spoils the repair.
inline void decode_window(const fec::Kernel& kernel, std::span<const Bytes> window,
                          std::size_t missing, std::size_t row, MutableBytes repair,
                          MutableBytes symbol) {
  std::uint8_t* destination = repair.data();
  for (std::size_t place = 0; place < window.size(); ++place) {
    if (place == missing) continue;
    const std::uint8_t coefficient = vandermonde(row, place);
    fec::add_symbol(kernel, &destination, &coefficient, 1, window[place]);
  }
  std::ranges::fill(symbol, std::uint8_t{0});
  kernel.multiply_add(symbol.data(), repair.data(), fec::inverse(vandermonde(row, missing)),
                      symbol.size());
}

// Decides how many repairs to send (listing 1 of the paper, with the variable that it computes and
// does not use): as many as the NACK names lost packets, without those sent after what it saw last.
class PaperScheduler {
 public:
  explicit PaperScheduler(std::size_t max_in_flight) : max_in_flight_(max_in_flight) {}

  // `largest` is the highest number that the receiver saw. Repairs up to it are in flight no more.
  void on_nack(std::size_t lost, std::uint64_t largest) {
    if (last_repair_ <= largest) in_flight_ = 0;
    to_send_ = std::max(to_send_, lost - std::min(lost, in_flight_));
  }
  bool should_send() const { return to_send_ > 0 && in_flight_ < max_in_flight_; }
  void on_sent(std::uint64_t number) {
    last_repair_ = number;
    ++in_flight_;
    --to_send_;
  }

 private:
  std::size_t max_in_flight_;
  std::size_t to_send_ = 0;
  std::size_t in_flight_ = 0;
  std::uint64_t last_repair_ = 0;
};

}  // namespace sheaf::quic::multicast_bench
