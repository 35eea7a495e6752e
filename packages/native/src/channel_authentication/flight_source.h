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
  std::size_t max_packets = 2048;  // of a flight, so that members can keep them meanwhile
  Duration max_delay = 30ms;       // from a flight's first packet to its signature
  unsigned copies = 2;             // how often each frame is sent
  Duration copy_interval = 20ms;
};

// Scheme `signed`, at the source: gathers hashes of packets as they go on the wire, and signs them
// flight by flight.
class FlightSource final : public Authenticator {
 public:
  // `key` and `runner` live longer.
  FlightSource(const FlightConfig& config, const SigningKey& key, JobRunner& runner);
  ~FlightSource() override;
  FlightSource(const FlightSource&) = delete;
  FlightSource& operator=(const FlightSource&) = delete;

  void add(std::span<const SealedPacket> packets, Time now) override;
  Time next_timeout() const override;
  void on_timeout(Time now) override;
  std::size_t write_frame(MutableBytes room, Time now) override;
  PacketNumber reads_from() const override;
  void stop() override;

  std::uint64_t flights() const { return flights_; }

 private:
  class Flight;
  static constexpr std::size_t k_flights =
      4;  // one that gathers, and those that are signed or sent

  Flight& gathering(const SealedPacket& packet, Time now);
  void close();
  std::size_t max_packets() const;

  FlightConfig config_;
  JobRunner& runner_;
  std::unique_ptr<BatchHasher> hasher_;
  std::vector<std::unique_ptr<Flight>> rotation_;
  std::size_t oldest_ = 0;     // in rotation_: of those that were closed
  std::size_t closed_ = 0;     // how many
  bool is_gathering_ = false;  // the one behind them
  Time deadline_ = k_never;
  std::uint64_t flights_ = 0;
};

}  // namespace sheaf::quic
