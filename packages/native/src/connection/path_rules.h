#pragma once

#include <cstdint>

#include "wire/frame.h"

namespace sheaf::quic {

// A set of kinds of frames. A kind is an alternative of `Frame`.
class FrameSet {
 public:
  template <typename... FrameStructs>
  static constexpr FrameSet of() {
    FrameSet set;
    ((set.kinds_ |= bit<FrameStructs>()), ...);
    return set;
  }
  static constexpr FrameSet all() {
    FrameSet set;
    set.kinds_ = ~std::uint64_t{0};
    return set;
  }
  template <typename FrameStruct>
  constexpr bool contains() const {
    return (kinds_ & bit<FrameStruct>()) != 0;
  }

 private:
  template <typename FrameStruct>
  static constexpr std::uint64_t bit() {
    constexpr std::size_t index = index_of<FrameStruct>(static_cast<Frame*>(nullptr));
    static_assert(index < 64);
    return std::uint64_t{1} << index;
  }
  template <typename FrameStruct, typename... Alternatives>
  static constexpr std::size_t index_of(std::variant<Alternatives...>*) {
    std::size_t index = 0;
    static_cast<void>(((std::is_same_v<FrameStruct, Alternatives> || (++index, false)) || ...));
    return index;
  }

  std::uint64_t kinds_ = 0;
};

// The rules of the connection's path policy for one path. Packets ask these values, so that an
// ordinary path costs no call. An ordinary path has the values below.
struct PathRules {
  // The path ends at another node than the connection's other paths do: at the peer's side or at
  // this one. Nothing moves between it and other paths: no data, acknowledgements or path frames.
  // Its close, its reset and violations on it cost this path alone.
  bool apart = false;
  // Another node of the peer sends on the path, and this side only receives: its acknowledgements
  // and frames about it travel on other paths.
  bool receives_only = false;
  // Not every frame may travel on it.
  bool limited() const { return apart || receives_only; }
  // Frames that the receiver checks against the two sets below; it handles all others at once.
  FrameSet judged;
  // Any other judged frame, and one that names another path, is PROTOCOL_VIOLATION.
  FrameSet admitted = FrameSet::all();
  // Frames that `PathPolicy::on_frame` handles.
  FrameSet for_policy;
};

}  // namespace sheaf::quic
