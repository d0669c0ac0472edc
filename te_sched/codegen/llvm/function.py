"""Writing one LLVM function: blocks, names, variables, captures, and what to free at the end.

A function that runs the body of a parallel loop has a `parent`: variables of the parent that it
uses are captured, which means stored by the parent into a struct and loaded here on entry. Must not
know the IR's statements.
"""

from __future__ import annotations

from te_sched.codegen.llvm.module import ModuleText
from te_sched.codegen.llvm.types import Value, intrinsic_suffix, llvm_type
from te_sched.codegen.signature import Signature
from te_sched.ir import dtypes
from te_sched.ir.expr import Expr, Var
from te_sched.ir.stmt import Allocate, PrimFunc
from te_sched.lowering.unbound_variables import unbound_error

# Bytes on the stack that all allocations of a function, and a single one, may take.
STACK_LIMIT = 128 * 1024
STACK_ITEM_LIMIT = 32 * 1024


class AliasScopes:
    """Facts about memory: pointers that do not alias, and alignment.

    There is one scope, which is metadata, for each buffer's data pointer.
    """

    def __init__(self, module: ModuleText) -> None:
        self._module = module
        self._domain = module.metadata()
        module.set_metadata(self._domain, f"distinct !{{!{self._domain}}}")
        # The scope, the list of this scope, and the list of the others.
        self._scopes: dict[Var, tuple[int, int, int]] = {}
        self.alignments: dict[Var, int] = {}  # bytes, of pointers that are aligned

    def add(self, data: Var) -> None:
        """Promise that `data` points to memory that no other promised pointer reaches."""
        if data in self._scopes:
            return
        module = self._module
        scope = module.metadata()
        module.set_metadata(scope, f"distinct !{{!{scope}, !{self._domain}}}")
        alone = module.metadata(f"!{{!{scope}}}")
        self._scopes[data] = (scope, alone, module.metadata())

    def holds(self, data: Var) -> bool:
        """Whether a pointer is promised to be apart from the other promised ones."""
        return data in self._scopes

    def suffix(self, data: Var) -> str:
        """What an access through `data` says after its operands."""
        entry = self._scopes.get(data)
        return f", !alias.scope !{entry[1]}, !noalias !{entry[2]}" if entry is not None else ""

    def close(self) -> None:
        """Write the lists of the others, now that all scopes are known."""
        for scope, _alone, others in self._scopes.values():
            names = ", ".join(
                f"!{other[0]}" for other in self._scopes.values() if other[0] != scope
            )
            self._module.set_metadata(others, f"!{{{names}}}")


