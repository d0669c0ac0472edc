"""The representation of each kind of object in notebooks: pieces of HTML with their own style. No
scripts are needed, and all text of the user is escaped. Must not know notebooks.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from te_sched.errors import SourceLocation, TeSchedError
from te_sched.schedule.handles import entry_text
from te_sched.schedule.schedule import Schedule
from te_sched.schedule.stage import Stage
from te_sched.te.tensor import Tensor
from te_sched.tensorir.handles import PRIMITIVES, instruction_name
from te_sched.tensorir.schedule import BlockSchedule
from te_sched.tensorir.traces import Instruction
from te_sched.trace.entries import Entry
from te_sched.trace.trace import Trace
from te_sched.views.dataflow import dataflow_svg
from te_sched.views.declaration import declaration, type_text
from te_sched.views.highlight import own_style, to_html
from te_sched.views.lines import TreeLine, tree_html
from te_sched.views.loop_tree import loop_tree
from te_sched.views.stage_tree import stage_lines

_MOST_LINES = 400  # of a tree or a program; the rest can be printed
_MOST_CODE = 200  # lines of generated code
_MOST_STAGES = 200  # of a picture
_STYLE = (
    ".te-card{max-width:100%;color:inherit}"
    ".te-card>details>summary{cursor:pointer;opacity:.75;margin:.3em 0}"
    ".te-card .te-wide{overflow-x:auto}"
    ".te-card dl{margin:.3em 0;display:grid;grid-template-columns:max-content 1fr;gap:.1em 1em}"
    ".te-card dt{opacity:.75}"
    ".te-card dd{margin:0}"
    ".te-card .te-what{font-weight:600}"
)


def schedule_html(schedule: Schedule | BlockSchedule) -> str:
    """A schedule: its loops, its dataflow, and its trace."""
    if isinstance(schedule, BlockSchedule):
        count, what = len(schedule.keys), "blocks"
    else:
        count, what = len(schedule.stages), "stages"
    flow = f"<p>{count} {what} are too many for a picture.</p>"
    if count <= _MOST_STAGES:
        flow = f'<div class="te-wide">{dataflow_svg(schedule)}</div>'
    return _card(
        _tree(loop_tree(schedule)),
        _closed("dataflow", flow, is_open=count <= 12),
        _closed(
            f"trace ({_count(len(schedule.trace), 'entry', 'entries')})", _code(schedule.trace)
        ),
    )


def stage_html(stage: Stage) -> str:
    """A stage: its computation, and its loops."""
    if stage.is_group:
        return _card(_pre(repr(stage)))
    tensors = [stage.origin_op.output(index) for index in range(stage.origin_op.num_outputs)]
    declared = "\n".join(line for tensor in tensors for line in declaration(tensor))
    return _card(_pre(declared), _tree(stage_lines(stage)), f"<p>{escape(repr(stage))}</p>")


def tensor_html(tensor: Tensor) -> str:
    """A tensor: its type and declaration."""
    head = f'<div class="te-what">{escape(tensor.name)}: {escape(type_text(tensor))}</div>'
    return _card(head, _pre("\n".join(declaration(tensor))), _note("declared at", tensor.op.place))


def program_html(program: Any) -> str:
    """A function or a module of functions: its text."""
    return _card(_code(program.script()))


def trace_html(trace: Trace) -> str:
    """The trace of a schedule, as a program."""
    return _card(_code(trace))


def tuned_html(tuned: Any) -> str:
    """The result of a search: its table, the best module, and its trace."""
    trace = tuned.trace
    return _card(
        _pre(str(tuned)),
        _closed("best program", _code(tuned.mod.script())),
        _closed(f"trace ({_count(len(trace), 'entry', 'entries')})", _code(trace)),
    )


def entry_html(entry: Entry) -> str:
    """One call."""
    return _card(_code(call_text(entry)), _note("called at", entry.place))


def call_text(entry: Entry) -> str:
    """The line of an entry in the program of its trace."""
    if PRIMITIVES.get(instruction_name(entry.method)) is entry.primitive:
        return repr(Instruction.of(entry))
    return entry_text(entry)


def error_html(error: TeSchedError) -> str:
    """An error in its parts; the loops keep their layout."""
    parts = (("where", error.where), ("why", error.why), ("help", error.help))
    rows = "".join(f"<dt>{name}</dt><dd>{escape(text)}</dd>" for name, text in parts if text)
    name = escape(type(error).__name__)
    return _card(
        f'<div class="te-what">{name}: {escape(error.fault)}</div><dl>{rows}</dl>',
        _pre(error.loops) if error.loops else "",
    )


def module_html(module: Any) -> str:
    """A compiled module: its functions, their arguments, and the LLVM code."""
    heads = [_signature(module[name].signature) for name in module.function_names]
    try:
        source = _code(module.get_source(), "llvm", _MOST_CODE)
    except TeSchedError as error:
        source = f"<p>{escape(error.fault)}</p>"
    return _card(_functions("processor", module.entry_name, heads), _closed("LLVM code", source))


def cuda_module_html(module: Any) -> str:
    """A module for a GPU: its functions and kernels, and the CUDA code."""
    heads = [loop_tree(module.program[name])[0].text for name in module.function_names]
    kernels = [loop_tree(kernel) for kernel in module.kernels.values()]
    launches = [_launch(lines) for lines in kernels]
    source = _closed("CUDA code", _code(module.source, "cuda", _MOST_CODE)) if kernels else ""
    return _card(_functions("CUDA", module.entry_name, heads), *launches, source)


def text_html(thing: Any) -> str:
    """Objects with a readable text: findings, times."""
    lines = str(thing).split("\n")
    left_out = len(lines) - _MOST_LINES
    return _card(_pre("\n".join(lines[:_MOST_LINES])), _more(left_out) if left_out > 0 else "")


def _functions(device: str, entry: str, heads: Sequence[str]) -> str:
    lines = "".join(f"<dt>function</dt><dd><code>{escape(head)}</code></dd>" for head in heads)
    return f'<div class="te-what">module for {device}, entry {escape(entry)}</div><dl>{lines}</dl>'


def _signature(signature: Any) -> str:
    """The text of a function that takes these arguments."""
    names = [symbol.name for symbol in signature.symbols]
    texts = []
    for parameter in signature.parameters:
        shape = ", ".join([_dimension(size, names) for size in parameter.shape])
        texts.append(
            f"{parameter.name}: {parameter.dtype}"
            + (f"[{shape}]" if parameter.kind == "buffer" else "")
        )
    return f"{signature.name}({', '.join(texts)})"


def _dimension(size: Any, names: Sequence[str]) -> str:
    if isinstance(size, int):
        return str(size)
    if size[0] == "symbol":
        symbol: int = size[1]
        return names[symbol]
    return f"({_dimension(size[1], names)} {size[0]} {_dimension(size[2], names)})"


def _launch(lines: Sequence[TreeLine]) -> str:
    """A kernel with its launch."""
    threads = [line.text for line in lines if line.kind == "thread" and "Idx" in line.annotation]
    text = "\n".join([lines[0].text, *(f"  {thread}" for thread in threads)])
    return _pre(text)


def _card(*parts: str) -> str:
    return f'<div class="te-card"><style>{_STYLE}{own_style()}</style>{"".join(parts)}</div>'


def _closed(title: str, body: str, is_open: bool = False) -> str:
    return (
        f"<details{' open' if is_open else ''}><summary>{escape(title)}</summary>{body}</details>"
    )


def _pre(text: str) -> str:
    return f'<pre class="te-code">{escape(text)}</pre>'


def _note(what: str, location: SourceLocation) -> str:
    return f"<p>{what} {escape(str(location))}</p>" if location.file else ""


def _code(text: Any, language: str = "python", most: int = _MOST_LINES) -> str:
    lines = str(text).split("\n")
    left_out = len(lines) - most
    shown = to_html("\n".join(lines[:most]), language)
    return shown + (_more(left_out) if left_out > 0 else "")


def _tree(lines: Sequence[TreeLine]) -> str:
    left_out = len(lines) - _MOST_LINES
    return tree_html(lines[:_MOST_LINES]) + (_more(left_out) if left_out > 0 else "")


def _more(count: int) -> str:
    return f"<p>{_count(count, 'line', 'lines')} more; print it to see all.</p>"


def _count(number: int, singular: str, many: str) -> str:
    return f"{number:,} {singular if number == 1 else many}"
