#pragma once

#include <napi.h>

#include <memory>

#include "binding/buffer_pool.h"
#include "binding/call_arguments.h"
#include "binding/endpoint_settings.h"
#include "binding/hosted_connections.h"
#include "binding/path_sockets.h"
#include "io/endpoint_loop.h"
#include "io/system_random.h"
#include "switchboard/delegations.h"
#include "switchboard/returned_bodies.h"
#include "switchboard/shared_files.h"
#include "tunnel_node/stream_ends.h"
#include "tunnel_node/tunnel_node.h"

namespace sheaf::binding {

// Holds the parts of one `NativeEndpoint` for the functions of endpoint_calls.h.
struct EndpointParts {
  explicit EndpointParts(const Napi::Object& options) : settings(options) {}

  EndpointSettings settings;
  io::SystemRandom random;
  BufferPool body_buffers;
  std::unique_ptr<quic::Endpoint> endpoint;
  std::unique_ptr<io::EndpointLoop> loop;
  std::shared_ptr<switchboard::Switchboard> switchboard;
  // Null until the first stream is offered to a backend
  std::unique_ptr<switchboard::Delegations> delegations;
  // What this node sends for its gateways
  switchboard::SharedFiles returned_files;
  switchboard::ReturnedBodies returned_bodies{[this] {
    if (loop) loop->wake();
  }};
  std::unique_ptr<tunnel_node::TunnelNode> tunnels;  // null until the first one
  // Tunnels of clients with HTTP/2 and HTTP/1.1
  tunnel_node::StreamEnds stream_tunnels{[this] {
    if (loop) loop->wake();
  }};
  HostedConnections connections{settings, random};
  PathSockets path_sockets;
  std::uint64_t javascript_calls = 0;  // calls in both directions
  bool bound = false;

  // Destroys the parts in the order of their references: sessions refer to connections, and
  // connections to streams that lend Buffers.
  void release() {
    delegations.reset();
    connections.clear();
    stream_tunnels.clear();
    tunnels.reset();
    loop.reset();
    endpoint.reset();
  }
  // Closes the sockets of all tunnels. The loop may then end.
  void close_tunnels() {
    connections.for_each([](HostedConnection& hosted) { hosted.tunnels.clear(); });
    stream_tunnels.clear();
    tunnels.reset();
  }
  bool usable() const { return bound && !loop->closing(); }

  // Returns the connection named by the first argument after waking it, or null when it is gone.
  HostedConnection* connection_of(const Napi::CallbackInfo& info) {
    ++javascript_calls;
    HostedConnection* hosted =
        connections.find(static_cast<std::uint32_t>(number_argument(info, 0)));
    if (!hosted || loop->closing()) return nullptr;
    loop->wake(hosted->driver());
    return hosted;
  }
  // Returns the session of this connection, or null when the connection is gone or has none yet.
  http3::RequestSession* session_of(const Napi::CallbackInfo& info) {
    HostedConnection* hosted = connection_of(info);
    return hosted ? hosted->session() : nullptr;
  }
  // Returns the WebTransport sessions of this connection, or null when the connection is gone or
  // has none.
  webtransport::SessionSet* sessions_of(const Napi::CallbackInfo& info) {
    HostedConnection* hosted = connection_of(info);
    return hosted ? hosted->sessions() : nullptr;
  }
};

}  // namespace sheaf::binding
