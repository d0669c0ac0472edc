"""`PatternContext`: patterns that are related to each other, matched in a dataflow block.

    with PatternContext() as context:
        product = is_op("relax.matmul")(x, w)
        product >> is_op("relax.nn.relu")(wildcard())
        found = context.match_dfb(block)

Each pattern of a relation, and each pattern of a value that is part of no other pattern, matches a
variable of its own. Must not know how matches are used.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextvars import Token

from te_sched.errors import GraphTypeError
from te_sched.ir.graph import (
    Binding,
    BindingBlock,
    DataflowVar,
    GraphCall,
    GraphValue,
    GraphVar,
    Tuple,
    VarBinding,
)
from te_sched.ir.visitor import walk
from te_sched.public_members import PublicObject
from te_sched.relax.dpl.pattern import (
    OPEN,
    BoundValues,
    CallPattern,
    DFConstraint,
    DFPattern,
    FoundValue,
    Match,
    Matches,
    Relations,
    TupleGetItemPattern,
    TuplePattern,
    open_relations,
)
from te_sched.signatures import checked_as

_OF_VALUES = (CallPattern, TupleGetItemPattern, TuplePattern)


class PatternContext(PublicObject):
    """A context manager that collects patterns and their relations.

    Parameters
    ----------
    incremental : whether the patterns and relations of the context around it belong to it, too.

    >>> from te_sched import relax
    >>> from te_sched.relax.dpl import is_op, wildcard
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", [x]):
    ...     with builder.dataflow():
    ...         y = builder.emit_output(relax.op.exp(relax.op.abs(x)))
    ...     gv = builder.emit_func_output(y)
    >>> with PatternContext() as context:
    ...     first, second = is_op("relax.abs")(wildcard()), is_op("relax.exp")(wildcard())
    ...     relation = first >> second
    >>> found = context.match_dfb(builder.get()["main"].body.blocks[0])
    >>> found[first].name_hint, found[second].name_hint
    ('lv', 'gv')
    """

    def __init__(self, incremental: bool = False) -> None:
        self._relations = Relations(self)
        self._tokens: list[Token[tuple[Relations, ...]]] = []
        if incremental:
            around = open_relations()
            self._relations = Relations(
                self, [*around.patterns], [*around.links], [*around.constraints]
            )

    def __enter__(self) -> PatternContext:
        self._tokens.append(OPEN.set((*OPEN.get(), self._relations)))
        return self

    def __exit__(self, *error: object) -> None:
        OPEN.reset(self._tokens.pop())

    @staticmethod
    def current() -> PatternContext:
        """The innermost open context."""
        context = open_relations().context
        assert isinstance(context, PatternContext)
        return context

    @checked_as(GraphTypeError)
    def match_dfb(self, dfb: BindingBlock) -> Matches | None:
        """The variables that the patterns match in a dataflow block; None without a match."""
        for match in self.matches(dfb.bindings):
            return variables_of_match(match)
        return None

    def matches(
        self, bindings: Iterable[Binding], without: Collection[GraphVar] = ()
    ) -> Iterator[Match]:
        """All matches in a block, those of the first bindings first.

        Parameters
        ----------
        without : variables that the patterns of values must not match.
        """
        yield from self._assign(self._nodes(), {}, _Block(list(bindings)), set(without))

    def _nodes(self) -> list[DFPattern]:
        """The patterns that match a variable each."""
        patterns, links = self._relations.patterns, self._relations.links
        linked = dict.fromkeys(pattern for link in links for pattern in link[:2])
        inner = {part for pattern in (*patterns, *linked) for part in _inside(pattern)}
        roots = [pattern for pattern in patterns if pattern not in inner and is_of_value(pattern)]
        return list(dict.fromkeys([*roots, *linked]))

    def _assign(
        self, nodes: list[DFPattern], match: Match, block: _Block, taken: set[object]
    ) -> Iterator[Match]:
        if not nodes:
            if all(
                self._holds(constraint, match, block) for constraint in self._relations.constraints
            ):
                yield match
            return
        node, rest = nodes[0], nodes[1:]
        hit = match.get(node)
        for var in block.variables if hit is None else [hit.given]:
            if var in taken:
                continue
            for submatch in node.search(var, match, block.values):
                noted = {**submatch, node: FoundValue(var, submatch[node].value)}
                if self._fits(node, noted, block):
                    yield from self._assign(rest, noted, block, taken | {var})

    def _fits(self, node: DFPattern, match: Match, block: _Block) -> bool:
        """Whether the relations of a pattern hold, as far as the others are matched."""
        return all(
            block.is_used(match[source].given, match[user].given, is_only, index)
            for source, user, is_only, index in self._relations.links
            if node in (source, user) and source in match and user in match
        )

    def _holds(self, constraint: DFConstraint, match: Match, block: _Block) -> bool:
        values = [match[pattern].given for pattern in constraint.patterns if pattern in match]
        infos = [getattr(value, "struct_info_", None) for value in values]
        if len(infos) < len(constraint.patterns) or None in infos:
            return False
        return constraint.holds(infos, block.values.analyzer)  # type: ignore[arg-type]


def variables_of_match(match: Match) -> Matches:
    """What each pattern matched where it stands: a variable, or a value without one."""
    return {pattern: hit.given for pattern, hit in match.items() if isinstance(pattern, DFPattern)}


class _Block:
    """The variables of a block, and which of them use which."""

    def __init__(self, bindings: list[Binding]) -> None:
        self.values = BoundValues({b.var: b.value for b in bindings if isinstance(b, VarBinding)})
        self.arguments = {binding.var: _arguments(binding.value) for binding in bindings}
        uses = {
            binding.var: [part for part in walk(binding.value) if isinstance(part, GraphVar)]
            for binding in bindings
        }
        free = [var for used in uses.values() for var in used if var not in uses]
        self.variables = list(dict.fromkeys([*free, *uses]))
        self.users: dict[GraphVar, set[GraphVar]] = {}
        for user, used in uses.items():
            for var in used:
                self.users.setdefault(var, set()).add(user)

    def is_used(self, source: GraphValue, user: GraphVar, is_only: bool, index: int) -> bool:
        """Whether the value of a variable uses another: at all, as an argument, as the only one."""
        users = self.users.get(source, set()) if isinstance(source, GraphVar) else set()
        if user not in users:
            return False
        is_output = source in self.arguments and not isinstance(source, DataflowVar)
        if is_only and (len(users) > 1 or is_output):
            return False
        arguments = self.arguments[user]
        return index == -1 or (index < len(arguments) and arguments[index] is source)


def _arguments(value: GraphValue) -> list[GraphValue]:
    """The arguments of a call; those of the function that `call_tir` and its like call."""
    if not isinstance(value, GraphCall):
        return []
    is_indirect = str(value.op).startswith("relax.call_") and len(value.args) > 1
    inputs = value.args[1] if is_indirect else None
    return list(inputs.fields) if isinstance(inputs, Tuple) else list(value.args)


def _inside(pattern: DFPattern) -> Iterator[DFPattern]:
    for part in pattern.parts:
        yield part
        yield from _inside(part)


def is_of_value(pattern: DFPattern) -> bool:
    """Whether a pattern matches something computed: a call, an element, a tuple."""
    return isinstance(pattern, _OF_VALUES) or any(
        isinstance(part, _OF_VALUES) for part in _inside(pattern)
    )
