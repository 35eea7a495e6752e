#pragma once

#include <napi.h>

#include "binding/hosted_connection.h"

namespace sheaf::binding {

// Appends everything that happened on the connection since the last time, as `NativeEvent`s of
// lib/addon.ts.
void report_events(HostedConnection& hosted, Napi::Array& events);

// Parts of it: the connection is known to JavaScript from then on.
void report_established(HostedConnection& hosted, Napi::Array& events);
// WebTransport sessions; true when there was something.
bool report_webtransport_events(HostedConnection& hosted, Napi::Array& events);
// The datagrams of a turn, as one Buffer with their sizes beside it.
void report_datagrams(HostedConnection& hosted, Napi::Array& events);

}  // namespace sheaf::binding
