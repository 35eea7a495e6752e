#include "sim/channel/shared_ciphers.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace sheaf::quic {

namespace {

// Results that are kept for each key: more than the packets that are on the tree at one time
constexpr std::size_t k_kept = 64;

std::vector<std::uint8_t> bytes_of(const TrafficSecret& secret) {
  std::vector<std::uint8_t> bytes(secret.view().begin(), secret.view().end());
  bytes.push_back(static_cast<std::uint8_t>(secret.suite));
  return bytes;
}

}  // namespace

// --- packets ------------------------------------------------------------------------------------

// What all members have of one key
class SharedCiphers::SharedAead {
 public:
  SharedAead(SharedCiphers& owner, const TrafficSecret& secret)
      : owner_(owner), aead_(make_aead(secret)) {}

  void seal(std::span<const SealJob> jobs) { aead_->seal(jobs); }

  bool open(Bytes header, Bytes payload, PathId path, PacketNumber number, std::uint8_t* out) {
    Opened& kept = kept_[number % k_kept];
    if (kept.number != number || kept.path != path.value ||
        !std::ranges::equal(kept.header, header) || !std::ranges::equal(kept.sealed, payload)) {
      if (!open_anew(kept, header, payload, path, number)) return false;
      ++owner_.opened_;
    } else {
      ++owner_.copied_;
    }
    std::ranges::copy(kept.clear, out);
    return true;
  }

 private:
  struct Opened {
    PacketNumber number = k_no_packet_number;
    std::uint32_t path = 0;
    std::vector<std::uint8_t> header, sealed, clear;
  };

  bool open_anew(Opened& kept, Bytes header, Bytes payload, PathId path, PacketNumber number) {
    kept.number = k_no_packet_number;
    if (payload.size() < k_aead_tag_length) return false;
    kept.clear.resize(payload.size() - k_aead_tag_length);
    if (!aead_->open(header, payload, path, number, kept.clear.data())) return false;
    kept.header.assign(header.begin(), header.end());
    kept.sealed.assign(payload.begin(), payload.end());
    kept.path = path.value;
    kept.number = number;
    return true;
  }

  SharedCiphers& owner_;
  std::unique_ptr<Aead> aead_;
  std::array<Opened, k_kept> kept_;
};

class SharedCiphers::SharedAeadHandle final : public Aead {
 public:
  explicit SharedAeadHandle(SharedAead& shared) : shared_(shared) {}
  void seal(std::span<const SealJob> jobs) override { shared_.seal(jobs); }
  bool open(Bytes header, Bytes payload, PathId path, PacketNumber number,
            std::uint8_t* out) override {
    return shared_.open(header, payload, path, number, out);
  }

 private:
  SharedAead& shared_;
};

// --- headers ------------------------------------------------------------------------------------

class SharedCiphers::SharedMasks {
 public:
  explicit SharedMasks(const TrafficSecret& secret) : protection_(make_header_protection(secret)) {}

  void protect(std::span<const SealJob> jobs) { protection_->protect(jobs); }

  void mask(const std::uint8_t* sample, std::uint8_t out[5]) {
    Mask& kept = kept_[sample[0] % k_kept];
    if (!kept.known || std::memcmp(kept.sample.data(), sample, kept.sample.size()) != 0) {
      std::copy_n(sample, kept.sample.size(), kept.sample.begin());
      protection_->mask(sample, kept.mask.data());
      kept.known = true;
    }
    std::ranges::copy(kept.mask, out);
  }

 private:
  struct Mask {
    bool known = false;
    std::array<std::uint8_t, k_header_protection_sample_length> sample{};
    std::array<std::uint8_t, 5> mask{};
  };

  std::unique_ptr<HeaderProtection> protection_;
  std::array<Mask, k_kept> kept_;
};

class SharedCiphers::SharedMasksHandle final : public HeaderProtection {
 public:
  explicit SharedMasksHandle(SharedMasks& shared) : shared_(shared) {}
  void mask(const std::uint8_t* sample, std::uint8_t out[5]) override { shared_.mask(sample, out); }
  void protect(std::span<const SealJob> jobs) override { shared_.protect(jobs); }

 private:
  SharedMasks& shared_;
};

// --- ciphers ------------------------------------------------------------------------------------

SharedCiphers::SharedCiphers() = default;
SharedCiphers::~SharedCiphers() = default;

std::unique_ptr<Aead> SharedCiphers::aead(const TrafficSecret& secret) {
  auto& shared = aeads_[bytes_of(secret)];
  if (!shared) shared = std::make_unique<SharedAead>(*this, secret);
  return std::make_unique<SharedAeadHandle>(*shared);
}

std::unique_ptr<HeaderProtection> SharedCiphers::header_protection(const TrafficSecret& secret) {
  auto& shared = masks_[bytes_of(secret)];
  if (!shared) shared = std::make_unique<SharedMasks>(secret);
  return std::make_unique<SharedMasksHandle>(*shared);
}

}  // namespace sheaf::quic
