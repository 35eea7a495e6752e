#pragma once

#include <memory>
#include <vector>

#include "stream/stream.h"
#include "util/flat_map.h"

namespace sheaf::quic {

// The open streams by id. A closed stream leaves nothing behind: streams of a kind open in order of
// index, so an id below the number of opened ones that is not here has been closed.
class StreamTable {
 public:
  StreamTable() = default;
  StreamTable(const StreamTable&) = delete;
  StreamTable& operator=(const StreamTable&) = delete;
  ~StreamTable();

  // Null when there is none.
  Stream* find(StreamId id) const {
    if (last_used_ != nullptr && last_used_->id == id) return last_used_;
    Stream* const* stream = streams_.find(id.value);
    if (stream == nullptr) return nullptr;
    last_used_ = *stream;
    return *stream;
  }
  // The id must be new. Parts are as an earlier stream left them: the caller opens them.
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
  // Kept for the next streams together with the arrays that they have grown.
  std::vector<std::unique_ptr<Stream>> unused_;
  mutable Stream* last_used_ = nullptr;
};

}  // namespace sheaf::quic
