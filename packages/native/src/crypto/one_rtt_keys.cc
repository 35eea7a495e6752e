#include "crypto/one_rtt_keys.h"

#include <algorithm>
#include <cassert>
#include <vector>

#include "crypto/key_schedule.h"
#include "crypto/path_keys.h"
#include "util/interval_set.h"

namespace sheaf::quic {
namespace {

// A path on which this node may send and receive
struct KnownPath {
  PathId id;
  PacketNumber next_number = 0;         // lowest number that was not sealed
  std::unique_ptr<PathKeys> keys = {};  // null in KeyMode::kShared
  bool lent = false;                    // other nodes alone seal
};

}  // namespace

struct OneRttKeys::State {
  explicit State(CryptoProvider wanted) : provider(wanted), shared(wanted) {}

  CryptoProvider provider;
  KeyMode mode = KeyMode::kShared;
  PathKeys shared;  // KeyMode::kShared
  // KeyMode::kPerPath: the secrets that the keys of all paths are derived from
  std::optional<TrafficSecret> send_root;
  std::optional<TrafficSecret> receive_root;
  bool knows_all = true;  // except `gone`; false on a node that took over paths
  // Few entries, in no order. Those of paths are made at their first use.
  std::vector<KnownPath> paths;
  IntervalSet gone;  // handed over or forgotten
  std::uint64_t updates_of_gone = 0;
  bool handshake_confirmed = false;
  PathId last_opened;

