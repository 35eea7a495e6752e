#include "direct_return/run_messages.h"

#include <algorithm>

#include "wire/fixed_fields.h"

namespace sheaf::quic {

namespace {

using fixed::k_end_of_48_bits;
using report_messages::read;
using report_messages::write;

constexpr std::size_t k_header = 4 + 1 + 6;  // session, kind and number

enum class Kind : std::uint8_t {
  kRun = 1,
  kProgress = 2,
  kAcknowledged = 3,
  kPhase = 4,
  kAddress = 5,
  kReset = 6,
  kRevoke = 7,
  kPing = 8,
  kAckReport = 9,
  kSenderState = 10,
  kDelivered = 11,
  kVoidRuns = 12,
};
// The kinds of GrantEnded follow each other in the order of GrantEnd.
constexpr auto k_first_end = static_cast<std::uint8_t>(Kind::kReset);

// Flags of a run
constexpr std::uint8_t k_phase_bits = PhaseKeys::k_phase_names - 1;
constexpr int k_ecn_shift = 3;
constexpr std::uint8_t k_ecn_bits = 0x18;
constexpr std::uint8_t k_fin = 0x20;
constexpr std::uint8_t k_paused = 0x01;  // flag of an AddressChange

// Most bytes of one message
constexpr std::size_t size_of(const RunMessage*) { return 24; }
constexpr std::size_t size_of(const Progress*) { return 27 + 6 * Progress::k_max_refused; }
constexpr std::size_t size_of(const Acknowledged*) { return 16; }
constexpr std::size_t size_of(const PhaseChange*) { return 18 + PhaseChange::k_sealed; }
constexpr std::size_t size_of(const AddressChange*) { return 70; }
constexpr std::size_t size_of(const GrantEnded*) { return 12; }
constexpr std::size_t size_of(const Ping*) { return 8; }
constexpr std::size_t size_of(const AckReport*) { return report_messages::k_report_size; }
constexpr std::size_t size_of(const SenderState*) { return report_messages::k_state_size; }
constexpr std::size_t size_of(const Delivered*) { return report_messages::k_delivered_size; }

constexpr std::size_t size_of(const VoidRuns*) { return 6; }

bool in_48_bits(std::uint64_t first, std::uint64_t count) {
  return first + count < k_end_of_48_bits;
}

void write(Writer& out, const RunMessage& run) {
  out.write_u32(run.grant);
  fixed::write_u48(out, run.first);
  fixed::write_u48(out, run.offset);
  out.write_u16(run.bytes);
  out.write_u8(run.packets);
  out.write_u8(static_cast<std::uint8_t>((run.phase_name & k_phase_bits) |
                                         static_cast<int>(run.ecn) << k_ecn_shift |
                                         (run.fin ? k_fin : 0)));
  fixed::write_duration(out, run.wait);
  fixed::write_duration(out, run.lifetime);
}

bool read(Reader& in, RunMessage& run) {
  run.grant = in.read_u32();
  run.first = fixed::read_u48(in);
  run.offset = fixed::read_u48(in);
  run.bytes = in.read_u16();
  run.packets = in.read_u8();
  const std::uint8_t flags = in.read_u8();
  run.phase_name = flags & k_phase_bits;
  run.ecn = static_cast<Ecn>((flags & k_ecn_bits) >> k_ecn_shift);
  run.fin = (flags & k_fin) != 0;
  run.wait = fixed::read_duration(in);
  run.lifetime = fixed::read_duration(in);
  // Only the end of a stream may be a packet without bytes.
  const bool holds_something = run.bytes > 0 || (run.fin && run.packets == 1);
  return (flags & ~(k_phase_bits | k_ecn_bits | k_fin)) == 0 && run.ecn != Ecn::kCe &&
         run.packets >= 1 && run.packets <= RunMessage::k_max_packets && holds_something &&
         in_48_bits(run.first, run.packets) && in_48_bits(run.end(), 0);
}

void write(Writer& out, const Progress& progress) {
  out.write_u32(progress.grant);
  fixed::write_u48(out, progress.available);
  fixed::write_u48(out, progress.executed_end);
  out.write_u32(progress.generation);
  out.write_u32(progress.address);
  out.write_u16(progress.refused);
  out.write_u8(static_cast<std::uint8_t>(progress.newest_refused.size()));
  for (const PacketNumber first : progress.newest_refused.view()) fixed::write_u48(out, first);
}

bool read(Reader& in, Progress& progress) {
  progress.grant = in.read_u32();
  progress.available = fixed::read_u48(in);
  progress.executed_end = fixed::read_u48(in);
  progress.generation = in.read_u32();
  progress.address = in.read_u32();
  progress.refused = in.read_u16();
  const std::size_t listed = in.read_u8();
  if (listed > Progress::k_max_refused || listed > progress.refused) return false;
  for (std::size_t i = 0; i < listed; ++i) progress.newest_refused.push_back(fixed::read_u48(in));
  return true;
}

void write(Writer& out, const Acknowledged& acknowledged) {
  out.write_u32(acknowledged.grant);
  fixed::write_u48(out, acknowledged.offset);
  fixed::write_u48(out, acknowledged.limit);
}

bool read(Reader& in, Acknowledged& acknowledged) {
  acknowledged.grant = in.read_u32();
  acknowledged.offset = fixed::read_u48(in);
  acknowledged.limit = fixed::read_u48(in);
  return acknowledged.offset <= acknowledged.limit;
}

void write(Writer& out, const PhaseChange& change) {
  fixed::write_u64(out, change.connection);
  out.write_u32(change.generation);
  fixed::write_u48(out, change.first_number);
  out.write_bytes(change.sealed);
}

bool read(Reader& in, PhaseChange& change) {
  change.connection = fixed::read_u64(in);
  change.generation = in.read_u32();
  change.first_number = fixed::read_u48(in);
  std::ranges::copy(in.read_bytes(change.sealed.size()), change.sealed.begin());
  return change.generation > 0;
}

void write(Writer& out, const AddressChange& change) {
  fixed::write_u64(out, change.connection);
  out.write_u32(change.number);
  fixed::write_addresses(out, change.addresses);
  fixed::write_connection_id(out, change.client_id);
  out.write_u8(change.paused ? k_paused : 0);
}

bool read(Reader& in, AddressChange& change) {
  change.connection = fixed::read_u64(in);
  change.number = in.read_u32();
  change.addresses = fixed::read_addresses(in);
  const auto id = fixed::read_connection_id(in);
  const std::uint8_t flags = in.read_u8();
  if (id) change.client_id = *id;
  change.paused = flags == k_paused;
  return id && change.number > 0 && flags <= k_paused && fixed::may_return(change.addresses);
}

void write(Writer& out, const GrantEnded& ended) {
  out.write_u32(ended.grant);
  fixed::write_u64(out, ended.code);
}

bool read(Reader& in, GrantEnded& ended) {
  ended.grant = in.read_u32();
  ended.code = fixed::read_u64(in);
  return ended.code <= k_max_varint;
}

void write(Writer& out, const Ping& ping) { fixed::write_u64(out, ping.process); }

bool read(Reader& in, Ping& ping) {
  ping.process = fixed::read_u64(in);
  return true;
}

void write(Writer& out, const VoidRuns& message) { fixed::write_u48(out, message.datagram); }

bool read(Reader& in, VoidRuns& message) {
  message.datagram = fixed::read_u48(in);
  return true;
}

struct KindOf {
  Kind operator()(const std::vector<RunMessage>&) const { return Kind::kRun; }
  Kind operator()(const std::vector<Progress>&) const { return Kind::kProgress; }
  Kind operator()(const std::vector<Acknowledged>&) const { return Kind::kAcknowledged; }
  Kind operator()(const std::vector<PhaseChange>&) const { return Kind::kPhase; }
  Kind operator()(const std::vector<AddressChange>&) const { return Kind::kAddress; }
  Kind operator()(const std::vector<GrantEnded>& ended) const {
    return static_cast<Kind>(k_first_end + static_cast<std::uint8_t>(ended.front().end));
  }
  Kind operator()(const std::vector<Ping>&) const { return Kind::kPing; }
  Kind operator()(const std::vector<AckReport>&) const { return Kind::kAckReport; }
  Kind operator()(const std::vector<SenderState>&) const { return Kind::kSenderState; }
  Kind operator()(const std::vector<Delivered>&) const { return Kind::kDelivered; }
  Kind operator()(const std::vector<VoidRuns>&) const { return Kind::kVoidRuns; }
};

// Returns an empty list of the messages that a datagram of this kind holds.
std::optional<RunMessages> list_for(Kind kind) {
  switch (kind) {
    case Kind::kRun:
      return std::vector<RunMessage>();
    case Kind::kProgress:
      return std::vector<Progress>();
    case Kind::kAcknowledged:
      return std::vector<Acknowledged>();
    case Kind::kPhase:
      return std::vector<PhaseChange>();
    case Kind::kAddress:
      return std::vector<AddressChange>();
    case Kind::kReset:
    case Kind::kRevoke:
      return std::vector<GrantEnded>();
    case Kind::kPing:
      return std::vector<Ping>();
    case Kind::kAckReport:
      return std::vector<AckReport>();
    case Kind::kSenderState:
      return std::vector<SenderState>();
    case Kind::kDelivered:
      return std::vector<Delivered>();
    case Kind::kVoidRuns:
      return std::vector<VoidRuns>();
  }
  return std::nullopt;
}

template <typename Message>
std::optional<RunMessageFault> read_all(Reader& in, Kind kind, std::vector<Message>& messages) {
  do {
    Message& message = messages.emplace_back();
    const bool in_range = read(in, message);
    if (!in.ok()) return RunMessageFault::kMalformed;
    if (!in_range) return RunMessageFault::kOutOfRange;
    if constexpr (std::is_same_v<Message, GrantEnded>) {
      message.end = static_cast<GrantEnd>(static_cast<std::uint8_t>(kind) - k_first_end);
    }
  } while (!in.empty());
  return std::nullopt;
}

}  // namespace

std::size_t most_in_datagram(const RunMessages& messages) {
  return std::visit(
      [](const auto& list) { return (k_max_run_datagram - k_header) / size_of(list.data()); },
      messages);
}

std::vector<std::uint8_t> encode_run_datagram(const RunDatagram& datagram) {
  std::array<std::uint8_t, k_max_run_datagram> buffer;
  Writer out(buffer);
  out.write_u32(datagram.session);
  out.write_u8(static_cast<std::uint8_t>(std::visit(KindOf{}, datagram.messages)));
  fixed::write_u48(out, datagram.number);
  std::visit(
      [&](const auto& list) {
        for (const auto& message : list) write(out, message);
      },
      datagram.messages);
  return {out.written().begin(), out.written().end()};
}

Result<RunDatagram, RunMessageFault> decode_run_datagram(Bytes bytes) {
  if (bytes.size() > k_max_run_datagram) return RunMessageFault::kMalformed;
  Reader in(bytes);
  RunDatagram datagram;
  datagram.session = in.read_u32();
  const auto kind = static_cast<Kind>(in.read_u8());
  datagram.number = fixed::read_u48(in);
  if (!in.ok() || in.empty()) return RunMessageFault::kMalformed;
  auto messages = list_for(kind);
  if (!messages) return RunMessageFault::kUnknownKind;
  datagram.messages = *std::move(messages);
  const auto fault =
      std::visit([&](auto& list) { return read_all(in, kind, list); }, datagram.messages);
  if (fault) return *fault;
  return datagram;
}

}  // namespace sheaf::quic
