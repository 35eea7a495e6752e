#include "io/steering_program.h"

#include <linux/filter.h>
#include <sys/socket.h>

#include <array>

namespace sheaf::io {

namespace {

// RFC 9000 §17.2 and §17.3: where the destination's id starts, and its length in long headers
constexpr std::uint32_t k_short_id = 1;
constexpr std::uint32_t k_long_id_length = 5;
constexpr std::uint32_t k_long_id = 6;
// An index without a socket: the kernel then chooses by addresses.
constexpr std::uint32_t k_no_socket = UINT32_MAX;

using Program = std::array<sock_filter, 23>;

// `quic::Steering::worker_of` for the kernel. Loads from behind the end of a datagram would return
// worker 0, so that its length is checked first.
Program program_of(const quic::Steering& steering) {
  const auto length = static_cast<std::uint32_t>(steering.id_length());
  const auto hiding = static_cast<std::uint32_t>(steering.id_length() - quic::Steering::k_length);
  const auto [mask, multiplier] = steering.key();
  return {{
      /* 0 */ BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
      /* 1 */ BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, k_long_id + length, 0, 20),
      /* 2 */ BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0),
      /* 3 */ BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x80, 3, 0),
      /* 4 */ BPF_STMT(BPF_LD | BPF_W | BPF_ABS, k_short_id + hiding),
      /* 5 */ BPF_STMT(BPF_LDX | BPF_W | BPF_IMM, k_short_id + length - 1),
      /* 6 */ BPF_STMT(BPF_JMP | BPF_JA, 4),
      /* 7 */ BPF_STMT(BPF_LD | BPF_B | BPF_ABS, k_long_id_length),
      /* 8 */ BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, length, 0, 13),
      /* 9 */ BPF_STMT(BPF_LD | BPF_W | BPF_ABS, k_long_id + hiding),
      /* 10 */ BPF_STMT(BPF_LDX | BPF_W | BPF_IMM, k_long_id + length - 1),
      /* 11 */ BPF_STMT(BPF_ALU | BPF_XOR | BPF_K, mask),
      /* 12 */ BPF_STMT(BPF_ALU | BPF_MUL | BPF_K, multiplier),
      /* 13 */ BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 24),
      /* 14 */ BPF_STMT(BPF_ST, 0),
      /* 15 */ BPF_STMT(BPF_LD | BPF_B | BPF_IND, 0),
      /* 16 */ BPF_STMT(BPF_MISC | BPF_TAX, 0),
      /* 17 */ BPF_STMT(BPF_LD | BPF_MEM, 0),
      /* 18 */ BPF_STMT(BPF_ALU | BPF_XOR | BPF_X, 0),
      /* 19 */ BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xff),
      /* 20 */ BPF_STMT(BPF_ALU | BPF_MOD | BPF_K, steering.workers()),
      /* 21 */ BPF_STMT(BPF_RET | BPF_A, 0),
      /* 22 */ BPF_STMT(BPF_RET | BPF_K, k_no_socket),
  }};
}

}  // namespace

bool attach_steering(int descriptor, const quic::Steering& steering) {
  Program program = program_of(steering);
  const sock_fprog attached{static_cast<unsigned short>(program.size()), program.data()};
  return setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &attached, sizeof attached) ==
         0;
}

}  // namespace sheaf::io
