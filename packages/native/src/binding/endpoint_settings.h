#pragma once

#include <napi.h>

#include <memory>
#include <string>

#include "connection/path_policy_choice.h"
#include "endpoint/endpoint.h"
#include "http3/session.h"
#include "io/worker_sockets.h"

namespace sheaf::binding {

// Reads the `NativeEndpointOptions` of lib/addon.ts, where every default is filled in.
struct EndpointSettings {
  explicit EndpointSettings(const Napi::Object& options);

  quic::EndpointConfig endpoint;
  // Of `endpoint`, where it has two
  std::unique_ptr<const quic::PathPolicyChoice> path_policies;
  quic::TlsServerConfig server_tls;
  http3::SessionConfig session;
  std::vector<std::string> alpn;
  std::vector<std::string> addresses;  // at least one; all have the port of the first
  std::uint16_t port = 0;
  bool server = false;
  bool offers_responses = false;
  io::UdpSocketOptions socket;
  std::size_t packets_per_ack = 0;  // of a client that measures; 0: as RFC 9000 and the peer say
  std::string qlog_directory;
  std::string key_log_file;
  // The worker whose sockets the endpoint has; null for sockets of its own
  std::shared_ptr<io::WorkerSockets> workers;
  unsigned worker = 0;
  // What is wrong with the options; empty: nothing
  std::string fault;

 private:
  void join_workers(const Napi::Object& options);
  void offer_return_paths();
  void read_secrets(const Napi::Object& options);
};

}  // namespace sheaf::binding
