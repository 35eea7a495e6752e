#pragma once

#include <memory>
#include <vector>

#include "stream/stream.h"
#include "util/flat_map.h"

namespace sheaf::quic {

// Maps ids to open streams. A closed stream leaves nothing behind. Streams of a type open in the
// order of their indices, so an id that is missing here and below the number of opened streams
// belongs to a closed stream.
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
  // Inserts a stream; `id` must be new. The caller opens its parts, which are as an earlier stream
  // left them.
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
