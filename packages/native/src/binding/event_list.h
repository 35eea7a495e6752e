#pragma once

#include <napi.h>

#include <optional>

#include "binding/event_kind.h"
#include "binding/hosted_connection.h"

namespace sheaf::binding {

// The events of a turn as JavaScript will see them. Most turns have none, and then cost nothing:
// the first event opens the scope of all values.
class EventList {
 public:
  explicit EventList(Napi::Env env) : env_(env) {}

  // Must be called before a value of an event is made.
  Napi::Env open() {
    if (!scope_) {
      scope_.emplace(env_);
      array_ = Napi::Array::New(env_);
    }
    return env_;
  }
  void append(const Napi::Array& event) { array_.Set(length_++, event); }
  bool empty() const { return length_ == 0; }
  const Napi::Array& array() const { return array_; }

 private:
  Napi::Env env_;
  std::optional<Napi::HandleScope> scope_;
  Napi::Array array_;
  std::uint32_t length_ = 0;
};

// Appends [kind, connection, values …] to the events of this turn.
template <typename... Values>
void push(EventList& events, EventKind kind, const HostedConnection& hosted, Values... values) {
  Napi::Array event = Napi::Array::New(events.open(), 2 + sizeof...(values));
  event.Set(0u, static_cast<std::uint32_t>(kind));
  event.Set(1u, hosted.handle());
  std::uint32_t index = 2;
  (event.Set(index++, values), ...);
  events.append(event);
}

inline double number(std::uint64_t value) { return static_cast<double>(value); }

template <typename... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <typename... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;

}  // namespace sheaf::binding
