#pragma once

#include "fec/equations.h"
#include "fec/named_set.h"
#include "fec/rows.h"

namespace sheaf::quic::fec {

// Unknown packets in a set at most: more are asked for by unicast.
inline constexpr std::size_t k_max_unknown_in_set = 32;

// The payloads (symbol.h) that a receiver has and has authenticated.
class KnownPackets {
 public:
  virtual ~KnownPackets() = default;
  // Returns nothing when the packet is missing. Valid until the solver returns.
  virtual std::optional<Bytes> find(std::uint64_t number) const = 0;
};

struct Repair {
  std::uint64_t number;  // of the packet that brought it
  const NamedSet& set;
  RowIndex row;
  Bytes bytes;
};

enum class RepairOutcome {
  kKept,
  kNothingMissing,
  kRedundant,      // follows from repairs that wait
  kContradiction,  // one of those that wait or this one is forged
  kMalformed,      // shorter than a packet of its set, or longer than any may be
  kExpired,        // names a missing packet below the floor
  kOutOfReach,     // names a packet that is too far above the floor
  kTooManyMissing,
  kNoRoom,
};

struct SolverCounts {
  std::uint64_t recovered = 0;     // packets
  std::uint64_t repairs_used = 0;  // took part in a packet that was confirmed; one may do so often
  std::uint64_t refused = 0;       // packets that were not genuine
  std::uint64_t contradictions = 0;
};

// The receiver's side: takes repairs as they come, and gives back the packets that follow from them
// and from those that it has. Repairs are not trusted. Every recovered packet is a claim until the
// caller has authenticated it and called `confirm` or `refuse`. A forged repair therefore costs at
// most 256 additions of a symbol, and the repairs that wait beside it.
//
// A receiver reports as missing what it lacks without the packets of `awaits_another`, as many as
// there are equations: a report then tells how many repairs it needs, whichever sets they are of.
class Solver {
 public:
  // `reach` is how far above the floor packets may be.
  Solver(const Kernel& kernel, std::size_t max_payload, std::uint64_t reach);

  RepairOutcome add(const Repair& repair, const KnownPackets& known);
  // A packet has come otherwise, and has been authenticated. Returns the repairs that it proves
  // forged or spoiled by a forged one; they are gone.
  RepairNumbers provide(std::uint64_t number, Bytes payload);
  // Packets below are no longer wanted.
  void forget_below(std::uint64_t floor);

  // Returns each packet once; the payload is valid until the next call of any function.
  std::optional<Equations::Solution> poll_recovered() { return equations_.poll_solution(); }
  void confirm(std::uint64_t number);
  // Drops all equations with a repair that took part. Returns these repairs.
  RepairNumbers refuse(std::uint64_t number);

  // Returns whether a repair waits in place of this packet: it follows once the others of its set
  // are there.
  bool awaits_another(std::uint64_t number) const { return equations_.is_pivot(number); }
  std::size_t waiting() const { return equations_.size(); }
  const SolverCounts& counts() const { return counts_; }

 private:
  std::optional<RepairOutcome> judge(const Repair& repair, const KnownPackets& known) const;

  Equations equations_;
  std::uint64_t reach_;
  std::uint64_t floor_ = 0;
  SolverCounts counts_;
};

}  // namespace sheaf::quic::fec
