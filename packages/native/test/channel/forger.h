#pragma once

#include <functional>

#include "channel/forgeries.h"
#include "sim/channel/source_host.h"

namespace sheaf::quic {

// A host that sends forgeries to the group, as each member can
class ForgerHost final : public Host {
 public:
  static constexpr Duration k_interval = 4ms;

  // `path` leads to the members of the group.
  ForgerHost(SourceHost& source, const AddressPair& path, Random& random)
      : source_(source.source()),
        path_(path),
        forgeries_(source_.offer(), random),
        id_(*source_.add_receiver()) {}

  std::uint64_t sent() const { return sent_; }
  // Writes what stands behind forged packets.
  using Trailer = std::function<void(std::vector<std::uint8_t>& packet, PacketNumber, Time)>;
  void set_trailer(Trailer trailer) { trailer_ = std::move(trailer); }

  void receive(const Datagram&, Time) override {}
  void poll_transmit(TransmitBatch& batch, Time now) override {
    if (now < due_) return;
    due_ = now + k_interval;
    while (const auto key = source_.poll_key(id_)) forgeries_.add_key(*key);
    const PacketNumber next = source_.ring().end();
    std::vector<std::uint8_t> packet = forgeries_.make(next, source_.ring().find(next - 1));
    if (trailer_ && forgeries_.sealed_number()) {
      trailer_(packet, *forgeries_.sealed_number(), now);
    }
    std::ranges::copy(packet, batch.buffer.begin());
    batch.size = batch.segment_size = packet.size();
    batch.path = path_;
    ++sent_;
  }
  Time next_timeout() const override { return due_; }
  void on_timeout(Time) override {}

 private:
  ChannelSource& source_;
  AddressPair path_;
  Forgeries forgeries_;
  Trailer trailer_;
  ChannelSource::ReceiverId id_;
  Time due_{};
  std::uint64_t sent_ = 0;
};

}  // namespace sheaf::quic
