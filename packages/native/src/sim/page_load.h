#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sim/connection_pair.h"

namespace sheaf::quic {

struct PageResource {
  std::uint64_t bytes = 0;  // of the response
  StreamPriority priority;  // goes with the request
};

struct Page {
  std::vector<Dependency> groups{};  // without a stream; the first request brings them
  std::vector<PageResource> resources;
  std::size_t request_bytes = 100;  // each; at least 4
};

// Loads a page. The client requests all resources at once, in order, each on a stream; the server
// answers a request when all of it has arrived. Requests and responses are real bytes, without the
// framing of HTTP/3. Neither side adds delay.
class PageLoad {
 public:
  struct Timing {  // since the requests, as the client's application sees it
    Duration first_byte{};
    Duration completed{};
  };

  // Replaces the `on_event` of both hosts. The peer's limit of streams must allow one for each
  // resource.
  PageLoad(ConnectionPair& pair, Page page);

  bool finished() const { return completed_ == page_.resources.size(); }
  // Whether every byte that arrived was the one that was sent
  bool intact() const { return intact_; }
  const std::vector<Timing>& timings() const { return timings_; }
  // Time until the last resource is complete
  Duration page_load_time() const;
  // Integral over time of the share of missing bytes, which is the mean arrival time of a byte
  // (Bocchi, De Cicco, Rossi, "Measuring the quality of experience of Web users", 2016)
  Duration byte_index() const;

 private:
  struct Response {
    std::size_t resource = 0;
    std::uint64_t written = 0;
  };
  struct Download {
    std::size_t resource = 0;
    std::uint64_t received = 0;
  };

  void ask();
  void on_client_event(const StreamEvent& event, Time now);
  void on_server_event(const StreamEvent& event, Time now);
  void read_request(StreamId stream, Time now);
  void answer(StreamId stream, std::size_t resource);
  void write(StreamId stream, Response& response);
  void read_response(StreamId stream, Time now);

  ConnectionPair& pair_;
  const Page page_;
  const Time started_;
  std::unordered_map<StreamId, std::vector<std::uint8_t>> requests_;  // incomplete, at the server
  std::unordered_map<StreamId, Response> responses_;
  std::unordered_map<StreamId, Download> downloads_;
  std::vector<Timing> timings_;
  std::size_t completed_ = 0;
  bool groups_known_ = false;
  bool intact_ = true;
  double arrivals_ = 0;  // sum over all bytes of their time, in nanoseconds
  std::uint64_t received_ = 0;
};

}  // namespace sheaf::quic
