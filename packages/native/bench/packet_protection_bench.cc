// Seals, masks, unmasks and opens packets of 1350 bytes in batches of 32 on one thread, with every
// provider and cipher suite; prints packets and bits per second. Best of several runs.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "crypto/packet_protection.h"
#include "util/random.h"

namespace {

using namespace sheaf::quic;

constexpr std::size_t k_packet_length = 1350;
constexpr std::size_t k_batch = 32;
constexpr std::size_t k_header_length = 13;
constexpr std::size_t k_packet_number_offset = 9;
constexpr int k_rounds = 3000;
constexpr int k_runs = 7;

struct Subject {
  const char* provider_name;
  CryptoProvider provider;
  const char* suite_name;
  CipherSuite suite;
};

constexpr Subject k_subjects[] = {
    {"IPsec-MB", CryptoProvider::kIpsecMb, "AES-128-GCM", CipherSuite::kAes128GcmSha256},
    {"IPsec-MB", CryptoProvider::kIpsecMb, "AES-256-GCM", CipherSuite::kAes256GcmSha384},
    {"GnuTLS", CryptoProvider::kGnuTls, "AES-128-GCM", CipherSuite::kAes128GcmSha256},
    {"GnuTLS", CryptoProvider::kGnuTls, "AES-256-GCM", CipherSuite::kAes256GcmSha384},
    {"GnuTLS", CryptoProvider::kGnuTls, "ChaCha20-Poly1305", CipherSuite::kChacha20Poly1305Sha256},
};

// Seconds per packet of the fastest run.
struct Times {
  double seal = 1;
  double open = 1;
};

class Bench {
 public:
  explicit Bench(const Subject& subject) {
    SeededRandom random{1};
    TrafficSecret secret;
    secret.suite = subject.suite;
    secret.length = subject.suite == CipherSuite::kAes256GcmSha384 ? 48 : 32;
    random.fill(MutableBytes(secret.bytes).first(secret.length));
    aead_ = make_aead(secret, subject.provider);
    protection_ = make_header_protection(secret, subject.provider);
    random.fill(buffer_);
    for (std::size_t i = 0; i < k_batch; ++i) {
      jobs_.push_back({.packet = buffer_.data() + i * k_packet_length,
                       .payload_length = k_packet_length - k_header_length - k_aead_tag_length,
                       .header_length = k_header_length,
                       .packet_number_length = 4,
                       .path = {},
                       .number = i});
    }
  }

  bool available() const { return aead_ != nullptr; }

  Times run() {
    using Seconds = std::chrono::duration<double>;
    Times best;
    for (int run = 0; run < k_runs; ++run) {
      Seconds sealing{};
      Seconds opening{};
      for (int round = 0; round < k_rounds; ++round) {
        for (const SealJob& job : jobs_) job.packet[0] = 0x43;
        const auto start = std::chrono::steady_clock::now();
        aead_->seal(jobs_);
        protection_->protect(jobs_);
        const auto sealed = std::chrono::steady_clock::now();
        for (const SealJob& job : jobs_) open(job);
        sealing += sealed - start;
        opening += std::chrono::steady_clock::now() - sealed;
      }
      best.seal = std::min(best.seal, sealing.count() / (k_rounds * k_batch));
      best.open = std::min(best.open, opening.count() / (k_rounds * k_batch));
    }
    return best;
  }

 private:
  void open(const SealJob& job) {
    const MutableBytes packet{job.packet, k_packet_length};
    const bool genuine =
        remove_header_protection(*protection_, packet, k_packet_number_offset).has_value() &&
        aead_->open_in_place(packet.first(k_header_length), packet.subspan(k_header_length),
                             job.path, job.number);
    if (!genuine) {
      std::fprintf(stderr, "a packet did not open\n");
      std::exit(1);
    }
  }

  std::unique_ptr<Aead> aead_;
  std::unique_ptr<HeaderProtection> protection_;
  std::vector<std::uint8_t> buffer_ = std::vector<std::uint8_t>(k_packet_length * k_batch);
  std::vector<SealJob> jobs_;
};

void print(const Subject& subject, const char* operation, double seconds_per_packet) {
  const double packets = 1 / seconds_per_packet;
  std::printf("%-9s %-18s %-5s %8.2f %8.1f\n", subject.provider_name, subject.suite_name, operation,
              packets / 1e6, packets * k_packet_length * 8 / 1e9);
}

}  // namespace

int main() {
  std::printf("%-9s %-18s %-5s %8s %8s\n", "provider", "suite", "", "M pkt/s", "Gbit/s");
  for (const Subject& subject : k_subjects) {
    Bench bench{subject};
    if (!bench.available()) {
      std::printf("%-9s %-18s not available here\n", subject.provider_name, subject.suite_name);
      continue;
    }
    const Times times = bench.run();
    print(subject, "seal", times.seal);
    print(subject, "open", times.open);
  }
}
