#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <vector>

#include "fec/encoder.h"
#include "fec/solver.h"
#include "util/random.h"

namespace sheaf::quic::fec {

// Payloads by number: what a source sent, or what a receiver has.
class PacketMap final : public KnownPackets {
 public:
  std::optional<Bytes> find(std::uint64_t number) const override {
    const auto found = payloads_.find(number);
    if (found == payloads_.end()) return std::nullopt;
    return Bytes(found->second);
  }
  void put(std::uint64_t number, Bytes payload) {
    payloads_[number].assign(payload.begin(), payload.end());
  }
  void erase(std::uint64_t number) { payloads_.erase(number); }
  bool contains(std::uint64_t number) const { return payloads_.contains(number); }

 private:
  std::map<std::uint64_t, std::vector<std::uint8_t>> payloads_;
};

// Packets first, first + 1, … of random bytes, 17 to `max_payload` long.
inline PacketMap random_packets(std::uint64_t first, std::size_t count, std::size_t max_payload,
                                Random& random) {
  PacketMap packets;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<std::uint8_t> payload(17 + random.below(max_payload - 16));
    random.fill(payload);
    packets.put(first + i, payload);
  }
  return packets;
}

inline NamedSet set_of(const std::vector<std::uint64_t>& numbers) {
  NamedSet set;
  for (const std::uint64_t number : numbers) set.add(number);
  return set;
}

inline NamedSet run_of(std::uint64_t first, std::size_t count) {
  NamedSet set;
  for (std::size_t i = 0; i < count; ++i) set.add(first + i);
  return set;
}

inline std::vector<std::vector<std::uint8_t>> make_repairs(const NamedSet& set,
                                                           const PacketMap& sent,
                                                           RowIndex first_row, std::size_t rows,
                                                           const Kernel& kernel = best_kernel()) {
  std::vector<Bytes> payloads;
  for (const std::uint64_t number : set.numbers()) payloads.push_back(*sent.find(number));
  std::vector<std::vector<std::uint8_t>> repairs(
      rows, std::vector<std::uint8_t>(repair_size(payloads), 0xee));
  const std::vector<MutableBytes> buffers(repairs.begin(), repairs.end());
  if (!encode_repairs(kernel, set, payloads, first_row, buffers)) std::abort();
  return repairs;
}

// Takes what the solver has recovered. Confirms what equals the packet that was sent, and adds it
// to `has`; refuses the rest. Returns how many were right.
inline std::size_t take_recovered(Solver& solver, const PacketMap& sent, PacketMap& has) {
  std::size_t right = 0;
  while (const auto recovered = solver.poll_recovered()) {
    const auto original = sent.find(recovered->number);
    const std::uint64_t number = recovered->number;
    if (original && std::ranges::equal(*original, recovered->payload)) {
      has.put(number, recovered->payload);
      solver.confirm(number);
      ++right;
    } else {
      solver.refuse(number);
    }
  }
  return right;
}

}  // namespace sheaf::quic::fec
