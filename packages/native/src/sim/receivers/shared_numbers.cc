#include "sim/receivers/shared_numbers.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <optional>

#include "emulation/link.h"
#include "util/random.h"

namespace sheaf::quic {

namespace {

constexpr std::size_t k_datagram = 1452;
constexpr std::size_t k_queue = 256u << 20;  // never full

class Delivery {
 public:
  Delivery(const SharedNumbers& config, ReceiverModel& client, std::uint64_t seed)
      : config_(config),
        client_(client),
        random_(seed),
        bottleneck_({.queue_bytes = k_queue,
                     .rate = config.rate * k_datagram * 11 / 10,
                     .delay = config.delay},
                    random_.next()),
        back_({.delay = config.delay}, random_.next()) {
    for (std::size_t i = 0; i < config.senders; ++i) {
      const Duration later =
          i == 0 ? Duration{} : config.spread * std::int64_t(i) / std::int64_t(config.senders - 1);
      ways_.emplace_back(LinkConfig{.queue_bytes = k_queue, .delay = later}, random_.next());
      ranges_.push_back({.due = config.sending == SharedNumbers::Sending::kOwnRanges
                                    ? Time(some_time_of_a_turn())
                                    : Time()});
    }
    ways_.emplace_back(LinkConfig{.queue_bytes = k_queue}, random_.next());  // the gateway's own
    newest_.resize(config.senders);
  }

  SharedNumbersResult run() {
    for (Time now = next_event(); now != k_never; now = next_event()) {
      send_data(now);
      send_acknowledgements(now);
      send_waiting(now);
      deliver_to_client(now);
      if (client_.ack_deadline() <= now) send_back(now);
      take_samples(now);
      while (const LinkDatagram* datagram = back_.poll_arrival(now)) {
        held_.push_back({.due = now + config_.hold, .report = datagram->header.tag});
      }
    }
    result_.closed = client_.closed();
    return result_;
  }

 private:
  struct Range {
    Time due;
    PacketNumber next = 0;
    std::size_t left = 0;
  };
  struct Waiting {
    std::size_t sender = 0;
    PacketNumber first = 0;
    std::size_t count = 0;
    std::size_t report = 0;  // as in Held; 0: data
  };
  struct Sample {
    Time due;  // when the ACK arrives
    std::size_t sender = 0;
    Duration round_trip{};
  };
  struct Held {
    Time due;
    std::size_t report = 0;  // index into `reports_`, from 1
  };

  // Each sender begins some time within its first packet, so that the packets of all alternate.
  Duration some_time_of_a_turn() {
    const Duration turn = packet_time() * std::int64_t(config_.senders);
    return Duration(std::int64_t(random_.below(std::uint64_t(turn.count()))));
  }
  Duration packet_time() const { return Duration(1s) / std::int64_t(config_.rate); }

  Time next_event() const {
    Time next = std::min({bottleneck_.next_timeout(), back_.next_timeout(), client_.ack_deadline(),
                          held_.empty() ? k_never : held_.front().due,
                          waiting_.empty() ? k_never : waiting_.begin()->first,
                          samples_.empty() ? k_never : samples_.front().due});
    for (const Link& way : ways_) next = std::min(next, way.next_timeout());
    if (sent_ == config_.packets) return next;
    if (config_.sending == SharedNumbers::Sending::kWholeRuns) return std::min(next, turn_due_);
    for (const Range& range : ranges_) next = std::min(next, range.due);
    return next;
  }

  void send_data(Time now) {
    if (config_.sending == SharedNumbers::Sending::kWholeRuns) {
      send_whole_runs(now);
    } else {
      send_from_ranges(now);
    }
  }

  void send_whole_runs(Time now) {
    while (turn_due_ <= now && sent_ < config_.packets) {
      for (std::size_t i = 0; i < config_.runs_together; ++i) {
        const std::size_t sender = random_.below(config_.senders);
        const std::size_t count = std::min(config_.run, config_.packets - sent_);
        if (count == 0) break;
        const Duration wait = wait_of(sender, now);
        const Duration late(std::int64_t(random_.below(std::uint64_t(config_.jitter.count()) + 1)));
        due_.resize(next_number_ + count, now + wait);
        waiting_.insert({now + wait + late, {sender, next_number_, count, 0}});
        next_number_ += count;
        sent_ += count;
      }
      turn_due_ += packet_time() * std::int64_t(config_.run * config_.runs_together);
    }
  }

  Duration wait_of(std::size_t sender, Time now) {
    return config_.timing ? config_.timing->wait(sender, now) : Duration{};
  }

