#pragma once

namespace sheaf::quic {

struct Stream;

struct StreamLink {
  Stream* previous = nullptr;
  Stream* next = nullptr;
  bool linked = false;
};

// Queues streams by links inside the streams themselves. Joining and leaving take constant time and
// allocate nothing, and a stream that is destroyed leaves no trace.
template <typename Element, StreamLink Element::*link>
class StreamList {
 public:
  bool empty() const { return first_ == nullptr; }
  Element* front() const { return first_; }

  // Does nothing when the stream is already in the list.
  void push_back(Element& stream) {
    StreamLink& own = stream.*link;
    if (own.linked) return;
    own = {last_, nullptr, true};
    (last_ ? (last_->*link).next : first_) = &stream;
    last_ = &stream;
  }
  // Does nothing when the stream is not in the list.
  void remove(Element& stream) {
    StreamLink& own = stream.*link;
    if (!own.linked) return;
    (own.previous ? (own.previous->*link).next : first_) = own.next;
    (own.next ? (own.next->*link).previous : last_) = own.previous;
    own = {};
  }

 private:
  Element* first_ = nullptr;
  Element* last_ = nullptr;
};

}  // namespace sheaf::quic
