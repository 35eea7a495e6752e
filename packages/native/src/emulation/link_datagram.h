#pragma once

#include <cassert>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "util/address.h"
#include "util/bytes.h"
#include "util/hash_words.h"
#include "util/time.h"
#include "wire/types.h"

namespace sheaf::quic {

// The properties of a datagram beside its bytes
struct LinkHeader {
  AddressPair path;  // as the receiver sees it
  Ecn ecn = Ecn::kNotEct;
  std::size_t tag = 0;  // chosen by the owner of the link
};

// A datagram. Those that are copies of one another share their bytes, until one of them is to be
// written to.
class LinkDatagram {
 public:
  LinkHeader header;
  Time queued_at{};

  Bytes payload() const { return content_->bytes; }
  // Hash of the bytes, computed once for all that share them
  std::uint64_t hash() const {
    if (!content_->hash) content_->hash = hash_words(content_->bytes);
    return *content_->hash;
  }
  // Whether another datagram has the same bytes in the same place
  bool is_shared() const { return content_.use_count() > 1; }
  // Returns the bytes to write to. The caller has looked that they are not shared.
  std::vector<std::uint8_t>& own_payload() {
    assert(!is_shared());
    content_->hash.reset();
    return content_->bytes;
  }

 private:
  friend class DatagramPool;
  struct Content {
    std::vector<std::uint8_t> bytes;
    std::optional<std::uint64_t> hash;
  };
  std::shared_ptr<Content> content_;
};

using LinkDatagramPointer = std::unique_ptr<LinkDatagram>;

// Keeps datagrams with their memory for later use: a steady flow allocates nothing.
class DatagramPool {
 public:
  LinkDatagramPointer take(Bytes payload, const LinkHeader& header) {
    LinkDatagramPointer datagram = take();
    if (!datagram->content_) datagram->content_ = std::make_shared<LinkDatagram::Content>();
    datagram->content_->bytes.assign(payload.begin(), payload.end());
    datagram->content_->hash.reset();
    return count(std::move(datagram), header);
  }
  // Takes a copy of a datagram of any pool. Both share their bytes.
  LinkDatagramPointer take(const LinkDatagram& other, const LinkHeader& header) {
    LinkDatagramPointer datagram = take();
    datagram->content_ = other.content_;
    return count(std::move(datagram), header);
  }
  void give_back(LinkDatagramPointer datagram) {
    if (!datagram) return;
    bytes_in_use_ -= footprint(*datagram);
    if (datagram->is_shared()) datagram->content_.reset();
    if (free_.size() < k_kept) free_.push_back(std::move(datagram));
  }
  // Bytes in use, including overhead. Shared ones count for each datagram.
  std::size_t bytes_in_use() const { return bytes_in_use_; }

 private:
  // Bound on kept datagrams, so that a long queue is freed after it has drained
  static constexpr std::size_t k_kept = 1024;

  LinkDatagramPointer take() {
    if (free_.empty()) return std::make_unique<LinkDatagram>();
    LinkDatagramPointer datagram = std::move(free_.back());
    free_.pop_back();
    return datagram;
  }
  LinkDatagramPointer count(LinkDatagramPointer datagram, const LinkHeader& header) {
    datagram->header = header;
    bytes_in_use_ += footprint(*datagram);
    return datagram;
  }
  static std::size_t footprint(const LinkDatagram& datagram) {
    return sizeof(LinkDatagram) + datagram.payload().size();
  }

  std::vector<LinkDatagramPointer> free_;
  std::size_t bytes_in_use_ = 0;
};

}  // namespace sheaf::quic
