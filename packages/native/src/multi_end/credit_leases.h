#pragma once

#include <optional>
#include <vector>

#include "stream/leased_limits.h"
#include "stream/shared_limits.h"
#include "wire/backend_id.h"
#include "wire/frame.h"

namespace sheaf::quic {

// Messages between a backend and its primary (docs/internals/multi-end.md). All numbers are totals
// since the hand-over. So a message may be lost, repeated or late: the largest number counts.

struct LeaseRequest {  // backend → primary: wants this much credit in all, and ids after its leases
                       // so far
  std::uint64_t credit = 0;
  std::array<std::uint64_t, 2> id_leases{};  // by Directionality: leases that it got, and used up
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

// Leases parts of the client's grant to backends; for the primary. Leased credit counts as used
// here, so the primary's own use and the leases together never exceed the grant, whatever backends
// do.
class LeaseGrantor {
 public:
  // Maximum credit, in bytes, that is given at once, however much a backend requests.
  static constexpr std::uint64_t k_max_credit_at_once = 4 << 20;
  static constexpr std::uint64_t k_ids_at_once = 16;

  explicit LeaseGrantor(SharedLimits& limits) : limits_(limits) {}

  // Notes the lease of the hand-over.
  void add(BackendId backend, PathId path, const StreamLease& lease);
  // Removes a backend that is gone for good. Its credit stays out of use until the client has
  // abandoned the path, since only the client knows how much of it was counted.
  void remove(BackendId backend);
  bool knows(BackendId backend) const;
  // Settles the client's account of the traffic on the path (BackendLeftEvent), and removes the
  // backend.
  void settle(PathId path, const BackendUse& use, Time now);
  // Credit that a backend received in total, and how much of it came back.
  struct Totals {
    std::uint64_t granted = 0;
    std::uint64_t returned = 0;
  };
  std::optional<Totals> totals(BackendId backend) const;

  // Returns nothing for an unknown backend.
  std::optional<LeaseGrant> on_request(BackendId backend, const LeaseRequest& request);
  void on_return(BackendId backend, const LeaseReturn& given_up);
  void on_report(BackendId backend, const ReceivedReport& report, Time now);
  // Returns grants for backends that requested more than was available, once there is more.
  struct Addressed {
    BackendId backend;
    LeaseGrant grant;
  };
  std::vector<Addressed> poll_grants();

  // Returns the credit of all backends, including those that are not settled.
  std::uint64_t leased() const;

 private:
  struct Lessee {
    BackendId backend;
    PathId path;
    bool gone = false;           // gets nothing more, and is not believed any more
    std::uint64_t granted = 0;   // in total
    std::uint64_t returned = 0;  // part of `granted`, never more
    std::uint64_t wanted = 0;    // in total
    LeaseGrant ids;              // the newest leases of ids
    ReceivedReport report;       // the newest
    bool waits() const { return !gone && wanted > granted; }
  };
  Lessee* find(BackendId backend);
  // Returns the number of those that wait for credit: backends, and the primary's own streams.
  std::uint64_t claimants() const;
  // Gives it a share of the available credit, as one of `claimants`.
  bool give(Lessee& lessee, std::uint64_t claimants);
  static LeaseGrant grant_of(const Lessee& lessee);

  SharedLimits& limits_;
  std::vector<Lessee> lessees_;
};

// Requests credit before it runs out, and reports what was read; for a backend.
class LeaseHolder {
 public:
  // A step is requested when less than half of a step is left. This is the first step; later ones
  // are three times the use in `k_idle`, so that there are a few requests a second. Ids are
  // requested if the hand-over gave some.
  static constexpr std::uint64_t k_first_credit = 256 << 10;
  // Interval at which a message is repeated until it is answered, since it may be lost.
  static constexpr Duration k_repeat = std::chrono::milliseconds(100);

  // Credit that an idle backend keeps, so that its next response can begin without a wait. A
  // backend is idle while it has nothing to send, or its streams have no credit of their own. After
  // `k_idle` it returns the rest, which others may wait for, and the client before it reads on.
  static constexpr std::uint64_t k_idle_credit = 32 << 10;
  static constexpr Duration k_idle = std::chrono::milliseconds(200);

  LeaseHolder(LeasedLimits& limits, const StreamLease& lease);

  std::optional<LeaseRequest> poll_request(Time now);
  void on_grant(const LeaseGrant& grant);
  // Returns all unused credit of a backend that drains. Sending stops.
  LeaseReturn give_up();
  // Returns credit that an idle backend does not need, and the latest total again after `k_repeat`.
  // Also frees memory of an idle backend.
  std::optional<LeaseReturn> poll_return(Time now);
  // Returns a report when there is enough to tell, and the latest again after `k_repeat`.
  std::optional<ReceivedReport> poll_report(Time now);
  // Returns when one of the three may have something again without a further event.
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
  std::uint64_t idle_left_ = 0;  // credit at the time when it became idle
  Time idle_at_ = k_never;
  Time repeat_return_at_ = k_never;
  std::uint64_t trimmed_after_ = 0;  // number of closed streams then
  Time trim_at_ = k_never;
  bool asked_ = false;  // and not answered in full
  Time repeat_request_at_ = k_never;
  ReceivedReport told_;
  Time repeat_report_at_ = k_never;
};

}  // namespace sheaf::quic
