// What emulated kernels call in the runner: plain C functions, so that a kernel's library and the runner only share this
// header. Every collective takes the line of its call, which must be the same in all threads that meet.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace tle2cuda_emulator {

struct Index {
    unsigned x, y, z;
};

// Extents of an array and the size of its elements, for naming them.
struct Shape {
    unsigned element_bytes;
    unsigned rank;
    unsigned extents[4];
};

// One `__shared__` variable: the runner gives it the same offset in the shared memory of every CTA.
struct SharedSlot {
    unsigned bytes;
    unsigned alignment;
    unsigned offset_plus_one;  // 0 until its first use
    const char* name;
    Shape shape;
};

// A member of the struct that the shared memory of an emitted file consists of. A list of them ends with one without a name.
struct SharedMember {
    const char* name;
    unsigned offset;
    unsigned bytes;
    Shape shape;
};

enum Collective : unsigned {
    SHUFFLE_INDEX,
    SHUFFLE_UP,
    SHUFFLE_DOWN,
    SHUFFLE_XOR,
    SYNC_WARP,
    VOTE_ALL,
    VOTE_ANY,
    VOTE_UNIFORM,
    VOTE_BALLOT,
    MATCH_ANY,
    MATCH_ALL,
    REDUCE_ADD,
    REDUCE_MIN_SIGNED,
    REDUCE_MAX_SIGNED,
    REDUCE_MIN_UNSIGNED,
    REDUCE_MAX_UNSIGNED,
    REDUCE_AND,
    REDUCE_OR,
    REDUCE_XOR,
    MATRIX_ROWS,
    MATRIX_PRODUCT,
};

// Operand types of `mma`: the rest of an instruction follows from them and from its sums.
enum MatrixType : unsigned { MATRIX_F16, MATRIX_BF16, MATRIX_TF32, MATRIX_S8, MATRIX_E4M3, MATRIX_E5M2, MATRIX_F64, MATRIX_E2M1 };
enum MatrixSums : unsigned { SUMS_F32, SUMS_F16, SUMS_S32, SUMS_F64 };

// Kinds of `tcgen05.mma`, and shapes of `tcgen05.ld`.
enum TensorKind : unsigned { TENSOR_F16, TENSOR_TF32, TENSOR_I8, TENSOR_F8F6F4, TENSOR_MXF8F6F4, TENSOR_MXF4, TENSOR_MXF4NVF4 };
enum TensorShape : unsigned { TENSOR_32X32B, TENSOR_16X256B };

// Scales of blocks: their type, and elements along K that share one.
enum MatrixScales : unsigned { SCALES_NONE, SCALES_E8M0_32, SCALES_E4M3_16 };

enum BarrierReduction : unsigned { BARRIER_PLAIN, BARRIER_COUNT, BARRIER_AND, BARRIER_OR };

enum AtomicKind : unsigned {
    ATOMIC_ADD,
    ATOMIC_SUB,
    ATOMIC_AND,
    ATOMIC_OR,
    ATOMIC_XOR,
    ATOMIC_MIN,
    ATOMIC_MAX,
    ATOMIC_EXCHANGE,
    ATOMIC_COMPARE,
    ATOMIC_INCREMENT,
    ATOMIC_DECREMENT,
};

enum ElementType : unsigned { TYPE_I32, TYPE_U32, TYPE_I64, TYPE_U64, TYPE_F32, TYPE_F64, TYPE_F16, TYPE_BF16, TYPE_U16 };

enum Scope : unsigned { SCOPE_CTA, SCOPE_CLUSTER, SCOPE_GPU, SCOPE_SYSTEM };

enum MemorySpace : unsigned { MEMORY_GLOBAL, MEMORY_SHARED, MEMORY_OTHER };

// Which accesses a fence between the generic and the asynchronous proxy is for, as bits.
enum ProxySpace : unsigned { PROXY_SHARED = 1, PROXY_GLOBAL = 2, PROXY_MBARRIER = 4 };

// What completes an asynchronous copy, and which instruction it is.
enum CopyKind : unsigned { COPY_ELEMENT, COPY_BULK, COPY_TENSOR, COPY_MATRIX };

constexpr unsigned MAX_TENSOR_RANK = 5;

// What the emulator's host encodes in place of the hardware's tensor map (emulator/tensor_maps.py): dimension 0 is the innermost.
struct EncodedTensorMap {
    uint32_t magic;
    uint8_t rank;
    uint8_t type;         // CUtensorMapDataType
    uint8_t swizzle;      // CUtensorMapSwizzle: 0 none, 1 to 3 for 32, 64 and 128 bytes
    uint8_t is_nan_fill;  // elements outside are NaN, not zero
    uint64_t address;
    uint32_t last[MAX_TENSOR_RANK];  // extents minus one
    uint32_t is_known;  // a map in global memory: a fence has made it known to the copy engine
    uint64_t strides_bytes[MAX_TENSOR_RANK - 1];
    uint16_t box[MAX_TENSOR_RANK];
    uint8_t steps[MAX_TENSOR_RANK];  // element strides
};
constexpr uint32_t TENSOR_MAP_MAGIC = 0x7e2cda01u;
static_assert(sizeof(EncodedTensorMap) <= 128, "a tensor map has 128 bytes");

