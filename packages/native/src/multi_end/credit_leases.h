#pragma once

#include <optional>
#include <vector>

#include "stream/leased_limits.h"
#include "stream/shared_limits.h"
#include "wire/backend_id.h"
#include "wire/frame.h"

namespace sheaf::quic {

// Messages between a backend and its primary (docs/internals/multi-end.md). All numbers are totals
// since the hand-over, so that a message may be lost, repeated or late: the largest number counts.

struct LeaseRequest {  // backend → primary: wants this much credit in all, and ids after its leases
                       // so far
  std::uint64_t credit = 0;
  std::array<std::uint64_t, 2> id_leases{};  // by Directionality: how many it has had, and used up
};
struct LeaseGrant {  // primary → backend
  std::uint64_t credit = 0;
  std::array<std::uint64_t, 2> id_leases{};  // number of the newest
  std::array<StreamLease::Ids, 2> ids{};     // the newest
};
struct LeaseReturn {  // backend → primary: credit that it gave back
  std::uint64_t credit = 0;
};
struct ReceivedReport {              // backend → primary
  std::uint64_t consumed = 0;        // bytes that its application read
  std::uint64_t streams_closed = 0;  // bidirectional streams of the client
  std::uint64_t max_data = 0;        // the largest MAX_DATA that arrived at the backend
};

// The primary's side: leases out parts of what the client granted. What is leased counts as used
// here, so that own use and leases together are never more than the grant, whatever backends do.
class LeaseGrantor {
 public:
  // At most so much is given at once, however much a backend asks for.
  static constexpr std::uint64_t k_max_credit_at_once = 4 << 20;
  static constexpr std::uint64_t k_ids_at_once = 16;

  explicit LeaseGrantor(SharedLimits& limits) : limits_(limits) {}

  // What the hand-over gave.
  void add(BackendId backend, PathId path, const StreamLease& lease);
  // The backend is gone for good. What it held is out of use until the client has abandoned the
  // path: it alone knows what of it was counted.
  void remove(BackendId backend);
  bool knows(BackendId backend) const;
  // The client's account of what went over the path (BackendLeftEvent). Removes the backend.
  void settle(PathId path, const BackendUse& use, Time now);
  // What a backend got in all, and gave back of it; nothing for one that is not known.
  struct Totals {
    std::uint64_t granted = 0;
    std::uint64_t returned = 0;
  };
  std::optional<Totals> totals(BackendId backend) const;

  // Nothing from a backend that is not known.
  std::optional<LeaseGrant> on_request(BackendId backend, const LeaseRequest& request);
  void on_return(BackendId backend, const LeaseReturn& given_up);
  void on_report(BackendId backend, const ReceivedReport& report, Time now);
  // Grants to backends that asked for more than there was, now that there is more.
  struct Addressed {
    BackendId backend;
    LeaseGrant grant;
  };
  std::vector<Addressed> poll_grants();

  // Held by all backends, and by those that were not settled.
  std::uint64_t leased() const;

 private:
  struct Lessee {
    BackendId backend;
    PathId path;
    bool gone = false;           // nothing more is given to it or believed of it
    std::uint64_t granted = 0;   // in all
    std::uint64_t returned = 0;  // of that, never more
    std::uint64_t wanted = 0;    // in all
    LeaseGrant ids;              // the newest leases of ids
    ReceivedReport report;       // the newest
    bool waits() const { return !gone && wanted > granted; }
  };
  Lessee* find(BackendId backend);
  // Who waits for credit: backends, and the primary's own streams.
  std::uint64_t claimants() const;
  // Its share of what there is, as one of so many.
  bool give(Lessee& lessee, std::uint64_t claimants);
  static LeaseGrant grant_of(const Lessee& lessee);

  SharedLimits& limits_;
  std::vector<Lessee> lessees_;
};

// The backend's side: asks for more before it runs dry, and tells what it read.
class LeaseHolder {
 public:
  // Asks when less than half of a step is left, for a step. The first is this; then three times
  // what it used in `k_idle`, so that it asks a few times a second. Ids are asked for where the
  // hand-over gave some.
  static constexpr std::uint64_t k_first_credit = 256 << 10;
  // A message that may be lost is repeated so often until there is a response.
  static constexpr Duration k_repeat = std::chrono::milliseconds(100);

  // What a backend needs while it has nothing to send, or may not send it as its streams have no
  // credit of their own: the beginning of its next answer does not wait. After `k_idle` it gives up
  // the rest: others may wait for it, and the client for them, before it reads on.
  static constexpr std::uint64_t k_idle_credit = 32 << 10;
  static constexpr Duration k_idle = std::chrono::milliseconds(200);

  LeaseHolder(LeasedLimits& limits, const StreamLease& lease);

  std::optional<LeaseRequest> poll_request(Time now);
  void on_grant(const LeaseGrant& grant);
  // All that is not used; for a backend that drains. Sending stops.
  LeaseReturn give_up();
  // What an idle backend does not need, and the newest again after `k_repeat`. Memory, too, which
  // it frees by the way.
  std::optional<LeaseReturn> poll_return(Time now);
  // When there is enough to tell, and the newest again after `k_repeat`.
  std::optional<ReceivedReport> poll_report(Time now);
  // When one of the three may have something again without anything happening.
  Time next_timeout() const;

  std::uint64_t granted() const { return granted_; }
  std::uint64_t returned() const { return returned_; }

 private:
  ReceivedReport present_report() const;
  void adapt_step(std::uint64_t left, Time now);
  void trim_memory(Time now);

  LeasedLimits& limits_;
  std::uint64_t granted_;
  std::uint64_t returned_ = 0;
  std::uint64_t wanted_;
  std::uint64_t step_ = k_first_credit;
  std::uint64_t step_used_ = 0;  // of the lease, when the step was set
  Time step_at_{};
  std::array<std::uint64_t, 2> id_leases_{};
  std::array<bool, 2> leases_ids_{};
  bool drains_ = false;
  std::uint64_t idle_left_ = 0;  // credit that was left when it became idle
  Time idle_at_ = k_never;
  Time repeat_return_at_ = k_never;
  std::uint64_t trimmed_after_ = 0;  // so many streams
  Time trim_at_ = k_never;
  bool asked_ = false;  // and not answered in full
  Time repeat_request_at_ = k_never;
  ReceivedReport told_;
  Time repeat_report_at_ = k_never;
};

}  // namespace sheaf::quic