  void send_waiting(Time now) {
    for (; !waiting_.empty() && waiting_.begin()->first <= now; waiting_.erase(waiting_.begin())) {
      const Waiting& run = waiting_.begin()->second;
      for (std::size_t i = 0; i < run.count; ++i) {
        send(run.sender, run.first + i, run.report, now);
      }
    }
  }

  void take_samples(Time now) {
    for (; !samples_.empty() && samples_.front().due <= now; samples_.pop_front()) {
      config_.timing->on_sample(samples_.front().sender, samples_.front().round_trip, now);
    }
  }

  void send_from_ranges(Time now) {
    for (std::size_t sender = 0; sender < ranges_.size(); ++sender) {
      Range& range = ranges_[sender];
      for (; range.due <= now && sent_ < config_.packets; ++sent_) {
        if (range.left == 0) {
          range.next = next_number_;
          range.left = config_.run;
          next_number_ += config_.run;
        }
        send(sender, range.next++, 0, now);
        --range.left;
        range.due += packet_time() * std::int64_t(config_.senders);
      }
    }
  }

  void send_acknowledgements(Time now) {
    for (; !held_.empty() && held_.front().due <= now; held_.pop_front()) {
      const Duration wait = wait_of(config_.senders, now);
      waiting_.insert({now + wait, {config_.senders, next_number_++, 1, held_.front().report}});
    }
  }

  void send(std::size_t way, PacketNumber number, std::size_t report, Time now) {
    std::array<std::uint8_t, k_datagram> bytes{};
    std::memcpy(bytes.data(), &number, sizeof number);
    std::memcpy(bytes.data() + sizeof number, &way, sizeof way);
    ways_[way].send(bytes, {.path = {}, .tag = report}, now);
  }

  void deliver_to_client(Time now) {
    for (Link& way : ways_) {
      while (const LinkDatagram* datagram = way.poll_arrival(now)) {
        bottleneck_.send(datagram->payload(), datagram->header, now);
      }
    }
    while (const LinkDatagram* datagram = bottleneck_.poll_arrival(now)) {
      PacketNumber number;
      std::size_t sender;
      std::memcpy(&number, datagram->payload().data(), sizeof number);
      std::memcpy(&sender, datagram->payload().data() + sizeof number, sizeof sender);
      receive(sender, number, datagram->header.tag, now);
    }
  }

  void receive(std::size_t sender, PacketNumber number, std::size_t report, Time now) {
    largest_ = std::max(largest_, number);
    result_.deepest = std::max(result_.deepest, largest_ - number);
    const bool accepted = client_.receive(number, report == 0, now);
    if (accepted && report == 0) newest_[sender] = std::max(newest_[sender].value_or(0), number);
    if (report == 0 && !accepted) ++result_.refused;
    if (report != 0 && accepted) client_.on_ack_acknowledged(reports_[report - 1]);
    result_.most_ranges = std::max(result_.most_ranges, client_.ranges());
    if (client_.ack_deadline() <= now) send_back(now);
  }

  void send_back(Time now) {
    std::vector<AckRange> report = client_.acknowledge(now);
    for (std::size_t sender = 0; config_.timing && sender < newest_.size(); ++sender) {
      if (!newest_[sender]) continue;
      const Time arrives = now + config_.delay;
      samples_.push_back({arrives, sender, arrives - due_[*newest_[sender]]});
      newest_[sender].reset();
    }
    if (++result_.acknowledgements % config_.elicit_every != 0) return;
    reports_.push_back(std::move(report));
    const std::array<std::uint8_t, 1> byte{};
    back_.send(byte, {.path = {}, .tag = reports_.size()}, now);
  }

  const SharedNumbers& config_;
  ReceiverModel& client_;
  SeededRandom random_;
  std::deque<Link> ways_;  // one of each sender, and the gateway's
  Link bottleneck_;        // of all senders
  Link back_;
  std::vector<Range> ranges_;
  std::deque<Held> held_;
  std::multimap<Time, Waiting> waiting_;
  std::vector<Time> due_;  // of the run of each number; numbers of ACKs have that of a neighbour
  std::vector<std::optional<PacketNumber>> newest_;  // of each sender, since the client's last ACK
  std::deque<Sample> samples_;
  std::vector<std::vector<AckRange>> reports_;  // ranges of ACKs that elicit one
  Time turn_due_{};
  PacketNumber next_number_ = 0;
  std::size_t sent_ = 0;
  PacketNumber largest_ = 0;
  SharedNumbersResult result_;
};

}  // namespace

SharedNumbersResult deliver(const SharedNumbers& config, ReceiverModel& client,
                            std::uint64_t seed) {
  return Delivery(config, client, seed).run();
}

}  // namespace sheaf::quic
