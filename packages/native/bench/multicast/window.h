#pragma once

#include <cstring>
#include <vector>

#include "fec/solver.h"
#include "util/random.h"

namespace sheaf::quic::multicast_bench {

// Bytes behind the packet number of a packet of 1350 bytes
inline constexpr std::size_t k_payload = 1350 - 13;

// The packets that a source or a receiver keeps, in slots that are written again and again. A slot
// always gets the same bytes, so that a repair stays right.
class Window final : public fec::KnownPackets {
 public:
  Window(std::size_t packets, Random& random)
      : template_(k_payload + k_shifts), bytes_(packets * k_payload) {
    random.fill(template_);
    for (std::size_t i = 0; i < packets; ++i) {
      payloads_.emplace_back(bytes_.data() + i * k_payload, k_payload);
    }
    write(packets);
  }

  std::span<const Bytes> payloads() const { return payloads_; }
  std::size_t size() const { return payloads_.size(); }

  // Writes the next packets, as sealing or receiving them does.
  void write(std::size_t packets) {
    for (std::size_t i = 0; i < packets; ++i) {
      std::memcpy(slot(next_), template_.data() + next_ % k_shifts, k_payload);
      next_ = (next_ + 1) % size();
    }
  }
  bool is_right(std::size_t packet, Bytes payload) const {
    const std::uint8_t* original = template_.data() + packet % k_shifts;
    return payload.size() == k_payload && std::memcmp(payload.data(), original, k_payload) == 0;
  }

  void set_missing(std::size_t packet) { missing_ = packet; }
  std::size_t missing() const { return missing_; }
  void recover(Bytes payload) { std::memcpy(slot(missing_), payload.data(), k_payload); }
  std::optional<Bytes> find(std::uint64_t number) const override {
    if (number == missing_) return std::nullopt;
    return payloads_[number];
  }

 private:
  static constexpr std::size_t k_shifts = 251;

  std::uint8_t* slot(std::size_t packet) { return bytes_.data() + packet * k_payload; }

  std::vector<std::uint8_t> template_;
  std::vector<std::uint8_t> bytes_;
  std::vector<Bytes> payloads_;
  std::size_t next_ = 0;
  std::size_t missing_ = 0;
};

}  // namespace sheaf::quic::multicast_bench
