"""The team that runs parallel loops, as LLVM text: threads that wait for shares of a loop.

Each thread has a box, in which the caller of a loop puts the record of a share. The thread takes it
out, runs it, and counts it as done. A share that its thread does not begin at once, since
another process has the core, is taken back by the caller, so no loop waits for a thread that does
not run. Such a thread is told to leave the core of the caller: Linux may queue a thread that mostly
sleeps behind its caller, beside an idle core, and leave it there. A thread without work polls its
box for a short time, yielding in between, then sleeps. Several callers share the threads; a caller
that finds a box full runs the share itself.

    box     record (null: empty), 1 while asleep, 1 since a share was taken back, lock to sleep on,
            the system's number of the thread, 1 + the core that it was told to leave (0: none)
    record  job (null: never put into a box), number of the share
    job     function, data, number of shares, shares not done (and whether the caller sleeps), lock

The locks are Python's, which need no GIL and are alike on all systems. Data begins with the error
code of the loop. Must not know what is run.
"""

from __future__ import annotations

BOX_BYTES = 64
LOCK_OFFSET, NUMBER_OFFSET = 16, 24  # of a box
LOCKS = 64  # for callers that sleep; with more callers than that, the rest waits awake
_THREAD_LOOKS = 100_000  # ns that a thread without work stays awake
_CALLER_LOOKS = 100_000  # ns that a caller stays awake, waiting for shares that have begun
_PATIENCE = 10_000  # ns within which a thread has to begin
_POLL = 100_000  # us between two looks of a sleeping caller for a Ctrl-C
_SLEEPS = 1 << 30
_CORES = 1024  # that a thread may be told to leave; a set of them has a bit for each

