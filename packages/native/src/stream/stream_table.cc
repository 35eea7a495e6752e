#include "stream/stream_table.h"

namespace sheaf::quic {

namespace {

constexpr std::size_t k_kept_streams = 64;

}  // namespace

StreamTable::~StreamTable() {
  for_each([](Stream& stream) { delete &stream; });
}

Stream& StreamTable::insert(StreamId id) {
  Stream* stream;
  if (unused_.empty()) {
    stream = new Stream;
  } else {
    stream = unused_.back().release();
    unused_.pop_back();
  }
  stream->id = id;
  streams_.insert(id.value, stream);
  return *stream;
}

void StreamTable::erase(Stream& stream) {
  streams_.erase(stream.id.value);
  if (last_used_ == &stream) last_used_ = nullptr;
  if (unused_.size() < k_kept_streams) {
    unused_.emplace_back(&stream);
  } else {
    delete &stream;
  }
}

}  // namespace sheaf::quic
