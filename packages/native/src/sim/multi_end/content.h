#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "connection/connection.h"

namespace sheaf::quic {

// A request of a client at the beginning of a stream, before the bytes of its upload. The response
// has the requested length, and begins when the upload is complete.
struct ContentRequest {
  static constexpr std::size_t k_size = 32;

  std::uint64_t from = 0;  // the first byte of the resource that is wanted
  std::uint64_t length = 0;
  std::uint64_t upload = 0;
  std::uint64_t backend = 0;  // index of the backend that has it

  std::vector<std::uint8_t> encode() const;
  // Returns nothing for fewer bytes than `k_size`.
  static std::optional<ContentRequest> decode(Bytes bytes);
};

// Answers such requests on one connection with bytes of sim/pattern.h, without delay.
class ContentServer {
 public:
  // Code that resets an upload with wrong bytes
  static constexpr std::uint64_t k_damaged = 1;

  explicit ContentServer(Connection& connection) : connection_(connection) {}
  void on_event(const StreamEvent& event, Time now);
  std::size_t open() const { return exchanges_.size(); }
  std::uint64_t uploaded() const { return uploaded_; }  // bytes of all uploads, intact

 private:
  struct Exchange {
    std::vector<std::uint8_t> head;
    ContentRequest request;
    std::uint64_t received = 0;  // of the upload
    std::uint64_t written = 0;
    bool answers = false;
  };
  void read(StreamId stream, Time now);
  // Returns false when the upload is not what was sent.
  bool take(Exchange& exchange, Bytes bytes);
  void write(StreamId stream, Exchange& exchange);

  Connection& connection_;
  std::map<StreamId, Exchange> exchanges_;
  std::uint64_t uploaded_ = 0;
};

}  // namespace sheaf::quic
