#include "binding/endpoint_settings.h"

#include "binding/call_arguments.h"
#include "binding/secrets_argument.h"
#include "binding/worker_groups.h"
#include "direct_return/own_recovery/return_paths.h"
#include "io/monotonic_clock.h"
#include "multi_end/backends.h"
#include "workers/worker_placement.h"

namespace sheaf::binding {

namespace {

constexpr std::size_t k_ethernet_payload = 1472;  // of a UDP datagram over IPv4

std::vector<std::string> texts(const Napi::Object& options, const char* name) {
  const auto list = options.Get(name).As<Napi::Array>();
  std::vector<std::string> out;
  for (std::uint32_t i = 0; i < list.Length(); ++i) out.push_back(list.Get(i).ToString());
  return out;
}
bool flag(const Napi::Object& options, const char* name) { return options.Get(name).ToBoolean(); }

quic::RetryPolicy retry_policy(const std::string& name) {
  if (name == "always") return quic::RetryPolicy::kAlways;
  if (name == "never") return quic::RetryPolicy::kNever;
  return quic::RetryPolicy::kUnderLoad;
}

quic::CongestionAlgorithm congestion(const std::string& name) {
  using Algorithm = quic::CongestionAlgorithm;
  if (name == "new_reno") return Algorithm::kNewReno;
  if (name == "bbr") return Algorithm::kBbr;
  if (name == "olia") return Algorithm::kOlia;
  return Algorithm::kCubic;
}

quic::PathSchedulerKind path_scheduler(const std::string& name) {
  using Kind = quic::PathSchedulerKind;
  if (name == "min-rtt") return Kind::kMinRtt;
  if (name == "round-robin") return Kind::kRoundRobin;
  if (name == "weighted") return Kind::kWeighted;
  if (name == "blest") return Kind::kBlest;
  if (name == "redundant") return Kind::kRedundant;
  if (name == "backup-only") return Kind::kBackupOnly;
  return Kind::kEcf;
}

// Sets with what a client begins, and limits what is sent and what is accepted; 0: what the path
// carries.
void size_datagrams(quic::ConnectionConfig& connection, const Napi::Object& options) {
  connection.first_datagram_size = static_cast<std::uint16_t>(number(options, "firstDatagram"));
  const std::uint64_t longest = number(options, "longestDatagram");
  if (longest == 0) return;
  connection.max_udp_payload_size = static_cast<std::uint16_t>(longest);
  connection.accepted_udp_payload_size = static_cast<std::uint16_t>(longest);
}

void size_windows(quic::StreamSetConfig& streams, const Napi::Object& options) {
  streams.initial_connection_window = number(options, "initialConnectionWindow");
  streams.max_connection_window = number(options, "maxConnectionWindow");
  streams.initial_stream_window = number(options, "initialStreamWindow");
  streams.max_stream_window = number(options, "maxStreamWindow");
}

}  // namespace

// A client with Multi-End needs nobody to send in the server's name.
void EndpointSettings::offer_return_paths() {
  quic::ConnectionConfig& connection = endpoint.connection;
  if (connection.path_policy == nullptr) return quic::offer_return_paths(connection);
  path_policies = std::make_unique<const quic::PathPolicyChoice>(*connection.path_policy,
                                                                 quic::return_paths_offer());
  connection.path_policy = path_policies.get();
}

void EndpointSettings::read_secrets(const Napi::Object& options) {
  server_tls.secrets = secrets_argument(options.Get("ticketSecrets").As<Napi::Array>());
  endpoint.secrets = secrets_argument(options.Get("secrets").As<Napi::Array>());
  endpoint.reset_scope = text(options, "resetScope");
  endpoint.shared_clock = io::wall_clock_ahead();
  endpoint.server = server_id(options.Get("serverId").As<Napi::Object>(), endpoint.shared_clock);
}

void EndpointSettings::join_workers(const Napi::Object& options) {
  const std::uint64_t group = number(options, "workerGroup");
  if (group == 0) return;
  workers = WorkerGroups::find(static_cast<std::uint32_t>(group));
  worker = static_cast<unsigned>(number(options, "worker"));
  const bool known = workers && worker < workers->group()->steering().workers();
  if (!known) {
    fault = "there is no such worker";
    return;
  }
  if (endpoint.server) endpoint.server->nonces_of(worker, quic::Steering::k_max_workers);
  const std::size_t length =
      endpoint.server ? quic::RoutableIds::id_length(*endpoint.server) : quic::k_local_id_length;
  if (workers->group()->steering().id_length() != length)
    fault = "the group of workers has connection ids of another length";
  endpoint.placement = std::make_shared<workers::WorkerPlacement>(workers->group(), worker);
  endpoint.used_tokens = workers->group()->used_tokens();
  endpoint.clients = workers->group()->clients();
  server_tls.replays = workers->group()->replays();
}

EndpointSettings::EndpointSettings(const Napi::Object& options) {
  alpn = texts(options, "alpn");
  addresses = texts(options, "addresses");
  port = static_cast<std::uint16_t>(number(options, "port"));
  server = flag(options, "server");
  socket.reuse_port = flag(options, "reusePort");
  offers_responses = flag(options, "offersResponses");
  qlog_directory = text(options, "qlogDirectory");
  key_log_file = text(options, "keyLogFile");

  server_tls.certificate_pem = text(options, "certificate");
  server_tls.private_key_pem = text(options, "privateKey");
  server_tls.alpn = alpn;
  read_secrets(options);
  join_workers(options);

  quic::ConnectionConfig& connection = endpoint.connection;
  connection.max_idle_timeout = std::chrono::milliseconds(number(options, "idleTimeoutMs"));
  connection.keep_alive = std::chrono::milliseconds(number(options, "keepAliveMs"));
  connection.max_datagram_frame_size = number(options, "maxDatagramFrameSize");
  size_windows(connection.streams, options);
  connection.streams.max_bidirectional_streams = number(options, "maxBidirectionalStreams");
  connection.streams.max_unidirectional_streams = number(options, "maxUnidirectionalStreams");
  connection.congestion.algorithm = congestion(text(options, "congestionControl"));
  packets_per_ack = number(options, "packetsPerAck");
  if (packets_per_ack > 0) {
    connection.take_ack_frequency = false;
    socket.datagrams_per_flush = packets_per_ack;
    socket.largest_datagram = k_ethernet_payload;
  }
  size_datagrams(connection, options);
  connection.follow_tunnel_reports = flag(options, "followTunnelReports");
  connection.multipath = flag(options, "multipath");
  quic::offer_multi_end(connection, number(options, "backendKeyModes"));
  if (flag(options, "returnPaths")) offer_return_paths();
  connection.path_scheduler = path_scheduler(text(options, "pathScheduler"));
  connection.streams.scheduler = quic::stream_scheduler_named(text(options, "streamScheduler"))
                                     .value_or(connection.streams.scheduler);

  endpoint.admission.max_connections = number(options, "maxConnections");
  endpoint.admission.max_connections_per_network = number(options, "maxConnectionsPerNetwork");
  endpoint.admission.max_half_open = number(options, "maxHalfOpenHandshakes");
  endpoint.admission.handshakes_per_second = number(options, "handshakesPerSecond");
  endpoint.admission.retry = retry_policy(text(options, "retry"));

  if (const std::uint64_t bytes = number(options, "connectionMemory"); bytes > 0) {
    endpoint.memory.connection = bytes;
  }
  if (const std::uint64_t bytes = number(options, "memory"); bytes > 0) {
    endpoint.memory.total = bytes;
  }
  endpoint.idle_close_error = http3::value_of(http3::ErrorCode::kNoError);
  endpoint.overload_error = http3::value_of(http3::ErrorCode::kExcessiveLoad);

  session.max_field_section_size = number(options, "maxHeaderBytes");
  session.qpack_table_capacity = number(options, "qpackTableCapacity");
  session.webtransport = flag(options, "webtransport");
  session.extended_connect = flag(options, "extendedConnect");
  session.datagrams = session.extended_connect || flag(options, "datagrams");
}

}  // namespace sheaf::binding
