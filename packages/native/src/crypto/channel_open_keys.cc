#include "crypto/channel_open_keys.h"

#include <algorithm>

#include "wire/packet_header.h"

namespace sheaf::quic {
namespace {

constexpr std::size_t k_number_offset = 1 + k_channel_id_length;
constexpr std::size_t k_min_length = k_number_offset + 4 + k_header_protection_sample_length;
constexpr PacketNumber k_max_distance = std::uint64_t{1} << 31;  // that four bytes can tell apart

}  // namespace

ChannelOpenKeys::ChannelOpenKeys(const TrafficSecret& header_secret, PacketCiphers& ciphers)
    : ciphers_(ciphers),
      suite_(header_secret.suite),
      usage_(suite_),
      header_protection_(ciphers.header_protection(header_secret)) {}

ChannelOpenKeys::Added ChannelOpenKeys::add(const ChannelSecret& secret, Time now) {
  if (secret.secret.suite != suite_ || secret.first_number > k_max_varint) return Added::kInvalid;
  const Key* newest = count_ == 0 ? nullptr : &keys_[count_ - 1];
  const bool is_second = newest != nullptr && secret.sequence == newest->sequence;
  if (newest != nullptr && (secret.sequence < newest->sequence || (is_second && newest->in_use))) {
    return Added::kKnown;
  }
  const std::size_t before = count_ - (is_second ? 1 : 0);
  if (!is_in_order(secret, before == 0 ? nullptr : &keys_[before - 1])) return Added::kInvalid;
  if (before == k_max_keys) {
    if (keys_[0].superseded == k_never && now < active_ + k_unused) return Added::kTooMany;
    remove_oldest();
  }
  if (active_ == Time{}) active_ = now;
  if (is_second) --count_;
  keys_[count_++] = {.sequence = secret.sequence,
                     .first = secret.first_number,
                     .aead = ciphers_.aead(secret.secret)};
  return Added::kAdded;
}

bool ChannelOpenKeys::is_in_order(const ChannelSecret& secret, const Key* before) const {
  if (before == nullptr) return true;
  const PacketNumber base = expected_base() + 1;  // 0 for k_no_packet_number
  return secret.first_number > before->first && secret.first_number < base + k_max_distance;
}

// The number that the next one is near: the largest opened, or what precedes the first of the
// oldest key
PacketNumber ChannelOpenKeys::expected_base() const {
  return largest_opened_ != k_no_packet_number ? largest_opened_ : keys_[0].first - 1;
}

ChannelOpenKeys::Key* ChannelOpenKeys::key_of(PacketNumber number) {
  for (std::size_t i = count_; i > 0; --i) {
    if (keys_[i - 1].first <= number) return &keys_[i - 1];
  }
  return nullptr;
}

ChannelOpenKeys::Key* ChannelOpenKeys::key_with(std::uint64_t sequence) {
  const auto end = keys_.begin() + static_cast<std::ptrdiff_t>(count_);
  const auto found =
      std::find_if(keys_.begin(), end, [&](const Key& key) { return key.sequence == sequence; });
  return found == end ? nullptr : &*found;
}

std::optional<ChannelHeader> ChannelOpenKeys::read_header(Bytes packet) {
  if (count_ == 0 || packet.size() < k_min_length) return std::nullopt;
  if ((packet[0] & (k_long_header_bit | k_fixed_bit)) != k_fixed_bit) return std::nullopt;
  ChannelHeader header;
  std::copy_n(packet.begin(), header.bytes.size(), header.bytes.begin());
  std::uint8_t mask[5];
  header_protection_->mask(packet.data() + k_number_offset + 4, mask);
  header.bytes[0] ^= mask[0] & 0x1f;
  for (std::size_t i = 0; i < 4; ++i) header.bytes[k_number_offset + i] ^= mask[1 + i];
  if ((header.bytes[0] & 0x03) != 3) return std::nullopt;

  const auto truncated = load<std::uint32_t>(header.bytes.data() + k_number_offset);
  header.number = decode_packet_number(expected_base(), truncated, 4);
  const Key* key = key_of(header.number);
  const bool odd = (header.bytes[0] & k_key_phase_bit) != 0;
  if (key == nullptr || ((key->sequence & 1) != 0) != odd) return std::nullopt;
  header.key_sequence = key->sequence;
  return header;
}

ChannelOpenKeys::Outcome ChannelOpenKeys::open(const ChannelHeader& header, Bytes packet,
                                               Origin origin, Time now, std::uint8_t* out) {
  if (packet.size() < header.bytes.size() + k_aead_tag_length) return Outcome::kWrongTag;
  if (usage_.forgery_limit_reached()) return Outcome::kExhausted;
  Key* key = key_with(header.key_sequence);
  if (key == nullptr) return Outcome::kNoKey;
  if (!key->aead->open(header.bytes, packet.subspan(header.bytes.size()), PathId{}, header.number,
                       out)) {
    usage_.on_forged();
    return usage_.forgery_limit_reached() ? Outcome::kExhausted : Outcome::kWrongTag;
  }
  if (origin == Origin::kProven) note_use(*key, header.number, now);
  return Outcome::kOpened;
}

ChannelOpenKeys::Outcome ChannelOpenKeys::restore_header(Bytes channel, PacketNumber number,
                                                         MutableBytes packet, std::uint8_t* out) {
  if (packet.size() < k_min_length) return Outcome::kWrongTag;
  const Key* key = key_of(number);
  if (key == nullptr) return Outcome::kNoKey;
  ChannelHeader header{.number = number, .key_sequence = key->sequence};
  const std::uint8_t phase = (key->sequence & 1) != 0 ? k_key_phase_bit : 0;
  Writer writer(header.bytes);
  writer.write_u8(0);
  writer.write_bytes(channel);
  writer.write_u32(static_cast<std::uint32_t>(number));
  Outcome outcome = Outcome::kWrongTag;
  for (const std::uint8_t proof : {std::uint8_t{0}, k_channel_proof_bit}) {
    header.bytes[0] = static_cast<std::uint8_t>(k_fixed_bit | phase | proof | 3);
    outcome = open(header, packet, Origin::kUnproven, Time{}, out);
    if (outcome != Outcome::kWrongTag) break;
  }
  std::uint8_t mask[5];
  header_protection_->mask(packet.data() + k_number_offset + 4, mask);
  header.bytes[0] ^= mask[0] & 0x1f;
  for (std::size_t i = 0; i < 4; ++i) header.bytes[k_number_offset + i] ^= mask[1 + i];
  std::ranges::copy(header.bytes, packet.begin());
  return outcome;
}

void ChannelOpenKeys::note_use(Key& key, PacketNumber number, Time now) {
  if (largest_opened_ == k_no_packet_number || number > largest_opened_) largest_opened_ = number;
  for (Key* earlier = keys_.data(); earlier != &key; ++earlier) {
    if (earlier->superseded == k_never) earlier->superseded = now;
  }
  key.in_use = true;
  active_ = now;
  if (key.superseded != k_never) key.last_use = now;
}

Time ChannelOpenKeys::expiry(const Key& key) {
  if (key.superseded == k_never) return k_never;
  if (key.last_use == Time{}) return key.superseded + k_unused;
  return std::min(key.last_use + k_used, key.superseded + k_longest);
}

// A key goes only with all earlier ones, so that a number never finds a wrong key.
void ChannelOpenKeys::expire(Time now) {
  while (count_ > 0 && expiry(keys_[0]) <= now) remove_oldest();
}

Time ChannelOpenKeys::next_expiry() const { return count_ == 0 ? k_never : expiry(keys_[0]); }

void ChannelOpenKeys::remove_oldest() {
  std::move(keys_.begin() + 1, keys_.begin() + static_cast<std::ptrdiff_t>(count_), keys_.begin());
  keys_[--count_] = {};
}

}  // namespace sheaf::quic
