// CUDA's words for a C++ compiler of the processor: what test_meaning.py compiles kernels with.
// One thread runs at a time, so there are no barriers here.
#include <cmath>
#include <cstring>
#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(threads)
#define __align__(bytes) __attribute__((aligned(bytes)))

static struct { unsigned x, y, z; } threadIdx;
using std::abs;
using std::floor;
using std::isnan;

#define VECTORS(NAME, TYPE)                                                             \
  struct __align__(2 * sizeof(TYPE)) NAME##2 { TYPE x, y; };                            \
  struct __align__(4 * sizeof(TYPE)) NAME##4 { TYPE x, y, z, w; };                      \
  static inline NAME##2 make_##NAME##2(TYPE x, TYPE y) { return {x, y}; }               \
  static inline NAME##4 make_##NAME##4(TYPE x, TYPE y, TYPE z, TYPE w) { return {x, y, z, w}; }
VECTORS(char, signed char)
VECTORS(uchar, unsigned char)
VECTORS(short, short)
VECTORS(ushort, unsigned short)
VECTORS(int, int)
VECTORS(uint, unsigned int)
VECTORS(float, float)
VECTORS(double, double)
VECTORS(longlong, long long)
VECTORS(ulonglong, unsigned long long)

template <typename T>
static inline T min(T a, T b) { return a < b ? a : b; }
template <typename T>
static inline T max(T a, T b) { return a > b ? a : b; }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __clz(unsigned x) { return x ? __builtin_clz(x) : 32; }
static inline int __clzll(unsigned long long x) { return x ? __builtin_clzll(x) : 64; }
static inline float rsqrtf(float x) { return 1 / sqrtf(x); }
static inline double rsqrt(double x) { return 1 / sqrt(x); }
