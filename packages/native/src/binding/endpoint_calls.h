#pragma once

#include <napi.h>

namespace sheaf::binding {

struct EndpointParts;

// Calls of `NativeEndpoint`, grouped by the file that implements them; lib/addon.ts documents each.
// The first argument names a connection, except where none exists yet.
namespace calls {

// connection_calls.cc
Napi::Value connect(EndpointParts& parts, const Napi::CallbackInfo& info);
void close_connection(EndpointParts& parts, const Napi::CallbackInfo& info);
void shut_down(EndpointParts& parts, const Napi::CallbackInfo& info);
void ping(EndpointParts& parts, const Napi::CallbackInfo& info);
void permit_cancellations(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value update_keys(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value report_tunnel(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value connection_status(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value connections(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value counters(EndpointParts& parts, const Napi::CallbackInfo& info);
void set_certificate(EndpointParts& parts, const Napi::CallbackInfo& info);
void set_secrets(EndpointParts& parts, const Napi::CallbackInfo& info);

// request_calls.cc
Napi::Value submit_request(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value submit_informational(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value submit_response(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value submit_trailers(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value write_body(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value reserve_body(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value take_buffer(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value read_body(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value read_body_into(EndpointParts& parts, const Napi::CallbackInfo& info);
void stop_reading(EndpointParts& parts, const Napi::CallbackInfo& info);
void reset_stream(EndpointParts& parts, const Napi::CallbackInfo& info);

// session_calls.cc
Napi::Value accept_session(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value reject_session(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value request_session(EndpointParts& parts, const Napi::CallbackInfo& info);
void close_session(EndpointParts& parts, const Napi::CallbackInfo& info);
void drain_session(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value open_session_stream(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value write_session_stream(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value session_stream_available(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value read_session_stream(EndpointParts& parts, const Napi::CallbackInfo& info);
void reset_session_stream(EndpointParts& parts, const Napi::CallbackInfo& info);
void stop_session_stream(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value send_session_datagram(EndpointParts& parts, const Napi::CallbackInfo& info);
void send_session_datagrams(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value session_datagram_counts(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value max_session_datagram(EndpointParts& parts, const Napi::CallbackInfo& info);

// stream_calls.cc
void set_stream_priority(EndpointParts& parts, const Napi::CallbackInfo& info);
void set_expected_bytes(EndpointParts& parts, const Napi::CallbackInfo& info);

// path_calls.cc
Napi::Value open_path(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value migrate(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value abandon_path(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value set_path_status(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value set_path_weight(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value pin_stream(EndpointParts& parts, const Napi::CallbackInfo& info);

// backend_calls.cc
Napi::Value hand_over_backend(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value offer_backend(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value withdraw_backend(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value receive_backend_message(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value import_connection(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value receive_primary_message(EndpointParts& parts, const Napi::CallbackInfo& info);
void drain_backend(EndpointParts& parts, const Napi::CallbackInfo& info);
void forget_connection(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value open_backend(EndpointParts& parts, const Napi::CallbackInfo& info);

// return_calls.cc
Napi::Value open_orders(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value offer_stream(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value stream_doubt(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value hand_off(EndpointParts& parts, const Napi::CallbackInfo& info);
void revoke_stream(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value acknowledged_offset(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value write_instead(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value open_executor(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value accept_grant(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value append_returned(EndpointParts& parts, const Napi::CallbackInfo& info);
void fail_returned(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value returned_bytes(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value executor_stats(EndpointParts& parts, const Napi::CallbackInfo& info);
void close_node_session(EndpointParts& parts, const Napi::CallbackInfo& info);

// channel_calls.cc
Napi::Value serve_channel(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value watch_channel(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value read_channel_group(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value channel_status(EndpointParts& parts, const Napi::CallbackInfo& info);
void leave_channel(EndpointParts& parts, const Napi::CallbackInfo& info);
void forget_channel(EndpointParts& parts, const Napi::CallbackInfo& info);

// tunnel_calls.cc
Napi::Value open_tunnel(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value open_tunnel_port(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value forward_tunnel_peer(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value refuse_tunnel_peer(EndpointParts& parts, const Napi::CallbackInfo& info);
void close_tunnel_port(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value open_stream_tunnel(EndpointParts& parts, const Napi::CallbackInfo& info);
void write_stream_tunnel(EndpointParts& parts, const Napi::CallbackInfo& info);
void finish_stream_tunnel(EndpointParts& parts, const Napi::CallbackInfo& info);
void go_on_stream_tunnel(EndpointParts& parts, const Napi::CallbackInfo& info);
void leave_stream_tunnel(EndpointParts& parts, const Napi::CallbackInfo& info);
Napi::Value tunnel_counts(EndpointParts& parts, const Napi::CallbackInfo& info);

}  // namespace calls
}  // namespace sheaf::binding
