#include "channel_node/source_node.h"

#include <algorithm>
#include <span>
#include <utility>

#include "channel_authentication/flight_source.h"
#include "channel_authentication/packet_signatures.h"
#include "channel_authentication/timed_source.h"
#include "io/monotonic_clock.h"

namespace sheaf::channel_node {

using quic::Bytes;

namespace {

using namespace std::chrono_literals;

// What one call of the kernel sends (UDP_MAX_SEGMENTS of older kernels), within 64 KiB
constexpr std::size_t k_packets_per_call = 48;

// Within this time other threads wake up and take their shares of copies.
constexpr quic::Duration k_share_time = 1ms;

// An address for offers of channels without a group, where it means nothing
quic::Address no_source() {
  quic::Address address{.port = 1024, .family = quic::Address::Family::kIpv4};
  address.ip = {127, 0, 0, 1};
  return address;
}

quic::SourceConfig config_of(const SourceSettings& settings, quic::Random& random) {
  quic::SourceConfig config;
  quic::ChannelOffer& offer = config.offer;
  random.fill(offer.channel);
  offer.channel.back() &= 0xfe;  // odd ones are for repairs
  offer.source = no_source();
  offer.group = settings.group;
  offer.header.suite = quic::CipherSuite::kAes128GcmSha256;
  offer.header.length = static_cast<std::uint8_t>(quic::secret_length(offer.header.suite));
  random.fill(quic::MutableBytes(offer.header.bytes).first(offer.header.length));
  offer.packet_size = settings.packet_size;
  offer.max_rate = settings.rate;
  offer.reach = settings.reach;
  offer.deadline = settings.deadline;
  offer.report_interval = settings.report_interval;
  offer.repairs = settings.repairs;
  config.key_interval = settings.key_interval;
  config.new_key_on_leaving = settings.new_key_on_leaving;
  config.slowest_rate = settings.slowest_rate;
  config.copy_rate = settings.copy_rate;
  config.max_receivers = settings.max_receivers;
  return config;
}

bool has_relay(const SourceSettings& settings) {
  return settings.relay.family != quic::Address::Family::kNone;
}

quic::Result<std::unique_ptr<io::UdpSocket>, io::SocketError> open_sender(
    const SourceSettings& settings) {
  if (has_relay(settings)) {
    return io::UdpSocket::open(quic::Address{.family = settings.relay.family}, {});
  }
  auto socket = io::UdpSocket::open(settings.source, {});
  if (!socket) return socket;
  io::GroupSending sending{.interface = settings.interface, .hops = settings.hops};
  if (sending.interface == 0) {
    sending.interface = io::interface_with(settings.source).value_or(0);
  }
  const auto ready = io::prepare_group_sending((*socket)->descriptor(), settings.group, sending);
  if (!ready) return ready.error();
  return socket;
}

}  // namespace

quic::Result<std::unique_ptr<SourceNode>, io::SocketError> SourceNode::open(
    uv_loop_t* loop, const SourceSettings& settings, quic::Random& random,
    std::function<void()> on_room) {
  quic::SourceConfig config = config_of(settings, random);
  std::unique_ptr<io::UdpSocket> socket;
  if (config.offer.has_group()) {
    auto opened = open_sender(settings);
    if (!opened) return opened.error();
    socket = std::move(*opened);
    config.offer.source = settings.source;
    config.offer.source.port = socket->local_address().port;
  }
  std::unique_ptr<SourceNode> node(new SourceNode(config, settings, random, std::move(on_room)));
  node->socket_ = std::move(socket);
  node->home().signal = io::LoopSignal::open(loop, [self = node.get()] { self->on_signal(); });
  if (!node->home().signal) return io::SocketError{EMFILE, "cannot listen to other threads"};
  auto timer =
      io::DeadlineTimer::open(loop, [self = node.get()] { self->run(io::monotonic_now()); });
  if (!timer) return timer.error();
  node->timer_ = std::move(*timer);
  node->run(io::monotonic_now());
  return node;
}

// --- proofs -------------------------------------------------------------------------------------

ChannelProof::ChannelProof(const SourceSettings& settings, const quic::ChannelOffer& offer,
                           quic::Random& random) {
  switch (settings.scheme) {
    case quic::AuthenticationScheme::kSigned:
    case quic::AuthenticationScheme::kPacketSignatures:
      authenticator_ = make_signer(settings, offer, random);
      break;
    case quic::AuthenticationScheme::kTimed:
      authenticator_ = make_timed(offer, random);
      break;
    case quic::AuthenticationScheme::kNone:
    case quic::AuthenticationScheme::kUnnamed:
      authenticator_ = std::make_unique<quic::NoAuthenticator>();
      break;
  }
}

std::unique_ptr<quic::Authenticator> ChannelProof::make_signer(const SourceSettings& settings,
                                                               const quic::ChannelOffer& offer,
                                                               quic::Random& random) {
  quic::Wiped<quic::Ed25519Seed> seed;
  if (settings.seed) {
    seed.value = settings.seed->value;
  } else {
    random.fill(seed.value);
  }
  key_.emplace(seed.value);
  if (settings.scheme == quic::AuthenticationScheme::kPacketSignatures) {
    return std::make_unique<quic::PacketSigner>(offer.channel, *key_);
  }
  quic::FlightConfig config{.channel = offer.channel};
  const std::size_t room = offer.packet_size - quic::k_repair_overhead - quic::k_channel_overhead;
  config.max_frame = std::min(config.max_frame, room);
  helper_ = std::make_unique<quic::HelperThread>();
  return std::make_unique<quic::FlightSource>(config, *key_, *helper_);
}

std::unique_ptr<quic::Authenticator> ChannelProof::make_timed(const quic::ChannelOffer& offer,
                                                              quic::Random& random) {
  quic::Wiped<quic::ChainKey> secret;
  random.fill(secret.value);
  chain_.emplace(offer.channel, secret.value);
  return std::make_unique<quic::TimedSource>(
      offer.channel,
      quic::choose_timed_schedule(offer.deadline, offer.log_time(), io::monotonic_now()), *chain_);
}

// --- the channel --------------------------------------------------------------------------------

SourceNode::SourceNode(const quic::SourceConfig& config, const SourceSettings& settings,
                       quic::Random& random, std::function<void()> on_room)
    : proof_(settings, config.offer, random),
      source_(config, proof_.authenticator(), random),
      on_room_(std::move(on_room)),
      destination_(has_relay(settings) ? settings.relay : settings.group) {
  crews_.push_back(std::make_unique<Crew>(Crew{.thread = std::this_thread::get_id()}));
}

// Another thread may have the last end, and destroy this object. It has no handle here by then.
void SourceNode::close(std::function<void()> done) {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  for (SourceEnd* end : home().ends) end->withdraw();
  for (const auto& crew : crews_) {
    if (crew.get() != &home() && crew->signal) crew->signal->signal();
  }
  home().signal.reset();
  timer_->close(std::move(done));
}

std::size_t SourceNode::receivers() const {
  std::size_t count = 0;
  for (const auto& crew : crews_) {
    count += static_cast<std::size_t>(
        std::ranges::count_if(crew->ends, [](SourceEnd* end) { return !end->request().over(); }));
  }
  return count;
}

// --- groups -------------------------------------------------------------------------------------

std::optional<quic::StreamId> SourceNode::open_group() {
  const std::lock_guard lock(mutex_);
  return source_.open_group();
}

quic::SourceLog::Written SourceNode::write(quic::StreamId group, Bytes data, bool fin) {
  const std::lock_guard lock(mutex_);
  const auto written = source_.write(group, data, fin);
  if (written.bytes < data.size() || (fin && !written.fin)) {
    refused_at_ = source_.counts().packets;
  }
  // What is written in one turn of the loop leaves together.
  set_timer();
  return written;
}

bool SourceNode::reset(quic::StreamId group, std::uint64_t error) {
  const std::lock_guard lock(mutex_);
  const bool done = source_.reset(group, error);
  set_timer();
  return done;
}

// --- sending ------------------------------------------------------------------------------------

// The writer may write at once, so it is told without the lock.
void SourceNode::run(Time now) {
  bool tells = false;
  {
    const std::lock_guard lock(mutex_);
    source_.on_timeout(now);
    send_to_group(now);
    waits_for_budget_ = false;
    share_copies(now);
    go_on(home(), now);
    wake_others();
    set_timer();
    tells = takes_room();
  }
  if (tells) on_room_();
}

// Each end may use up the share of its crew, so another one is the first in each run.
void SourceNode::go_on(Crew& crew, Time now) {
  if (++crew.first >= crew.ends.size()) crew.first = 0;
  const std::span ends(crew.ends);
  within_share(crew, [&] {
    for (SourceEnd* end : ends.subspan(crew.first)) end->go_on(now);
    for (SourceEnd* end : ends.first(crew.first)) end->go_on(now);
  });
}

void SourceNode::share_copies(Time now) {
  std::vector<CopyShare*> shares;
  for (const auto& crew : crews_) {
    const auto needs = [](SourceEnd* end) { return end->request().needs_copy(); };
    crew->share.needing = static_cast<std::size_t>(std::ranges::count_if(crew->ends, needs));
    shares.push_back(&crew->share);
  }
  CopyShare::divide(shares, source_.copy_budget().room(now));
  shared_at_ = now;
}

// Crews that come later than this one find what the budget has for them, unless it has room for
// many copies before.
Time SourceNode::next_share_time() {
  const quic::CopyBudget& budget = source_.copy_budget();
  return std::max(std::min(shared_at_ + k_share_time, budget.many_at()), budget.next());
}

void SourceNode::send_to_group(Time now) {
  while (true) {
    send_repairs(now);
    const Bytes packets = source_.poll_transmit(k_packets_per_call, now);
    if (packets.empty()) return;
    send(packets, source_.packet_size(), now);
  }
}

void SourceNode::send_repairs(Time now) {
  while (true) {
    const Bytes repair = source_.poll_repair(now);
    if (repair.empty()) return;
    send(repair, repair.size(), now);
  }
}

void SourceNode::send(Bytes packets, std::size_t segment_size, Time now) {
  if (!socket_ || !source_.feeds_group(now)) return;
  quic::TransmitBatch batch;
  // A batch that is sent is read alone.
  batch.buffer = {const_cast<std::uint8_t*>(packets.data()), packets.size()};
  batch.size = packets.size();
  batch.segment_size = segment_size;
  batch.path.remote = destination_;
  // What is blocked counts as lost, as in the full queue of a router: receivers ask for copies.
  if (socket_->send(batch) != io::SendOutcome::kSent) unsent_ += batch.segments();
}

// The writer is told once a quarter of the log has left since, so that it is not called for a
// packet. At that time, half of the log waited. A small log may be empty before.
bool SourceNode::takes_room() {
  if (!refused_at_) return false;
  const bool has_left = source_.counts().packets >= *refused_at_ + offer().reach / 4;
  if (!has_left && source_.has_due()) return false;
  refused_at_.reset();
  return true;
}

void SourceNode::note_budget(SourceEnd& end) {
  waits_for_budget_ = waits_for_budget_ || end.request().waits_for_budget();
}

void SourceNode::set_timer() {
  if (closed_) return;
  Time next = source_.next_timeout();
  if (waits_for_budget_) next = std::min(next, next_share_time());
  if (is_home()) {
    timer_at_ = next;
    timer_->set(next);
  } else if (next < timer_at_ && home().signal) {
    home().signal->signal();
  }
}

// --- threads ------------------------------------------------------------------------------------

void SourceNode::add(SourceEnd& end) { crew_of(end.carrier_.loop).ends.push_back(&end); }

SourceNode::Crew* SourceNode::own_crew() const {
  const auto found = std::ranges::find(crews_, std::this_thread::get_id(), &Crew::thread);
  return found == crews_.end() ? nullptr : found->get();
}

void SourceNode::remove(SourceEnd& end) {
  Crew* crew = own_crew();
  std::erase(crew->ends, &end);
  if (!crew->ends.empty() || crew == &home()) return;
  std::erase_if(crews_, [&](const auto& each) { return each.get() == crew; });
}

SourceNode::Crew& SourceNode::crew_of(io::EndpointLoop& loop) {
  if (Crew* crew = own_crew()) return *crew;
  crews_.push_back(std::make_unique<Crew>(Crew{.thread = std::this_thread::get_id()}));
  crews_.back()->signal = loop.open_signal([this] { on_signal(); });
  return *crews_.back();
}

// Only those that have something to send: a packet that all hear from the group wakes nobody.
void SourceNode::wake_others() {
  for (const auto& crew : crews_) {
    const auto has_due = [](SourceEnd* end) { return end->request().has_due(); };
    if (crew.get() != &home() && crew->signal && std::ranges::any_of(crew->ends, has_due)) {
      crew->signal->signal();
    }
  }
}

void SourceNode::on_signal() {
  const std::lock_guard lock(mutex_);
  if (is_home()) return set_timer();
  Crew* crew = own_crew();
  if (!crew) return;
  if (closed_) {
    for (SourceEnd* end : crew->ends) end->withdraw();
  } else {
    go_on(*crew, io::monotonic_now());
    set_timer();
  }
}

// --- requests -----------------------------------------------------------------------------------

SourceEnd::SourceEnd(const Carrier& carrier, const channel_request::ChannelRequest::Place& place,
                     const std::shared_ptr<SourceNode>& node, const quic::Address& client, Time now,
                     const std::unique_lock<std::mutex>&)
    : carrier_(carrier),
      node_(node),
      network_(quic::network_of(client)),
      joined_(now),
      request_(place, node_->source(), now) {
  node_->add(*this);
  node_->networks_.on_joined(network_);
  if (node_->closed()) withdraw();
}

SourceEnd::~SourceEnd() {
  const auto held = node_->hold();
  request_.leave();
  tell_left(io::monotonic_now());
  node_->remove(*this);
}

std::unique_lock<std::mutex> SourceEnd::enter() {
  auto held = node_->hold();
  if (node_->closed()) withdraw();
  return held;
}

void SourceEnd::tell_left(Time now) {
  const Time joined = std::exchange(joined_, quic::k_never);
  if (joined != quic::k_never) node_->networks_.on_left(network_, joined, now);
}

bool SourceEnd::on_event(const http3::SessionEvent& event, Time now) {
  const auto held = enter();
  return request_.on_event(event, now);
}

void SourceEnd::on_turn(Time now) {
  const auto held = enter();
  node_->within_share(*node_->own_crew(), [&] { request_.on_turn(now); });
  if (request_.over()) tell_left(now);
  node_->note_budget(*this);
  node_->set_timer();
  wake_if_queued();
}

void SourceEnd::go_on(Time now) {
  if (request_.over()) return;
  request_.send(now);
  node_->note_budget(*this);
  wake_if_queued();
}

void SourceEnd::withdraw() {
  request_.withdraw();
  wake_if_queued();
}

void SourceEnd::wake_if_queued() {
  if (request_.take_queued()) carrier_.loop.wake(carrier_.driver);
}

}  // namespace sheaf::channel_node
