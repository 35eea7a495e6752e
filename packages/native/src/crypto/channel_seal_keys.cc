#include "crypto/channel_seal_keys.h"

#include "wire/packet_header.h"

namespace sheaf::quic {

ChannelSealKeys::ChannelSealKeys(const TrafficSecret& header_secret, const ChannelSecret& first,
                                 CryptoProvider provider)
    : provider_(provider),
      suite_(header_secret.suite),
      sequence_(first.sequence),
      next_number_(first.first_number),
      usage_(suite_),
      aead_(make_aead(first.secret, provider)),
      header_protection_(make_header_protection(header_secret, provider)) {}

std::uint8_t ChannelSealKeys::key_phase_bit() const {
  return (sequence_ & 1) != 0 ? k_key_phase_bit : 0;
}

bool ChannelSealKeys::change(const ChannelSecret& next) {
  const std::uint64_t lowest = usage_.sealed() == 0 ? sequence_ : sequence_ + 1;
  if (next.sequence < lowest || next.sequence > sequence_ + 1 ||
      next.first_number != next_number_ || next.secret.suite != suite_) {
    return false;
  }
  sequence_ = next.sequence;
  usage_.on_new_key();
  aead_ = make_aead(next.secret, provider_);
  return true;
}

bool ChannelSealKeys::may_seal(const SealJob& job, PacketNumber expected) const {
  const std::uint8_t bits = job.packet[0] & (k_long_header_bit | k_key_phase_bit);
  return job.number == expected && job.path == PathId{} && job.packet_number_length == 4 &&
         job.header_length == k_channel_header_length && bits == key_phase_bit();
}

bool ChannelSealKeys::seal(std::span<const SealJob> jobs) {
  PacketNumber next = next_number_;
  for (const SealJob& job : jobs) {
    if (!may_seal(job, next)) return false;
    ++next;
  }
  if (usage_.exhausted() || next > k_max_varint) return false;
  next_number_ = next;
  usage_.on_sealed(jobs.size());
  aead_->seal(jobs);
  header_protection_->protect(jobs);
  return true;
}

}  // namespace sheaf::quic
