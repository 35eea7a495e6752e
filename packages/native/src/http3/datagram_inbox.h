#pragma once

#include <vector>

#include "http3/datagram_router.h"

namespace sheaf::http3 {

// Keeps the datagrams of a request until the turn ends, since nobody may call the session while it
// delivers them. The queue of the transport bounds what one turn brings. Keeps room for an ordinary
// turn, which allocates nothing, and frees what a burst took.
class DatagramInbox final : public DatagramConsumer {
 public:
  static constexpr std::size_t k_ordinary_turn = 64 << 10;

  explicit DatagramInbox(std::size_t kept_bytes = k_ordinary_turn) : kept_bytes_(kept_bytes) {}
  void on_datagram(HttpDatagram datagram) override {
    bytes_.insert(bytes_.end(), datagram.payload.begin(), datagram.payload.end());
    sizes_.push_back(datagram.payload.size());
  }
  bool empty() const { return sizes_.empty(); }
  // Calls `take(payload)` for each datagram. It must not destroy this object.
  template <typename Take>
  void drain(Take&& take) {
    Bytes rest(bytes_);
    for (const std::size_t size : sizes_) {
      take(rest.first(size));
      rest = rest.subspan(size);
    }
    if (bytes_.capacity() > kept_bytes_) bytes_ = std::vector<std::uint8_t>();
    if (sizes_.capacity() > kept_bytes_ / sizeof(std::size_t)) sizes_ = std::vector<std::size_t>();
    bytes_.clear();
    sizes_.clear();
  }
  std::size_t capacity() const { return bytes_.capacity(); }  // bytes

 private:
  std::size_t kept_bytes_;
  std::vector<std::uint8_t> bytes_;  // one behind the other
  std::vector<std::size_t> sizes_;
};

}  // namespace sheaf::http3
