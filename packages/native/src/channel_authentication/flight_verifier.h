#pragma once

#include <memory>
#include <vector>

#include "channel_authentication/flight_record.h"
#include "channel_authentication/hash_window.h"
#include "channel_authentication/jobs.h"
#include "channel_authentication/storing_verifier.h"
#include "util/token_bucket.h"

namespace sheaf::quic {

struct FlightVerifierConfig {
  ChannelId channel{};
  std::size_t max_datagram = 1500;
  std::size_t max_bytes = CandidateStore::k_ordinary_bytes;  // of packets that wait
  Duration max_wait = 500ms;                                 // of a packet for its flight
  // Signatures in the channel that are checked in a second, and at once. A source has some
  // 33 flights in a second, and more only where they are full before their time.
  double checks_per_second = 200;
  double checks_at_once = 50;
};

// Scheme `signed`, at a member: keeps packets until the flight comes that has their hashes. Packets
// that the helper hashes stay in the memory of the store.
class FlightVerifier final : public StoringVerifier {
 public:
  // `random` and `runner` live longer.
  FlightVerifier(const FlightVerifierConfig& config, const Ed25519PublicKey& source,
                 JobRunner& runner, Random& random);
  ~FlightVerifier() override;
  FlightVerifier(const FlightVerifier&) = delete;
  FlightVerifier& operator=(const FlightVerifier&) = delete;

  Verdict on_packet(const ReceivedPacket& packet, Time now) override;
  bool on_frame(const IntegrityFrame& frame, FrameOrigin origin, Time now) override;
  // Also takes what the helper finished.
  std::optional<ProvenPacket> next_proven() override;
  Time next_timeout() const override;
  void on_timeout(Time now) override;

 private:
  // How often to look whether the helper is done
  static constexpr Duration k_look_interval = 1ms;

  struct SignatureCheck;
  struct HashCheck;

  void on_flight(const FlightFrame& frame, FrameOrigin origin, Time now);
  void on_list(const ListFrame& frame);
  bool is_pending(const FlightFrame& frame) const;
  void collect();
  void accept(const FlightFrame& frame);
  bool accept_list(FlightRecord::Flight& flight, const ListFrame& list);
  void accept_hashes(PacketNumber first, std::uint64_t key_sequence, std::uint8_t hash_length,
                     Bytes hashes);
  void add_to_check(CandidateStore::Slot slot);
  void submit_check();
  void finish(HashCheck& check);

  FlightVerifierConfig config_;
  VerifyingKey source_;
  JobRunner& runner_;
  HashWindow window_;
  FlightRecord record_;
  TokenBucket budget_;
  std::unique_ptr<BatchHasher> hasher_;      // of the thread that calls
  std::unique_ptr<BatchHasher> job_hasher_;  // of all jobs, which run one after another
  std::vector<std::unique_ptr<SignatureCheck>> signature_checks_;
  std::vector<std::unique_ptr<HashCheck>> hash_checks_;
  HashCheck* filling_ = nullptr;
  std::size_t busy_ = 0;  // checks of both kinds
  Time next_look_{};
};

}  // namespace sheaf::quic
