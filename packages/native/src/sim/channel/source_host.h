#pragma once

#include <deque>
#include <map>

#include "channel/held_networks.h"
#include "channel/source.h"
#include "sim/channel/request_messages.h"

namespace sheaf::quic {

// A host with the source of a channel, and with its end of the requests of all receivers
class SourceHost final : public Host {
 public:
  SourceHost(const SourceConfig& config, Authenticator& authenticator, Random& random)
      : source_(config, authenticator, random) {}

  ChannelSource& source() { return source_; }
  const HeldNetworks& held_networks() const { return networks_; }
  // A request came, and its response goes out. Returns false for one that is refused.
  bool accept(const RequestAddresses& addresses, Time now);
  // The request of a receiver ended.
  void remove(const RequestAddresses& addresses, Time now);
  // The connection of a receiver has validated another address, to which datagrams go from now on.
  void move(const RequestAddresses& addresses, const Address& lossy);
  // What the connections of all receivers have measured
  void set_round_trip(Duration round_trip) { round_trip_ = round_trip; }
  std::uint64_t copied_bytes() const { return copied_bytes_; }
  std::uint64_t group_bytes() const { return group_bytes_; }

  void receive(const Datagram& datagram, Time now) override;
  void poll_transmit(TransmitBatch& batch, Time now) override;
  Time next_timeout() const override;
  void on_timeout(Time now) override;

 private:
  // After which a connection would find a datagram lost
  static constexpr Duration k_lost_after = 60ms;

  // Names a datagram that is no copy.
  static constexpr std::uint32_t k_no_copy = UINT32_MAX;

  struct Request {
    ChannelSource::ReceiverId id;
    RequestAddresses addresses;
    Time joined;
    bool ended = false;
  };
  struct Copy {
    std::uint32_t name;
    ChannelSource::ReceiverId receiver;
    PacketNumber number;
    Time sent;
    bool acknowledged = false;
  };

  void send_keys();
  bool poll_copy(TransmitBatch& batch, Time now);
  void send_clock(const Request& request, std::uint64_t nonce, Time now);
  void on_message(Request& request, Bytes message, Time now);

  ChannelSource source_;
  const CopyBudget& copy_budget_ = source_.copy_budget();
  HeldNetworks networks_;
  RequestQueue queue_;
  std::map<Address, std::size_t> by_address_;  // of the receiver, both
  std::vector<Request> requests_;
  std::deque<Copy> copies_;
  std::uint32_t next_copy_name_ = 0;
  std::size_t next_request_ = 0;  // whose turn it is to get a copy
  Duration round_trip_ = 20ms;
  std::uint64_t copied_bytes_ = 0;
  std::uint64_t group_bytes_ = 0;
};

}  // namespace sheaf::quic
