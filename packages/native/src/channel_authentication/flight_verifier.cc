#include "channel_authentication/flight_verifier.h"

#include <algorithm>

namespace sheaf::quic {
namespace {

constexpr std::size_t k_signature_checks = 8;
// Of these, the most for frames of the channel: what the connection brings has a place always.
constexpr std::size_t k_channel_checks = 6;
constexpr std::size_t k_hash_checks = 64;

}  // namespace

// Checks the signature of one flight.
struct FlightVerifier::SignatureCheck final : Job {
  SignatureCheck(const VerifyingKey& key, const ChannelId& id, BatchHasher& of_jobs)
      : source(key), channel(id), hasher(of_jobs) {}
  void work() override {
    const Sha256Digest digest = hasher.hash_one(frame.hashes);
    genuine = source.verify(flight_text(channel, frame, digest), signature);
  }

  const VerifyingKey& source;
  const ChannelId& channel;
  BatchHasher& hasher;
  bool busy = false;
  FlightFrame frame;
  std::array<std::uint8_t, k_max_list_hashes * k_max_hash_length> hashes{};
  Ed25519Signature signature{};
  bool genuine = false;
};

// Hashes candidates of numbers whose hash is known.
struct FlightVerifier::HashCheck final : Job {
  explicit HashCheck(BatchHasher& of_jobs) : hasher(of_jobs) {}
  void work() override { hasher.hash({packets.data(), count}, {digests.data(), count}); }

