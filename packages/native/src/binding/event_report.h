#pragma once

#include "binding/event_list.h"
#include "binding/hosted_connection.h"
#include "switchboard/delegations.h"
#include "switchboard/returned_bodies.h"
#include "tunnel_node/stream_ends.h"

namespace sheaf::binding {

// Appends everything that has happened on the connection since the last call, as the `NativeEvent`s
// of lib/addon.ts.
void report_events(HostedConnection& hosted, EventList& events);

// Appends the streams whose backend sends nothing more.
void report_orphans(switchboard::Delegations& delegations, HostedConnection& hosted,
                    EventList& events);

// Appends what has happened to the bodies that this node sends for its gateways. They belong to no
// connection.
void report_returned_bodies(switchboard::ReturnedBodies& bodies, EventList& events);

// Reports a connection, which JavaScript knows from then on. This and the following functions are
// parts of `report_events`.
void report_established(HostedConnection& hosted, EventList& events);
// Reports events of WebTransport sessions, and returns whether there were any.
bool report_webtransport_events(HostedConnection& hosted, EventList& events);
// Reports what happened to channels that this side receives.
void report_channels(HostedConnection& hosted, EventList& events);
// Reports tunnels that are over.
void report_tunnels(HostedConnection& hosted, EventList& events);
// Reports what tunnels have for clients whose streams JavaScript carries, and their ends.
void report_stream_tunnels(tunnel_node::StreamEnds& tunnels, EventList& events);
// Reports the datagrams of a turn as one Buffer and a list of their sizes.
void report_datagrams(HostedConnection& hosted, EventList& events);

}  // namespace sheaf::binding
