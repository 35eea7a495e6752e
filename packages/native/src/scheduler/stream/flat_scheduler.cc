#include "scheduler/stream/flat_scheduler.h"

namespace sheaf::quic {

void FlatScheduler::forget(StreamId stream) {
  const Index index = find(stream);
  if (index == k_none) return;
  deactivate(stream);
  by_stream_.erase(stream.value);
  entries_[index].next_unused = unused_;
  unused_ = index;
}

void FlatScheduler::activate(StreamId stream, std::uint64_t) {
  Index index = find(stream);
  if (index == k_none) index = add(stream);
  if (entries_[index].active) return;
  entries_[index].active = true;
  order_.insert(line_, index, entries_[index].place);
}

void FlatScheduler::deactivate(StreamId stream) {
  const Index index = find(stream);
  if (index == k_none || !entries_[index].active) return;
  entries_[index].active = false;
  order_.erase(line_, index);
}

std::optional<StreamId> FlatScheduler::next(const SendOpportunity&) {
  if (line_.first == k_none) return std::nullopt;
  return entries_[line_.first].stream;
}

void FlatScheduler::on_sent(StreamId stream, const SentData&, const SendOpportunity&) {
  if (!takes_turns() || line_.first == k_none || entries_[line_.first].stream != stream) return;
  const Index index = line_.first;
  order_.move(line_, index, entries_[index].place);
}

FlatScheduler::Index FlatScheduler::find(StreamId stream) const {
  const Index* index = by_stream_.find(stream.value);
  return index ? *index : k_none;
}

FlatScheduler::Index FlatScheduler::add(StreamId stream) {
  Index index = unused_;
  if (index == k_none) {
    index = static_cast<Index>(entries_.size());
    entries_.emplace_back();
    order_.reserve(entries_.size());
  } else {
    unused_ = entries_[index].next_unused;
  }
  entries_[index] = {.stream = stream, .place = place(arrivals_++)};
  by_stream_.insert(stream.value, index);
  return index;
}

}  // namespace sheaf::quic
