#pragma once

#include <atomic>

namespace sheaf::quic {

// Work that a helper thread can do: hashing and signing. Whoever submits it keeps it and all that
// it reads until it is done.
class Job {
 public:
  virtual ~Job() = default;
  void run() {
    work();
    done_.store(true, std::memory_order_release);
  }
  // What the job wrote may be read once this is true.
  bool done() const { return done_.load(std::memory_order_acquire); }
  // Makes the job ready to be submitted again.
  void reset() { done_.store(false, std::memory_order_relaxed); }

 private:
  virtual void work() = 0;
  std::atomic<bool> done_{false};
};

// Runs jobs one after another, in the order in which they are submitted.
class JobRunner {
 public:
  virtual ~JobRunner() = default;
  virtual void submit(Job& job) = 0;
  // Returns once the job is done, which was submitted before.
  virtual void wait(const Job& job) = 0;
};

// Runs each job at once, on the thread that submits it: for simulated runs, and where there is no
// processor to spare
class InlineRunner final : public JobRunner {
 public:
  void submit(Job& job) override { job.run(); }
  void wait(const Job&) override {}
};

}  // namespace sheaf::quic
