#pragma once

#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "crypto/handshake.h"
#include "crypto/test_certificates.h"

namespace sheaf::quic {

// Holds one side of a handshake and what it has reported.
struct Peer {
  std::unique_ptr<Handshake> handshake;
  std::vector<HandshakeEvent> events;
  std::vector<std::vector<std::uint8_t>> engine_packets;  // 0-RTT and 1-RTT

  const HandshakeEvent* find(HandshakeEvent::Kind kind) const;
  std::size_t count(HandshakeEvent::Kind kind) const;
  void poll();
};

// Joins a client and a server in virtual time by a pipe that loses chosen datagrams. It acts like
// an endpoint, with one plain packet in place of a connection: the server repeats "done" and the
// ticket until the client has them.
class HandshakeWorld {
 public:
  static constexpr Duration k_delay = std::chrono::milliseconds(10);
  static constexpr Duration k_limit = std::chrono::seconds(120);

  struct Options {
    std::shared_ptr<TlsContext> client_context;
    std::shared_ptr<TlsContext> server_context;
    bool retry = false;
    std::uint32_t version = k_version_1;
    std::uint32_t original_version = 0;
    std::vector<std::uint32_t> preferred_versions;
    std::optional<SessionState> session;
    std::string server_name = "localhost";
    TransportParameters client_parameters;
    TransportParameters server_parameters;
    bool accept_address_token = false;
    bool hold_first_datagram = false;  // the client's first datagram comes after its second
    Duration timeout = std::chrono::seconds(60);
    Duration client_clock{};  // ahead of the server's when the client begins
    // The arguments are the direction (true: to the server) and the number of the datagram in that
    // direction.
    std::function<bool(bool to_server, int number)> drop;
    std::function<void(std::string_view)> client_key_log;
    std::function<void(std::string_view)> server_key_log;
  };

  HandshakeWorld(Options options, std::uint64_t seed);

  // Runs until both sides are done, one has failed, or the limit is reached. Returns true when the
  // client has the server's "done".
  bool run();
  void deliver(bool to_server, std::vector<std::uint8_t> datagram);
  // Delivers this datagram next, as if somebody on the path had sent it.
  void inject(bool to_server, std::vector<std::uint8_t> datagram);

  Peer client;
  Peer server;
  Peer former_server;  // of the attempt before, where the client began again
  Time now{std::chrono::seconds(1)};
  bool confirmed = false;
  bool early_secret_at_once = false;  // before anything was sent
  bool address_validated = false;     // by a token of an earlier connection
  int sent[2] = {0, 0};               // datagrams, by direction
  std::size_t largest_datagram = 0;
  std::vector<std::vector<std::uint8_t>> client_datagrams;
  // Returns what the client would store.
  SessionState session_state() const;

 private:
  struct InFlight {
    Time arrival;
    std::uint64_t order;
    bool to_server;
    std::vector<std::uint8_t> bytes;
    bool operator<(const InFlight& other) const {
      return arrival != other.arrival ? arrival > other.arrival : order > other.order;
    }
  };

  void start_client();
  void accept(const std::vector<std::uint8_t>& datagram);
  bool client_began_again();
  void receive(Peer& peer, std::vector<std::uint8_t> datagram);
  void send(bool to_server, std::vector<std::uint8_t> datagram);
  void flush(Peer& peer, bool to_server);
  void repeat_done();
  void on_done(Bytes packet);
  Time next_event() const;
  ConnectionId random_id(std::size_t length);

  Options options_;
  SeededRandom random_;
  std::array<std::uint8_t, 32> secret_{};
  std::priority_queue<InFlight> in_flight_;
  std::uint64_t order_ = 0;
  Time next_done_ = k_never;
  std::vector<std::vector<std::uint8_t>> done_packets_;  // that the server sent
  std::vector<std::uint8_t> address_token_;
  std::vector<ConnectionId> gone_;  // first destinations of connections that exist or existed
};

// Contexts with a certificate, shared by all tests.
const TestCertificate& shared_certificate();
std::shared_ptr<TlsContext> server_context(TlsServerConfig config = {});
std::shared_ptr<TlsContext> client_context(TlsClientConfig config = {});
HandshakeWorld::Options default_options();
// Counts both directions and both sides.
bool secrets_match(const HandshakeWorld& world);

}  // namespace sheaf::quic
