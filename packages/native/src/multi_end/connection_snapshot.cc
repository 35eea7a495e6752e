#include "multi_end/connection_snapshot.h"

#include <algorithm>

#include "multi_end/backend_table.h"

namespace sheaf::quic {

namespace {

constexpr std::uint8_t k_snapshot_version = 2;
constexpr std::size_t k_max_ids = 16;
// Maximum memory, in bytes, that a backend lends to a connection.
constexpr std::uint64_t k_max_window = std::uint64_t{1} << 30;
constexpr std::uint64_t k_max_open_streams = std::uint64_t{1} << 20;
constexpr std::uint64_t k_year_ms = std::uint64_t{365} * 24 * 3600 * 1000;

std::uint64_t milliseconds(Duration duration) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

// Offers the functions of Writer, and writes into a vector that grows.
class Output {
 public:
  explicit Output(std::vector<std::uint8_t>& out) : out_(out) {}
  void u8(std::uint8_t value) { out_.push_back(value); }
  void u16(std::uint16_t value) {
    u8(static_cast<std::uint8_t>(value >> 8));
    u8(static_cast<std::uint8_t>(value));
  }
  void u32(std::uint32_t value) {
    u16(static_cast<std::uint16_t>(value >> 16));
    u16(static_cast<std::uint16_t>(value));
  }
  void integer(std::uint64_t value) {
    std::array<std::uint8_t, 8> buffer;
    Writer writer(buffer);
    writer.write_varint(value);
    bytes(writer.written());
  }
  void bytes(Bytes bytes) { out_.insert(out_.end(), bytes.begin(), bytes.end()); }
  void id(const ConnectionId& id) {
    u8(id.length);
    bytes(id.view());
  }

 private:
  std::vector<std::uint8_t>& out_;
};

// Reads values, and remembers whether one was outside of its range.
class Input {
 public:
  explicit Input(Bytes bytes) : reader_(bytes) {}
  std::uint64_t integer(std::uint64_t least, std::uint64_t most) {
    return in_range(reader_.read_varint(), least, most);
  }
  std::uint8_t u8(std::uint8_t least, std::uint8_t most) {
    return static_cast<std::uint8_t>(in_range(reader_.read_u8(), least, most));
  }
  std::uint16_t u16() { return reader_.read_u16(); }
  std::uint32_t u32() { return reader_.read_u32(); }
  Duration milliseconds(std::uint64_t most) { return std::chrono::milliseconds(integer(0, most)); }
  Bytes bytes(std::uint64_t length) { return reader_.read_bytes(length); }
  ConnectionId id() {
    const Bytes id = bytes(u8(1, ConnectionId::k_max_length));
    return id.size() <= ConnectionId::k_max_length ? ConnectionId(id) : ConnectionId();
  }
  bool ended() const { return reader_.ok() && reader_.empty(); }
  bool ok() const { return reader_.ok() && !out_of_range_; }
  bool out_of_range() const { return out_of_range_; }

 private:
  std::uint64_t in_range(std::uint64_t value, std::uint64_t least, std::uint64_t most) {
    // After the end every value reads as 0, which counts as truncation.
    if (reader_.ok() && (value < least || value > most)) out_of_range_ = true;
    return value < least || value > most ? least : value;
  }

