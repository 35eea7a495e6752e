#pragma once

#include <gtest/gtest.h>

#include "channel/messages.h"
#include "channel/receiver.h"
#include "channel/source.h"
#include "crypto/channel_seal_keys.h"
#include "fec/encoder.h"
#include "sim/pattern.h"

namespace sheaf::quic {

// A source with repairs, and receivers that the group reaches without a network between them
class RepairGroup {
 public:
  explicit RepairGroup(std::size_t receivers) : RepairGroup(receivers, {.offer = offer()}) {}
  RepairGroup(std::size_t receivers, const SourceConfig& config)
      : source(config, authenticator, random) {
    for (std::size_t i = 0; i < receivers; ++i) add_receiver();
    publish(500, {});
    publish(500, {});
    for (std::size_t i = 0; i < receivers; ++i) say(i);
    drop_copies();
  }

  static ChannelOffer offer() {
    ChannelOffer offer = example_offer();
    offer.authentication = {};
    offer.report_share = 0;
    offer.repairs = true;
    return offer;
  }

  ChannelReceiver& receiver(std::size_t index) { return *receivers_[index]; }
  ChannelSource::ReceiverId id(std::size_t index) const { return ids_[index]; }
  ChannelSecret key() const { return {last_key_.sequence, last_key_.first, last_key_.secret}; }

  // Publishes a group of one or more packets. `loses(receiver, packet)` says who does not get
  // which, counted from 0. Returns the number of the first.
  PacketNumber publish(std::size_t bytes,
                       const std::function<bool(std::size_t, std::size_t)>& loses) {
    const PacketNumber first = source.ring().end();
    EXPECT_TRUE(source.write(*source.open_group(), pattern_from(0, bytes), true).fin);
    std::size_t index = 0;
    for (Bytes batch; !(batch = source.poll_transmit(48, now)).empty();) {
      for (; !batch.empty(); ++index) {
        const Bytes packet = batch.first(std::min(batch.size(), source.packet_size()));
        batch = batch.subspan(packet.size());
        for (std::size_t i = 0; i < receivers_.size(); ++i) {
          if (!loses || !loses(i, index)) give(i, packet);
        }
      }
    }
    return first;
  }

  void give(std::size_t index, Bytes packet) {
    receivers_[index]->receive(packet, ChannelWay::kGroup, now);
  }

  // Lets the receiver say what it has to. Returns its report, which the source gets.
  std::optional<ChannelReport> say(std::size_t index) {
    if (const auto state = receivers_[index]->poll_state())
      source.on_state(ids_[index], *state, now);
    const auto report = receivers_[index]->poll_report(now);
    if (report) source.on_report(ids_[index], *report, now);
    return report;
  }

  // Returns the packets with repairs and their status that are due.
  std::vector<std::vector<std::uint8_t>> repairs() {
    std::vector<std::vector<std::uint8_t>> packets;
    for (Bytes packet; !(packet = source.poll_repair(now)).empty();) {
      packets.emplace_back(packet.begin(), packet.end());
    }
    return packets;
  }

  // Returns how many copies a receiver gets, which all get lost.
  std::size_t copies(std::size_t index) {
    std::size_t count = 0;
    while (!source.poll_copy(ids_[index], now).empty()) ++count;
    return count;
  }
  void drop_copies() {
    for (std::size_t i = 0; i < receivers_.size(); ++i) copies(i);
  }

  void pass(Duration time) {
    now += time;
    for (const auto& receiver : receivers_) receiver->on_timeout(now);
  }

  SeededRandom random{5};
  NoAuthenticator authenticator;
  NoVerifier verifier;
  ChannelSource source;
  Time now{1s};

 private:
  void add_receiver() {
    ids_.push_back(*source.add_receiver());
    receivers_.push_back(std::make_unique<ChannelReceiver>(source.offer(), verifier, random, now));
    while (const auto key = source.poll_key(ids_.back())) {
      last_key_ = *key;
      receivers_.back()->on_key(*key, now);
    }
    receivers_.back()->on_joined();
  }

  std::vector<std::unique_ptr<ChannelReceiver>> receivers_;
  std::vector<ChannelSource::ReceiverId> ids_;
  ChannelKey last_key_;
};

// Seals messages of repairs as any member can.
class RepairForger {
 public:
  explicit RepairForger(const ChannelOffer& offer)
      : id_(repair_id(offer.channel)),
        keys_(repair_secret(offer.header),
              {.sequence = 0, .first_number = k_first, .secret = repair_secret(offer.header)}) {}

  std::vector<std::uint8_t> seal(Bytes message) {
    std::vector<std::uint8_t> packet(k_channel_overhead + message.size());
    Writer out(packet);
    write_channel_header(out, id_, false, keys_.next_number());
    out.write_bytes(message);
    const SealJob job{.packet = packet.data(),
                      .payload_length = static_cast<std::uint32_t>(message.size()),
                      .header_length = k_channel_header_length,
                      .packet_number_length = k_channel_number_length,
                      .path = {},
                      .number = keys_.next_number()};
    EXPECT_TRUE(keys_.seal({&job, 1}));
    return packet;
  }

  std::vector<std::uint8_t> repair(const fec::NamedSet& set, fec::RowIndex row, Bytes bytes) {
    std::vector<std::uint8_t> message(64 + bytes.size());
    Writer out(message);
    write_repair_head(out, set, row);
    out.write_bytes(bytes);
    message.resize(out.size());
    return seal(message);
  }

  std::vector<std::uint8_t> status(const RepairStatus& status) {
    std::vector<std::uint8_t> message(k_max_status_length);
    Writer out(message);
    write_status(out, status);
    message.resize(out.size());
    return seal(message);
  }

 private:
  static constexpr PacketNumber k_first = 1000;
  ChannelId id_;
  ChannelSealKeys keys_;
};

}  // namespace sheaf::quic
