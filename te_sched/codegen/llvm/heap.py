"""Memory for temporaries that are too large for the stack: an allocator, as LLVM text.

Blocks come from malloc. The large ones, whose pages the system would map and clear at each call,
are kept in a pool of the module when they are released: a table of blocks, which threads take and
put by atomic exchanges. It keeps no more than a limit of bytes. Loaders make the pools, compile the
allocator once for all modules, and free what is in the pool of a module before they unload it. Must
not know the IR.

Below a block's pointer are its pool, its capacity and the address that malloc gave. A block is
taken again for what fills at least half of it.
"""

from __future__ import annotations

ALIGNMENT = 64  # of allocations, in bytes
POOLED_FROM = 64 << 10  # bytes; malloc keeps smaller blocks itself
MOST_KEPT = 256 << 20  # bytes, of all blocks in the pool
_SLOTS = 64
POOL_WORDS = _SLOTS + 1  # the blocks of a pool, and how many bytes they have; zeros at first
_LARGEST = 1 << 62
_HEADER = 24  # bytes below a block
FUNCTIONS = ("workspace", "release", "trim")
TEXT = f"""
declare ptr @malloc(i64) nounwind
declare void @free(ptr) nounwind

define noalias ptr @workspace(i64 %size, ptr %pool) nounwind {{
entry:
  %kept.bytes = getelementptr [{_SLOTS} x ptr], ptr %pool, i64 1
  %large = icmp ugt i64 %size, {_LARGEST}
  br i1 %large, label %none, label %possible
possible:
  %pooled = icmp uge i64 %size, {POOLED_FROM}
  br i1 %pooled, label %look, label %new
look:
  %number = phi i64 [ 0, %possible ], [ %next, %further ]
  %slot = getelementptr [{_SLOTS} x ptr], ptr %pool, i64 0, i64 %number
  %seen = load atomic ptr, ptr %slot monotonic, align 8
  %empty = icmp eq ptr %seen, null
  br i1 %empty, label %further, label %take
take:
  %taken = atomicrmw xchg ptr %slot, ptr null acq_rel
  %gone = icmp eq ptr %taken, null
  br i1 %gone, label %further, label %measure
measure:
  %below.taken = getelementptr i8, ptr %taken, i64 -16
  %capacity = load i64, ptr %below.taken, align 8
  %enough = icmp uge i64 %capacity, %size
  %half = lshr i64 %capacity, 1
  %filled = icmp uge i64 %size, %half
  %fits = and i1 %enough, %filled
  br i1 %fits, label %again, label %back
again:
  %rest = atomicrmw sub ptr %kept.bytes, i64 %capacity monotonic
  ret ptr %taken
back:
  %pair = cmpxchg ptr %slot, ptr null, ptr %taken acq_rel monotonic
  %kept = extractvalue {{ptr, i1}} %pair, 1
  br i1 %kept, label %further, label %drop
drop:
  %less = atomicrmw sub ptr %kept.bytes, i64 %capacity monotonic
  call void @free_block(ptr %taken)
  br label %further
further:
  %next = add i64 %number, 1
  %more = icmp ult i64 %next, {_SLOTS}
  br i1 %more, label %look, label %new
new:
  %wanted = add i64 %size, {ALIGNMENT + _HEADER}
  %block = call ptr @malloc(i64 %wanted)
  %failed = icmp eq ptr %block, null
  br i1 %failed, label %none, label %align
align:
  %address = ptrtoint ptr %block to i64
  %above = add i64 %address, {ALIGNMENT + _HEADER - 1}
  %aligned = and i64 %above, -{ALIGNMENT}
  %offset = sub i64 %aligned, %address
  %pointer = getelementptr i8, ptr %block, i64 %offset
  %below = getelementptr i8, ptr %pointer, i64 -8
  store ptr %block, ptr %below, align 8
  %lower = getelementptr i8, ptr %pointer, i64 -16
  store i64 %size, ptr %lower, align 8
  %lowest = getelementptr i8, ptr %pointer, i64 -24
  store ptr %pool, ptr %lowest, align 8
  ret ptr %pointer
none:
  ret ptr null
}}

define void @release(ptr %pointer) nounwind {{
entry:
  %pool.below = getelementptr i8, ptr %pointer, i64 -24
  %pool = load ptr, ptr %pool.below, align 8
  %kept.bytes = getelementptr [{_SLOTS} x ptr], ptr %pool, i64 1
  %below = getelementptr i8, ptr %pointer, i64 -16
  %capacity = load i64, ptr %below, align 8
  %small = icmp ult i64 %capacity, {POOLED_FROM}
  %large = icmp ugt i64 %capacity, {MOST_KEPT}
  %alone = or i1 %small, %large
  br i1 %alone, label %free, label %count
count:
  %before = atomicrmw add ptr %kept.bytes, i64 %capacity monotonic
  %total = add i64 %before, %capacity
  %full = icmp ugt i64 %total, {MOST_KEPT}
  br i1 %full, label %trim, label %put
trim:
  call void @trim(ptr %pool)
  br label %put
put:
  %number = phi i64 [ 0, %count ], [ 0, %trim ], [ %next, %further ]
  %slot = getelementptr [{_SLOTS} x ptr], ptr %pool, i64 0, i64 %number
  %seen = load atomic ptr, ptr %slot monotonic, align 8
  %empty = icmp eq ptr %seen, null
  br i1 %empty, label %try, label %further
try:
  %pair = cmpxchg ptr %slot, ptr null, ptr %pointer acq_rel monotonic
  %kept = extractvalue {{ptr, i1}} %pair, 1
  br i1 %kept, label %done, label %further
further:
  %next = add i64 %number, 1
  %more = icmp ult i64 %next, {_SLOTS}
  br i1 %more, label %put, label %nowhere
nowhere:
  %less = atomicrmw sub ptr %kept.bytes, i64 %capacity monotonic
  br label %free
free:
  call void @free_block(ptr %pointer)
  ret void
done:
  ret void
}}

define internal void @free_block(ptr %pointer) nounwind noinline {{
  %below = getelementptr i8, ptr %pointer, i64 -8
  %block = load ptr, ptr %below, align 8
  call void @free(ptr %block)
  ret void
}}

define void @trim(ptr %pool) nounwind noinline {{
entry:
  %kept.bytes = getelementptr [{_SLOTS} x ptr], ptr %pool, i64 1
  br label %look
look:
  %number = phi i64 [ 0, %entry ], [ %next, %further ]
  %slot = getelementptr [{_SLOTS} x ptr], ptr %pool, i64 0, i64 %number
  %taken = atomicrmw xchg ptr %slot, ptr null acq_rel
  %empty = icmp eq ptr %taken, null
  br i1 %empty, label %further, label %drop
drop:
  %below = getelementptr i8, ptr %taken, i64 -16
  %capacity = load i64, ptr %below, align 8
  %rest = atomicrmw sub ptr %kept.bytes, i64 %capacity monotonic
  call void @free_block(ptr %taken)
  br label %further
further:
  %next = add i64 %number, 1
  %more = icmp ult i64 %next, {_SLOTS}
  br i1 %more, label %look, label %done
done:
  ret void
}}
"""
