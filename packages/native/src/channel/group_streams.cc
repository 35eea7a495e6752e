#include "channel/group_streams.h"

#include <algorithm>

namespace sheaf::quic {

GroupStreams::Outcome GroupStreams::find(StreamId stream, Time now, Group*& found) {
  if (stream.initiator() != Role::kServer ||
      stream.directionality() != Directionality::kUnidirectional) {
    return Outcome::kViolation;
  }
  const std::uint64_t index = stream.index();
  if (!first_) {
    begin_ = index;
    first_ = end_ = index - std::min(index, k_before_first);
  }
  if (index < *first_) return Outcome::kLate;
  make_place(index);
  // Groups that were skipped wait for their first bytes from now on.
  for (; end_ <= index; ++end_) slot(end_).waiting = now;
  Group& group = slot(index);
  if (group.state >= Group::State::kFailed) return Outcome::kLate;
  if (group.state == Group::State::kUnseen) {
    group.state = Group::State::kOpen;
    group.bytes.open(pool_);
  }
  found = &group;
  return Outcome::kTaken;
}

GroupStreams::Outcome GroupStreams::on_stream(const StreamFrame& frame, Time now) {
  Group* group = nullptr;
  if (const Outcome outcome = find(frame.stream, now, group); group == nullptr) return outcome;
  const std::uint64_t end = frame.offset + frame.data.size();
  const bool other_end = frame.fin && group->end != k_max_varint && group->end != end;
  if (end > k_max_group || end > group->end || (frame.fin && end < group->highest) || other_end) {
    return Outcome::kViolation;
  }
  make_room(frame.stream.index());
  if (pool_.memory_bytes() > k_max_memory) {
    fail(*group);  // nothing brings the frame again
    return Outcome::kLimit;
  }
  const std::uint64_t before = group->bytes.contiguous_end();
  if (frame.fin) group->end = end;
  group->highest = std::max(group->highest, end);
  group->bytes.write(frame.offset, frame.data);
  const bool goes_on = group->bytes.contiguous_end() > before;
  if (!group->waits()) {
    group->waiting = k_never;
  } else if (goes_on || group->waiting == k_never) {
    group->waiting = now;
  }
  if (goes_on || (frame.fin && group->complete())) group->changed = true;
  return Outcome::kTaken;
}

void GroupStreams::on_packets_expired(Time now) {
  if (!first_) return;
  for (std::uint64_t index = *first_; index < end_; ++index) {
    Group& group = slot(index);
    const bool is_open = group.state == Group::State::kOpen && !group.complete();
    if (is_open && group.waiting == k_never) group.waiting = now;
  }
}

GroupStreams::Outcome GroupStreams::on_reset(const ResetStreamFrame& frame, Time now) {
  Group* group = nullptr;
  if (const Outcome outcome = find(frame.stream, now, group); group == nullptr) return outcome;
  if (group->complete()) return Outcome::kLate;
  group->reset = true;
  group->error = frame.error;
  fail(*group);
  return Outcome::kTaken;
}

void GroupStreams::make_place(std::uint64_t index) {
  if (index < *first_ + k_max_open) return;
  const std::uint64_t first = index - k_max_open + 1;
  for (std::uint64_t lower = *first_; lower < std::min(first, end_); ++lower) {
    Group& group = slot(lower);
    if (group.state != Group::State::kEnded) given_up_.push_back(lower);
    if (given_up_.size() > k_max_open) given_up_.pop_front();
    reset(group);
  }
  first_ = first;
  end_ = std::max(end_, first);
  drop_ended();
}

void GroupStreams::make_room(std::uint64_t index) {
  for (std::uint64_t lower = *first_; lower < index && pool_.memory_bytes() > k_max_memory;
       ++lower) {
    Group& group = slot(lower);
    if (group.state != Group::State::kOpen) continue;
    fail(group);
    pool_.trim();
  }
}

void GroupStreams::fail(Group& group) {
  group.state = Group::State::kFailed;
  group.bytes.clear();
  group.waiting = k_never;
  group.changed = true;
}

void GroupStreams::on_timeout(Time now) {
  if (!first_) return;
  for (std::uint64_t index = *first_; index < end_; ++index) {
    Group& group = slot(index);
    if (group.waiting == k_never || group.waiting + deadline_ > now) continue;
    const bool never_begun = group.state == Group::State::kUnseen && index < begin_;
    fail(group);
    if (never_begun) group.state = Group::State::kEnded;
  }
  drop_ended();
}

Time GroupStreams::next_timeout() const {
  if (!first_) return k_never;
  Time oldest = k_never;
  for (std::uint64_t index = *first_; index < end_; ++index) {
    oldest = std::min(oldest, groups_[index % k_max_open].waiting);
  }
  return oldest == k_never ? k_never : oldest + deadline_;
}

std::optional<GroupEvent> GroupStreams::poll_event() {
  const auto id_of = [](std::uint64_t index) {
    return StreamId::make(Role::kServer, Directionality::kUnidirectional, index);
  };
  if (!given_up_.empty()) {
    const GroupEvent event{.group = id_of(given_up_.front()), .kind = GroupEvent::Kind::kExpired};
    given_up_.pop_front();
    return event;
  }
  if (!first_) return std::nullopt;
  for (std::uint64_t index = *first_; index < end_; ++index) {
    Group& group = slot(index);
    if (group.state == Group::State::kEnded || !std::exchange(group.changed, false)) continue;
    GroupEvent event{.group = id_of(index), .error = group.error};
    if (group.state == Group::State::kFailed) {
      event.kind = group.reset ? GroupEvent::Kind::kReset : GroupEvent::Kind::kExpired;
      group.state = Group::State::kEnded;
    } else if (group.bytes.read_offset() == group.end) {
      event.kind = GroupEvent::Kind::kEnded;
      group.state = Group::State::kEnded;
    }
    drop_ended();
    return event;
  }
  return std::nullopt;
}

void GroupStreams::drop_ended() {
  while (*first_ < end_ && slot(*first_).state == Group::State::kEnded) {
    reset(slot((*first_)++));
  }
}

void GroupStreams::reset(Group& group) {
  group.bytes.clear();
  group.state = Group::State::kUnseen;
  group.changed = group.reset = false;
  group.error = group.highest = 0;
  group.end = k_max_varint;
  group.waiting = k_never;
}

const GroupStreams::Group* GroupStreams::open_group(StreamId stream) const {
  const std::uint64_t index = stream.index();
  if (!first_ || index < *first_ || index >= end_) return nullptr;
  const Group& group = groups_[index % k_max_open];
  return group.state == Group::State::kOpen ? &group : nullptr;
}

Bytes GroupStreams::peek(StreamId stream) const {
  const Group* group = open_group(stream);
  return group == nullptr ? Bytes{} : group->bytes.peek();
}

void GroupStreams::consume(StreamId stream, std::size_t bytes) {
  if (open_group(stream) == nullptr) return;
  Group& group = slot(stream.index());
  group.bytes.consume(bytes);
  if (group.bytes.read_offset() == group.end) group.changed = true;
}

}  // namespace sheaf::quic
