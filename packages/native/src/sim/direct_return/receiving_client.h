#pragma once

#include <map>
#include <vector>

#include "crypto/one_rtt_keys.h"
#include "sim/host.h"
#include "sim/multi_end/content.h"
#include "sim/receivers/receiver_model.h"
#include "util/interval_set.h"
#include "wire/frame_codec.h"

namespace sheaf::quic {

// A client of a ReturnNetwork that treats packet numbers as a model says. It opens real packets and
// sends real ACKs, requests content, and checks the responses. It repeats nothing that it sends, so
// its own packets must not be lost.
class ReceivingClient final : public Host {
 public:
  ReceivingClient(ReceiverModel& model, const AddressPair& path);

  StreamId request(const ContentRequest& request);

  void receive(const Datagram& datagram, Time now) override;
  void poll_transmit(TransmitBatch& batch, Time now) override;
  Time next_timeout() const override {
    return waiting_.empty() ? model_.ack_deadline() : Time::min();
  }
  void on_timeout(Time) override {}

  bool finished() const;
  bool intact() const { return intact_; }
  std::uint64_t packets() const { return packets_; }    // with data, that arrived
  std::uint64_t refused() const { return refused_; }    // of these, by the model
  std::uint64_t repeated() const { return repeated_; }  // bytes that had arrived before
  std::uint64_t acknowledgements() const { return acknowledgements_; }
  std::size_t most_ranges() const { return most_ranges_; }

 private:
  // One ACK in so many rides on a packet that elicits one, as of Chromium.
  static constexpr std::uint64_t k_elicit_every = 20;

  struct Response {
    std::uint64_t wanted = 0;
    IntervalSet received;
    bool ended = false;
  };
  void take(const StreamFrame& frame);
  void take(const AckFrame& frame);
  void take(const AckFrequencyFrame& frame);
  void send(std::vector<std::uint8_t> payload, TransmitBatch& batch);
  std::vector<std::uint8_t> acknowledgement(Time now);

  ReceiverModel& model_;
  AddressPair path_;
  OneRttKeys keys_;
  PacketNumber next_number_ = 0;
  PacketNumber largest_received_ = 0;
  std::vector<std::vector<std::uint8_t>> waiting_;         // payloads of packets
  std::map<PacketNumber, std::vector<AckRange>> reports_;  // of packets that elicit an ACK
  std::map<StreamId, Response> responses_;
  bool intact_ = true;
  std::uint64_t packets_ = 0;
  std::uint64_t refused_ = 0;
  std::uint64_t repeated_ = 0;
  std::uint64_t acknowledgements_ = 0;
  std::size_t most_ranges_ = 0;
};

}  // namespace sheaf::quic
