#pragma once

#include <vector>

#include "http3/datagram_router.h"

namespace sheaf::binding {

// Collects the datagrams of a connection, which JavaScript receives once per turn. The queue of the
// transport bounds what one turn brings, and the memory is reused in the next turn.
class DatagramBatch final : public http3::DatagramConsumer {
 public:
  void on_datagram(http3::HttpDatagram datagram) override {
    const quic::Bytes payload = datagram.payload;
    bytes_.insert(bytes_.end(), payload.begin(), payload.end());
    records_.push_back({datagram.stream, static_cast<std::uint32_t>(payload.size())});
  }
  bool empty() const { return records_.empty(); }

  // Calls `take(session, bytes, sizes)` for each run of datagrams of one session, and then drops
  // all of them.
  template <typename Take>
  void drain(Take&& take) {
    std::size_t offset = 0;
    for (std::size_t i = 0; i < records_.size();) {
      const quic::StreamId session = records_[i].session;
      std::size_t length = 0;
      sizes_.clear();
      for (; i < records_.size() && records_[i].session == session; ++i) {
        sizes_.push_back(records_[i].size);
        length += records_[i].size;
      }
      take(session, quic::Bytes(bytes_).subspan(offset, length), sizes_);
      offset += length;
    }
    bytes_.clear();
    if (bytes_.capacity() > quic::DatagramRing::k_kept_array) {
      std::vector<std::uint8_t>().swap(bytes_);
    }
    records_.clear();
  }

 private:
  struct Record {
    quic::StreamId session;
    std::uint32_t size;
  };
  std::vector<std::uint8_t> bytes_;
  std::vector<Record> records_;
  std::vector<std::uint32_t> sizes_;
};

}  // namespace sheaf::binding
