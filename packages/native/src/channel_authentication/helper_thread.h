#pragma once

#include <array>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "channel_authentication/jobs.h"

namespace sheaf::quic {

// Runs jobs on one thread of its own, for any number of channels of one thread. The queue is short:
// `submit` waits while it is full, which holds a source back that seals faster than it can sign.
class HelperThread final : public JobRunner {
 public:
  HelperThread();
  // Runs what is queued, and joins the thread.
  ~HelperThread() override;
  HelperThread(const HelperThread&) = delete;
  HelperThread& operator=(const HelperThread&) = delete;

  void submit(Job& job) override;
  void wait(const Job& job) override;

 private:
  static constexpr std::size_t k_capacity = 256;

  void work();

  std::mutex mutex_;
  std::condition_variable queued_;
  std::condition_variable finished_;
  std::array<Job*, k_capacity> queue_{};
  std::size_t head_ = 0;
  std::size_t size_ = 0;
  bool stopping_ = false;
  std::thread thread_;  // last: it reads all of the above
};

}  // namespace sheaf::quic
