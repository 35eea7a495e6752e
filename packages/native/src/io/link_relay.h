#pragma once

#include <map>
#include <memory>
#include <unordered_map>

#include "emulation/link.h"
#include "io/deadline_timer.h"
#include "io/watched_socket.h"

namespace sheaf::io {

struct LinkRelayConfig {
  quic::Address listen;
  quic::Address target;
  quic::LinkConfig there;  // from the clients to the target
  quic::LinkConfig back;
  std::uint64_t seed = 1;
  std::size_t max_clients = 64;
  quic::Duration idle_timeout = std::chrono::minutes(2);  // RFC 4787 §4.3, REQ-5
};

struct LinkRelayStats {
  quic::LinkStats there;
  quic::LinkStats back;
  std::size_t clients = 0;
  std::uint64_t refused = 0;   // datagrams of clients that exceeded `max_clients`
  std::uint64_t overflow = 0;  // datagrams that exceeded the memory of a link
  std::uint64_t unsent = 0;    // datagrams whose socket was full, or whose client was gone
};

// Emulates a link in real time: relays UDP between an address that clients use and a target. All
// clients share the two links. Each client has its own port towards the target, as behind a network
// address translator. Traces begin when the relay is made.
class LinkRelay {
 public:
  // `loop` must outlive the relay.
  LinkRelay(uv_loop_t* loop, const LinkRelayConfig& config);
  ~LinkRelay();

  quic::Status<SocketError> bind();
  const quic::Address& local_address() const { return listener_->local_address(); }
  void set_config(const quic::LinkConfig& there, const quic::LinkConfig& back);
  // Cuts or restores both links, until this function or `set_config` is called again.
  void set_down(bool down);
  LinkRelayStats stats() const;
  // Drops the datagrams in flight and stops. libuv frees the handles later and then calls `done`.
  void close(std::function<void()> done);
  bool closing() const { return closing_; }

 private:
  struct Client;

  void on_clients_ready();
  void on_target_ready(std::uint64_t client);
  void send(quic::Link& link, const quic::Datagram& datagram, const quic::LinkHeader& header);
  void deliver();
  void transmit(WatchedSocket* socket, quic::LinkDatagram& datagram);
  Client* client_of(const quic::AddressPair& path);
  Client* add_client(const quic::AddressPair& path);
  void remove_idle_clients();
  // Returns the time since the relay was made.
  quic::Time now() const;

  uv_loop_t* loop_;
  LinkRelayConfig config_;
  quic::Duration started_;
  quic::Link there_;
  quic::Link back_;
  std::unique_ptr<WatchedSocket> listener_;
  std::unique_ptr<DeadlineTimer> timer_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Client>> clients_;
  std::map<quic::AddressPair, std::uint64_t> by_path_;
  std::uint64_t next_client_ = 0;
  LinkRelayStats counters_;
  bool closing_ = false;
};

}  // namespace sheaf::io
