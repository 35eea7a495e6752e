#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "sim/direct_return/backend_executor_host.h"
#include "sim/direct_return/gateway_host.h"
#include "sim/multi_end/content.h"

namespace sheaf::quic {

// A client, a gateway, and backends that send from the gateway's address. The client's access link
// is the bottleneck of all. Requests are those of sim/multi_end/content.h, and responses hold the
// bytes of sim/pattern.h.
class ReturnNetwork {
 public:
  struct Backend {
    Duration order{};       // one way between the gateway and the backend
    Duration way{};         // one way from the backend to the client's access link
    Duration decides{};     // before it accepts a grant
    Duration thinks{};      // before it answers that it accepts a grant
    double order_loss = 0;  // share of datagrams between both that are lost
    bool reaches = true;    // else the network drops what it sends
  };
  struct Options {
    ConnectionConfig client;
    // Takes the client's place, with its address and keys, if it is not null.
    Host* client_host = nullptr;
    ConnectionConfig gateway;
    LinkConfig access;       // in both directions
    Duration gateway_way{};  // one way between the gateway and the client's access link
    std::vector<Backend> backends;
    bool backends_wait = true;  // else they ignore how long their runs are to wait
    std::uint64_t head = 0;     // first bytes of each response that come from the gateway itself
    // Backends have recovery of their own, on paths that the client offers.
    bool own_recovery = false;
    // When those begin. Without, backends do not use what the client permits.
    std::optional<ReturnStart> start = ReturnStart::kAtOnce;
    bool proxied = false;  // everything comes from the backend by way of the gateway
  };
  ReturnNetwork(std::uint64_t seed, const Options& options);

  // The addresses of the connection as the client sees them
  static AddressPair client_path();
  // Asks for so many bytes, which this backend has. What none has comes from the gateway itself.
  StreamId request(std::size_t backend, std::uint64_t bytes);
  // The backend loses its memory and its network. Its streams go on at the next backend.
  void kill(std::size_t backend);
  // Its end of the connection is closed, too, as the gateway learns after the way between both.
  void kill_and_close(std::size_t backend);
  // The gateway loses its memory and its network.
  void kill_gateway();
  // Nothing gets from the gateway to the backend or back, until it does again.
  void set_cut(std::size_t backend, bool cut) { links_[backend].cut = cut; }
  void set_order_loss(double loss);
  // The backend refuses new grants.
  void drain(std::size_t backend) { links_[backend].drains = true; }
  // The backend can read no further bytes of what it sends, which it notices now.
  void fail(std::size_t backend);
  // Whether the client takes bytes from its streams
  void set_reading(bool reading);

  struct Response {
    std::uint64_t wanted = 0;
    std::uint64_t received = 0;
    bool intact = true;
    bool finished = false;
    bool reset = false;  // by the gateway
    Time asked_at{};
    Time first_at{};       // arrival of the first byte
    Time first_body_at{};  // and of the first one behind the head
    Time progressed_at{};  // when new bytes came, or when it was asked for
    Duration longest_stall{};
    Time finished_at{};
  };
  const Response& response(StreamId stream) const { return responses_.at(stream); }
  const std::map<StreamId, Response>& responses() const { return responses_; }
  // Packets of the connection to the client, whoever sent them
  struct Traffic {
    std::uint64_t packets = 0;
    std::uint64_t lost = 0;  // as their senders noticed
  };
  Traffic traffic() const;
  bool all_finished() const;
  bool all_intact() const;

  Simulation simulation;
  ConnectionPair pair;
  GatewayHost gateway;
  NetworkPath& access;
  std::deque<BackendExecutorHost> backends;
  // Returns how much longer than others a message of gateway and backends takes, or nothing when it
  // is lost. Messages of each direction are counted from 0. By default, none is special.
  std::function<std::optional<Duration>(bool to_backend, std::uint64_t message)> fate;
  std::size_t proxied = 0;                        // responses that no backend could send
  std::vector<DelegatedStreams::Orphan> orphans;  // streams that lost their backend

 private:
  static ConnectionPair::Options pair_options(const Options& options, Host& gateway);
  void add_backend(std::size_t index);
  bool connected(std::size_t backend) const;
  void read(StreamId stream, Time now);
  void carry(std::size_t backend, bool to_backend, const std::function<void()>& arrival);
  // Returns what the backend reads of a message.
  std::vector<std::uint8_t> as_read(std::vector<std::uint8_t> message) const;
  void on_client_event(const StreamEvent& event, Time now);
  void on_gateway_event(const StreamEvent& event, Time now);
  void delegate(StreamId stream, Time now);
  void ask(std::size_t backend, StreamId stream, const Grant& grant);
  std::unique_ptr<PayloadSource> payload_of(StreamId stream) const;
  bool decide(std::size_t backend, StreamId stream, Bytes bytes, Time asked_at);
  void answer(std::size_t backend, StreamId stream, std::uint64_t attempt, bool accepted);
  void give_up(StreamId stream, std::uint64_t attempt);
  void go_on_without_answer(StreamId stream, std::uint64_t attempt);
  void on_answer(StreamId stream, std::uint64_t attempt, bool accepted);
  void go_on(StreamId stream, Time now);
  void respond(StreamId stream, std::uint64_t from);

  struct BackendLink {
    bool alive = true;
    bool cut = false;
    bool drains = false;
    bool unreachable = false;  // nothing from it reaches the client, as the gateway has learned
    double loss = 0;
  };
  struct Exchange {
    std::vector<std::uint8_t> head;
    std::size_t backend = 0;
    std::uint64_t end = 0;
    std::uint64_t from = 0;     // the client has all before it
    std::size_t refusals = 0;   // since bytes of it came from a backend
    std::uint64_t attempt = 0;  // counts the requests to backends
    bool began = false;         // the head was written
  };
  Options options_;
  std::vector<BackendLink> links_;
  bool reading_ = true;
  std::array<std::uint64_t, 2> messages_{};  // that backends and the gateway were sent
  SeededRandom loss_;
  std::map<StreamId, Response> responses_;
  std::map<StreamId, Exchange> exchanges_;
};

}  // namespace sheaf::quic
