#pragma once

#include <algorithm>
#include <span>

#include "channel/copy_budget.h"

namespace sheaf::channel_node {

// The part that one thread has of the copies which the budget of all permits
class CopyShare {
 public:
  std::size_t needing = 0;  // receivers that need copies; to be set before `divide`
  std::size_t copies = k_any;

  // Divides a number of copies by how many receivers need one. What cannot be divided goes to one
  // after the other, from call to call. Who left copies because it came late is owed them, up to
  // half of what the budget saves up for all threads together: one that hangs holds up nobody.
  // Where nobody needs a copy, nothing is counted until the next call.
  static void divide(std::span<CopyShare* const> shares, std::size_t copies) {
    settle(shares);
    std::size_t needing = 0;
    for (const CopyShare* share : shares) needing += share->needing;
    for (CopyShare* share : shares) share->begin(needing);
    for (; needing > 0 && copies > 0; --copies) {
      for (CopyShare* share : shares) share->claim_ += share->weight_;
      CopyShare* next = *std::ranges::max_element(shares, {}, &CopyShare::claim_);
      next->claim_ -= 1;
      ++next->copies;
    }
    for (CopyShare* share : shares) share->given_ = share->copies;
  }

 private:
  static constexpr std::size_t k_any = quic::CopyBudget::k_any_number;
  static constexpr double k_max_owed = 16;

  static void settle(std::span<CopyShare* const> shares) {
    std::size_t taken = 0;
    for (const CopyShare* share : shares) taken += share->given_ - share->copies;
    const double max = k_max_owed / static_cast<double>(shares.size());
    for (CopyShare* share : shares) {
      share->owed_ += share->weight_ * static_cast<double>(taken) -
                      static_cast<double>(share->given_ - share->copies);
      share->owed_ = std::clamp(share->owed_, -max, max);
    }
  }
  void begin(std::size_t needing_of_all) {
    if (needing == 0) {
      *this = {};
      claim_ = -k_max_owed;
      return;
    }
    weight_ = static_cast<double>(needing) / static_cast<double>(needing_of_all);
    claim_ = owed_;
    copies = 0;
  }

  double weight_ = 0;          // part of all receivers that needed copies at the latest `divide`
  std::size_t given_ = k_any;  // what `copies` was then
  double owed_ = 0;            // copies that others got in its place
  double claim_ = 0;           // within `divide`
};

}  // namespace sheaf::channel_node
