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
};

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

// The rest.
float tle2cuda_rounded_float(unsigned operation, unsigned rounding, float a, float b, float c);
double tle2cuda_rounded_double(unsigned operation, unsigned rounding, double a, double b, double c);
float tle2cuda_rounded_narrow(double value, unsigned rounding);
int tle2cuda_printf(const char* format, ...) __attribute__((format(printf, 1, 2)));
[[noreturn]] void tle2cuda_trap(const char* what, int line);
uint64_t tle2cuda_clock() __attribute__((noinline));

}  // extern "C"

}  // namespace tle2cuda_emulator
