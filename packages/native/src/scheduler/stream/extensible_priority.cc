#include "scheduler/stream/extensible_priority.h"

#include <algorithm>
#include <bit>

namespace sheaf::quic {

std::unique_ptr<StreamScheduler> make_extensible_priority_scheduler() {
  return std::make_unique<ExtensiblePriorityScheduler>();
}

void ExtensiblePriorityScheduler::activate(StreamId stream, const StreamPriority& priority) {
  StreamPriority wanted = priority;
  wanted.urgency = std::min<std::uint8_t>(wanted.urgency, k_urgencies - 1);
  if (const Index* known = index_of_.find(stream.value)) {
    if (entries_[*known].priority == wanted) return;
    unlink(*known);
    entries_[*known].priority = wanted;
    link(*known);
    return;
  }
  const Index index = take_entry();
  entries_[index].stream = stream;
  entries_[index].priority = wanted;
  index_of_.insert(stream.value, index);
  link(index);
}

void ExtensiblePriorityScheduler::deactivate(StreamId stream) {
  const Index* known = index_of_.find(stream.value);
  if (known == nullptr) return;
  const Index index = *known;
  unlink(index);
  index_of_.erase(stream.value);
  entries_[index].next = unused_;
  unused_ = index;
}

std::optional<StreamId> ExtensiblePriorityScheduler::next() const {
  if (occupied_ == 0) return std::nullopt;
  const Urgency& urgency = urgencies_[static_cast<std::size_t>(std::countr_zero(occupied_))];
  const Index index = urgency.heap.empty() ? urgency.circle : urgency.heap.front();
  return StreamId{entries_[index].stream.value};
}

void ExtensiblePriorityScheduler::on_sent(StreamId stream, std::size_t) {
  if (occupied_ == 0) return;
  Urgency& urgency = urgencies_[static_cast<std::size_t>(std::countr_zero(occupied_))];
  if (!urgency.heap.empty() || entries_[urgency.circle].stream != stream) return;
  urgency.circle = entries_[urgency.circle].next;
}

ExtensiblePriorityScheduler::Index ExtensiblePriorityScheduler::take_entry() {
  if (unused_ == k_none) {
    entries_.emplace_back();
    return static_cast<Index>(entries_.size() - 1);
  }
  const Index index = unused_;
  unused_ = entries_[index].next;
  return index;
}

void ExtensiblePriorityScheduler::link(Index index) {
  const StreamPriority& priority = entries_[index].priority;
  Urgency& urgency = urgencies_[priority.urgency];
  occupied_ |= 1u << priority.urgency;
  if (priority.incremental) return circle_insert(urgency, index);
  urgency.heap.push_back(index);
  entries_[index].heap_position = static_cast<Index>(urgency.heap.size() - 1);
  sift_up(urgency, entries_[index].heap_position);
}

void ExtensiblePriorityScheduler::unlink(Index index) {
  const StreamPriority& priority = entries_[index].priority;
  Urgency& urgency = urgencies_[priority.urgency];
  if (priority.incremental) {
    circle_remove(urgency, index);
  } else {
    heap_remove(urgency, index);
  }
  if (urgency.empty()) occupied_ &= ~(1u << priority.urgency);
}

void ExtensiblePriorityScheduler::circle_insert(Urgency& urgency, Index index) {
  Entry& entry = entries_[index];
  if (urgency.circle == k_none) {
    entry.previous = entry.next = urgency.circle = index;
    return;
  }
  // Behind all others: just before the head.
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
