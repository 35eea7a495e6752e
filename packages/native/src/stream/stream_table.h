#pragma once

#include <memory>
#include <vector>

#include "stream/stream.h"
#include "util/flat_map.h"

namespace sheaf::quic {

// The open streams by id. A closed stream leaves nothing behind: streams of a type open in order of
// index, so an id below the number of opened streams that is missing here belongs to a closed
// stream.
class StreamTable {
 public:
  StreamTable() = default;
  StreamTable(const StreamTable&) = delete;
  StreamTable& operator=(const StreamTable&) = delete;
  ~StreamTable();

  // Returns null when there is none.
  Stream* find(StreamId id) const {
    if (last_used_ != nullptr && last_used_->id == id) return last_used_;
    Stream* const* stream = streams_.find(id.value);
    if (stream == nullptr) return nullptr;
    last_used_ = *stream;
    return *stream;
  }
  // The id must be new. Its parts are as an earlier stream left them; the caller opens them.
  Stream& insert(StreamId id);
  void erase(Stream& stream);

  std::size_t size() const { return streams_.size(); }
  template <typename Visit>
  void for_each(Visit&& visit) const {
    streams_.for_each([&](std::uint64_t, Stream* stream) { visit(*stream); });
  }
  std::size_t memory_bytes() const { return (streams_.size() + unused_.size()) * sizeof(Stream); }

 private:
  FlatMap<Stream*> streams_;  // owned
  // Streams kept for reuse, together with the arrays that they have grown.
  std::vector<std::unique_ptr<Stream>> unused_;
  mutable Stream* last_used_ = nullptr;
};

}  // namespace sheaf::quic
