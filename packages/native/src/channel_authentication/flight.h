#pragma once

#include <memory>
#include <vector>

#include "channel_authentication/flight_hashes.h"
#include "channel_authentication/flight_source.h"

namespace sheaf::quic {

// One flight of FlightSource, used again and again: its hashes while they are gathered, the jobs
// that hash and sign, and the frames that come of it
class FlightSource::Flight {
 public:
  // `hasher` is that of all jobs, which run one after another.
  Flight(const FlightConfig& config, std::size_t max_packets, const SigningKey& key,
         BatchHasher& hasher);

  void begin(PacketNumber first, std::uint64_t key_sequence);
  // Whether a packet continues this flight
  bool continues(const SealedPacket& packet) const;
  bool full() const { return count_ == digests_.size(); }
  void add(Bytes packet, JobRunner& runner);
  void close(JobRunner& runner);

  PacketNumber first() const { return first_; }
  bool signed_already() const { return signing_.done(); }
  void wait(JobRunner& runner) const;

  // Writes the next frame. Returns 0 when it does not fit.
  std::size_t write_frame(MutableBytes room, Time now);
  // When the next frame may be sent, of a flight that is signed
  Time frame_due() const { return frame_due_; }
  bool all_sent() const { return copies_left_ == 0; }
  bool sent_once() const { return copies_left_ < config_.copies; }

 private:
  // Hashes up to 64 packets.
  struct HashBatch final : Job {
    void work() override;
    Flight* flight = nullptr;
    std::size_t offset = 0;
    std::size_t count = 0;
    std::array<Bytes, 64> packets;
  };
  // Makes lists of all hashes and signs them.
  struct Signing final : Job {
    explicit Signing(Flight& of) : flight(of) {}
    void work() override { flight.sign(); }
    Flight& flight;
  };

  void submit_batch(JobRunner& runner);
  void sign();
  void hash_lists();
  void pack(std::span<const Sha256Digest> digests, std::vector<std::uint8_t>& out) const;
  std::size_t lists() const { return signed_.per_list == 0 ? 0 : signed_.hash_count(); }

  const FlightConfig& config_;
  const SigningKey& key_;
  BatchHasher& hasher_;
  PacketNumber first_ = 0;
  std::uint64_t key_sequence_ = 0;
  std::size_t count_ = 0;
  std::vector<Sha256Digest> digests_;
  std::vector<HashBatch> batches_;
  std::size_t submitted_ = 0;  // packets in batches that were submitted
  Signing signing_;

  std::vector<std::uint8_t> packet_hashes_;
  std::vector<std::uint8_t> list_hashes_;
  std::vector<ListText> list_texts_;
  std::array<Bytes, k_max_lists> list_views_;
  std::array<Sha256Digest, k_max_lists> list_digests_;
  Ed25519Signature signature_{};
  FlightFrame signed_;
  std::size_t next_frame_ = 0;
  unsigned copies_left_ = 0;
  Time frame_due_{};
};

// How many hashes fit into one frame, of a flight and of a list
std::size_t hashes_of_flight_frame(const FlightConfig& config, std::size_t most);
std::size_t hashes_of_list_frame(const FlightConfig& config);

}  // namespace sheaf::quic
