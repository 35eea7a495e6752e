#pragma once

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "channel_authentication/flight_source.h"
#include "channel_authentication/helper_thread.h"
#include "channel_authentication/make_verifier.h"
#include "channel_authentication/packet_signatures.h"
#include "channel_authentication/receiver_tags.h"
#include "channel_authentication/stream_signatures.h"
#include "channel_authentication/timed_source.h"
#include "engine/settings.h"

namespace sheaf::quic::multicast_bench {

[[noreturn]] inline void fail(const char* what) {
  std::fprintf(stderr, "multicast_bench: %s\n", what);
  std::exit(1);
}

inline constexpr ChannelId k_channel{0xc0, 1, 2, 3, 4, 5, 6, 8};

// Returns the processor time of the calling thread, in nanoseconds.
inline double thread_nanoseconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e9 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec);
}

// Lets an authenticator see the packets, and carries its frames beside the channel. No receiver can
// prove the packets that would carry tags, since these have none.
class FramesBeside final : public Authenticator {
 public:
  explicit FramesBeside(std::unique_ptr<Authenticator> inner) : inner_(std::move(inner)) {}
  AuthenticationOffer offer(Time now) override { return inner_->offer(now); }
  void add(std::span<const SealedPacket> packets, Time now) override {
    inner_->add(packets, now);
    for (std::size_t length = k_room; length > 0; end_ += length) {
      if (bytes_.size() < end_ + k_room) bytes_.resize(end_ + k_room);
      length = inner_->write_frame(MutableBytes(bytes_).subspan(end_, k_room), now);
    }
  }
  // Returns the frames since `clear`.
  Bytes frames() const { return Bytes(bytes_).first(end_); }
  void clear() { end_ = 0; }

 private:
  static constexpr std::size_t k_room = 1250;
  std::unique_ptr<Authenticator> inner_;
  std::vector<std::uint8_t> bytes_;
  std::size_t end_ = 0;
};

// A helper thread that says how much processor time it has used
class CountedHelper {
 public:
  JobRunner& runner() { return thread_; }
  // Waits until everything is done that was submitted before. Returns the thread's processor time.
  double finish() {
    look_.reset();
    thread_.submit(look_);
    thread_.wait(look_);
    return look_.nanoseconds;
  }

 private:
  struct Look final : Job {
    void work() override { nanoseconds = thread_nanoseconds(); }
    double nanoseconds = 0;
  };

  Look look_;
  HelperThread thread_;  // ends first
};

// How the packets of one channel are proven, on both sides
class Scheme {
 public:
  // Names: none, signed (with helper threads), signed-inline, timed, per-packet, per-stream, tags
  Scheme(std::string name, std::size_t receivers, Time start, Random& random)
      : name_(std::move(name)), chain_(k_channel, ChainKey{4}) {
    confirm_clock(start);
    authenticator_ = make_authenticator(receivers, start);
    if (!authenticator_) fail("there is no such authentication");
    if (name_ == "tags") {
      verifier_ =
          std::make_unique<TagVerifier>(TagVerifierConfig{.receiver = 0, .key = {1}}, random);
    } else {
      JobRunner& runner = helped() ? receiver_helper_->runner() : inline_;
      verifier_ =
          make_verifier(authenticator_->offer(start), {k_channel, engine_bench::k_packet_size, 1},
                        {runner, clock_, random});
    }
  }

  Authenticator& authenticator() { return *authenticator_; }
  Verifier& verifier() { return *verifier_; }
  // Null unless streams are signed
  StreamSigner* stream_signer() { return signer_ ? &*signer_ : nullptr; }
  // Null unless frames go beside the channel
  FramesBeside* beside() { return beside_; }
  StreamVerifier& stream_verifier() { return *stream_verifier_; }

  // The receiver compares its clock with the source's, as each connection does now and then.
  void confirm_clock(Time now) { clock_.on_answer(now, now); }
  struct HelperTimes {
    double source = 0;
    double receiver = 0;
  };
  // Waits for helper threads. Returns what they have used so far, in nanoseconds.
  HelperTimes finish_helpers() {
    if (!helped()) return {};
    return {source_helper_->finish(), receiver_helper_->finish()};
  }

 private:
  static constexpr std::size_t k_open_streams = 4;

  bool helped() const { return source_helper_ != nullptr; }

  std::unique_ptr<Authenticator> make_authenticator(std::size_t receivers, Time start) {
    const FlightConfig flights{.channel = k_channel};
    if (name_ == "signed") {
      source_helper_ = std::make_unique<CountedHelper>();
      receiver_helper_ = std::make_unique<CountedHelper>();
      return std::make_unique<FlightSource>(flights, key_, source_helper_->runner());
    }
    if (name_ == "signed-inline") return std::make_unique<FlightSource>(flights, key_, inline_);
    if (name_ == "timed") {
      const TimedSchedule schedule{.start = start - 1s, .interval = 50ms, .delay = 2};
      return std::make_unique<TimedSource>(k_channel, schedule, chain_);
    }
    if (name_ == "per-packet") return std::make_unique<PacketSigner>(k_channel, key_);
    if (name_ == "tags") return make_tagger(receivers);
    if (name_ == "per-stream") {
      signer_.emplace(k_channel, key_, k_open_streams);
      stream_verifier_.emplace(k_channel, key_.public_key(), k_open_streams);
    } else if (name_ != "none") {
      return nullptr;
    }
    return std::make_unique<NoAuthenticator>();
  }

  std::unique_ptr<Authenticator> make_tagger(std::size_t receivers) {
    auto tagger = std::make_unique<ReceiverTagger>();
    for (std::size_t i = 0; i < receivers; ++i) tagger->add_receiver(i, MacKey{1});
    auto beside = std::make_unique<FramesBeside>(std::move(tagger));
    beside_ = beside.get();
    return beside;
  }

  std::string name_;
  SigningKey key_{Ed25519Seed{3}};
  KeyChain chain_;
  ClockBound clock_;
  InlineRunner inline_;
  std::unique_ptr<CountedHelper> source_helper_;
  std::unique_ptr<CountedHelper> receiver_helper_;
  std::optional<StreamSigner> signer_;
  std::optional<StreamVerifier> stream_verifier_;
  std::unique_ptr<Authenticator> authenticator_;
  FramesBeside* beside_ = nullptr;
  std::unique_ptr<Verifier> verifier_;
};

}  // namespace sheaf::quic::multicast_bench
