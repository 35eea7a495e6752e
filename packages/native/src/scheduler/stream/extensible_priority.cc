#include "scheduler/stream/extensible_priority.h"

#include <algorithm>
#include <bit>

namespace sheaf::quic {

void ExtensiblePriorityScheduler::set_priority(StreamId stream, const StreamPriority& priority) {
  const Index index = entry_of(stream);
  Entry& entry = entries_[index];
  const std::uint8_t urgency = std::min<std::uint8_t>(priority.urgency, k_urgencies - 1);
  if (entry.urgency == urgency && entry.incremental == priority.incremental) return;
  if (entry.active) unlink(index);
  entry.urgency = urgency;
  entry.incremental = priority.incremental;
  if (entry.active) link(index);
}

void ExtensiblePriorityScheduler::forget(StreamId stream) {
  const Index* known = index_of_.find(stream.value);
  if (known == nullptr) return;
  const Index index = *known;
  if (entries_[index].active) unlink(index);
  index_of_.erase(stream.value);
  entries_[index].next = unused_;
  unused_ = index;
}

void ExtensiblePriorityScheduler::activate(StreamId stream, std::uint64_t) {
  const Index index = entry_of(stream);
  if (entries_[index].active) return;
  entries_[index].active = true;
  link(index);
}

void ExtensiblePriorityScheduler::deactivate(StreamId stream) {
  const Index* known = index_of_.find(stream.value);
  if (known == nullptr || !entries_[*known].active) return;
  unlink(*known);
  entries_[*known].active = false;
}

std::optional<StreamId> ExtensiblePriorityScheduler::next(const SendOpportunity&) {
  if (occupied_ == 0) return std::nullopt;
  const Urgency& urgency = urgencies_[static_cast<std::size_t>(std::countr_zero(occupied_))];
  const Index index = urgency.heap.empty() ? urgency.circle : urgency.heap.front();
  return StreamId{entries_[index].stream.value};
}

void ExtensiblePriorityScheduler::on_sent(StreamId stream, const SentData&,
                                          const SendOpportunity&) {
  if (occupied_ == 0) return;
  Urgency& urgency = urgencies_[static_cast<std::size_t>(std::countr_zero(occupied_))];
  if (!urgency.heap.empty() || entries_[urgency.circle].stream != stream) return;
  urgency.circle = entries_[urgency.circle].next;
}

ExtensiblePriorityScheduler::Index ExtensiblePriorityScheduler::entry_of(StreamId stream) {
  if (const Index* known = index_of_.find(stream.value)) return *known;
  Index index = unused_;
  if (index == k_none) {
    index = static_cast<Index>(entries_.size());
    entries_.emplace_back();
  } else {
    unused_ = entries_[index].next;
    entries_[index] = {};
  }
  entries_[index].stream = stream;
  index_of_.insert(stream.value, index);
  return index;
}

void ExtensiblePriorityScheduler::link(Index index) {
  const Entry& entry = entries_[index];
  Urgency& urgency = urgencies_[entry.urgency];
  occupied_ |= 1u << entry.urgency;
  if (entry.incremental) return circle_insert(urgency, index);
  urgency.heap.push_back(index);
  entries_[index].heap_position = static_cast<Index>(urgency.heap.size() - 1);
  sift_up(urgency, entries_[index].heap_position);
}

void ExtensiblePriorityScheduler::unlink(Index index) {
  const Entry& entry = entries_[index];
  Urgency& urgency = urgencies_[entry.urgency];
  if (entry.incremental) {
    circle_remove(urgency, index);
  } else {
    heap_remove(urgency, index);
  }
  if (urgency.empty()) occupied_ &= ~(1u << entry.urgency);
}

void ExtensiblePriorityScheduler::circle_insert(Urgency& urgency, Index index) {
  Entry& entry = entries_[index];
  if (urgency.circle == k_none) {
    entry.previous = entry.next = urgency.circle = index;
    return;
  }
  // Goes behind all others: just before the head.
  Entry& head = entries_[urgency.circle];
  entry.next = urgency.circle;
  entry.previous = head.previous;
  entries_[head.previous].next = index;
  head.previous = index;
}

void ExtensiblePriorityScheduler::circle_remove(Urgency& urgency, Index index) {
  const Entry& entry = entries_[index];
  if (entry.next == index) {
    urgency.circle = k_none;
    return;
  }
  entries_[entry.previous].next = entry.next;
  entries_[entry.next].previous = entry.previous;
  if (urgency.circle == index) urgency.circle = entry.next;
}

void ExtensiblePriorityScheduler::heap_remove(Urgency& urgency, Index index) {
  const Index position = entries_[index].heap_position;
  const Index last = urgency.heap.back();
  urgency.heap.pop_back();
  if (last == index) return;
  heap_place(urgency, position, last);
  sift_up(urgency, position);
  sift_down(urgency, entries_[last].heap_position);
}

void ExtensiblePriorityScheduler::sift_up(Urgency& urgency, Index position) {
  const Index index = urgency.heap[position];
  while (position > 0) {
    const Index parent = (position - 1) / 2;
    if (entries_[urgency.heap[parent]].stream < entries_[index].stream) break;
    heap_place(urgency, position, urgency.heap[parent]);
    position = parent;
  }
  heap_place(urgency, position, index);
}

void ExtensiblePriorityScheduler::sift_down(Urgency& urgency, Index position) {
  const Index index = urgency.heap[position];
  while (2 * std::size_t{position} + 1 < urgency.heap.size()) {
    Index child = 2 * position + 1;
    if (child + 1 < urgency.heap.size() &&
        entries_[urgency.heap[child + 1]].stream < entries_[urgency.heap[child]].stream) {
      ++child;
    }
    if (entries_[index].stream < entries_[urgency.heap[child]].stream) break;
    heap_place(urgency, position, urgency.heap[child]);
    position = child;
  }
  heap_place(urgency, position, index);
}

void ExtensiblePriorityScheduler::heap_place(Urgency& urgency, Index position, Index index) {
  urgency.heap[position] = index;
  entries_[index].heap_position = position;
}

}  // namespace sheaf::quic
