#pragma once

#include <napi.h>

#include "binding/event_kind.h"
#include "binding/hosted_connection.h"

namespace sheaf::binding {

// Appends [kind, connection, values …] to the events of this turn.
template <typename... Values>
void push(Napi::Array& events, EventKind kind, const HostedConnection& hosted, Values... values) {
  Napi::Env env = events.Env();
  Napi::Array event = Napi::Array::New(env, 2 + sizeof...(values));
  event.Set(0u, static_cast<std::uint32_t>(kind));
  event.Set(1u, hosted.handle());
  std::uint32_t index = 2;
  (event.Set(index++, values), ...);
  events.Set(events.Length(), event);
}

inline double number(std::uint64_t value) { return static_cast<double>(value); }

template <typename... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <typename... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;

}  // namespace sheaf::binding