  KnownPath* find(PathId path);
  KnownPath* find_or_make(PathId path);
  bool known(PathId path) const {
    return const_cast<State*>(this)->find(path) || (knows_all && !gone.contains(path.value));
  }
  // Returns null for a path that was not used yet.
  PathKeys* keys_of(PathId path) {
    if (mode == KeyMode::kShared) return known(path) ? &shared : nullptr;
    KnownPath* found = find(path);
    return found ? found->keys.get() : nullptr;
  }
  const PathKeys* keys_of(PathId path) const { return const_cast<State*>(this)->keys_of(path); }
  PathKeys& keys_of(KnownPath& path) { return path.keys ? *path.keys : shared; }
  bool has_sending_keys(PathId path) const;
  void remove(PathId path);
};

KnownPath* OneRttKeys::State::find(PathId path) {
  const auto found = std::ranges::find(paths, path, &KnownPath::id);
  return found != paths.end() ? &*found : nullptr;
}

KnownPath* OneRttKeys::State::find_or_make(PathId path) {
  if (KnownPath* found = find(path)) return found;
  if (!known(path)) return nullptr;
  KnownPath& made = paths.emplace_back(KnownPath{.id = path});
  if (mode == KeyMode::kPerPath) {
    made.keys = std::make_unique<PathKeys>(provider);
    if (send_root) made.keys->install_send_secret(path_secret(*send_root, path));
    if (receive_root) made.keys->install_receive_secret(path_secret(*receive_root, path));
  }
  return &made;
}

void OneRttKeys::State::remove(PathId path) {
  if (const KnownPath* found = find(path); found && found->keys) {
    updates_of_gone += found->keys->updates();
  }
  std::erase_if(paths, [path](const KnownPath& known) { return known.id == path; });
  gone.insert(path.value);
}

OneRttKeys::OneRttKeys(CryptoProvider provider) : state_(std::make_unique<State>(provider)) {}
OneRttKeys::~OneRttKeys() = default;

void OneRttKeys::set_mode(KeyMode mode) {
  const bool has_secrets = can_receive() || state_->send_root || state_->shared.can_send();
  assert(!has_secrets || mode == state_->mode);
  if (!has_secrets) state_->mode = mode;
}
KeyMode OneRttKeys::mode() const { return state_->mode; }

void OneRttKeys::install_send_secret(const TrafficSecret& secret) {
  if (state_->mode == KeyMode::kShared) return state_->shared.install_send_secret(secret);
  state_->send_root = secret;
  for (KnownPath& path : state_->paths) {
    path.keys->install_send_secret(path_secret(secret, path.id));
  }
}

void OneRttKeys::install_receive_secret(const TrafficSecret& secret) {
  if (state_->mode == KeyMode::kShared) return state_->shared.install_receive_secret(secret);
  state_->receive_root = secret;
  for (KnownPath& path : state_->paths) {
    path.keys->install_receive_secret(path_secret(secret, path.id));
  }
}

bool OneRttKeys::can_send(PathId path) const {
  const KnownPath* known = state_->find(path);
  return !(known && known->lent) && state_->has_sending_keys(path);
}

bool OneRttKeys::State::has_sending_keys(PathId path) const {
  if (const PathKeys* keys = keys_of(path)) return keys->can_send();
  return send_root && known(path);
}

bool OneRttKeys::can_receive(PathId path) const {
  if (const PathKeys* keys = state_->keys_of(path)) return keys->can_receive();
  return state_->receive_root && state_->known(path);
}

bool OneRttKeys::can_receive() const {
  return state_->receive_root || state_->shared.can_receive() ||
         std::ranges::any_of(state_->paths, [](const KnownPath& path) {
           return path.keys && path.keys->can_receive();
         });
}

bool OneRttKeys::confidentiality_limit_reached(PathId path) const {
  const PathKeys* keys = state_->keys_of(path);
  return keys && keys->usage().exhausted();
}

std::uint8_t OneRttKeys::key_phase_bit(PathId path) const {
  const PathKeys* keys = state_->keys_of(path);
  return keys ? keys->key_phase_bit() : 0;
}

std::uint64_t OneRttKeys::generation_for_sending(PathId path) const {
  const PathKeys* keys = state_->keys_of(path);
  return keys ? keys->generation_for_sending() : 0;
}

bool OneRttKeys::seal(std::span<const SealJob> jobs) {
  const PathId path = jobs.front().path;
  // A path that this node never had keys for stays unknown, so that it can take the path over.
  KnownPath* known = state_->find(path);
  if (!known && can_send(path)) known = state_->find_or_make(path);
  if (!known || known->lent) return false;
  PathKeys& keys = state_->keys_of(*known);
  if (!keys.can_send()) return false;
  PacketNumber next = known->next_number;
  for (const SealJob& job : jobs) {
    if (job.path != path || job.number < next) return false;
    next = job.number + 1;
  }
  known->next_number = next;
  keys.seal(jobs);
  return true;
}

std::optional<PhaseKeys> OneRttKeys::phase_for_sending(PathId path) const {
  const PathKeys* keys = state_->keys_of(path);
  if (!state_->handshake_confirmed || !keys || !keys->can_send()) return std::nullopt;
  const KnownPath* known = state_->find(path);
  return keys->phase_for_sending(path, known ? known->next_number : 0);
}

bool OneRttKeys::lend(PathId path) {
  if (state_->mode != KeyMode::kPerPath || !state_->handshake_confirmed || !can_send(path)) {
    return false;
  }
  KnownPath& known = *state_->find_or_make(path);
  known.lent = true;
  known.keys->drop_receiving();
  return true;
}

void OneRttKeys::drop_sending(PathId path) {
  if (state_->mode != KeyMode::kPerPath) return;
  if (KnownPath* known = state_->find_or_make(path)) known->keys->drop_sending();
}

bool OneRttKeys::note_numbered_elsewhere(PathId path, PacketNumber first, std::uint64_t count) {
  if (count == 0 || !state_->has_sending_keys(path)) return false;
  KnownPath& known = *state_->find_or_make(path);
  if (first < known.next_number) return false;
  known.next_number = first + count;
  state_->keys_of(known).note_numbered_elsewhere(path, first, count);
  return true;
}

OpenedPacket OneRttKeys::open(MutableBytes packet, std::size_t packet_number_offset, PathId path,
                              PacketNumber largest_received, Time now) {
  KnownPath* known = state_->find(path);
  if (!known && can_receive(path)) known = state_->find_or_make(path);
  PathKeys* const keys = known ? &state_->keys_of(*known) : nullptr;
  const OpenedPacket opened = keys && keys->can_receive() ? keys->open(packet, packet_number_offset,
                                                                       path, largest_received, now)
                                                          : OpenedPacket{};
  if (opened.outcome == OpenedPacket::Outcome::kOpened) state_->last_opened = path;
  return opened;
}

void OneRttKeys::keep_old_keys(PathId path, Time now, Duration probe_timeout) {
  if (PathKeys* keys = state_->keys_of(path)) keys->keep_old_keys(now + 3 * probe_timeout);
}

bool OneRttKeys::initiate_update(PathId path, Time now, Duration probe_timeout) {
  PathKeys* keys = state_->keys_of(path);
  return keys && state_->handshake_confirmed && keys->initiate_update(now, probe_timeout);
}

void OneRttKeys::confirm_handshake() { state_->handshake_confirmed = true; }

void OneRttKeys::on_acknowledged(PathId path, PacketNumber number, Time now) {
  const KnownPath* known = state_->find(path);
  const bool elsewhere = known && known->lent;  // the peer sends nothing on the path
  if (state_->mode == KeyMode::kPerPath && state_->last_opened != path && !elsewhere) return;
  if (PathKeys* keys = state_->keys_of(path)) keys->on_acknowledged(path, number, now);
}

bool OneRttKeys::wants_update(PathId path) const {
  const PathKeys* keys = state_->keys_of(path);
  return keys && keys->usage().wants_new_key();
}

std::uint64_t OneRttKeys::updates() const {
  std::uint64_t total = state_->shared.updates() + state_->updates_of_gone;
  for (const KnownPath& path : state_->paths) total += path.keys ? path.keys->updates() : 0;
  return total;
}

std::optional<PathHandOver> OneRttKeys::hand_over(PathId path) {
  State& state = *state_;
  if (!state.handshake_confirmed || !(can_send(path) || can_receive(path))) return std::nullopt;
  KnownPath& known = *state.find_or_make(path);
  PathHandOver given;
  given.mode = state.mode;
  given.path = path;
  given.next_number = known.next_number;
  PathKeys& keys = state.keys_of(known);
  keys.save(given);
  if (state.mode == KeyMode::kShared) {
    const CipherSuite suite = (given.send ? given.send : given.receive)->secret.suite;
    if (!state.knows_all || !keys.usage().give_part(suite)) return std::nullopt;
  } else {
    given.sealed = keys.usage().sealed();
    given.forged = keys.usage().forged();
  }
  state.remove(path);
  return given;
}

bool OneRttKeys::take_over(const PathHandOver& given) {
  State& state = *state_;
  const bool first = state.paths.empty() && state.gone.empty();
  const bool installed = state.knows_all && (can_receive() || state.shared.can_send() ||
                                             state.send_root || state.receive_root);
  if (installed || !given.valid() || state.find(given.path) ||
      state.gone.contains(given.path.value) || (!first && state.mode != given.mode)) {
    return false;
  }
  KnownPath taken{.id = given.path, .next_number = given.next_number};
  if (given.mode == KeyMode::kPerPath) {
    taken.keys = std::make_unique<PathKeys>(given, state.provider);
  } else {
    const bool has_keys = state.shared.can_send() || state.shared.can_receive();
    if (has_keys && !state.shared.same_header_keys(given)) return false;
    // Keeps the later of two key phases, since nothing was sent on the path in a later phase than
    // that.
    PathKeys shared(given, state.provider);
    if (!has_keys || state.shared.updates() < shared.updates()) {
      shared.usage().on_forged(state.shared.usage().forged());
      state.shared = std::move(shared);
    }
  }
  state.mode = given.mode;
  state.knows_all = false;
  state.handshake_confirmed = true;
  state.paths.push_back(std::move(taken));
  return true;
}

void OneRttKeys::forget(PathId path) { state_->remove(path); }

}  // namespace sheaf::quic
