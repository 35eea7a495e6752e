#include "fec/gfni_kernels.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <cstring>

#include "fec/field.h"

namespace sheaf::quic::fec {
namespace {

// A product by a constant is linear over bits: an 8×8 matrix of them. The instruction for products
// (GF2P8MULB) has another polynomial, so the one for matrices is used. It takes the row of the
// highest bit of the result from the lowest byte.
constexpr std::uint64_t matrix_of(std::uint8_t coefficient) {
  std::uint64_t matrix = 0;
  for (unsigned column = 0; column < 8; ++column) {
    const unsigned product = multiply(coefficient, static_cast<std::uint8_t>(1u << column));
    for (unsigned bit = 0; bit < 8; ++bit) {
      if ((product >> bit & 1) != 0) matrix |= std::uint64_t{1} << (8 * (7 - bit) + column);
    }
  }
  return matrix;
}

constexpr std::array<std::uint64_t, 256> make_matrices() {
  std::array<std::uint64_t, 256> matrices{};
  for (unsigned i = 0; i < 256; ++i) matrices[i] = matrix_of(static_cast<std::uint8_t>(i));
  return matrices;
}

constexpr std::array<std::uint64_t, 256> k_matrices = make_matrices();

long long matrix_for(std::uint8_t coefficient) {
  return static_cast<long long>(k_matrices[coefficient]);
}

template <std::size_t rows>
[[gnu::target("gfni,avx512f,avx512bw")]] void add_rows_512(std::uint8_t* const* destinations,
                                                           const std::uint8_t* coefficients,
                                                           const std::uint8_t* source,
                                                           std::size_t length) {
  std::uint8_t* to[rows];
  __m512i matrices[rows];
  for (std::size_t i = 0; i < rows; ++i) {
    to[i] = destinations[i];
    matrices[i] = _mm512_set1_epi64(matrix_for(coefficients[i]));
  }
  std::size_t at = 0;
  for (; at + 64 <= length; at += 64) {
    const __m512i bytes = _mm512_loadu_si512(source + at);
    for (std::size_t i = 0; i < rows; ++i) {
      const __m512i product = _mm512_gf2p8affine_epi64_epi8(bytes, matrices[i], 0);
      _mm512_storeu_si512(to[i] + at, _mm512_xor_si512(_mm512_loadu_si512(to[i] + at), product));
    }
  }
  if (at == length) return;
  const __mmask64 mask = ~std::uint64_t{0} >> (64 - (length - at));
  const __m512i bytes = _mm512_maskz_loadu_epi8(mask, source + at);
  for (std::size_t i = 0; i < rows; ++i) {
    const __m512i product = _mm512_gf2p8affine_epi64_epi8(bytes, matrices[i], 0);
    const __m512i before = _mm512_maskz_loadu_epi8(mask, to[i] + at);
    _mm512_mask_storeu_epi8(to[i] + at, mask, _mm512_xor_si512(before, product));
  }
}

[[gnu::target("gfni,avx2")]] inline void add_vector_256(std::uint8_t* to, const std::uint8_t* from,
                                                        __m256i matrix) {
  const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  const __m256i product = _mm256_gf2p8affine_epi64_epi8(bytes, matrix, 0);
  auto* target = reinterpret_cast<__m256i*>(to);
  _mm256_storeu_si256(target, _mm256_xor_si256(_mm256_loadu_si256(target), product));
}

template <std::size_t rows>
[[gnu::target("gfni,avx2")]] void add_rows_256(std::uint8_t* const* destinations,
                                               const std::uint8_t* coefficients,
                                               const std::uint8_t* source, std::size_t length) {
  std::uint8_t* to[rows];
  __m256i matrices[rows];
  for (std::size_t i = 0; i < rows; ++i) {
    to[i] = destinations[i];
    matrices[i] = _mm256_set1_epi64x(matrix_for(coefficients[i]));
  }
  const std::size_t whole = length / 32 * 32;
  for (std::size_t at = 0; at < whole; at += 32) {
    for (std::size_t i = 0; i < rows; ++i) {
      add_vector_256(to[i] + at, source + at, matrices[i]);
    }
  }
  if (whole == length) return;
  std::uint8_t tail[32] = {};
  std::memcpy(tail, source + whole, length - whole);
  for (std::size_t i = 0; i < rows; ++i) {
    std::uint8_t sum[32] = {};
    std::memcpy(sum, to[i] + whole, length - whole);
    add_vector_256(sum, tail, matrices[i]);
    std::memcpy(to[i] + whole, sum, length - whole);
  }
}

[[gnu::target("gfni,sse2")]] inline void add_vector_128(std::uint8_t* to, const std::uint8_t* from,
                                                        __m128i matrix) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  const __m128i product = _mm_gf2p8affine_epi64_epi8(bytes, matrix, 0);
  auto* target = reinterpret_cast<__m128i*>(to);
  _mm_storeu_si128(target, _mm_xor_si128(_mm_loadu_si128(target), product));
}

template <std::size_t rows>
[[gnu::target("gfni,sse2")]] void add_rows_128(std::uint8_t* const* destinations,
                                               const std::uint8_t* coefficients,
                                               const std::uint8_t* source, std::size_t length) {
  std::uint8_t* to[rows];
  __m128i matrices[rows];
  for (std::size_t i = 0; i < rows; ++i) {
    to[i] = destinations[i];
    matrices[i] = _mm_set1_epi64x(matrix_for(coefficients[i]));
  }
  const std::size_t whole = length / 16 * 16;
  for (std::size_t at = 0; at < whole; at += 16) {
    for (std::size_t i = 0; i < rows; ++i) {
      add_vector_128(to[i] + at, source + at, matrices[i]);
    }
  }
  if (whole == length) return;
  std::uint8_t tail[16] = {};
  std::memcpy(tail, source + whole, length - whole);
  for (std::size_t i = 0; i < rows; ++i) {
    std::uint8_t sum[16] = {};
    std::memcpy(sum, to[i] + whole, length - whole);
    add_vector_128(sum, tail, matrices[i]);
    std::memcpy(to[i] + whole, sum, length - whole);
  }
}

// Loops for 1, 2, 3 and 4 rows
using AddRows = void (*)(std::uint8_t* const*, const std::uint8_t*, const std::uint8_t*,
                         std::size_t);
constexpr AddRows k_loops_512[] = {add_rows_512<1>, add_rows_512<2>, add_rows_512<3>,
                                   add_rows_512<4>};
constexpr AddRows k_loops_256[] = {add_rows_256<1>, add_rows_256<2>, add_rows_256<3>,
                                   add_rows_256<4>};
constexpr AddRows k_loops_128[] = {add_rows_128<1>, add_rows_128<2>, add_rows_128<3>,
                                   add_rows_128<4>};

template <const AddRows* loops>
void add_any_rows(std::uint8_t* const* destinations, const std::uint8_t* coefficients,
                  std::size_t rows, const std::uint8_t* source, std::size_t length) {
  loops[rows - 1](destinations, coefficients, source, length);
}

constexpr Kernel k_gfni_128 = {.name = "gfni128", .multiply_add_rows = add_any_rows<k_loops_128>};
constexpr Kernel k_gfni_256 = {.name = "gfni256", .multiply_add_rows = add_any_rows<k_loops_256>};
constexpr Kernel k_gfni_512 = {.name = "gfni512", .multiply_add_rows = add_any_rows<k_loops_512>};

}  // namespace

const Kernel* gfni_kernel_128() { return __builtin_cpu_supports("gfni") ? &k_gfni_128 : nullptr; }

const Kernel* gfni_kernel_256() {
  return __builtin_cpu_supports("gfni") && __builtin_cpu_supports("avx2") ? &k_gfni_256 : nullptr;
}

const Kernel* gfni_kernel_512() {
  const bool available = __builtin_cpu_supports("gfni") && __builtin_cpu_supports("avx512f") &&
                         __builtin_cpu_supports("avx512bw");
  return available ? &k_gfni_512 : nullptr;
}

}  // namespace sheaf::quic::fec

#else

namespace sheaf::quic::fec {

const Kernel* gfni_kernel_128() { return nullptr; }
const Kernel* gfni_kernel_256() { return nullptr; }
const Kernel* gfni_kernel_512() { return nullptr; }

}  // namespace sheaf::quic::fec

#endif