enum Order : unsigned { ORDER_RELAXED, ORDER_ACQUIRE, ORDER_RELEASE, ORDER_ACQ_REL, ORDER_VOLATILE };

// Directions of rounding, in the order of C's FE_ constants' usual names.
enum Rounding : unsigned { ROUND_NEAREST, ROUND_ZERO, ROUND_UP, ROUND_DOWN };
enum RoundedOperation : unsigned { ROUNDED_ADD, ROUNDED_SUB, ROUNDED_MUL, ROUNDED_DIV, ROUNDED_FMA, ROUNDED_SQRT };

extern "C" {

// Place of the calling thread. These never change during its life, so a compiler may call them once.
Index tle2cuda_thread_index() __attribute__((const));
Index tle2cuda_block_index() __attribute__((const));
Index tle2cuda_block_extent() __attribute__((const));
Index tle2cuda_grid_extent() __attribute__((const));
Index tle2cuda_cluster_extent() __attribute__((const));
Index tle2cuda_cluster_block_index() __attribute__((const));
unsigned tle2cuda_cluster_rank() __attribute__((const));
unsigned tle2cuda_lane() __attribute__((const));

// Shared memory.
void* tle2cuda_shared(SharedSlot* slot);
void* tle2cuda_dynamic_shared();
void* tle2cuda_map_shared(const void* address, unsigned rank);
int tle2cuda_rank_of(const void* address);
unsigned tle2cuda_space_of(const void* address);  // MemorySpace

// Barriers. `count` is in threads; 0 means all threads of the CTA.
int tle2cuda_barrier(unsigned barrier, unsigned count, unsigned reduction, int predicate, int line);
void tle2cuda_barrier_arrive(unsigned barrier, unsigned count, int line);
void tle2cuda_cluster_arrive(int is_release, int line);
void tle2cuda_cluster_wait(int is_acquire, int line);
void tle2cuda_grid_sync(int line);

// Warp collectives: `value` is this lane's operand, `other` the lane, distance or mask of a shuffle.
uint64_t tle2cuda_warp(unsigned kind, unsigned mask, uint64_t value, int other, unsigned width, int line);
unsigned tle2cuda_active_mask(int line);

// Memory accesses that are more than a plain read or write.
uint64_t tle2cuda_atomic(
    unsigned kind, unsigned type, void* address, uint64_t operand, uint64_t compare, unsigned order, unsigned scope);
uint64_t tle2cuda_load(const void* address, unsigned bytes, unsigned order, unsigned scope);
void tle2cuda_store(void* address, unsigned bytes, uint64_t bits, unsigned order, unsigned scope);
void tle2cuda_fence(unsigned scope);
void tle2cuda_pause();

// mbarriers (runtime/mbarriers.cpp). A wait is for the phase of a parity, or for that of a token that an arrival gave.
void tle2cuda_mbarrier_init(void* barrier, unsigned arrivals, int line);
void tle2cuda_mbarrier_invalidate(void* barrier, int line);
uint64_t tle2cuda_mbarrier_arrive(
    void* barrier, unsigned arrivals, unsigned expected_bytes, unsigned is_drop, unsigned order, unsigned scope, int line);
void tle2cuda_mbarrier_expect(void* barrier, unsigned bytes, int line);
int tle2cuda_mbarrier_test(void* barrier, unsigned parity, unsigned may_suspend, unsigned scope, int line);
int tle2cuda_mbarrier_test_token(void* barrier, uint64_t token, unsigned may_suspend, unsigned scope, int line);
void tle2cuda_mbarrier_wait(void* barrier, unsigned parity, unsigned scope, int line);
unsigned tle2cuda_mbarrier_pending(const void* barrier, int line);

// Asynchronous copies (runtime/copies.cpp). Those of a thread's groups are completed by its waits, others at an mbarrier.
void tle2cuda_cp_async(void* to, const void* from, unsigned bytes, unsigned valid_bytes, int line);
void tle2cuda_cp_async_commit();
void tle2cuda_cp_async_wait(unsigned pending_groups);
void tle2cuda_cp_async_wait_all();
void tle2cuda_cp_async_arrive(void* barrier, unsigned is_counted, int line);
void tle2cuda_bulk_copy(void* to, const void* from, unsigned bytes, void* barrier, unsigned cta_mask, int line);
void tle2cuda_bulk_reduce(
    void* to, const void* from, unsigned bytes, unsigned operation, unsigned type, void* barrier, int line);
void tle2cuda_bulk_commit();
void tle2cuda_bulk_wait(unsigned pending_groups, unsigned is_read);
void tle2cuda_tensor_load(
    void* to, const void* map, const int* coordinates, unsigned rank, void* barrier, unsigned cta_mask, int line);
// `operation` is an AtomicKind; ATOMIC_EXCHANGE stores.
void tle2cuda_tensor_store(
    const void* map, const void* from, const int* coordinates, unsigned rank, unsigned operation, int line);
void tle2cuda_tensor_prefetch(const void* map, int line);
// `field`: 0 the address, 1 the extent of an axis, 2 a stride in bytes.
void tle2cuda_tensor_map_change(void* map, unsigned field, unsigned axis, uint64_t value, int line);
void tle2cuda_tensor_map_fence(const void* map, int line);
void tle2cuda_proxy_fence(unsigned spaces);
// Addresses in the window of shared memory: 24 bits of the CTA's own, above them the rank plus one of another CTA.
unsigned tle2cuda_shared_window(const void* address);
void* tle2cuda_from_shared_window(unsigned address);

// Matrix products of a warpgroup (runtime/matrices.cpp): operands in shared memory by descriptors, the first one also in
// registers; types as those of `tle2cuda_mma`. A descriptor here has 16 bits of address in units of 16 bytes.
void tle2cuda_wgmma(
    void* accumulators, unsigned columns, unsigned sums_type, unsigned a_type, unsigned b_type, uint64_t a,
    const unsigned* a_registers, uint64_t b, unsigned is_accumulating, unsigned is_a_transposed, unsigned is_b_transposed, int line);
void tle2cuda_wgmma_fence(int line);
void tle2cuda_wgmma_commit(int line);
void tle2cuda_wgmma_wait(unsigned pending_groups, int line);

// Tensor memory (runtime/tensor_memory.cpp). Descriptors are those of the hardware; an address holds a lane in its upper half and a
// column in the lower one.
unsigned tle2cuda_tcgen05_alloc(unsigned columns, int line);
void tle2cuda_tcgen05_dealloc(unsigned address, unsigned columns, int line);
void tle2cuda_tcgen05_multiply(
    unsigned sums, uint64_t a, uint64_t b, unsigned instruction, unsigned kind, unsigned is_accumulating, int line);
void tle2cuda_tcgen05_multiply_scaled(unsigned sums, uint64_t a, uint64_t b, unsigned instruction, unsigned kind, unsigned a_scales,
                                      unsigned b_scales, unsigned is_accumulating, int line);
void tle2cuda_tcgen05_copy(unsigned columns, uint64_t source, int line);
void tle2cuda_tcgen05_commit(void* barrier, int line);
void tle2cuda_tcgen05_fence(unsigned is_after);
void tle2cuda_tcgen05_load(void* registers, unsigned address, unsigned shape, unsigned count, int line);
void tle2cuda_tcgen05_wait_load(int line);

// Matrix products of a warp (runtime/warp_matrices.cpp). `tle2cuda_matrix_rows` hands each lane, for each of four 8 x 8 matrices,
// what lane 8 * matrix + lane / 4 passed (mode 0), or lanes 8 * matrix + lane % 4 * 2 and the next one (mode 1: eight values).
// `sums` are the lane's four (two of m8n8k4) accumulators, `a` and `b` its operand registers.
void tle2cuda_matrix_rows(uint64_t row, uint64_t* rows, unsigned by_columns, int line);
void tle2cuda_mma(unsigned rows, unsigned depth, unsigned sums_type, unsigned a_type, unsigned b_type, void* sums, const void* a,
                  const void* b, int line);
void tle2cuda_mma_scaled(unsigned depth, unsigned a_type, unsigned b_type, unsigned scales, void* sums, const void* a, const void* b,
                         unsigned a_scales, unsigned b_scales, int line);

// Warps and warpgroups.
unsigned tle2cuda_elect(unsigned mask, int line);
void tle2cuda_set_registers(unsigned registers, int line);

// The rest.
float tle2cuda_rounded_float(unsigned operation, unsigned rounding, float a, float b, float c);
double tle2cuda_rounded_double(unsigned operation, unsigned rounding, double a, double b, double c);
float tle2cuda_rounded_narrow(double value, unsigned rounding);
int tle2cuda_printf(const char* format, ...) __attribute__((format(printf, 1, 2)));
[[noreturn]] void tle2cuda_trap(const char* what, int line);
uint64_t tle2cuda_clock() __attribute__((noinline));

}  // extern "C"

}  // namespace tle2cuda_emulator
