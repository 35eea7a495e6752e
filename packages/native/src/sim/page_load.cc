#include "sim/page_load.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "sim/pattern.h"

namespace sheaf::quic {

namespace {

constexpr std::size_t k_index_bytes = 4;  // a request begins with the number of its resource

}  // namespace

PageLoad::PageLoad(ConnectionPair& pair, Page page)
    : pair_(pair),
      page_(std::move(page)),
      started_(pair.simulation.now()),
      timings_(page_.resources.size()) {
  pair_.client.on_event = [this](const Event& event, Time now) {
    if (const auto* stream = std::get_if<StreamEvent>(&event)) on_client_event(*stream, now);
  };
  pair_.server.on_event = [this](const Event& event, Time now) {
    if (const auto* stream = std::get_if<StreamEvent>(&event)) on_server_event(*stream, now);
  };
  ask();
}

// --- client -------------------------------------------------------------------------------------

void PageLoad::ask() {
  Connection& connection = pair_.client.connection;
  for (std::size_t resource = 0; resource < page_.resources.size(); ++resource) {
    const auto stream = connection.streams().writer().open(Directionality::kBidirectional);
    assert(stream && "the peer allows too few streams");
    std::vector<std::uint8_t> request(std::max(page_.request_bytes, k_index_bytes));
    Writer(request).write_u32(static_cast<std::uint32_t>(resource));
    downloads_[*stream].resource = resource;
    const auto written =
        connection.streams().writer().write(*stream, SendChunk::copy_of(request), true);
    assert(written);
    static_cast<void>(written);
  }
}

void PageLoad::on_client_event(const StreamEvent& event, Time now) {
  if (event.kind == StreamEvent::Kind::kReadable) read_response(event.stream, now);
}

void PageLoad::read_response(StreamId stream, Time now) {
  const auto found = downloads_.find(stream);
  if (found == downloads_.end()) return;
  Connection& connection = pair_.client.connection;
  Download& download = found->second;
  Timing& timing = timings_[download.resource];
  for (;;) {
    const Bytes bytes = connection.streams().reader().peek(stream);
    intact_ &= matches_pattern(bytes, download.received);
    const auto result = connection.streams().reader().consume(stream, bytes.size(), now);
    if (!result) return;
    if (download.received == 0) timing.first_byte = now - started_;
    download.received += result->bytes;
    received_ += result->bytes;
    arrivals_ += static_cast<double>(result->bytes) * static_cast<double>((now - started_).count());
    if (result->finished) {
      intact_ &= download.received == page_.resources[download.resource].bytes;
      timing.completed = now - started_;
      ++completed_;
      downloads_.erase(found);
      return;
    }
    if (result->bytes == 0) return;
  }
}

// --- server -------------------------------------------------------------------------------------

void PageLoad::on_server_event(const StreamEvent& event, Time now) {
  if (event.kind == StreamEvent::Kind::kReadable) read_request(event.stream, now);
  if (event.kind != StreamEvent::Kind::kWritable) return;
  const auto found = responses_.find(event.stream);
  if (found != responses_.end()) write(event.stream, found->second);
}

void PageLoad::read_request(StreamId stream, Time now) {
  Connection& connection = pair_.server.connection;
  std::vector<std::uint8_t>& request = requests_[stream];
  for (;;) {
    const Bytes bytes = connection.streams().reader().peek(stream);
    request.insert(request.end(), bytes.begin(), bytes.end());
    const auto result = connection.streams().reader().consume(stream, bytes.size(), now);
    if (!result) return;
    if (result->finished) break;
    if (result->bytes == 0) return;
  }
  assert(request.size() >= k_index_bytes);
  const std::size_t resource = Reader(request).read_u32();
  requests_.erase(stream);
  answer(stream, resource);
}

void PageLoad::answer(StreamId stream, std::size_t resource) {
  const PageResource& asked = page_.resources[resource];
  Connection& connection = pair_.server.connection;
  if (!std::exchange(groups_known_, true)) {
    for (const Dependency& group : page_.groups) connection.streams().writer().set_group(group);
  }
  connection.streams().writer().set_priority(stream, asked.priority);
  connection.streams().writer().set_expected_bytes(stream, asked.bytes);
  const auto [response, is_new] = responses_.try_emplace(stream, Response{.resource = resource});
  assert(is_new);
  static_cast<void>(is_new);
  write(stream, response->second);
}

void PageLoad::write(StreamId stream, Response& response) {
  const std::uint64_t bytes = page_.resources[response.resource].bytes;
  for (bool room = true; room;) {
    const Bytes piece = pattern_from(response.written, bytes - response.written);
    response.written += piece.size();
    const bool is_last = response.written == bytes;
    const auto result = pair_.server.connection.streams().writer().write(
        stream, SendChunk(piece, nullptr, nullptr), is_last);
    if (!result || is_last) break;
    room = *result;
  }
  if (response.written == bytes) responses_.erase(stream);
}

// --- results ------------------------------------------------------------------------------------

Duration PageLoad::page_load_time() const {
  Duration last{};
  for (const Timing& timing : timings_) last = std::max(last, timing.completed);
  return last;
}

Duration PageLoad::byte_index() const {
  if (received_ == 0) return {};
  return Duration(static_cast<std::int64_t>(arrivals_ / static_cast<double>(received_)));
}

}  // namespace sheaf::quic