  Reader reader_;
  bool out_of_range_ = false;
};

void write_parameters(Output& out, const TransportParameters& peer) {
  out.integer(peer.max_udp_payload_size);
  out.integer(peer.initial_max_stream_data_bidi_local);
  out.integer(peer.initial_max_stream_data_bidi_remote);
  out.integer(peer.initial_max_stream_data_uni);
  out.integer(peer.active_connection_id_limit);
  out.integer(milliseconds(peer.max_ack_delay));
  out.u8(peer.ack_delay_exponent);
  out.u8(peer.grease_quic_bit ? 1 : 0);
  out.u8(peer.reset_stream_at ? 1 : 0);
}

void read_parameters(Input& in, TransportParameters& peer) {
  peer.max_udp_payload_size = in.integer(1200, k_max_varint);
  peer.initial_max_stream_data_bidi_local = in.integer(0, k_max_varint);
  peer.initial_max_stream_data_bidi_remote = in.integer(0, k_max_varint);
  peer.initial_max_stream_data_uni = in.integer(0, k_max_varint);
  peer.active_connection_id_limit = in.integer(2, k_max_varint);
  peer.max_ack_delay = in.milliseconds((1 << 14) - 1);
  peer.ack_delay_exponent = in.u8(0, 20);
  peer.grease_quic_bit = in.u8(0, 1) == 1;
  peer.reset_stream_at = in.u8(0, 1) == 1;
}

void write_lease(Output& out, const StreamLease& lease) {
  out.integer(lease.credit);
  for (const StreamLease::Ids& ids : lease.ids) {
    out.integer(ids.first);
    out.integer(ids.count);
  }
}

void read_lease(Input& in, StreamLease& lease) {
  lease.credit = in.integer(0, k_max_varint);
  for (StreamLease::Ids& ids : lease.ids) {
    ids.first = in.integer(0, k_max_streams);
    ids.count = in.integer(0, k_max_streams - ids.first);
  }
}

// The path was not used: its packet numbers begin with 0, and nothing was sealed.
void write_keys(Output& out, const PathHandOver& keys) {
  out.integer(keys.next_number);
  out.integer(keys.forged);
  out.u16(static_cast<std::uint16_t>(keys.send->secret.suite));
  out.u32(keys.send->secret.version);
  for (const DirectionKeys* direction : {&*keys.send, &*keys.receive}) {
    out.integer(direction->generation);
    out.bytes(direction->secret.view());
    out.bytes(Bytes(direction->header_key.key).first(direction->header_key.key_length));
  }
}

void read_keys(Input& in, PathHandOver& keys) {
  keys.next_number = in.integer(0, 0);
  keys.forged = in.integer(0, k_max_varint);
  const auto suite = static_cast<CipherSuite>(in.u16());
  const std::uint32_t version = in.u32();
  if (!known(suite)) return;  // leaves no keys, which makes the seed invalid
  for (std::optional<DirectionKeys>* direction : {&keys.send, &keys.receive}) {
    DirectionKeys& read = direction->emplace();
    read.generation = in.integer(0, k_max_varint);
    read.secret.suite = suite;
    read.secret.version = version;
    read.secret.length = secret_length(suite);
    std::ranges::copy(in.bytes(read.secret.length), read.secret.bytes.begin());
    read.header_key.key_length = key_length(suite);
    std::ranges::copy(in.bytes(read.header_key.key_length), read.header_key.key.begin());
  }
}

}  // namespace

std::vector<std::uint8_t> encode_snapshot(const BackendSeed& seed) {
  std::vector<std::uint8_t> bytes;
  bytes.reserve(512);  // growing would leave copies of keys behind
  Output out(bytes);
  out.u8(k_snapshot_version);
  out.u8(static_cast<std::uint8_t>(seed.keys.mode));
  out.integer(seed.backend.value);
  out.integer(seed.keys.path.value);
  out.integer(seed.local_ids.size());
  for (const LocalConnectionIds::Issued& issued : seed.local_ids) {
    out.integer(issued.sequence);
    out.id(issued.id);
  }
  out.integer(seed.remote_ids.size());
  for (const NewConnectionIdFrame& given : seed.remote_ids) {
    out.integer(given.sequence);
    out.id(given.id);
    out.bytes(given.reset_token);
  }
  write_parameters(out, seed.peer_parameters);
  write_lease(out, seed.lease);
  out.integer(seed.initial_stream_window);
  out.integer(seed.max_connection_window);
  out.integer(seed.max_bidirectional_streams);
  out.integer(seed.active_connection_id_limit);
  out.integer(milliseconds(seed.max_idle_timeout));
  out.integer(milliseconds(seed.max_ack_delay));
  out.u8(seed.ack_delay_exponent);
  write_keys(out, seed.keys);
  return bytes;
}

Result<BackendSeed, SnapshotFault> decode_snapshot(Bytes bytes) {
  if (bytes.empty()) return SnapshotFault::kMalformed;
  if (bytes.front() != k_snapshot_version) return SnapshotFault::kUnknownVersion;
  Input in(bytes.subspan(1));
  BackendSeed seed;
  seed.keys.mode = static_cast<KeyMode>(in.u8(1, 2));
  seed.backend.value = static_cast<std::uint32_t>(in.integer(0, BackendId::k_maximum));
  seed.keys.path.value = static_cast<std::uint32_t>(in.integer(1, UINT32_MAX));
  for (auto left = in.integer(1, k_max_ids); left > 0 && in.ok(); --left) {
    const std::uint64_t sequence = in.integer(0, k_max_varint);
    seed.local_ids.push_back({sequence, in.id()});
  }
  for (auto left = in.integer(1, k_max_ids); left > 0 && in.ok(); --left) {
    NewConnectionIdFrame& given = seed.remote_ids.emplace_back();
    given.sequence = in.integer(0, k_max_varint);
    given.id = in.id();
    std::ranges::copy(in.bytes(given.reset_token.size()), given.reset_token.begin());
  }
  read_parameters(in, seed.peer_parameters);
  read_lease(in, seed.lease);
  seed.initial_stream_window = in.integer(0, k_max_window);
  seed.max_connection_window = in.integer(0, k_max_window);
  seed.max_bidirectional_streams = in.integer(0, k_max_open_streams);
  seed.active_connection_id_limit = in.integer(2, k_max_ids);
  seed.max_idle_timeout = in.milliseconds(k_year_ms);
  seed.max_ack_delay = in.milliseconds((1 << 14) - 1);
  seed.ack_delay_exponent = in.u8(0, 20);
  read_keys(in, seed.keys);
  const bool fits = BackendTable::is_backend_path(seed.keys.path) && seed.keys.valid();
  if (in.out_of_range() || (in.ok() && !fits)) return SnapshotFault::kOutOfRange;
  if (!in.ended()) return SnapshotFault::kMalformed;
  return seed;
}

}  // namespace sheaf::quic
