#include "channel_authentication/helper_thread.h"

namespace sheaf::quic {

HelperThread::HelperThread() : thread_([this] { work(); }) {}

HelperThread::~HelperThread() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  queued_.notify_one();
  thread_.join();
}

void HelperThread::submit(Job& job) {
  {
    std::unique_lock lock(mutex_);
    finished_.wait(lock, [this] { return size_ < k_capacity; });
    queue_[(head_ + size_) % k_capacity] = &job;
    ++size_;
  }
  queued_.notify_one();
}

void HelperThread::wait(const Job& job) {
  std::unique_lock lock(mutex_);
  finished_.wait(lock, [&job] { return job.done(); });
}

// A job leaves the queue after it has run, so that `wait` finds it done once it is woken.
void HelperThread::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    queued_.wait(lock, [this] { return size_ > 0 || stopping_; });
    if (size_ == 0) return;
    Job* job = queue_[head_];
    lock.unlock();
    job->run();
    lock.lock();
    head_ = (head_ + 1) % k_capacity;
    --size_;
    finished_.notify_all();
  }
}

}  // namespace sheaf::quic
