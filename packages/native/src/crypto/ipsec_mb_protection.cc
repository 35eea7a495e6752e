#include "crypto/ipsec_mb_protection.h"

#if SHEAF_HAVE_IPSEC_MB

#include <immintrin.h>
#include <intel-ipsec-mb.h>

#include <algorithm>

#include "util/equal_tags.h"

namespace sheaf::quic {
namespace {

// The functions that suit this processor. They keep no state, so all threads share them. The
// manager (200 KB) is needed only to choose them.
struct Kernels {
  bool available = false;
  aes_gcm_pre_t prepare_128;
  aes_gcm_pre_t prepare_256;
  aes_gcm_enc_dec_t seal_128;
  aes_gcm_enc_dec_t seal_256;
  aes_gcm_enc_dec_t open_128;
  aes_gcm_enc_dec_t open_256;
  keyexp_t expand_128;
  keyexp_t expand_256;
};

Kernels choose_kernels() {
  Kernels kernels{};
  IMB_MGR* manager = alloc_mb_mgr(0);
  if (manager == nullptr) return kernels;
  IMB_ARCH architecture = IMB_ARCH_NONE;
  init_mb_mgr_auto(manager, &architecture);
  if (architecture != IMB_ARCH_NONE && architecture != IMB_ARCH_NOAESNI) {
    kernels = {.available = true,
               .prepare_128 = manager->gcm128_pre,
               .prepare_256 = manager->gcm256_pre,
               .seal_128 = manager->gcm128_enc,
               .seal_256 = manager->gcm256_enc,
               .open_128 = manager->gcm128_dec,
               .open_256 = manager->gcm256_dec,
               .expand_128 = manager->keyexp_128,
               .expand_256 = manager->keyexp_256};
  }
  free_mb_mgr(manager);
  return kernels;
}

const Kernels& kernels() {
  static const Kernels chosen = choose_kernels();
  return chosen;
}

bool usable(CipherSuite suite) {
  return suite != CipherSuite::kChacha20Poly1305Sha256 && kernels().available;
}

class IpsecMbAead final : public Aead {
 public:
  explicit IpsecMbAead(const PacketKeys& keys) {
    const bool short_key = keys.key_length == 16;
    seal_ = short_key ? kernels().seal_128 : kernels().seal_256;
    open_ = short_key ? kernels().open_128 : kernels().open_256;
    (short_key ? kernels().prepare_128 : kernels().prepare_256)(keys.key.data(), &key_.value);
    iv_.value = keys.iv;
  }

  void seal(std::span<const SealJob> jobs) override {
    for (const SealJob& job : jobs) {
      const Nonce nonce = make_nonce(iv_.value, job.path, job.number);
      std::uint8_t* payload = job.packet + job.header_length;
      seal_(&key_.value, &context_.value, payload, payload, job.payload_length, nonce.data(),
            job.packet, job.header_length, payload + job.payload_length, k_aead_tag_length);
    }
  }

  bool open(Bytes header, Bytes payload, PathId path, PacketNumber number,
            std::uint8_t* out) override {
    if (payload.size() < k_aead_tag_length) return false;
    const Nonce nonce = make_nonce(iv_.value, path, number);
    const std::size_t length = payload.size() - k_aead_tag_length;
    std::uint8_t tag[k_aead_tag_length];
    open_(&key_.value, &context_.value, out, payload.data(), length, nonce.data(), header.data(),
          header.size(), tag, sizeof tag);
    return equal_tags(tag, payload.data() + length);
  }

 private:
  aes_gcm_enc_dec_t seal_;
  aes_gcm_enc_dec_t open_;
  alignas(64) Wiped<gcm_key_data> key_;  // read with aligned vector instructions
  Wiped<gcm_context_data> context_;
  Wiped<Nonce> iv_;
};

// Header protection by one AES block per packet (RFC 9001 §5.4.3). IPsec-MB offers single blocks
// only for AES-128. So the instruction is used directly, on several packets at a time to hide its
// latency.
class IpsecMbHeaderProtection final : public HeaderProtection {
 public:
  explicit IpsecMbHeaderProtection(const PacketKeys& keys)
      : rounds_(keys.key_length == 16 ? 10 : 14) {
    Wiped<RoundKeys> unused_decryption_keys;
    (keys.key_length == 16 ? kernels().expand_128 : kernels().expand_256)(
        keys.key.data(), round_keys_.value.bytes, unused_decryption_keys.value.bytes);
  }

  void mask(const std::uint8_t* sample, std::uint8_t out[5]) override {
    std::uint8_t block[16];
    encrypt(&sample, 1, &block);
    std::memcpy(out, block, 5);
  }

  void protect(std::span<const SealJob> jobs) override {
    while (!jobs.empty()) {
      const std::size_t count = std::min(jobs.size(), k_lanes);
      const std::uint8_t* samples[k_lanes];
      std::uint8_t blocks[k_lanes][16];
      for (std::size_t i = 0; i < count; ++i) samples[i] = header_protection_sample(jobs[i]);
      encrypt(samples, count, blocks);
      for (std::size_t i = 0; i < count; ++i) apply_mask(jobs[i], blocks[i]);
      jobs = jobs.subspan(count);
    }
  }

 private:
  static constexpr std::size_t k_lanes = 8;
  struct RoundKeys {
    alignas(16) std::uint8_t bytes[15 * 16];
  };

  [[gnu::target("aes,sse2")]] void encrypt(const std::uint8_t* const* samples, std::size_t count,
                                           std::uint8_t (*blocks)[16]) const {
    const auto* keys = reinterpret_cast<const __m128i*>(round_keys_.value.bytes);
    __m128i state[k_lanes];
    for (std::size_t i = 0; i < count; ++i) {
      const __m128i sample = _mm_loadu_si128(reinterpret_cast<const __m128i*>(samples[i]));
      state[i] = _mm_xor_si128(sample, keys[0]);
    }
    for (int round = 1; round < rounds_; ++round) {
      for (std::size_t i = 0; i < count; ++i) state[i] = _mm_aesenc_si128(state[i], keys[round]);
    }
    for (std::size_t i = 0; i < count; ++i) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(blocks[i]),
                       _mm_aesenclast_si128(state[i], keys[rounds_]));
    }
  }

  int rounds_;
  Wiped<RoundKeys> round_keys_;
};

}  // namespace

std::unique_ptr<Aead> make_ipsec_mb_aead(CipherSuite suite, const PacketKeys& keys) {
  return usable(suite) ? std::make_unique<IpsecMbAead>(keys) : nullptr;
}

std::unique_ptr<HeaderProtection> make_ipsec_mb_header_protection(CipherSuite suite,
                                                                  const PacketKeys& keys) {
  return usable(suite) ? std::make_unique<IpsecMbHeaderProtection>(keys) : nullptr;
}

}  // namespace sheaf::quic

#else

namespace sheaf::quic {

std::unique_ptr<Aead> make_ipsec_mb_aead(CipherSuite, const PacketKeys&) { return nullptr; }
std::unique_ptr<HeaderProtection> make_ipsec_mb_header_protection(CipherSuite, const PacketKeys&) {
  return nullptr;
}

}  // namespace sheaf::quic

#endif
