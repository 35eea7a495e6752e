#pragma once

#include <algorithm>
#include <deque>
#include <vector>

#include "sim/host.h"

namespace sheaf::quic {

// Sends what the test tells it, records what it receives, and may respond to each datagram.
class ScriptedHost final : public Host {
 public:
  struct Message {
    AddressPair path;
    std::vector<std::uint8_t> bytes;
    Time when;
    Ecn ecn;
  };

  void send(const AddressPair& path, std::vector<std::uint8_t> bytes, std::size_t segment = 0) {
    const std::size_t size = bytes.size();
    outbox_.push_back({path, std::move(bytes), segment == 0 ? size : segment});
  }
  void receive(const Datagram& datagram, Time now) override {
    received.push_back(
        {datagram.path, {datagram.payload.begin(), datagram.payload.end()}, now, datagram.ecn});
    if (overwrites) std::ranges::fill(datagram.payload, std::uint8_t{0xff});
    if (answers && received.back().bytes[0] > 0) {
      std::vector<std::uint8_t> answer = received.back().bytes;
      --answer[0];
      send(datagram.path, answer);
    }
  }
  void poll_transmit(TransmitBatch& batch, Time) override {
    if (outbox_.empty()) return;
    const Outgoing next = std::move(outbox_.front());
    outbox_.pop_front();
    std::copy(next.bytes.begin(), next.bytes.end(), batch.buffer.begin());
    batch.size = next.bytes.size();
    batch.segment_size = next.segment;
    batch.path = next.path;
    batch.ecn = Ecn::kEct0;
  }
  Time next_timeout() const override { return timeout; }
  void on_timeout(Time now) override {
    ++timeouts;
    if (now >= timeout && !stuck) timeout = k_never;
  }

  bool answers = false;
  bool overwrites = false;  // what it received, as a connection does that decrypts in place
  bool stuck = false;
  Time timeout = k_never;
  int timeouts = 0;
  std::vector<Message> received;

 private:
  struct Outgoing {
    AddressPair path;
    std::vector<std::uint8_t> bytes;
    std::size_t segment;
  };
  std::deque<Outgoing> outbox_;
};

}  // namespace sheaf::quic
