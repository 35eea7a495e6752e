#pragma once

#include <deque>
#include <optional>

#include "channel/channel_messages.h"
#include "sim/host.h"

namespace sheaf::quic {

// A simulated request that joins a channel: what HTTP/3 carries on a connection, without the
// connection. Capsules and acknowledgements arrive, since a connection sends them again. Datagrams
// may be lost. Each message is one datagram of the network: its kind, then a number where it has
// one, and its content.
enum class RequestMessage : std::uint8_t { kCapsule, kDatagram, kAcknowledgement };

// The two pairs of addresses of a request: capsules and acknowledgements pass another link than
// datagrams.
struct RequestAddresses {
  AddressPair reliable;
  AddressPair lossy;
};

// Messages that wait to be sent
class RequestQueue {
 public:
  void send_capsule(const AddressPair& path, const ChannelCapsuleValue& value) {
    Message& message = add(path, RequestMessage::kCapsule);
    std::array<std::uint8_t, 4> type;
    Writer out(type);
    out.write_varint(static_cast<std::uint64_t>(type_of(value)), type.size());
    const WipedBytes bytes = encode_channel_capsule(value);
    message.bytes.insert(message.bytes.end(), type.begin(), type.end());
    message.bytes.insert(message.bytes.end(), bytes.begin(), bytes.end());
  }
  void send_numbered(const AddressPair& path, RequestMessage kind, std::uint32_t number,
                     Bytes content = {}) {
    Message& message = add(path, kind);
    std::array<std::uint8_t, 4> name;
    store(name.data(), number);
    message.bytes.insert(message.bytes.end(), name.begin(), name.end());
    message.bytes.insert(message.bytes.end(), content.begin(), content.end());
  }
  // Returns whether there was a message.
  bool poll(TransmitBatch& batch) {
    if (messages_.empty()) return false;
    const Message& next = messages_.front();
    std::ranges::copy(next.bytes, batch.buffer.begin());
    batch.size = batch.segment_size = next.bytes.size();
    batch.path = next.path;
    messages_.pop_front();
    return true;
  }

 private:
  struct Message {
    AddressPair path;
    std::vector<std::uint8_t> bytes;
  };
  Message& add(const AddressPair& path, RequestMessage kind) {
    return messages_.emplace_back(Message{path, {static_cast<std::uint8_t>(kind)}});
  }

  std::deque<Message> messages_;
};

}  // namespace sheaf::quic