TEXT = f"""
%box = type {{ ptr, i32, i32, ptr, i32, i32 }}
%record = type {{ ptr, i64 }}
%job = type {{ ptr, ptr, i32, i32, ptr }}
@boxes = global ptr null
@size = global i32 0
@locks = global [{LOCKS} x ptr] zeroinitializer
@taken = global [{LOCKS} x i32] zeroinitializer
declare i64 @now()
declare i32 @poll()
declare i32 @yield_core()
declare i32 @PyThread_acquire_lock(ptr, i32)
declare i32 @PyThread_acquire_lock_timed(ptr, i64, i32)
declare void @PyThread_release_lock(ptr)
declare i32 @llvm.smin.i32(i32, i32)
declare i64 @llvm.umin.i64(i64, i64)

define void @wait(ptr %box) {{
  %asleep = getelementptr %box, ptr %box, i64 0, i32 1
  %late = getelementptr %box, ptr %box, i64 0, i32 2
  %lock.at = getelementptr %box, ptr %box, i64 0, i32 3
  %lock = load ptr, ptr %lock.at
  %number.at = getelementptr %box, ptr %box, i64 0, i32 4
  %number = call i32 @own_number()
  store atomic i32 %number, ptr %number.at monotonic, align 4
  br label %begin
begin:
  store atomic i32 0, ptr %late monotonic, align 4
  %start = call i64 @now()
  br label %look
look:
  %turn = phi i32 [ 0, %begin ], [ %next, %idle ], [ 0, %yield ]
  %seen = load atomic ptr, ptr %box acquire, align 8
  %empty = icmp eq ptr %seen, null
  br i1 %empty, label %idle, label %take
idle:
  call void @pause()
  %next = add i32 %turn, 1
  %more = icmp ult i32 %next, 16
  br i1 %more, label %look, label %yield
yield:
  call i32 @yield_core()
  store atomic i32 0, ptr %late monotonic, align 4
  %time = call i64 @now()
  %waited = sub i64 %time, %start
  %awake = icmp slt i64 %waited, {_THREAD_LOOKS}
  br i1 %awake, label %look, label %sleep
sleep:
  store atomic i32 1, ptr %asleep seq_cst, align 4
  %last = load atomic ptr, ptr %box seq_cst, align 8
  %none = icmp eq ptr %last, null
  br i1 %none, label %rest, label %rise
rise:
  %pair = cmpxchg ptr %asleep, i32 1, i32 0 seq_cst seq_cst
  %own = extractvalue {{i32, i1}} %pair, 1
  br i1 %own, label %begin, label %rest
rest:
  call i32 @PyThread_acquire_lock(ptr %lock, i32 1)
  br label %begin
take:
  %swap = cmpxchg ptr %box, ptr %seen, ptr null acq_rel monotonic
  %mine = extractvalue {{ptr, i1}} %swap, 1
  br i1 %mine, label %run, label %begin
run:
  call void @run(ptr %seen)
  br label %begin
}}

define internal void @run(ptr %record) {{
  %job = load ptr, ptr %record
  %number.at = getelementptr %record, ptr %record, i64 0, i32 1
  %number = load i64, ptr %number.at
  call void @share(ptr %job, i64 %number)
  %pending = getelementptr %job, ptr %job, i64 0, i32 3
  %before = atomicrmw sub ptr %pending, i32 1 acq_rel
  %wake = icmp eq i32 %before, {_SLEEPS + 1}
  br i1 %wake, label %release, label %done
release:
  %lock.at = getelementptr %job, ptr %job, i64 0, i32 4
  %lock = load ptr, ptr %lock.at
  call void @PyThread_release_lock(ptr %lock)
  br label %done
done:
  ret void
}}

define internal void @share(ptr %job, i64 %number) {{
  %function = load ptr, ptr %job
  %data.at = getelementptr %job, ptr %job, i64 0, i32 1
  %data = load ptr, ptr %data.at
  %count.at = getelementptr %job, ptr %job, i64 0, i32 2
  %count = load i32, ptr %count.at
  %wide = zext i32 %count to i64
  call void %function(ptr %data, i64 %number, i64 %wide)
  ret void
}}

define void @fork(ptr %function, ptr %data, i32 %wanted) {{
  %size = load atomic i32, ptr @size acquire, align 4
  %most = add i32 %size, 1
  %count = call i32 @llvm.smin.i32(i32 %wanted, i32 %most)
  %several = icmp sgt i32 %count, 1
  br i1 %several, label %team, label %alone
alone:
  call void %function(ptr %data, i64 0, i64 1)
  ret void
team:
  %job = alloca %job
  %records = alloca %record, i32 %count
  %data.at = getelementptr %job, ptr %job, i64 0, i32 1
  %count.at = getelementptr %job, ptr %job, i64 0, i32 2
  %pending = getelementptr %job, ptr %job, i64 0, i32 3
  store ptr %function, ptr %job
  store ptr %data, ptr %data.at
  store i32 %count, ptr %count.at
  %others = sub i32 %count, 1
  store i32 %others, ptr %pending
  %boxes = load ptr, ptr @boxes
  %shares = zext i32 %count to i64
  br label %hand.out
hand.out:
  %k = phi i64 [ 1, %team ], [ %k.next, %hand.out ]
  %record = getelementptr %record, ptr %records, i64 %k
  %offset = mul i64 %k, {BOX_BYTES}
  %box = getelementptr i8, ptr %boxes, i64 %offset
  call void @put(ptr %box, ptr %record, ptr %job, i64 %k)
  %k.next = add i64 %k, 1
  %further = icmp ult i64 %k.next, %shares
  br i1 %further, label %hand.out, label %own
own:
  call void %function(ptr %data, i64 0, i64 %shares)
  %start = call i64 @now()
  br label %collect
collect:
  %n = phi i64 [ 1, %own ], [ %n.next, %collect ]
  %record.n = getelementptr %record, ptr %records, i64 %n
  %offset.n = mul i64 %n, {BOX_BYTES}
  %box.n = getelementptr i8, ptr %boxes, i64 %offset.n
  call void @take_back(ptr %box.n, ptr %record.n, ptr %job, i64 %n, i64 %start)
  %n.next = add i64 %n, 1
  %left = icmp ult i64 %n.next, %shares
  br i1 %left, label %collect, label %join
join:
  call void @join(ptr %job)
  ret void
}}

define internal void @put(ptr %box, ptr %record, ptr %job, i64 %number) {{
  %number.at = getelementptr %record, ptr %record, i64 0, i32 1
  store ptr %job, ptr %record
  store i64 %number, ptr %number.at
  %pair = cmpxchg ptr %box, ptr null, ptr %record seq_cst monotonic
  %is.put = extractvalue {{ptr, i1}} %pair, 1
  br i1 %is.put, label %see, label %full
full:
  store ptr null, ptr %record
  ret void
see:
  %asleep = getelementptr %box, ptr %box, i64 0, i32 1
  %flag = load atomic i32, ptr %asleep seq_cst, align 4
  %sleeps = icmp eq i32 %flag, 1
  br i1 %sleeps, label %wake, label %done
wake:
  %swap = cmpxchg ptr %asleep, i32 1, i32 0 seq_cst seq_cst
  %own = extractvalue {{i32, i1}} %swap, 1
  br i1 %own, label %release, label %done
release:
  %lock.at = getelementptr %box, ptr %box, i64 0, i32 3
  %lock = load ptr, ptr %lock.at
  call void @PyThread_release_lock(ptr %lock)
  br label %done
done:
  ret void
}}

define internal void @take_back(ptr %box, ptr %record, ptr %job, i64 %number, i64 %start) {{
  %late = getelementptr %box, ptr %box, i64 0, i32 2
  %posted = load ptr, ptr %record
  %never = icmp eq ptr %posted, null
  br i1 %never, label %run, label %look
look:
  %seen = load atomic ptr, ptr %box monotonic, align 8
  %there = icmp eq ptr %seen, %record
  br i1 %there, label %unbegun, label %done
unbegun:
  %is.late = load atomic i32, ptr %late monotonic, align 4
  %given.up = icmp eq i32 %is.late, 1
  br i1 %given.up, label %take, label %wait
wait:
  call void @pause()
  %time = call i64 @now()
  %waited = sub i64 %time, %start
  %patient = icmp slt i64 %waited, {_PATIENCE}
  br i1 %patient, label %look, label %take
take:
  %pair = cmpxchg ptr %box, ptr %record, ptr null acq_rel monotonic
  %mine = extractvalue {{ptr, i1}} %pair, 1
  br i1 %mine, label %note, label %done
note:
  store atomic i32 1, ptr %late monotonic, align 4
  call void @leave_core(ptr %box)
  br label %run
run:
  call void @share(ptr %job, i64 %number)
  %pending = getelementptr %job, ptr %job, i64 0, i32 3
  %before = atomicrmw sub ptr %pending, i32 1 acq_rel
  br label %done
done:
  ret void
}}

define internal void @join(ptr %job) {{
  %pending = getelementptr %job, ptr %job, i64 0, i32 3
  %start = call i64 @now()
  br label %look
look:
  %turn = phi i32 [ 0, %0 ], [ %next, %idle ]
  %left = load atomic i32, ptr %pending acquire, align 4
  %over = icmp eq i32 %left, 0
  br i1 %over, label %done, label %idle
idle:
  call void @pause()
  %next = add i32 %turn, 1
  %time = call i64 @now()
  %waited = sub i64 %time, %start
  %awake = icmp slt i64 %waited, {_CALLER_LOOKS}
  br i1 %awake, label %look, label %sleep
sleep:
  call void @sleep(ptr %job)
  br label %done
done:
  ret void
}}

define internal void @sleep(ptr %job) noinline {{
entry:
  %data.at = getelementptr %job, ptr %job, i64 0, i32 1
  %data = load ptr, ptr %data.at
  %pending = getelementptr %job, ptr %job, i64 0, i32 3
  %lock.at = getelementptr %job, ptr %job, i64 0, i32 4
  br label %choose
choose:
  %k = phi i64 [ 0, %entry ], [ %following, %other ]
  %flag = getelementptr i32, ptr @taken, i64 %k
  %was = atomicrmw xchg ptr %flag, i32 1 acq_rel
  %free = icmp eq i32 %was, 0
  br i1 %free, label %sleep, label %other
other:
  %left = load atomic i32, ptr %pending acquire, align 4
  %over = icmp eq i32 %left, 0
  %after = add i64 %k, 1
  %following = urem i64 %after, {LOCKS}
  call i32 @yield_core()
  br i1 %over, label %done, label %choose
sleep:
  %place = getelementptr ptr, ptr @locks, i64 %k
  %lock = load ptr, ptr %place
  store ptr %lock, ptr %lock.at
  %before = atomicrmw or ptr %pending, i32 {_SLEEPS} acq_rel
  %late = icmp eq i32 %before, 0
  br i1 %late, label %give, label %rest
rest:
  %status = call i32 @PyThread_acquire_lock_timed(ptr %lock, i64 {_POLL}, i32 0)
  %woken = icmp eq i32 %status, 1
  br i1 %woken, label %give, label %ask
ask:
  %code = call i32 @poll()
  %stop = icmp ne i32 %code, 0
  br i1 %stop, label %tell, label %rest
tell:
  %pair = cmpxchg ptr %data, i32 0, i32 %code monotonic monotonic
  br label %rest
give:
  store atomic i32 0, ptr %flag release, align 4
  br label %done
done:
  ret void
}}
"""
# What a processor is told while it waits for memory to change.
PAUSES = {
    "x86_64": 'call void asm sideeffect "pause", ""()',
    "aarch64": 'call void asm sideeffect "isb", ""()',
    "arm64": 'call void asm sideeffect "isb", ""()',
}
PAUSE = "define internal void @pause() {{\n  {}\n  ret void\n}}\n"
# Where a thread may run is told on Linux alone; other systems queue no thread beside an idle core.
LEAVE_CORE = f"""
declare i64 @PyThread_get_thread_native_id()
declare i32 @sched_getcpu()
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i32 @sched_setaffinity(i32, i64, ptr)

define internal i32 @own_number() {{
  %wide = call i64 @PyThread_get_thread_native_id()
  %number = trunc i64 %wide to i32
  ret i32 %number
}}

define internal void @set_core(ptr %set, i32 %core, i1 %is.in) {{
  %index = udiv i32 %core, 64
  %word.at = getelementptr i64, ptr %set, i32 %index
  %word = load i64, ptr %word.at
  %rest = urem i32 %core, 64
  %bit = zext i32 %rest to i64
  %one = shl i64 1, %bit
  %others = xor i64 %one, -1
  %without = and i64 %word, %others
  %with = or i64 %word, %one
  %new = select i1 %is.in, i64 %with, i64 %without
  store i64 %new, ptr %word.at
  ret void
}}

define internal void @leave_core(ptr %box) noinline {{
  %number.at = getelementptr %box, ptr %box, i64 0, i32 4
  %left.at = getelementptr %box, ptr %box, i64 0, i32 5
  %number = load atomic i32, ptr %number.at monotonic, align 4
  %left = load atomic i32, ptr %left.at monotonic, align 4
  %core = call i32 @sched_getcpu()
  %named = add i32 %core, 1
  %new = icmp ne i32 %named, %left
  %fits = icmp ult i32 %core, {_CORES}
  %runs = icmp ne i32 %number, 0
  %may = and i1 %fits, %runs
  %tell.it = and i1 %may, %new
  br i1 %tell.it, label %look, label %done
look:
  %set = alloca [{_CORES // 64} x i64]
  %size = call i32 @sched_getaffinity(i32 %number, i64 {_CORES // 8}, ptr %set)
  %failed = icmp slt i32 %size, 0
  br i1 %failed, label %done, label %compare
compare:
  %has.left = icmp ne i32 %left, 0
  br i1 %has.left, label %return, label %tell
return:
  %before = sub i32 %left, 1
  call void @set_core(ptr %set, i32 %before, i1 true)
  br label %tell
tell:
  call void @set_core(ptr %set, i32 %core, i1 false)
  %status = call i32 @sched_setaffinity(i32 %number, i64 {_CORES // 8}, ptr %set)
  store atomic i32 %named, ptr %left.at monotonic, align 4
  br label %done
done:
  ret void
}}
"""
STAY = """
define internal i32 @own_number() {
  ret i32 0
}
define internal void @leave_core(ptr %box) {
  ret void
}
"""
