#pragma once

#include <map>
#include <vector>

#include "sim/multi_end/multi_end_network.h"

namespace sheaf::quic {

struct TransferWanted {
  std::uint64_t length = 0;              // of the response
  std::uint64_t upload = 0;              // with the request
  std::optional<std::size_t> backend{};  // with the content; nothing: any backend
};

// One request until it is answered, by any server, as its application sees it
struct Transfer {
  TransferWanted wanted;
  Time asked{};
  std::optional<Time> first_byte, completed;
  std::uint64_t received = 0;  // of the response, in order
  bool intact = true;
  bool failed = false;
  unsigned attempts = 0;
  unsigned resumed = 0;  // of those: with bytes that were there already
  // Longest time without progress: bytes of the response, or acknowledged bytes of the upload
  Duration longest_stall{};

  bool done() const { return completed.has_value() || failed; }
};

// A client that follows docs/internals/multi-end.md ("What a client does"): it chooses the server
// for each request, and repeats requests whose server is lost. All requests are idempotent.
class MultiEndClient {
 public:
  enum class Delivery : std::uint8_t {
    kDirect,   // backends are asked on their paths
    kProxied,  // everything is asked of the primary
  };
  static constexpr unsigned k_max_attempts = 8;
  // Interval at which waiting requests look for a server
  static constexpr Duration k_retry = 100ms;

  MultiEndClient(Simulation& simulation, Delivery delivery)
      : simulation_(simulation), delivery_(delivery) {}

  // Adds a connection, which outlives the client. The newest one is preferred.
  void use(MultiEndNetwork& network);
  // Called when a primary is lost, to add another connection some time later.
  std::function<void()> dial;

  // Starts a transfer, and returns its index.
  std::size_t start(const TransferWanted& wanted);
  const std::vector<Transfer>& transfers() const { return transfers_; }
  // Called when a transfer is completed or has failed. It may start others.
  std::function<void()> on_done;

 private:
  struct Place {  // where a request is
    std::size_t connection = 0;
    std::optional<std::size_t> backend{};  // nothing: the primary
  };
  struct Attempt {
    Place place;
    StreamId stream;
    std::uint64_t uploaded = 0;
  };
  struct Link {
    MultiEndNetwork* network = nullptr;
    bool primary_lost = false;
    bool closed = false;
  };

  void on_event(std::size_t connection, const Event& event, Time now);
  void on_stream_event(std::size_t connection, const StreamEvent& event, Time now);
  void lose_primary(std::size_t connection);
  std::optional<Place> choose(const TransferWanted& wanted) const;
  std::optional<std::size_t> choose_backend(const Link& link, const TransferWanted& wanted) const;
  bool begin(std::size_t transfer);
  void upload(std::size_t transfer);
  void read(std::size_t transfer, Time now);
  void again(std::size_t transfer);
  void finish(std::size_t transfer);
  void progress(std::size_t transfer, Time now);
  void try_waiting();
  void wait(std::size_t transfer);
  Connection& connection_of(const Attempt& attempt) {
    return links_[attempt.place.connection].network->client();
  }

  Simulation& simulation_;
  Delivery delivery_;
  std::vector<Link> links_;
  std::vector<Transfer> transfers_;
  std::map<std::size_t, Attempt> attempts_;  // in flight, by transfer
  std::map<std::pair<std::size_t, StreamId>, std::size_t> by_stream_;
  std::vector<std::size_t> waiting_;  // for a server
  std::vector<Time> last_progress_;   // by transfer
};

}  // namespace sheaf::quic
