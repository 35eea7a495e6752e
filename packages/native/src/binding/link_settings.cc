#include "binding/link_settings.h"

#include <algorithm>

#include "emulation/capacity_trace.h"

namespace sheaf::binding {

namespace {

// Reads numbers from an object that JavaScript may have filled with anything.
class Numbers {
 public:
  explicit Numbers(const Napi::Object& options) : options_(options) {}

  double between(const char* name, double least, double most) const {
    const double value = options_.Get(name).ToNumber().DoubleValue();
    return value > least ? std::min(value, most) : least;
  }
  double probability(const char* name) const { return between(name, 0, 1); }
  std::uint64_t count(const char* name) const {
    return static_cast<std::uint64_t>(between(name, 0, 1e15));
  }
  quic::Duration milliseconds(const char* name) const {
    constexpr double k_day = 24 * 3600 * 1000;
    return quic::Duration(static_cast<std::int64_t>(between(name, 0, k_day) * 1e6));
  }

 private:
  const Napi::Object& options_;
};

}  // namespace

quic::Result<quic::LinkConfig, std::string> link_config(const Napi::Object& options) {
  const Numbers numbers(options);
  quic::LinkConfig config;
  config.down = options.Get("down").ToBoolean();
  config.mtu = numbers.count("mtu");
  config.queue_bytes = numbers.count("queueBytes");
  config.queue_packets = numbers.count("queuePackets");
  if (options.Get("queueDiscipline").ToString().Utf8Value() == "codel") {
    config.queue_discipline = quic::QueueDisciplineKind::kCoDel;
  }
  config.mark_bytes = numbers.count("markBytes");
  // `rate` is in bits per second. A rate below one byte per second must not become 0, which means
  // unlimited.
  const std::uint64_t bits = numbers.count("rate");
  config.rate = bits == 0 ? 0 : std::max<std::uint64_t>(bits / 8, 1);
  config.loss = numbers.probability("loss");
  config.loss_correlation = numbers.probability("lossCorrelation");
  const double burst_share = numbers.between("burstLoss", 0, 0.99);
  if (burst_share > 0) {
    config.burst_loss =
        quic::GilbertElliott::bursts(burst_share, numbers.between("burstLength", 1, 1e9));
  }
  config.duplication = numbers.probability("duplication");
  config.delay = numbers.milliseconds("delayMs");
  config.jitter = numbers.milliseconds("jitterMs");
  config.jitter_correlation = numbers.probability("jitterCorrelation");
  config.reordering = numbers.probability("reordering");
  config.reordering_delay = numbers.milliseconds("reorderingDelayMs");
  const std::string trace = options.Get("trace").ToString();
  if (!trace.empty()) {
    auto parsed = quic::CapacityTrace::parse(trace);
    if (!parsed) {
      return "line " + std::to_string(parsed.error().line) + ": " + parsed.error().cause;
    }
    config.trace = std::make_shared<const quic::CapacityTrace>(std::move(*parsed));
  }
  return config;
}

Napi::Object link_stats_object(Napi::Env env, const quic::LinkStats& stats) {
  Napi::Object out = Napi::Object::New(env);
  const auto set = [&](const char* name, std::uint64_t value) {
    out.Set(name, Napi::Number::New(env, static_cast<double>(value)));
  };
  set("sent", stats.sent);
  set("duplicated", stats.duplicated);
  set("tooLarge", stats.too_large);
  set("queueFull", stats.queue_full);
  set("queueManaged", stats.queue_managed);
  set("down", stats.down);
  set("lost", stats.lost);
  set("delivered", stats.delivered);
  set("marked", stats.marked);
  set("bytesDelivered", stats.bytes_delivered);
  return out;
}

}  // namespace sheaf::binding
