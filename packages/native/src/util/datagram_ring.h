#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "util/bytes.h"

namespace sheaf::quic {

// Datagrams one behind the other in one array, bounded by the bytes that they take with their
// headers. The array grows to the bound as needed and is reused.
class DatagramRing {
 public:
  struct Entry {
    Bytes payload;
    std::uint64_t tag = 0;  // chosen by the owner
  };

  // `limit` is in bytes. A datagram takes its payload and up to `k_overhead` bytes more.
  explicit DatagramRing(std::size_t limit) : limit_(limit) {}

  static constexpr std::size_t k_overhead = 24;
  static constexpr std::size_t k_kept_array = 64 << 10;

  // Copies the payload. Returns false when there is no room.
  bool push(Bytes payload, std::uint64_t tag);
  std::optional<Entry> front() const;
  // Changes the tag of the first datagram. There must be one.
  void set_front_tag(std::uint64_t tag);
  // Removes the first datagram; its bytes are valid until the next `push`.
  std::optional<Entry> pop();

  // Frees the memory of a burst once the ring is empty; payloads popped before are no longer valid.
  void release_spare();

  bool empty() const { return count_ == 0; }
  std::size_t size() const { return count_; }
  // Bytes taken by datagrams and their headers.
  std::size_t bytes() const { return bytes_; }
  std::size_t limit() const { return limit_; }
  // Datagrams above a lower limit stay.
  void set_limit(std::size_t limit) { limit_ = limit; }
  std::size_t allocated() const { return array_.capacity(); }

 private:
  struct Header {
    std::uint64_t tag;
    std::uint64_t size;
  };
  static std::size_t record_size(std::size_t payload);
  // Returns where a record of this size would be placed now; nothing when it does not fit into the
  // array as it is.
  std::optional<std::size_t> place(std::size_t record) const;
  bool grow(std::size_t record);
  void put(std::size_t at, Bytes payload, std::uint64_t tag);

  std::size_t limit_;
  std::vector<std::uint8_t> array_;
  std::size_t head_ = 0;  // the first record
  std::size_t tail_ = 0;  // behind the last one
  // Where the records from `head_` end and go on at the start of the array; 0 when they do not.
  std::size_t turn_ = 0;
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace sheaf::quic
