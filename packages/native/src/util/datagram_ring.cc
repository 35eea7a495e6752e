#include "util/datagram_ring.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace sheaf::quic {

namespace {

constexpr std::size_t k_alignment = 8;
constexpr std::size_t k_min_array = 8 << 10;

}  // namespace

std::size_t DatagramRing::record_size(std::size_t payload) {
  static_assert(sizeof(Header) + k_alignment == k_overhead);
  return (sizeof(Header) + payload + k_alignment - 1) / k_alignment * k_alignment;
}

bool DatagramRing::push(Bytes payload, std::uint64_t tag) {
  const std::size_t record = record_size(payload.size());
  if (bytes_ + record > limit_) return false;
  auto at = place(record);
  if (!at) {
    if (!grow(record)) return false;
    at = place(record);
  }
  if (*at < tail_) turn_ = tail_;
  put(*at, payload, tag);
  return true;
}

std::optional<std::size_t> DatagramRing::place(std::size_t record) const {
  if (turn_ > 0) return record <= head_ - tail_ ? std::optional(tail_) : std::nullopt;
  if (record <= array_.size() - tail_) return tail_;
  return record <= head_ ? std::optional<std::size_t>(0) : std::nullopt;
}

void DatagramRing::put(std::size_t at, Bytes payload, std::uint64_t tag) {
  const std::size_t record = record_size(payload.size());
  const Header header{tag, payload.size()};
  std::memcpy(array_.data() + at, &header, sizeof header);
  std::copy(payload.begin(), payload.end(),
            array_.begin() + static_cast<std::ptrdiff_t>(at + sizeof header));
  tail_ = at + record;
  ++count_;
  bytes_ += record;
}

std::optional<DatagramRing::Entry> DatagramRing::front() const {
  if (count_ == 0) return std::nullopt;
  Header header;
  std::memcpy(&header, array_.data() + head_, sizeof header);
  return Entry{Bytes(array_).subspan(head_ + sizeof header, header.size), header.tag};
}

void DatagramRing::set_front_tag(std::uint64_t tag) {
  const Header header{tag, front()->payload.size()};
  std::memcpy(array_.data() + head_, &header, sizeof header);
}

std::optional<DatagramRing::Entry> DatagramRing::pop() {
  const auto entry = front();
  if (!entry) return std::nullopt;
  const std::size_t record = record_size(entry->payload.size());
  head_ += record;
  bytes_ -= record;
  if (--count_ == 0) {
    head_ = tail_ = turn_ = 0;
  } else if (head_ == turn_) {
    head_ = turn_ = 0;
  }
  return entry;
}

void DatagramRing::release_spare() {
  if (count_ == 0 && array_.size() > k_kept_array) std::vector<std::uint8_t>().swap(array_);
}

// The unused parts at the end and the start of the array do not count: the array may be larger than
// the limit by one record.
bool DatagramRing::grow(std::size_t record) {
  const std::size_t most = limit_ + record;
  if (array_.size() >= most) return false;
  DatagramRing larger(limit_);
  larger.array_.resize(std::min(most, std::max({2 * array_.size(), bytes_ + record, k_min_array})));
  while (const auto entry = pop()) larger.put(larger.tail_, entry->payload, entry->tag);
  *this = std::move(larger);
  return true;
}

}  // namespace sheaf::quic
