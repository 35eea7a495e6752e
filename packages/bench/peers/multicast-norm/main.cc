// One file from one sender to many receivers by NORM (RFC 5740), with libnorm:
// `multicast-norm send GROUP PORT INTERFACE MBPS RECEIVERS FILE` prints `ready`, sends once it reads
// a line, and goes on with repairs. `multicast-norm receive GROUP PORT INTERFACE ID FILE` prints
// `ready`, and `complete` once it has written the file. Both end with their standard input.
#include <normApi.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

constexpr NormNodeId k_sender = 1;
constexpr std::uint16_t k_segment_bytes = 1300;  // as uftp, and as packets of a channel
// A block of FEC, and the parity packets that losses are repaired with
constexpr std::uint16_t k_block_segments = 64;
constexpr std::uint16_t k_block_parity = 4;
constexpr unsigned k_buffer_bytes = 4 * 1024 * 1024;
constexpr unsigned k_socket_bytes = 4 * 1024 * 1024;  // as far as the system permits
// Round trip that the sender assumes first, in seconds; 0.5 is for the Internet.
constexpr double k_round_trip = 0.01;

struct Place {
  std::string group;
  std::uint16_t port;
  std::string interface;
};

void say(const char* what) {
  std::puts(what);
  std::fflush(stdout);
}

NormSessionHandle open_session(NormInstanceHandle instance, const Place& place, NormNodeId id) {
  const auto session = NormCreateSession(instance, place.group.c_str(), place.port, id);
  if (session == NORM_SESSION_INVALID) throw std::runtime_error("there is no session");
  NormSetMulticastInterface(session, place.interface.c_str());
  // Receivers of one host share the port.
  NormSetRxPortReuse(session, true);
  return session;
}

void send(NormInstanceHandle instance, const Place& place, double mbps, unsigned receivers,
          const std::string& file) {
  const auto session = open_session(instance, place, k_sender);
  NormSetTxRate(session, mbps * 1e6);
  NormSetCongestionControl(session, false);
  NormSetGrttEstimate(session, k_round_trip);
  NormSetGroupSize(session, receivers);
  NormSetTxSocketBuffer(session, k_socket_bytes);
  if (!NormStartSender(session, 1, k_buffer_bytes, k_segment_bytes, k_block_segments,
                       k_block_parity))
    throw std::runtime_error("the sender does not start");
  say("ready");
  std::string line;
  if (!std::getline(std::cin, line)) return;
  if (NormFileEnqueue(session, file.c_str()) == NORM_OBJECT_INVALID)
    throw std::runtime_error("the file cannot be sent");
  std::getline(std::cin, line);
}

void receive(NormInstanceHandle instance, const Place& place, NormNodeId id,
             const std::string& file) {
  // The library writes to a file of a name of its own, on the same file system.
  const auto directory = std::filesystem::path(file).parent_path().string() + "/";
  if (!NormSetCacheDirectory(instance, directory.c_str()))
    throw std::runtime_error("the directory cannot be used");
  const auto session = open_session(instance, place, id);
  if (!NormStartReceiver(session, k_buffer_bytes))
    throw std::runtime_error("the receiver does not start");
  NormSetRxSocketBuffer(session, k_socket_bytes);
  say("ready");
  NormEvent event;
  while (NormGetNextEvent(instance, &event)) {
    if (event.type == NORM_RX_OBJECT_ABORTED) throw std::runtime_error("the file was abandoned");
    if (event.type != NORM_RX_OBJECT_COMPLETED) continue;
    if (!NormFileRename(event.object, file.c_str()))
      throw std::runtime_error("the file cannot be renamed");
    say("complete");
  }
}

// Ends the process, whatever it does, when nobody waits for it any more.
void end_with_input() {
  std::thread([] {
    std::string line;
    while (std::getline(std::cin, line)) continue;
    std::_Exit(0);
  }).detach();
}

void run(int count, char** words) {
  const std::string task = count > 1 ? words[1] : "";
  if (count < 7) throw std::runtime_error("usage: multicast-norm send|receive GROUP PORT ...");
  const Place place{words[2], static_cast<std::uint16_t>(std::stoul(words[3])), words[4]};
  const auto instance = NormCreateInstance();
  if (task == "send" && count == 8) {
    send(instance, place, std::stod(words[5]), std::stoul(words[6]), words[7]);
  } else if (task == "receive" && count == 7) {
    end_with_input();
    receive(instance, place, std::stoul(words[5]), words[6]);
  } else {
    throw std::runtime_error("it can send and receive");
  }
}

}  // namespace

int main(int count, char** words) {
  try {
    run(count, words);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