class FunctionText:
    """The text of a function while it is written."""

    def __init__(
        self,
        module: ModuleText,
        signature: Signature,
        scopes: AliasScopes,
        func: PrimFunc,
        parent: FunctionText | None = None,
        symbol: str = "",
    ) -> None:
        self.module, self.signature, self.scopes = module, signature, scopes
        self.func, self.parent = func, parent
        self.prologue: list[str] = []  # allocas and loads of captures, in the entry block
        self.lines: list[str] = []
        self.block = "entry"
        self.environment: dict[Var, Value] = {}
        # Exact values of variables whose value above assumes no overflow.
        self.plain: dict[Var, Value] = {}
        self.live: list[str] = []  # heap blocks to free when the function ends early
        self.reused: set[Allocate] = set()  # whose blocks were taken before the loop around them
        self.captured: list[tuple[int, Value]] = []  # offset in the struct, value in the parent
        self.captured_bytes = 0
        self.steps_left = ""  # the stack slot that says how many steps there are until a poll
        self.error_slot = ""  # where a parallel body reports an error
        self.indexing = 0  # inside indices: integers are assumed not to overflow
        self.deciding = 0  # inside conditions and bounds: the same for loop variables alone
        self.assumed = 0  # how often that assumption was needed
        # Pointers through which aligned vectors are stored past the caches.
        self.team_wishes: dict[str, Expr] = {}  # pragmas about the parallel loops to come
        self.streamed: frozenset[Var] = parent.streamed if parent is not None else frozenset()
        self.stacked: set[Var] = set()  # buffers on the stack
        self.updated: Var | None = None  # the buffer of a store whose value is written
        self.stored_lanes: Expr | None = None  # its predicate, if no lane depends on another one
        self.line: int = parent.line if parent is not None else 0
        self.location = ""
        self._subprogram = 0
        if module.locations is not None:
            self._subprogram = module.locations.function(symbol or signature.symbol)
            self.move_to(self.line)
        self._counter = 0
        self._stack_bytes = 0

    # -- text ----------------------------------------------------------------------------------

    def move_to(self, line: int) -> None:
        """Let instructions be of a line of the printed program, where they say from which."""
        if self.module.locations is not None:
            self.line = line
            self.location = self.module.locations.suffix(self._subprogram, line)

    @property
    def debug_attachment(self) -> str:
        """What the head of the function says before its body."""
        return f"!dbg !{self._subprogram} " if self.module.locations is not None else ""

    def emit(self, instruction: str) -> str:
        """Append an instruction with a result; gives the name of the result."""
        self._counter += 1
        name = f"%v{self._counter}"
        self.lines.append(f"  {name} = {instruction}{self.location}")
        return name

    def do(self, instruction: str) -> None:
        """Append an instruction without a result."""
        self.lines.append(f"  {instruction}{self.location}")

    def intrinsic(self, name: str, dtype: str, *operands: str, flags: str = "") -> str:
        """Call the LLVM intrinsic whose operands and result have one type; gives the result.

        `flags` are fast-math flags, with a space at the end.
        """
        kind = llvm_type(dtype)
        full = f"llvm.{name}.{intrinsic_suffix(dtype)}"
        function = self.module.declare(full, kind, (kind,) * len(operands))
        arguments = ", ".join(f"{kind} {operand}" for operand in operands)
        return self.emit(f"call {flags}{kind} {function}({arguments})")

    def label(self, hint: str) -> str:
        """A new name of a block (without the %)."""
        self._counter += 1
        return f"{hint}.{self._counter}"

    def open(self, block: str) -> None:
        """Begin a block."""
        self.lines.append(f"{block}:")
        self.block = block

    def branch(self, block: str) -> None:
        """Jump to a block."""
        self.lines.append(f"  br label %{block}{self.location}")

    def branch_if(self, condition: str, yes: str, no: str) -> None:
        """Jump to one of two blocks."""
        self.lines.append(f"  br i1 {condition}, label %{yes}, label %{no}{self.location}")

    def allocate_static(self, what: str, align: int = 0) -> str:
        """A stack slot that exists during the whole function."""
        self._counter += 1
        name = f"%s{self._counter}"
        self.prologue.append(f"  {name} = alloca {what}" + (f", align {align}" if align else ""))
        return name

    def take_stack(self, size: int) -> bool:
        """Whether an allocation of `size` bytes may live on the stack; if so its room is taken."""
        if size > STACK_ITEM_LIMIT or self._stack_bytes + size > STACK_LIMIT:
            return False
        self._stack_bytes += size
        return True

    # -- variables -----------------------------------------------------------------------------

    def lookup(self, var: Var) -> Value:
        """The value of a variable; one of the enclosing function is captured."""
        assuming, exact = self._find(var)
        return assuming if exact is None or self.indexing or self.deciding else exact

    def _find(self, var: Var) -> tuple[Value, Value | None]:
        """The value that indices use, and the exact one where it differs."""
        value = self.environment.get(var)
        if value is not None:
            return value, self.plain.get(var)
        if self.parent is None:
            raise unbound_error(self.func, self.signature.name, [var])
        assuming, exact = self.parent._find(var)
        value = self.environment[var] = self.import_value(assuming)
        if exact is not None:
            self.plain[var] = self.import_value(exact)
        return value, self.plain.get(var)

    def import_value(self, value: Value) -> Value:
        """A value of the enclosing function, captured for use here."""
        if not value.text.startswith("%"):
            return value
        offset = self.captured_bytes
        self.captured.append((offset, value))
        self.captured_bytes += (dtypes.storage_bytes(value.dtype) + 7) // 8 * 8
        self._counter += 1
        address, name = f"%p{self._counter}", f"%c{self._counter}"
        self.prologue.append(f"  {address} = getelementptr inbounds i8, ptr %data, i64 {offset}")
        self.prologue.append(f"  {name} = load {llvm_type(value.dtype)}, ptr {address}, align 8")
        return Value(name, value.dtype, value.lo, value.hi, value.data, value.multiple)

    # -- leaving -------------------------------------------------------------------------------

    def leave(self, code: str) -> None:
        """End the function early with an error code, freeing what is allocated."""
        for pointer in reversed(self.live):
            self.release(pointer)
        if self.parent is None:
            self.do(f"ret i32 {code}")
            return
        self.emit(f"cmpxchg ptr {self.error_slot}, i32 0, i32 {code} monotonic monotonic")
        self.do("ret void")

    def release(self, pointer: str) -> None:
        """Give a block of the heap back."""
        function = self.load_slot(kind="heap", name="release")
        self.do(f"call void {function}(ptr {pointer}) nounwind")

    def leave_if(self, condition: str, code: str) -> None:
        """Leave with an error code where a condition (i1) holds; go on otherwise."""
        bad, good = self.label("fail"), self.label("ok")
        self.do(f"br i1 {condition}, label %{bad}, label %{good}")
        self.open(bad)
        self.leave(code)
        self.open(good)

    def leave_unless_zero(self, code: str) -> None:
        """Leave with a code (i32) that a call returned unless it is 0."""
        self.leave_if(self.emit(f"icmp ne i32 {code}, 0"), code)

    def fail_if(self, condition: str, what: str, why: str, help: str) -> None:
        """Leave with a described failure where a condition holds."""
        self.leave_if(condition, str(self.signature.failure(what, why, help)))

    def load_slot(self, **what: object) -> str:
        """The pointer in the slot of an import."""
        number = self.module.slot(**what)
        address = f"getelementptr inbounds (ptr, ptr @te_sched_slots, i64 {number})"
        return self.emit(f"load ptr, ptr {address}, align 8")
