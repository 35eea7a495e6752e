#include "sim/multi_end/content.h"

#include <algorithm>

#include "sim/pattern.h"

namespace sheaf::quic {

std::vector<std::uint8_t> ContentRequest::encode() const {
  std::vector<std::uint8_t> bytes(k_size);
  store(bytes.data(), from);
  store(bytes.data() + 8, length);
  store(bytes.data() + 16, upload);
  store(bytes.data() + 24, backend);
  return bytes;
}

std::optional<ContentRequest> ContentRequest::decode(Bytes bytes) {
  if (bytes.size() < k_size) return std::nullopt;
  return ContentRequest{.from = load<std::uint64_t>(bytes.data()),
                        .length = load<std::uint64_t>(bytes.data() + 8),
                        .upload = load<std::uint64_t>(bytes.data() + 16),
                        .backend = load<std::uint64_t>(bytes.data() + 24)};
}

void ContentServer::on_event(const StreamEvent& event, Time now) {
  using Kind = StreamEvent::Kind;
  if (event.kind == Kind::kReadable) read(event.stream, now);
  const auto found = exchanges_.find(event.stream);
  if (found == exchanges_.end()) return;
  if (event.kind == Kind::kWritable) write(event.stream, found->second);
  if (event.kind == Kind::kClosed) exchanges_.erase(found);
}

void ContentServer::read(StreamId stream, Time now) {
  Exchange& exchange = exchanges_[stream];
  for (;;) {
    const Bytes bytes = connection_.streams().reader().peek(stream);
    const bool intact = take(exchange, bytes);
    const auto result = connection_.streams().reader().consume(stream, bytes.size(), now);
    if (!result || result->reset) return;
    if (!intact) {
      static_cast<void>(connection_.streams().writer().reset(stream, k_damaged));
      return;
    }
    if (result->finished) break;
    if (result->bytes == 0) return;
  }
  exchange.answers = true;
  write(stream, exchange);
}

bool ContentServer::take(Exchange& exchange, Bytes bytes) {
  const std::size_t missing = ContentRequest::k_size - exchange.head.size();
  const Bytes head = bytes.first(std::min(missing, bytes.size()));
  exchange.head.insert(exchange.head.end(), head.begin(), head.end());
  if (const auto request = ContentRequest::decode(exchange.head)) exchange.request = *request;
  const Bytes upload = bytes.subspan(head.size());
  if (!matches_pattern(upload, exchange.received)) return false;
  exchange.received += upload.size();
  uploaded_ += upload.size();
  return exchange.received <= exchange.request.upload;
}

void ContentServer::write(StreamId stream, Exchange& exchange) {
  if (!exchange.answers) return;
  const ContentRequest& request = exchange.request;
  for (bool room = true; room && exchange.answers;) {
    const Bytes piece =
        pattern_from(request.from + exchange.written, request.length - exchange.written);
    exchange.written += piece.size();
    exchange.answers = exchange.written < request.length;
    const auto result = connection_.streams().writer().write(
        stream, SendChunk(piece, nullptr, nullptr), !exchange.answers);
    room = result && *result;
  }
}

}  // namespace sheaf::quic