  BatchHasher& hasher;
  bool busy = false;
  std::size_t count = 0;
  std::array<CandidateStore::Slot, 64> slots{};
  std::array<Bytes, 64> packets;
  std::array<Sha256Digest, 64> digests{};
};

FlightVerifier::FlightVerifier(const FlightVerifierConfig& config, const Ed25519PublicKey& source,
                               JobRunner& runner, Random& random)
    : StoringVerifier(config.max_bytes, config.max_datagram, config.max_wait, random),
      config_(config),
      source_(source),
      runner_(runner),
      budget_(config.checks_per_second, config.checks_at_once),
      hasher_(make_batch_hasher(CryptoProvider::kGnuTls)),
      job_hasher_(make_batch_hasher()) {
  for (std::size_t i = 0; i < k_signature_checks; ++i) {
    signature_checks_.push_back(
        std::make_unique<SignatureCheck>(source_, config_.channel, *job_hasher_));
  }
  for (std::size_t i = 0; i < k_hash_checks; ++i) {
    hash_checks_.push_back(std::make_unique<HashCheck>(*job_hasher_));
  }
}

// Jobs read what is destroyed here.
FlightVerifier::~FlightVerifier() {
  for (const auto& check : signature_checks_) {
    if (check->busy) runner_.wait(*check);
  }
  for (const auto& check : hash_checks_) {
    if (check->busy && check.get() != filling_) runner_.wait(*check);
  }
}

Verdict FlightVerifier::on_packet(const ReceivedPacket& packet, Time now) {
  const HashWindow::Entry* known = window_.find(packet.number);
  if (known == nullptr) return keep(packet, 0, now);
  if (known->key_sequence == packet.key_sequence &&
      hash_matches(hasher_->hash_one(packet.datagram), known->view())) {
    return Verdict::kProven;
  }
  ++counts_.forged_packets;
  return Verdict::kForged;
}

bool FlightVerifier::on_frame(const IntegrityFrame& frame, FrameOrigin origin, Time now) {
  collect();
  if (const auto* flight = std::get_if<FlightFrame>(&frame)) {
    on_flight(*flight, origin, now);
  } else if (const auto* list = std::get_if<ListFrame>(&frame)) {
    on_list(*list);
  } else {
    return false;
  }
  collect();
  next_look_ = now + k_look_interval;
  return true;
}

bool FlightVerifier::is_pending(const FlightFrame& frame) const {
  return std::ranges::any_of(signature_checks_, [&](const auto& check) {
    const FlightFrame& other = check->frame;
    return check->busy && other.first == frame.first && other.count == frame.count &&
           other.key_sequence == frame.key_sequence && other.per_list == frame.per_list &&
           other.hash_length == frame.hash_length &&
           std::ranges::equal(other.hashes, frame.hashes) &&
           std::ranges::equal(check->signature, frame.signature);
  });
}

void FlightVerifier::on_flight(const FlightFrame& frame, FrameOrigin origin, Time now) {
  if (frame.first + frame.count <= store_.low() || record_.knows(frame) || is_pending(frame)) {
    return;  // too old, or a copy
  }
  const bool is_trusted = origin == FrameOrigin::kConnection;
  const auto end = is_trusted ? signature_checks_.end()
                              : signature_checks_.begin() + std::ptrdiff_t{k_channel_checks};
  const auto free =
      std::find_if(signature_checks_.begin(), end, [](const auto& c) { return !c->busy; });
  if (free == end || (!is_trusted && !budget_.take(now))) {
    ++counts_.refused_frames;
    return;
  }
  SignatureCheck& check = **free;
  check.reset();
  check.busy = true;
  ++busy_;
  check.frame = frame;
  std::ranges::copy(frame.hashes, check.hashes.begin());
  check.frame.hashes = Bytes(check.hashes).first(frame.hashes.size());
  std::ranges::copy(frame.signature, check.signature.begin());
  check.frame.signature = check.signature;
  runner_.submit(check);
}

void FlightVerifier::on_list(const ListFrame& frame) {
  FlightRecord::Flight* flight = record_.flight_of(frame);
  if (flight == nullptr) {
    record_.keep_early(frame);
  } else if (!accept_list(*flight, frame)) {
    ++counts_.forged_frames;
  }
}

// Takes the results of jobs that are done.
void FlightVerifier::collect() {
  if (busy_ == 0) return;
  for (const auto& check : signature_checks_) {
    if (!check->busy || !check->done()) continue;
    check->busy = false;
    --busy_;
    if (check->genuine) {
      accept(check->frame);
    } else {
      ++counts_.forged_frames;
    }
  }
  submit_check();
  for (const auto& check : hash_checks_) {
    if (check->busy && check->done()) finish(*check);
  }
}

void FlightVerifier::accept(const FlightFrame& frame) {
  set_reach(frame.first + frame.count);
  FlightRecord::Flight& flight = record_.add(frame);
  if (frame.per_list == 0) {
    accept_hashes(frame.first, frame.key_sequence, frame.hash_length, frame.hashes);
    return;
  }
  for (FlightRecord::EarlyList& early : record_.early()) {
    if (!early.used || !FlightRecord::contains(frame, early.frame)) continue;
    early.used = false;
    accept_list(flight, early.frame);
  }
}

// Returns false for a list that is not of this flight.
bool FlightVerifier::accept_list(FlightRecord::Flight& flight, const ListFrame& list) {
  const std::size_t index = (list.first - flight.frame.first) / flight.frame.per_list;
  if (flight.lists_seen.test(index)) return true;
  ListText text;
  text.set(list.first, list.hashes);
  if (!hash_matches(hasher_->hash_one(text.view()), flight.list_hash(index))) return false;
  flight.lists_seen.set(index);
  accept_hashes(list.first, flight.frame.key_sequence, list.hash_length, list.hashes);
  return true;
}

void FlightVerifier::accept_hashes(PacketNumber first, std::uint64_t key_sequence,
                                   std::uint8_t hash_length, Bytes hashes) {
  for (std::size_t i = 0; i * hash_length < hashes.size(); ++i) {
    const PacketNumber number = first + i;
    window_.add(number, key_sequence, hashes.subspan(i * hash_length, hash_length));
    std::array<CandidateStore::Slot, CandidateStore::k_max_candidates> slots;
    const std::size_t count = store_.take(number, slots);
    for (std::size_t j = 0; j < count; ++j) add_to_check(slots[j]);
  }
}

void FlightVerifier::add_to_check(CandidateStore::Slot slot) {
  if (filling_ == nullptr) {
    const auto free = std::ranges::find_if(hash_checks_, [](const auto& c) { return !c->busy; });
    // Where all are busy, one of them is waited for.
    HashCheck& check = free == hash_checks_.end() ? *hash_checks_[0] : **free;
    if (check.busy) {
      runner_.wait(check);
      finish(check);
    }
    check.reset();
    check.busy = true;
    ++busy_;
    check.count = 0;
    filling_ = &check;
  }
  filling_->slots[filling_->count] = slot;
  filling_->packets[filling_->count] = store_.candidate(slot).datagram;
  if (++filling_->count == filling_->slots.size()) submit_check();
}

void FlightVerifier::submit_check() {
  if (filling_ == nullptr) return;
  HashCheck& check = *filling_;
  filling_ = nullptr;
  runner_.submit(check);
}

void FlightVerifier::finish(HashCheck& check) {
  check.busy = false;
  --busy_;
  for (std::size_t i = 0; i < check.count; ++i) {
    const CandidateStore::Slot slot = check.slots[i];
    const CandidateStore::Candidate candidate = store_.candidate(slot);
    const HashWindow::Entry* known = window_.find(candidate.number);
    if (known != nullptr && known->key_sequence == candidate.key_sequence &&
        hash_matches(check.digests[i], known->view())) {
      proven_.add(slot);
    } else {
      drop_forged(slot);
    }
  }
}

std::optional<ProvenPacket> FlightVerifier::next_proven() {
  if (proven_.empty()) collect();
  return StoringVerifier::next_proven();
}

Time FlightVerifier::next_timeout() const {
  const Time next = StoringVerifier::next_timeout();
  return busy_ > 0 ? std::min(next, next_look_) : next;
}

void FlightVerifier::on_timeout(Time now) {
  StoringVerifier::on_timeout(now);
  collect();
  next_look_ = now + k_look_interval;
}

}  // namespace sheaf::quic
