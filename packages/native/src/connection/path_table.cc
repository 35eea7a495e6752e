#include "connection/path_table.h"

#include <algorithm>
#include <utility>

namespace sheaf::quic {

PathTable::PathTable(std::uint64_t active_connection_id_limit)
    : active_connection_id_limit_(active_connection_id_limit) {
  entries_.push_back(std::make_unique<PathEntry>(PathId{0}, active_connection_id_limit));
}

const PathEntry* PathTable::find(PathId id) const {
  // Path 0 is first while it lives, and nearly always asked for.
  if (!entries_.empty() && entries_.front()->id == id) return entries_.front().get();
  const auto found = std::ranges::lower_bound(
      entries_, id, {}, [](const std::unique_ptr<PathEntry>& entry) { return entry->id; });
  return found != entries_.end() && (*found)->id == id ? found->get() : nullptr;
}

PathEntry* PathTable::find(PathId id) {
  return const_cast<PathEntry*>(std::as_const(*this).find(id));
}

PathEntry* PathTable::find_or_add(PathId id) {
  if (PathEntry* known = find(id)) return known;
  if (ids_.gone(id)) return nullptr;
  const auto place = std::ranges::lower_bound(
      entries_, id, {}, [](const std::unique_ptr<PathEntry>& entry) { return entry->id; });
  PathEntry* added =
      entries_.insert(place, std::make_unique<PathEntry>(id, active_connection_id_limit_))->get();
  added->local_ids.set_id_maker(id_maker_);
  added->rules = rules_;
  return added;
}

void PathTable::set_rules(const PathRules& rules) {
  rules_ = rules;
  for (const auto& entry : entries_) entry->rules = rules;
}

void PathTable::set_id_maker(const SharedIdMaker& maker) {
  id_maker_ = maker;
  for (const auto& entry : entries_) entry->local_ids.set_id_maker(maker);
}

bool PathTable::frames_due() const {
  return ids_.maximum_due() || ids_.blocked_due() ||
         std::ranges::any_of(entries_, [](const auto& entry) {
           return entry->frames_due() && !entry->on_own_path();
         });
}

Path* PathTable::any_open() {
  for (const PathEntry* entry : in_use_) {
    if (entry->open() && !entry->rules.limited()) return entry->path.get();
  }
  return nullptr;
}

PathEntry* PathTable::find_by_local_id(Bytes id) {
  if (last_found_ && last_found_->local_ids.contains(id)) return last_found_;
  for (const auto& entry : entries_) {
    if (entry->local_ids.contains(id)) return last_found_ = entry.get();
  }
  return nullptr;
}

bool PathTable::remote_id_known_elsewhere(const ConnectionId& id, PathId path) const {
  return std::ranges::any_of(entries_, [&](const std::unique_ptr<PathEntry>& entry) {
    return entry->id != path && entry->remote_ids.knows(id);
  });
}

bool PathTable::is_reset_token(Bytes token) const {
  bool found = false;
  // Compares every path, so that the time taken tells nothing (RFC 9000 §10.3.1).
  for (const auto& entry : entries_) {
    found |= !entry->abandonment && entry->remote_ids.is_reset_token(token);
  }
  return found;
}

PathEntry* PathTable::apart_with_reset_token(Bytes token) {
  for (const auto& entry : entries_) {
    if (entry->rules.apart && !entry->abandonment && entry->remote_ids.is_reset_token(token)) {
      return entry.get();
    }
  }
  return nullptr;
}

bool PathTable::any_apart_open() const {
  return std::ranges::any_of(
      in_use_, [](const PathEntry* entry) { return entry->rules.apart && entry->open(); });
}

PathEntry& PathTable::keep_only(PathId id) {
  entries_.clear();
  ids_.keep_only(id);
  return *find_or_add(id);
}

void PathTable::add_to_use(PathEntry& entry) {
  in_use_.insert(std::ranges::lower_bound(in_use_, entry.id, {}, &PathEntry::id), &entry);
}

std::size_t PathTable::open_count() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      in_use_, [](const PathEntry* entry) { return entry->open() && !entry->rules.limited(); }));
}

void PathTable::forget(PathId id) {
  const auto found = std::ranges::find(
      entries_, id, [](const std::unique_ptr<PathEntry>& entry) { return entry->id; });
  if (found == entries_.end()) return;
  (*found)->local_ids.retire_all();
  while (const auto change = (*found)->local_ids.poll_change()) leaving_.push_back(*change);
  if (last_found_ == found->get()) last_found_ = nullptr;
  std::erase(in_use_, found->get());
  entries_.erase(found);
  ids_.retire(id);
}

std::optional<LocalConnectionIds::Change> PathTable::poll_change() {
  if (!leaving_.empty()) {
    const LocalConnectionIds::Change change = leaving_.front();
    leaving_.pop_front();
    return change;
  }
  for (const auto& entry : entries_) {
    if (const auto change = entry->local_ids.poll_change()) return change;
  }
  return std::nullopt;
}

}  // namespace sheaf::quic
