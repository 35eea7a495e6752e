#pragma once

#include <memory>
#include <vector>

#include "channel_authentication/authenticator.h"
#include "channel_authentication/jobs.h"
#include "crypto/batch_hasher.h"
#include "crypto/channel_secret.h"
#include "crypto/ed25519.h"

namespace sheaf::quic {

struct FlightConfig {
  ChannelId channel{};
  std::uint8_t hash_length = 16;  // 16 or 32
  // Bytes that an integrity frame may have: what a packet has room for
  std::size_t max_frame = 1200;
  // Of a flight, at least `k_min_packets`, so that members can keep them meanwhile
  std::size_t max_packets = 2048;
  Duration max_delay = 30ms;  // from a flight's first packet to its signature
  unsigned copies = 2;        // how often each frame is sent
  Duration copy_interval = 20ms;
};

// Scheme `signed`, at the source: gathers hashes of packets as they go on the wire, and signs them
// flight by flight.
class FlightSource final : public Authenticator {
 public:
  // Shorter flights would be more in a second than members check. `max_frame` has room for the
  // hashes of as many.
  static constexpr std::size_t k_min_packets = 64;

  // `key` and `runner` live longer.
  FlightSource(const FlightConfig& config, const SigningKey& key, JobRunner& runner);
  ~FlightSource() override;
  FlightSource(const FlightSource&) = delete;
  FlightSource& operator=(const FlightSource&) = delete;

  AuthenticationOffer offer(Time) override { return offer_; }
  std::size_t max_frame() const override { return config_.max_frame; }
  void add(std::span<const SealedPacket> packets, Time now) override;
  Time next_timeout() const override;
  void on_timeout(Time now) override;
  std::size_t write_frame(MutableBytes room, Time now) override;
  PacketNumber reads_from() const override;
  std::uint64_t dropped_proofs() const override { return dropped_; }
  void stop() override;

 private:
  class Flight;
  // One that gathers, and those that are signed or sent
  static constexpr std::size_t k_flights = 4;
  // How often to look whether the helper has signed a flight
  static constexpr Duration k_look_interval = 1ms;

  Flight& gathering(const SealedPacket& packet, Time now);
  void close(Time now);
  std::size_t max_packets() const;

  FlightConfig config_;
  AuthenticationOffer offer_;
  JobRunner& runner_;
  std::unique_ptr<BatchHasher> hasher_;
  std::vector<std::unique_ptr<Flight>> rotation_;
  std::size_t oldest_ = 0;     // in rotation_: of those that were closed
  std::size_t closed_ = 0;     // how many
  bool is_gathering_ = false;  // the one behind them
  Time deadline_ = k_never;
  Time next_look_ = k_never;  // for signatures of flights that were closed
  std::uint64_t dropped_ = 0;
};

}  // namespace sheaf::quic
