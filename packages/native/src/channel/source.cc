#include "channel/source.h"

#include <algorithm>
#include <cassert>

namespace sheaf::quic {
namespace {

// Empty packets in a report interval that bring a key which is overdue
constexpr PacketNumber k_hurried_packets = 512;

// For how many report intervals the others have a key that is chosen because a receiver left, and
// for how long at least. It goes on a connection, which may lose it, and report intervals of a fast
// channel say nothing of ways: this is time for a loss that a round trip of 200 ms makes good.
constexpr int k_notice_intervals = 2;
constexpr Duration k_least_notice = 400ms;
// How many are between two of these, and how long at least. Eight keys are kept for packets of a
// group, which are then those of three seconds or more.
constexpr int k_hold_intervals = 5;
constexpr Duration k_least_hold = 400ms;

// What may leave at once after a pause: about as many packets as one call of the kernel sends, or
// what a fast channel sends while its loop sleeps and does other work
constexpr std::uint64_t k_burst_packets = 32;
constexpr Duration k_burst_time = 4ms;

// While packets wait, a fast channel sends what is due once in this time, not one by one.
constexpr Duration k_pace = 1ms;

std::uint64_t bytes_in(Duration time, std::uint64_t per_second) {
  return static_cast<std::uint64_t>(to_seconds(time) * static_cast<double>(per_second));
}

std::uint64_t burst_of(std::uint64_t per_second, std::size_t packet_size) {
  return std::max(k_burst_packets * packet_size, bytes_in(k_burst_time, per_second));
}

// For how many receivers the budget of copies has room; at least one
std::size_t copy_capacity(const SourceConfig& config) {
  const std::uint64_t rate = std::max<std::uint64_t>(config.offer.max_rate, 1);
  return std::max<std::size_t>(config.copy_rate / rate, 1);
}

RateControl::Limits rate_limits(const SourceConfig& config) {
  const std::uint64_t fastest = config.offer.max_rate;
  const bool changes = config.slowest_rate > 0 && config.slowest_rate < fastest;
  return {.slowest = changes ? config.slowest_rate : fastest,
          .fastest = fastest,
          .packet_size = config.offer.packet_size,
          .report_interval = config.offer.report_interval};
}

// A key for who stays is known in time at this rate, and while it doubles (RateControl).
PacketNumber key_notice(const SourceConfig& config, std::uint64_t rate, std::size_t packet_size) {
  const Duration interval = config.offer.report_interval;
  const std::uint64_t soon = std::min(2 * rate, config.offer.max_rate);
  const Duration notice = std::max<Duration>(k_notice_intervals * interval, k_least_notice);
  return (burst_of(soon, packet_size) + bytes_in(notice, soon)) / packet_size;
}

KeySchedule schedule_of(const SourceConfig& config, std::size_t packet_size) {
  const Duration interval = config.offer.report_interval;
  return {.interval = config.key_interval,
          .notice = key_notice(config, config.offer.max_rate, packet_size),
          .hold = std::max<Duration>(k_hold_intervals * interval, k_least_hold)};
}

SourceConfig with_possible_repairs(SourceConfig config, const Authenticator& authenticator) {
  if (!config.offer.has_group() || authenticator.trailer_length() > 0) config.offer.repairs = false;
  return config;
}

}  // namespace

ChannelSource::ChannelSource(const SourceConfig& config, Authenticator& authenticator,
                             Random& random)
    : config_(with_possible_repairs(config, authenticator)),
      packet_size_(config_.offer.packet_size - (config_.offer.repairs ? k_repair_overhead : 0)),
      authenticator_(authenticator),
      random_(random),
      log_({.channel = config.offer.channel,
            .packet_size = packet_size_,
            .reach = config.offer.reach},
           SourceKeys(config.offer.header, schedule_of(config, packet_size_), 0, random),
           authenticator),
      control_(rate_limits(config)),
      rate_(config.offer.max_rate, burst_of(config.offer.max_rate, config.offer.packet_size)),
      pace_(bytes_in(k_pace, config.offer.max_rate)),
      copy_budget_(config.copy_rate, config.offer.packet_size, k_burst_packets),
      held_(copy_capacity(config)),
      admission_(copy_capacity(config)),
      breaker_(config.offer.report_interval) {
  groups_.reserve(GroupStreams::k_max_open);
  counts_.rate = config.offer.max_rate;
  if (config_.offer.repairs) repairs_.emplace(config_.offer);
}

// --- streams ------------------------------------------------------------------------------------

std::optional<StreamId> ChannelSource::open_group() {
  // Receivers hold so many groups from the lowest one on.
  if (!groups_.empty() && next_group_ - groups_.front().id.index() >= GroupStreams::k_max_open) {
    return std::nullopt;
  }
  log_.begin_group();
  const StreamId id = StreamId::make(Role::kServer, Directionality::kUnidirectional, next_group_++);
  groups_.push_back({.id = id});
  return id;
}

ChannelSource::Group* ChannelSource::find(StreamId group) {
  const auto found = std::ranges::find(groups_, group, &Group::id);
  return found == groups_.end() ? nullptr : &*found;
}

SourceLog::Written ChannelSource::write(StreamId group, Bytes data, bool fin) {
  Group* open = find(group);
  if (open == nullptr) return {};
  const std::uint64_t room = GroupStreams::k_max_group - open->offset;
  const bool fits = data.size() <= room;
  if (!fits) data = data.first(static_cast<std::size_t>(room));
  const SourceLog::Written written = log_.write_stream(group, open->offset, data, fin && fits);
  open->offset += written.bytes;
  if (written.fin) std::erase_if(groups_, [&](const Group& other) { return other.id == group; });
  return written;
}

bool ChannelSource::reset(StreamId group, std::uint64_t error) {
  const Group* open = find(group);
  if (open == nullptr) return true;
  const ResetStreamFrame frame{.stream = group, .error = error, .final_size = open->offset};
  if (!log_.write_frame(frame)) return false;
  std::erase_if(groups_, [&](const Group& other) { return other.id == group; });
  return true;
}

// --- packets to the group -----------------------------------------------------------------------

Bytes ChannelSource::poll_transmit(std::size_t most, Time now) {
  if (last_sent_ == Time{}) last_sent_ = now;
  if (!rate_.allows(now)) {
    if (log_.has_due()) control_.on_used();
    return {};
  }
  log_.write_proofs(now);
  if (!log_.has_due()) return {};
  const std::size_t room = rate_.room(now) / packet_size_ + 1;
  const Bytes packets = log_.take_due(std::min(most, room), now);
  if (packets.empty()) return {};
  rate_.spend(packets.size(), now);
  last_sent_ = now;
  counts_.packets += (packets.size() + packet_size_ - 1) / packet_size_;
  forget_expired(now);
  return packets;
}

Bytes ChannelSource::poll_repair(Time now) {
  if (!repairs_ || log_.stopped() || !rate_.allows(now)) return {};
  const Bytes repair = repairs_->poll(log_.ring(), log_.sent_end(), now);
  for (const SourceRepairs::Copy& copy : repairs_->copies()) {
    if (ReceiverCopies* copies = receiver(copy.receiver)) copies->want(copy.number);
  }
  repairs_->clear_copies();
  rate_.spend(repair.size(), now);
  return repair;
}

bool ChannelSource::feeds_group(Time now) {
  const bool feeds = config_.offer.has_group() && breaker_.allows(now);
  counts_.group_pauses = breaker_.pauses();
  return feeds;
}

// Nobody needs what is older than the deadline, except for those who begin with the newest group.
void ChannelSource::forget_expired(Time now) {
  const PacketRing& ring = log_.ring();
  PacketNumber keep = ring.oldest();
  while (keep < log_.group_start() && ring.contains(keep) &&
         ring.kept_at(keep) + config_.offer.deadline < now) {
    ++keep;
  }
  log_.forget_before(keep);
}

Time ChannelSource::next_timeout() const {
  if (log_.stopped()) return k_never;
  if (last_sent_ == Time{}) return Time{};
  const Time idle = log_.has_due() ? k_never : last_sent_ + config_.offer.report_interval;
  Time due = log_.has_due() ? Time{} : k_never;
  if (repairs_) due = std::min(due, repairs_->next_timeout());
  // Proofs that are due wait for the rate as well.
  due = std::max(std::min(due, authenticator_.next_timeout()), rate_.next(pace_));
  const Time admission = admission_.next_timeout(copy_budget_.idle_at());
  return std::min({idle, due, log_.next_timeout(), admission});
}

void ChannelSource::on_timeout(Time now) {
  if (last_sent_ == Time{}) last_sent_ = now;
  follow_rate(now);  // a pause of the group may be over
  admission_.admit(copy_budget_.idle_at() <= now, now);
  log_.advance_keys(now);
  authenticator_.on_timeout(now);
  counts_.dropped_proofs = authenticator_.dropped_proofs();
  // The last packets before a pause could be lost without a gap that shows it.
  if (log_.has_due() || now < last_sent_ + config_.offer.report_interval) return;
  log_.write_frame(PingFrame{});
  // After a burst the next key would begin much later than its time.
  const PacketNumber hurried = std::min(k_hurried_packets, log_.keys().overdue(now));
  for (PacketNumber i = 1; i < hurried; ++i) {
    log_.begin_packet();
    if (!log_.write_frame(PingFrame{})) break;
  }
}

// --- receivers ----------------------------------------------------------------------------------

std::optional<ChannelSource::ReceiverId> ChannelSource::add_receiver() {
  auto place = std::ranges::find_if(receivers_, [](const auto& other) { return !other; });
  if (place == receivers_.end()) {
    if (receivers_.size() == config_.max_receivers) return std::nullopt;
    place = receivers_.insert(place, nullptr);
  }
  *place = std::make_unique<ReceiverCopies>(log_.group_start(), log_.sent_end());
  // What the log has no more is not copied.
  (*place)->next_key = log_.keys().serial_of(std::max(log_.group_start(), log_.ring().oldest()));
  const auto id = static_cast<ReceiverId>(place - receivers_.begin());
  reception_.add_receiver(id);
  held_.add_receiver(id);
  control_.add_receiver(id);
  admission_.add_receiver(id);
  // Both take the lowest id that is free.
  if (repairs_ && repairs_->add_receiver() != id) assert(false);
  return id;
}

void ChannelSource::remove_receiver(ReceiverId id) {
  if (receiver(id) == nullptr) return;
  breaker_.on_removed(receivers_[id]->state());
  receivers_[id].reset();
  held_.remove_receiver(id);
  control_.forget(id);
  admission_.forget(id);
  if (repairs_) repairs_->remove_receiver(id);
  if (config_.new_key_on_leaving) log_.on_receiver_left();
}

ServedReceivers ChannelSource::served() const {
  const auto relies = [](const auto& copies) { return copies && copies->relies_on_group(); };
  return {.by_group = static_cast<std::size_t>(std::ranges::count_if(receivers_, relies)),
          .held = held_.held(),
          .waiting = admission_.waiting()};
}

void ChannelSource::on_state(ReceiverId id, const ChannelState& state, Time now) {
  ReceiverCopies* copies = receiver(id);
  if (copies == nullptr) return;
  const ListenState before = copies->state();
  if (!copies->on_state(state, log_.sent_end(), config_.offer.report_interval, now)) {
    ++counts_.refused_states;
  }
  reception_.on_state(id, copies->state(), now);
  if (copies->state() != before) follow(id, before, now);
  hold(id);
  follow_rate(now);
}

// A receiver listens elsewhere than before.
void ChannelSource::follow(ReceiverId id, ListenState before, Time now) {
  const ListenState state = receivers_[id]->state();
  breaker_.on_state(before, state, now);
  if (state == ListenState::kReceiving) held_.on_receiving(id, log_.sent_end(), now);
  if (before == ListenState::kReceiving) held_.on_fallen(id, now);
  admission_.forget(id);
  const bool has_fallen = before == ListenState::kReceiving && state == ListenState::kUnicast;
  if (has_fallen && !held_.is_held(id)) admission_.on_fallen(id, random_, now);
}

// The group's repairs, and its rate, follow the needs of those who rely on it.
void ChannelSource::hold(ReceiverId id) {
  ReceiverCopies& copies = *receivers_[id];
  copies.hold(held_.is_held(id), log_.sent_end());
  if (copies.relies_on_group()) return control_.begin(id, log_.sent_end());
  if (repairs_) repairs_->forget_needs(id);
  control_.forget(id);
}

void ChannelSource::follow_rate(Time now) {
  const std::uint64_t rate = control_.rate(breaker_.is_tried(now));
  if (rate == counts_.rate) return;
  counts_.rate = rate;
  rate_.change(rate, burst_of(rate, config_.offer.packet_size));
  pace_ = bytes_in(k_pace, rate);
  log_.set_key_notice(key_notice(config_, rate, packet_size_));
  if (repairs_) repairs_->follow_rate(rate);
}

void ChannelSource::on_report(ReceiverId id, const ChannelReport& report, Time now,
                              Duration round_trip) {
  ReceiverCopies* copies = receiver(id);
  const PacketNumber sent_end = log_.sent_end();
  const bool taken =
      copies != nullptr && copies->on_report(report, sent_end, config_.offer.report_interval, now);
  if (!taken) {
    ++counts_.refused_reports;
    return;
  }
  reception_.on_report(id, report, sent_end);
  if (copies->state() != ListenState::kReceiving) return;
  const bool relied = copies->relies_on_group();
  if (relied) control_.on_report(id, report, {log_.ring(), sent_end, round_trip}, now);
  held_.on_report(id, report, sent_end, relied && control_.is_too_slow(id, now), now);
  hold(id);
  follow_rate(now);
  if (repairs_ && copies->relies_on_group()) {
    copies->keep_below(repairs_->on_report(id, report, log_.ring(), sent_end, now));
  }
}

const SourceKeys::Key* ChannelSource::next_key(ReceiverId id) const {
  const ReceiverCopies* copies = receiver(id);
  if (copies == nullptr || copies->state() == ListenState::kLeft) return nullptr;
  return log_.keys().first_from(copies->next_key);
}

std::optional<ChannelKey> ChannelSource::poll_key(ReceiverId id) {
  const SourceKeys::Key* next = next_key(id);
  if (next == nullptr) return std::nullopt;
  receiver(id)->next_key = next->serial + 1;
  ChannelKey key;
  key.channel = config_.offer.channel;
  key.sequence = next->secret.sequence;
  key.first = next->secret.first_number;
  key.secret = next->secret.secret;
  return key;
}

ChannelSource::Due ChannelSource::due_to(ReceiverId id) const {
  const ReceiverCopies* copies = receiver(id);
  if (copies == nullptr) return {};
  return {.key = next_key(id) != nullptr,
          .copy = copies->has_next(log_.sent_end(), !admission_.waits(id))};
}

Bytes ChannelSource::poll_copy(ReceiverId id, Time now) {
  ReceiverCopies* copies = receiver(id);
  if (copies == nullptr || !copy_budget_.allows(now)) return {};
  last_copy_ = copies->take_next(log_.ring(), log_.sent_end(), now - config_.offer.deadline,
                                 !admission_.waits(id));
  if (last_copy_ == k_no_packet_number) return {};
  const Bytes packet = log_.ring().find(last_copy_);
  copy_budget_.spend(packet.size(), now);
  ++counts_.copies;
  return packet;
}

void ChannelSource::on_copy_lost(ReceiverId id, PacketNumber number) {
  ++counts_.copies_lost;
  if (ReceiverCopies* copies = receiver(id)) copies->want(number);
}

}  // namespace sheaf::quic
