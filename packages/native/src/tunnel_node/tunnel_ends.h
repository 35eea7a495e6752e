#pragma once

#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tunnel_node/program_port.h"
#include "tunnel_node/tunnel_end.h"

namespace sheaf::tunnel_node {

// The tunnels of one connection. Most turns concern few of them, so nothing here visits all but at
// the end of the connection.
class TunnelEnds {
 public:
  TunnelEnds() = default;
  // Ports look for their tunnels here as they go.
  ~TunnelEnds() { clear(); }
  TunnelEnds(const TunnelEnds&) = delete;
  TunnelEnds& operator=(const TunnelEnds&) = delete;

  tunnel_request::SharedWay& way() { return way_; }
  bool empty() const { return ends_.empty(); }
  std::size_t size() const { return ends_.size(); }
  // Returns null for a stream without a tunnel.
  TunnelEnd* find(quic::StreamId stream) const;
  TunnelEnd& keep(std::unique_ptr<TunnelEnd> end);
  // Keeps a local port, and returns its number, which no other one gets.
  std::size_t keep(std::unique_ptr<ProgramPort> port);
  // Returns null for a number that no port has.
  ProgramPort* port(std::size_t number) const;
  void close_port(std::size_t number) { ports_.erase(number); }

  // Returns true when nobody else needs the event.
  bool on_event(const http3::SessionEvent& event, Time now);
  void on_turn(Time now);
  // Ends all tunnels with their connection.
  void on_connection_closed(Time now);
  // Calls `tell(end)` once for each tunnel that is over.
  template <typename Tell>
  void take_over(Tell&& tell) {
    for (const quic::StreamId stream : std::exchange(over_, {})) {
      if (TunnelEnd* end = find(stream)) tell(*end);
    }
  }
  // Calls `tell(end)` once for each tunnel with a new report of the proxy.
  template <typename Tell>
  void take_reports(Tell&& tell) {
    for (const quic::StreamId stream : std::exchange(reports_, {})) {
      if (TunnelEnd* end = find(stream)) tell(*end);
    }
  }
  // Calls `tell(port, flow)` once for each flow of a local port that waits for a tunnel.
  template <typename Tell>
  void take_new_flows(Tell&& tell) {
    for (const auto& [number, port] : ports_) {
      for (const auto& flow : port->take_new()) tell(number, flow);
    }
  }
  // Frees tunnels whose streams are gone.
  void remove_closed();
  void clear() {
    ends_.clear();
    ports_.clear();
    way_.kept.reset();
  }

 private:
  friend class TunnelEnd;

  void want_turn(TunnelEnd& end) { turns_.push_back(end.request().stream()); }
  void note_report(TunnelEnd& end) { reports_.push_back(end.request().stream()); }
  void note_over(TunnelEnd& end) { over_.push_back(end.request().stream()); }

  tunnel_request::SharedWay way_;
  std::unordered_map<quic::StreamId, std::unique_ptr<TunnelEnd>> ends_;
  std::map<std::size_t, std::unique_ptr<ProgramPort>> ports_;
  std::size_t next_port_ = 0;
  std::vector<quic::StreamId> turns_;    // tunnels that have something to do
  std::vector<quic::StreamId> over_;     // tunnels that ended, of which nobody was told
  std::vector<quic::StreamId> reports_;  // tunnels with reports that nobody took
  std::vector<quic::StreamId> closed_;
};

}  // namespace sheaf::tunnel_node
