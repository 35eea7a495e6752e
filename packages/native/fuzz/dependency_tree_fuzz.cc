#include <array>

#include "scheduler/stream/stream_scheduler.h"
#include "util/bytes.h"

namespace {

using namespace sheaf::quic;

constexpr std::uint64_t k_ids = 300;  // exceeds the number of groups that are kept

Dependency read_dependency(Reader& reader) {
  return {.node = reader.read_u16() % k_ids,
          .parent = reader.read_u16() % k_ids,
          .weight = reader.read_u16(),
          .exclusive = reader.read_u8() % 2 == 0};
}

}  // namespace

// Changes the dependencies of streams in any order between packets, as clients may. Checks that the
// next stream is an active one, and that there is a next stream whenever one is active.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Reader reader(Bytes(data, size));
  const auto kind = k_all_stream_schedulers[reader.read_u8() % std::size(k_all_stream_schedulers)];
  const auto scheduler = make_stream_scheduler(kind.kind);
  std::array<bool, k_ids> active{};
  std::size_t active_streams = 0;
  const auto set_active = [&](std::uint64_t stream, bool now) {
    active_streams += now - active[stream];
    active[stream] = now;
  };
  std::array<PathSnapshot, 2> paths{PathSnapshot{.id = {0}, .window = 12'000},
                                    PathSnapshot{.id = {1}, .window = 12'000}};
  while (!reader.empty()) {
    const std::uint8_t operation = reader.read_u8();
    const StreamId stream{reader.read_u16() % k_ids};
    if (operation % 8 == 0) {
      scheduler->set_group(read_dependency(reader));
    } else if (operation % 8 < 3) {
      scheduler->set_priority(stream,
                              {.urgency = operation, .dependency = read_dependency(reader)});
    } else if (operation % 8 == 3) {
      scheduler->forget(stream);
      set_active(stream.value, false);
    } else if (operation % 8 == 4) {
      scheduler->deactivate(stream);
      set_active(stream.value, false);
    } else if (operation % 8 == 5) {
      scheduler->activate(stream, reader.read_varint());
      set_active(stream.value, true);
    } else {
      paths[1].smoothed_rtt = std::chrono::milliseconds(operation);
      const bool two = operation % 16 > 7;
      const SendOpportunity opportunity =
          two ? SendOpportunity{.path = {1}, .paths = paths} : SendOpportunity{};
      const auto next = scheduler->next(opportunity);
      if (next && !active[next->value]) __builtin_trap();
      if (!next && !two && active_streams > 0) __builtin_trap();
      if (next) scheduler->on_sent(*next, {.bytes = 1200, .remaining = operation}, opportunity);
    }
  }
  return 0;
}
