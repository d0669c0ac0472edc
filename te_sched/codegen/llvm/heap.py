"""Memory for temporaries that are too large for the stack: the allocator of a module, as LLVM text.

Blocks come from malloc. The large ones, whose pages the system would map and clear at each call,
are kept in a pool of the module when they are released: a table of blocks, which threads take and
put by atomic exchanges. It keeps no more than a limit of bytes, and te_sched_trim, which loaders
call before they unload the module, frees all. Must not know the IR.

Below a block's pointer are its capacity and the address that malloc gave. A block is taken again
for what fills at least half of it.
"""

from __future__ import annotations

from te_sched.codegen.llvm.module import ModuleText

ALIGNMENT = 64  # of allocations, in bytes
TRIM = "te_sched_trim"
POOLED_FROM = 64 << 10  # bytes; malloc keeps smaller blocks itself
MOST_KEPT = 256 << 20  # bytes, of all blocks in the pool
_SLOTS = 64
_LARGEST = 1 << 62


def define_heap(module: ModuleText) -> None:
    """Define te_sched_workspace(size), which gives null without memory, and te_sched_release."""
    module.declare("malloc", "ptr", ("i64",), "nounwind")
    module.declare("free", "void", ("ptr",), "nounwind")
    module.define("te_sched_pool", _POOL)
    module.define("te_sched_workspace", _WORKSPACE)
    module.define("te_sched_release", _RELEASE)
    module.define("te_sched_free", _FREE)
    module.define(TRIM, _TRIM)


def define_trim(module: ModuleText) -> None:
    """Define te_sched_trim(), which every module has, for one without a heap."""
    module.define(TRIM, f"define void @{TRIM}() nounwind {{\n  ret void\n}}")


_POOL = f"""@te_sched_pool = internal global [{_SLOTS} x ptr] zeroinitializer, align 64
@te_sched_kept = internal global i64 0, align 8"""
_WORKSPACE = f"""define internal noalias ptr @te_sched_workspace(i64 %size) nounwind noinline {{
entry:
  %large = icmp ugt i64 %size, {_LARGEST}
  br i1 %large, label %none, label %possible
possible:
  %pooled = icmp uge i64 %size, {POOLED_FROM}
  br i1 %pooled, label %look, label %new
look:
  %number = phi i64 [ 0, %possible ], [ %next, %further ]
  %slot = getelementptr [{_SLOTS} x ptr], ptr @te_sched_pool, i64 0, i64 %number
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
  %rest = atomicrmw sub ptr @te_sched_kept, i64 %capacity monotonic
  ret ptr %taken
back:
  %pair = cmpxchg ptr %slot, ptr null, ptr %taken acq_rel monotonic
  %kept = extractvalue {{ptr, i1}} %pair, 1
  br i1 %kept, label %further, label %drop
drop:
  %less = atomicrmw sub ptr @te_sched_kept, i64 %capacity monotonic
  call void @te_sched_free(ptr %taken)
  br label %further
further:
  %next = add i64 %number, 1
  %more = icmp ult i64 %next, {_SLOTS}
  br i1 %more, label %look, label %new
new:
  %wanted = add i64 %size, {ALIGNMENT + 16}
  %block = call ptr @malloc(i64 %wanted)
  %failed = icmp eq ptr %block, null
  br i1 %failed, label %none, label %align
align:
  %address = ptrtoint ptr %block to i64
  %above = add i64 %address, {ALIGNMENT + 15}
  %aligned = and i64 %above, -{ALIGNMENT}
  %offset = sub i64 %aligned, %address
  %pointer = getelementptr i8, ptr %block, i64 %offset
  %below = getelementptr i8, ptr %pointer, i64 -8
  store ptr %block, ptr %below, align 8
  %lower = getelementptr i8, ptr %pointer, i64 -16
  store i64 %size, ptr %lower, align 8
  ret ptr %pointer
none:
  ret ptr null
}}"""
_RELEASE = f"""define internal void @te_sched_release(ptr %pointer) nounwind noinline {{
entry:
  %below = getelementptr i8, ptr %pointer, i64 -16
  %capacity = load i64, ptr %below, align 8
  %small = icmp ult i64 %capacity, {POOLED_FROM}
  %large = icmp ugt i64 %capacity, {MOST_KEPT}
  %alone = or i1 %small, %large
  br i1 %alone, label %free, label %count
count:
  %before = atomicrmw add ptr @te_sched_kept, i64 %capacity monotonic
  %total = add i64 %before, %capacity
  %full = icmp ugt i64 %total, {MOST_KEPT}
  br i1 %full, label %trim, label %put
trim:
  call void @{TRIM}()
  br label %put
put:
  %number = phi i64 [ 0, %count ], [ 0, %trim ], [ %next, %further ]
  %slot = getelementptr [{_SLOTS} x ptr], ptr @te_sched_pool, i64 0, i64 %number
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
  %less = atomicrmw sub ptr @te_sched_kept, i64 %capacity monotonic
  br label %free
free:
  call void @te_sched_free(ptr %pointer)
  ret void
done:
  ret void
}}"""
_FREE = """define internal void @te_sched_free(ptr %pointer) nounwind noinline {
  %below = getelementptr i8, ptr %pointer, i64 -8
  %block = load ptr, ptr %below, align 8
  call void @free(ptr %block)
  ret void
}"""
_TRIM = f"""define void @{TRIM}() nounwind noinline {{
entry:
  br label %look
look:
  %number = phi i64 [ 0, %entry ], [ %next, %further ]
  %slot = getelementptr [{_SLOTS} x ptr], ptr @te_sched_pool, i64 0, i64 %number
  %taken = atomicrmw xchg ptr %slot, ptr null acq_rel
  %empty = icmp eq ptr %taken, null
  br i1 %empty, label %further, label %drop
drop:
  %below = getelementptr i8, ptr %taken, i64 -16
  %capacity = load i64, ptr %below, align 8
  %rest = atomicrmw sub ptr @te_sched_kept, i64 %capacity monotonic
  call void @te_sched_free(ptr %taken)
  br label %further
further:
  %next = add i64 %number, 1
  %more = icmp ult i64 %next, {_SLOTS}
  br i1 %more, label %look, label %done
done:
  ret void
}}"""
