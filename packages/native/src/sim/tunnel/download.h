#pragma once

#include "sim/connection_pair.h"

namespace sheaf::quic {

// A client requests bytes on a stream, and the server sends them. Both connections are established.
class Download {
 public:
  // Replaces the `on_event` of both sides.
  Download(ConnectionHost& client, ConnectionHost& server, std::uint64_t bytes);
  Download(const Download&) = delete;
  Download& operator=(const Download&) = delete;

  void start(Time now);
  // The server sends nothing more.
  void stop();
  bool finished() const { return finished_; }
  // Whether every byte was the one that was sent
  bool intact() const { return intact_; }
  std::uint64_t received() const { return received_; }
  // From the request to the last byte; so far, if it goes on
  Duration duration(Time now) const { return (finished_ ? end_ : now) - start_; }

 private:
  void on_server_event(const Event& event, Time now);
  void write();
  void read(StreamId stream, Time now);

  ConnectionHost& client_;
  ConnectionHost& server_;
  std::uint64_t bytes_;
  StreamId stream_{};
  bool requested_ = false;
  std::uint64_t written_ = 0;
  std::uint64_t received_ = 0;
  bool intact_ = true;
  bool finished_ = false;
  Time start_{};
  Time end_{};
};

}  // namespace sheaf::quic
