#include "crypto/bounded_sealer.h"

#include <algorithm>
#include <cassert>

namespace sheaf::quic {

BoundedSealer::BoundedSealer(const PhaseKeys& keys, CryptoProvider provider)
    : provider_(provider),
      suite_(keys.suite),
      path_(keys.path),
      generation_(keys.generation),
      phase_name_(keys.phase_name()),
      phase_bit_(keys.key_phase_bit()),
      next_number_(keys.first_number),
      run_end_(keys.first_number),
      aead_(make_aead(keys.suite, keys.packet, provider)),
      header_protection_(make_header_protection(keys.suite, keys.header, provider)) {
  assert(keys.valid());
}

bool BoundedSealer::follow(const PhaseKeys& keys) {
  if (!keys.valid() || keys.suite != suite_ || keys.path != path_ ||
      keys.generation <= generation_) {
    return false;
  }
  generation_ = keys.generation;
  phase_name_ = keys.phase_name();
  phase_bit_ = keys.key_phase_bit();
  run_end_ = std::max(run_end_, keys.first_number);
  next_number_ = run_end_;
  aead_ = make_aead(suite_, keys.packet, provider_);
  return true;
}

bool BoundedSealer::permit(PacketNumber first, std::uint32_t count, std::uint8_t phase_name) {
  if (count == 0 || first < run_end_ || first >= PhaseKeys::k_limit - count ||
      phase_name != phase_name_) {
    return false;
  }
  next_number_ = first;
  run_end_ = first + count;
  return true;
}

bool BoundedSealer::may_seal(const SealJob& job) const {
  return job.path == path_ && job.number < run_end_ && job.packet_number_length == 4 &&
         (job.packet[0] & (k_long_header_bit | k_key_phase_bit)) == phase_bit_;
}

bool BoundedSealer::seal(std::span<const SealJob> jobs) {
  PacketNumber next = next_number_;
  for (const SealJob& job : jobs) {
    if (job.number < next || !may_seal(job)) return false;
    next = job.number + 1;
  }
  next_number_ = next;
  aead_->seal(jobs);
  header_protection_->protect(jobs);
  return true;
}

}  // namespace sheaf::quic
