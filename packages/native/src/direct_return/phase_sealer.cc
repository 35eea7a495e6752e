#include "direct_return/phase_sealer.h"

#include <algorithm>

#include "crypto/key_schedule.h"
#include "wire/fixed_fields.h"

namespace sheaf::quic {

namespace {

constexpr std::size_t k_connection = 8;  // what is authenticated besides

// Connection, then what is sealed. Wiped, as it holds keys before and after.
struct Content {
  std::array<std::uint8_t, k_connection + PhaseChange::k_sealed> bytes{};

  explicit Content(std::uint64_t connection) {
    Writer out(bytes);
    fixed::write_u64(out, connection);
  }
  Content(const Content&) = delete;
  ~Content() { wipe(bytes.data(), bytes.size()); }
  MutableBytes sealed() { return MutableBytes(bytes).subspan(k_connection); }
};

// Generation and first number are the nonce.
PathId first_part(const PhaseChange& change) { return PathId{change.generation}; }

}  // namespace

// The header key is as long as the security of the suite, and as random as a secret of TLS: HMAC
// takes it as it is.
PhaseSealer::PhaseSealer(const PhaseKeys& keys) : suite_(keys.suite), path_(keys.path) {
  TrafficSecret secret;
  secret.suite = keys.suite;
  secret.length = key_length(keys.suite);
  std::ranges::copy(Bytes(keys.header.key).first(secret.length), secret.bytes.begin());
  std::array<std::uint8_t, 4> context;
  Writer(context).write_u32(path_.value);
  key_.key_length = static_cast<std::uint8_t>(key_.key.size());
  expand_label(secret, "sheaf phase", context, key_.key);
}

std::unique_ptr<Aead> PhaseSealer::aead() const {
  return make_aead(CipherSuite::kAes256GcmSha384, key_, CryptoProvider::kGnuTls);
}

PhaseChange PhaseSealer::seal(std::uint64_t connection, const PhaseKeys& keys) const {
  PhaseChange change{.connection = connection,
                     .generation = static_cast<std::uint32_t>(keys.generation),
                     .first_number = keys.first_number,
                     .sealed = {}};
  Content content(connection);
  std::ranges::copy(Bytes(keys.packet.key).first(keys.packet.key_length), content.sealed().begin());
  std::ranges::copy(keys.packet.iv, content.sealed().begin() + keys.packet.key.size());
  const SealJob job{.packet = content.bytes.data(),
                    .payload_length = PhaseChange::k_sealed - k_aead_tag_length,
                    .header_length = k_connection,
                    .packet_number_length = 0,
                    .path = first_part(change),
                    .number = change.first_number};
  aead()->seal({&job, 1});
  std::ranges::copy(content.sealed(), change.sealed.begin());
  return change;
}

std::optional<PhaseKeys> PhaseSealer::open(const PhaseChange& change) const {
  Content content(change.connection);
  std::ranges::copy(change.sealed, content.sealed().begin());
  if (!aead()->open_in_place(Bytes(content.bytes).first(k_connection), content.sealed(),
                             first_part(change), change.first_number)) {
    return std::nullopt;
  }
  PhaseKeys keys;
  keys.suite = suite_;
  keys.path = path_;
  keys.packet.key_length = keys.header.key_length = key_length(suite_);
  std::ranges::copy(content.sealed().first(keys.packet.key_length), keys.packet.key.begin());
  std::ranges::copy(content.sealed().subspan(keys.packet.key.size(), keys.packet.iv.size()),
                    keys.packet.iv.begin());
  keys.generation = change.generation;
  keys.first_number = change.first_number;
  return keys;
}

}  // namespace sheaf::quic
