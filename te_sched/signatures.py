"""Checks of the arguments of public functions against their annotations.

`checked` understands an int, a str, a class, an optional one, a sequence of them, and
`Annotated[Any, ParameterKind(...)]`. `Any` and other annotations are not checked. Must not know
the functions.
"""

from __future__ import annotations

import dataclasses
import operator
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial, wraps
from inspect import Parameter, signature, unwrap
from itertools import repeat, takewhile
from os import PathLike
from types import FunctionType, ModuleType, NoneType, UnionType
from typing import (
    Annotated,
    Any,
    NamedTuple,
    ParamSpec,
    TypeGuard,
    TypeVar,
    Union,
    get_args,
    get_origin,
)

import numpy as np
from numpy.typing import NDArray

from te_sched.deep_recursion import note_wrapper, too_deep, walk_again
from te_sched.errors import (
    DeclarationError,
    ParameterError,
    TeSchedError,
    class_name,
    counted,
    did_you_mean,
    is_users,
    kind_of,
    listing,
    repr_of,
    with_article,
)

_P = ParamSpec("_P")
_T = TypeVar("_T")


class ParameterKind(NamedTuple):
    """The values that a parameter accepts: a predicate, its description, and perhaps advice, and
    the kind of the elements of lists.
    """

    fits: Callable[[Any], bool]
    words: str
    help: str = ""
    element: ParameterKind | None = None


def is_index(value: Any) -> bool:
    """Whether a value is an integer that fits into 64 bits: Python's, numpy's, or a constant."""
    try:
        return -(1 << 63) <= operator.index(value) < 1 << 64
    except (TypeError, TeSchedError):  # also of arrays
        return False


def is_real(value: Any) -> bool:
    """Whether a value is a number that converts to a float."""
    if isinstance(value, str | bytes | bytearray):
        return False
    try:
        float(value)
    except (TypeError, ValueError, OverflowError, TeSchedError):
        return is_index(value)
    return not hasattr(value, "shape") or value.shape == ()


def has_truth(value: Any) -> bool:
    """Whether a value can be converted to bool, and is not a text or a list, which always can."""
    if isinstance(value, str | bytes | bytearray | Sequence | Mapping):
        return False
    try:
        bool(value)
    except (TypeError, ValueError, TeSchedError):  # of arrays and expressions
        return False
    return True


def is_sequence(value: object) -> TypeGuard[Sequence[Any]]:
    """Whether a value is a list, a tuple, or a one-dimensional array; not a str."""
    kind = type(value)
    if kind is tuple or kind is list:
        return True
    if kind.__module__ == "numpy":
        return getattr(value, "ndim", 0) == 1
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray)


_ANYTHING = ParameterKind(lambda value: True, "anything")
_NOTHING = ParameterKind(lambda value: False, "nothing")
_SIMPLE: dict[Any, ParameterKind] = {
    Any: _ANYTHING,
    object: _ANYTHING,
    int: ParameterKind(is_index, "an int"),
    float: ParameterKind(is_real, "a number"),
    bool: ParameterKind(has_truth, "True or False"),
    str: ParameterKind(str.__instancecheck__, "a str"),
    NoneType: ParameterKind(lambda value: value is None, "None"),
    Callable: ParameterKind(callable, "a function"),
    PathLike: ParameterKind(lambda value: isinstance(value, PathLike), "a path"),
    **dict.fromkeys((Mapping, dict), ParameterKind(Mapping.__instancecheck__, "a dictionary")),
}
_SEVERAL = (Sequence, Iterable, list, tuple)


# Parameters that functions check themselves, with better messages.
_LEFT = ("dtype", "dtypes", "out_dtype")


class _Signature(NamedTuple):
    """The names and kinds of parameters: by position, by name, and of `*args`; and the numbers of
    those by position that do not take anything.
    """

    by_place: list[tuple[str, ParameterKind]]
    by_name: dict[str, ParameterKind]
    rest: tuple[str, ParameterKind]
    tested: list[int]


def checked(
    function: Callable[_P, _T],
    error: type[TeSchedError] = DeclarationError,
    face: str = "",
    but: Iterable[str] = (),
    shown: str = "",
    again: bool | None = None,
) -> Callable[_P, _T]:
    """The function with its arguments checked; `face` is the public module in messages, `shown`
    the name, which is that of the function by default, or of the class that it makes.

    It recurses beyond Python's limit like a function that `walks_deeply`, called `again` then: by
    default unless it is a method, which may have changed its object.
    """
    signatures: list[_Signature] = []  # annotations are evaluated at the first call
    owner, _, own = function.__qualname__.rpartition(".")
    shown = face + (shown or _shown_name(function))
    if again is None:
        again = own == "__init__" or owner.endswith("<locals>") or not owner

    @wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        if not signatures:
            signatures.append(_signature(function, {*_LEFT, *but}))
        by_place, by_name, rest, tested = signatures[0]
        count, most = len(args), len(by_place)
        for number in tested if count <= most else (*tested, *range(most, count)):
            if number >= count:
                break
            name, expected = by_place[number] if number < most else rest
            if not expected.fits(args[number]):
                refuse_separate(function, shown, args, kwargs)
                raise unfit(error, shown, name, args[number], expected)
        for name, value in kwargs.items():
            expected = by_name.get(name, _ANYTHING)
            if not expected.fits(value):
                raise unfit(error, shown, name, value, expected)
        try:
            return function(*args, **kwargs)
        except RecursionError:
            pass  # what follows has no frames of the overflow as its context
        except TeSchedError as refusal:
            if is_users(sys._getframe(1)):
                advise(refusal, function, shown, args, kwargs)
            raise
        except TypeError:
            raise_unbound(function, shown, args, kwargs)
            raise
        again_call = partial(function, *args, **kwargs) if again else None
        return walk_again(again_call, lambda: too_deep(f"cannot run {shown}", error))

    note_wrapper(call)
    return call


def _shown_name(function: Callable[..., Any]) -> str:
    """The name of a function in messages: of `__init__` that of the class."""
    owner, _, own = function.__qualname__.rpartition(".")
    kind = owner.rpartition(".")[2]
    return {"__init__": kind, "__call__": kind, "__getitem__": f"{kind}[...]"}.get(own, own)


def bound(function: Callable[_P, _T], shown: str = "") -> Callable[_P, _T]:
    """The function, whose calls with other arguments than it has parameters are ParameterErrors;
    `shown` is its name in messages. Cheaper than `checked`.
    """
    name = shown or _shown_name(function)

    @wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            return function(*args, **kwargs)
        except TeSchedError as refusal:
            if is_users(sys._getframe(1)):
                advise(refusal, function, name, args, kwargs)
            raise
        except TypeError:
            raise_unbound(function, name, args, kwargs)
            raise

    return call


def advise(
    error: TeSchedError,
    function: Callable[..., Any],
    shown: str,
    args: Sequence[Any],
    named: Mapping[str, Any],
) -> None:
    """Let the error of a call say what to write, if arguments have the wrong order or number."""
    refuse_separate(function, shown, args, named)
    if isinstance(error, DeclarationError) and error.refused_dtype:
        _advise_on_dtype(error, function, shown, args, named)


def refuse_separate(
    function: Callable[..., Any], shown: str, args: Sequence[Any], named: Mapping[str, Any]
) -> None:
    """Refuse values that are given one by one, f(a, b), for a list of them, f([a, b]).

    These are the first value of a parameter that takes a list, and those after it that fit the list
    but not the parameters at their positions.

    Raises
    ------
    ParameterError
    """
    by_place, _, rest, _ = _signature(function, set())
    kinds = [kind for _, kind in by_place] + [rest[1] if rest[0] else _NOTHING] * len(args)
    for number, (value, (name, kind)) in enumerate(zip(args, by_place, strict=False)):
        is_list = name == "shape" or (kind is not _ANYTHING and _fits(kind, []))
        if not is_list or is_sequence(value):
            continue
        more = list(zip(args, kinds, strict=False))[number + 1 :]
        count = sum(1 for _ in takewhile(partial(_is_of_list, kind, value), more))
        if count:
            parts = args[number : number + 1 + count]
            texts = listing([getattr(part, "name", "") or repr_of(part) for part in parts])
            before = "..., " if number > (by_place[0][0] == "self") else ""
            after = ", ..." if named or len(more) > count else ""
            raise ParameterError(
                f"argument {name} of {shown} must be a list, got {len(parts)} arguments: {texts}",
                "",
                f"pass them as a list: {shown}({before}[{texts}]{after})",
            ) from None
        return


def _is_of_list(expected: ParameterKind, first: Any, pair: tuple[Any, ParameterKind]) -> bool:
    """Whether a value fits a list with the first one, but not the parameter at its position."""
    value, kind = pair
    if _fits(kind, value) or not _fits(expected, [first, value]):
        return False
    has_kind = not _fits(expected, [object()])
    operands = all(is_index(part) or hasattr(part, "dtype") for part in (first, value))
    return has_kind or operands or type(first) is type(value)


def _fits(kind: ParameterKind, value: Any) -> bool:
    """Whether a parameter accepts a value, of any class."""
    try:
        return kind.fits(value)
    except Exception:  # the predicate expects values of one class
        return False


def _advise_on_dtype(
    error: DeclarationError,
    function: Callable[..., Any],
    shown: str,
    args: Sequence[Any],
    named: Mapping[str, Any],
) -> None:
    """Let the error for an unknown dtype say which argument it is, and what to write if the value
    is that of another parameter.
    """
    names = list(signature(function).parameters)
    for number, (name, value) in enumerate(zip(names, args, strict=False)):
        if name in _LEFT and repr_of(value) == error.refused_dtype:
            order = number + (names[0] != "self")
            swapped = _swapped(error, number, args)
            if names[0] == "shape" and number == 1 and is_sequence(value):
                text = f"give the shape first, {shown}({repr_of(value)}, ...)"
            elif swapped and "name" not in names[number:]:
                text = f"write {shown}({swapped})"
            else:
                is_named = _name_meant(names, number, args, named)
                text = ", or ".join(filter(None, (is_named, error.advice)))
            error.advice = f"argument {order} of {shown} is {name}: {text}"
            return


def _swapped(error: DeclarationError, number: int, args: Sequence[Any]) -> str:
    """The arguments with the dtype in its position, if another one is the name of a dtype."""
    is_dtype, texts = error.is_dtype, [repr_of(value) for value in args]
    for other, value in enumerate(args):
        if is_dtype is not None and isinstance(value, str) and is_dtype(value):
            texts[number], texts[other] = texts[other], texts[number]
            return ", ".join(texts)
    return ""


def _name_meant(
    names: Sequence[str], number: int, args: Sequence[Any], named: Mapping[str, Any]
) -> str:
    """What to write if a name is given in place of a dtype."""
    if not isinstance(args[number], str) or "name" not in names[number:] or "name" in named:
        return ""
    position = names.index("name")
    after = args[position] if position < len(args) else None
    dtype = f"{names[number]}={after!r}, " if isinstance(after, str) else ""
    return f"write {dtype}name={args[number]!r}"


def bind_functions(module: ModuleType) -> None:
    """Replace the public functions of a module by `bound` ones."""
    face = module.__name__.removeprefix("te_sched").removeprefix(".")
    for name in module.__all__:
        value = vars(module).get(name)
        if isinstance(value, FunctionType) and not hasattr(value, "__wrapped__"):
            setattr(module, name, bound(value, f"{face}.{name}" if face else name))


def check_function(function: Any, arguments: int, what: str, example: str) -> None:
    """Refuse a value that cannot be called with this number of arguments.

    Raises
    ------
    DeclarationError, a ParameterError for a function with other parameters.
    """
    if not callable(function):
        raise DeclarationError(
            f"the function of {what} is {repr_of(function)}, which cannot be called",
            "",
            f"give {example}",
        )
    try:
        bindable = signature(function)
    except (TypeError, ValueError):  # some functions written in C have none
        return
    try:
        bindable.bind(*[None] * arguments)
    except TypeError as error:
        taken = _most(bindable.parameters)
        fault = f"takes {counted(taken, 'argument')}, expected {arguments}"
        if _least(bindable.parameters) <= arguments <= taken:  # others must be given by name
            fault = f"cannot be called with {counted(arguments, 'argument')}: {error}"
        raise ParameterError(f"the function of {what} {fault}", "", f"give {example}") from None


def call_function(function: Any, arguments: Sequence[Any], what: str, example: str) -> Any:
    """The result of a user's function; the error of `check_function` if it has other parameters.

    Raises
    ------
    ParameterError, and what the function raises.
    """
    try:
        return function(*arguments)
    except TypeError:
        check_function(function, len(arguments), what, example)
        raise


def raise_unbound(
    function: Callable[..., Any], shown: str, args: Sequence[Any], named: Mapping[str, Any]
) -> None:
    """Raise the error for arguments that do not fit the parameters of a function, if they do not.

    Raises
    ------
    ParameterError
    """
    try:
        bindable = signature(function)
    except (TypeError, ValueError):  # written in C
        return
    parameters = bindable.parameters
    try:
        bindable.bind(*args, **named)
    except TypeError as failure:
        fault = str(failure)
    else:
        return
    if getattr(function, "__name__", "") == "__call__":
        shown = getattr(args[0], "__name__", shown)
    refuse_separate(function, shown, args, named)
    public = [name for name in parameters if name != "self"]
    stars = [
        parameter for parameter in parameters.values() if parameter.kind is Parameter.VAR_KEYWORD
    ]
    unknown = [name for name in named if name not in parameters]
    help = f"its parameters are {', '.join(public)}" if public else "it has no parameters"
    if unknown and not stars:
        fault = f"{shown} has no parameter {unknown[0]}{did_you_mean(unknown[0], public)}"
    elif missing := _missing(parameters, args, named):
        fault = f"{shown} is called without {', '.join(missing)}"
        help = f"give {missing[0]}; {help}"
    elif (most := _most(parameters)) < (count := len(args) - ("self" in parameters)):
        fault = f"{shown} takes {counted(most, 'argument')} by position, got {count}"
    else:
        fault = f"{shown} is called with wrong arguments: {fault}"
    raise ParameterError(fault, help=help) from None


def _most(parameters: Mapping[str, Parameter]) -> int:
    """How many arguments a function takes by position, besides `self`."""
    by_place = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    return sum(
        parameter.kind in by_place for name, parameter in parameters.items() if name != "self"
    )


def _least(parameters: Mapping[str, Parameter]) -> int:
    """How many arguments a function needs by position."""
    by_place = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    return sum(
        parameter.kind in by_place and parameter.default is Parameter.empty
        for parameter in parameters.values()
    )


def _missing(
    parameters: Mapping[str, Parameter], args: Sequence[Any], named: Mapping[str, Any]
) -> list[str]:
    """The parameters without a default that a call gives no value."""
    by_place = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    bound_names = [name for name, parameter in parameters.items() if parameter.kind in by_place][
        : len(args)
    ]
    kinds = (*by_place, Parameter.KEYWORD_ONLY)
    return [
        name
        for name, parameter in parameters.items()
        if parameter.kind in kinds
        and parameter.default is parameter.empty
        and name not in (*bound_names, *named)
    ]


def checked_as(
    error: type[TeSchedError] = DeclarationError,
    but: Iterable[str] = (),
    *,
    again: bool | None = None,
) -> Callable[[Callable[_P, _T]], Callable[_P, _T]]:
    """`checked` with another class of error, for all parameters except `but`, perhaps not called
    `again` because of its side effects.
    """
    return lambda function: checked(function, error, "", but, again=again)


def checked_methods(error: type[TeSchedError]) -> Callable[[type[_T]], type[_T]]:
    """A decorator of classes of which the public methods check their arguments, as `checked`."""

    def decorate(kind: type[_T]) -> type[_T]:
        for name, value in list(vars(kind).items()):
            is_public = name[0] != "_" or name in ("__init__", "__getitem__")
            if isinstance(value, FunctionType) and is_public:
                setattr(kind, name, checked(value, error))
        return kind

    return decorate


def check_arguments(
    module: ModuleType,
    names: Iterable[str] | None = None,
    error: type[TeSchedError] = DeclarationError,
    again: bool | None = None,
) -> None:
    """Replace functions of a module by their checked versions, and check what makes its classes.

    `names` are all that are defined in the package of the module, by default; `again` as `checked`.
    """
    face = module.__name__.removeprefix("te_sched.") + "."
    for name in _own_functions(module) if names is None else names:
        setattr(module, name, checked_value(getattr(module, name), error, face, again))


def checked_value(
    value: Any, error: type[TeSchedError], face: str, again: bool | None = None
) -> Any:
    """The checked version of a function; a class, whose `__init__` is checked; or another value."""
    constructor: Any = getattr(value, "__init__", None) if isinstance(value, type) else None
    is_ours = isinstance(constructor, FunctionType) and constructor.__module__.startswith(
        "te_sched."
    )
    if is_ours and not hasattr(constructor, "__wrapped__"):  # perhaps that of a base class
        setattr(value, "__init__", checked(constructor, error, face, shown=value.__name__))  # noqa: B010
    is_function = isinstance(value, FunctionType) and not hasattr(value, "__wrapped__")
    return checked(value, error, face, again=again) if is_function else value


def _own_functions(module: ModuleType) -> list[str]:
    """The public names of functions that are defined in a module, or in modules of its package."""
    home = module.__name__
    return [
        name
        for name, value in vars(module).items()
        if name[0] != "_" and f"{getattr(value, '__module__', '')}.".startswith(f"{home}.")
    ]


def check_fields(node: Any) -> None:
    """Raise DeclarationError for a node of the IR whose fields do not match their annotations."""
    kind: Any = type(node)
    for name, expected in _kinds_of_fields(kind):
        value = getattr(node, name)
        if not expected.fits(value):
            raise unfit(DeclarationError, kind.__name__, name, value, expected)


@cache
def _kinds_of_fields(kind: Any) -> list[tuple[str, ParameterKind]]:
    names, fields = vars(sys.modules[kind.__module__]), dataclasses.fields(kind)
    return [(field.name, kind_of_annotation(str(field.type), names)) for field in fields]


def _signature(function: Callable[..., Any], left: set[str]) -> _Signature:
    parameters = list(signature(function).parameters.values())
    names = getattr(unwrap(function), "__globals__", {})
    kinds = dict.fromkeys([param.name for param in parameters], _ANYTHING)
    for parameter in parameters:
        if parameter.name not in left and parameter.annotation is not parameter.empty:
            kinds[parameter.name] = kind_of_annotation(parameter.annotation, names)
    places = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    rest = [param.name for param in parameters if param.kind is Parameter.VAR_POSITIONAL]
    by_place = [(param.name, kinds[param.name]) for param in parameters if param.kind in places]
    return _Signature(
        by_place,
        kinds,
        (rest[0], kinds[rest[0]]) if rest else ("", _ANYTHING),
        [number for number, (_, kind) in enumerate(by_place) if kind is not _ANYTHING],
    )


def kind_of_annotation(annotation: Any, names: dict[str, Any]) -> ParameterKind:
    """The kind of an annotation; a text is evaluated with the names of its module."""
    if not isinstance(annotation, str):
        return _kind_of(annotation)
    try:
        return _kind_of(eval(annotation, names))
    except NameError:  # a name for type checkers only
        return _ANYTHING


def _kind_of(hint: Any) -> ParameterKind:
    outer, inner = get_origin(hint), get_args(hint)
    if outer in (Union, UnionType):
        kinds = [_kind_of(part) for part in inner]
        if _ANYTHING in kinds:
            return _ANYTHING
        tests = [kind.fits for kind in kinds]
        words = " or ".join(kind.words for kind in kinds)
        help = next((kind.help for kind in kinds if kind.help), "")
        element = next((kind.element for kind in kinds if kind.element), None)
        return ParameterKind(
            lambda value: any(map(operator.call, tests, repeat(value))), words, help, element
        )
    if outer is Annotated:
        return next((kind for kind in inner if isinstance(kind, ParameterKind)), _ANYTHING)
    if outer in _SEVERAL:
        is_uniform = len(inner) == 1 or inner[1] is ...
        return _kind_of_several(outer, _kind_of(inner[0]) if is_uniform else _ANYTHING)
    if (outer or hint) in _SIMPLE:
        return _SIMPLE[outer or hint]
    if isinstance(hint, type):
        return ParameterKind(hint.__instancecheck__, with_article(class_name(hint)))
    return _ANYTHING


def _kind_of_several(outer: Any, part: ParameterKind) -> ParameterKind:
    of = "" if part is _ANYTHING else f", each {part.words}"

    def fits(value: Any) -> bool:
        is_stream = outer is Iterable and not is_sequence(value)
        if is_stream:  # can be iterated only once
            return isinstance(value, Iterable) and not isinstance(value, str | bytes)
        return is_sequence(value) and all(map(part.fits, value))

    return ParameterKind(fits, f"a list or tuple{of}", element=part)


def scores_of(
    model: Any, predict: Callable[[], Any], count: int, error: type[TeSchedError] = DeclarationError
) -> NDArray[np.float64]:
    """The scores that a user's model predicts: a number for each candidate.

    Raises
    ------
    An `error` for anything else, and if the model fails.
    """
    fault = f"cost model {type(model).__name__} does not predict {count} scores"
    help = f"return an array of {count} numbers from predict, larger ones for faster candidates"
    try:
        scores = np.asarray(predict())
    except TeSchedError:
        raise
    except Exception as failure:
        raise error(fault, f"{type(failure).__name__}: {failure}", help) from failure
    if scores.dtype.kind not in "biuf":
        raise error(fault, f"they are of type {scores.dtype}", help)
    if scores.shape != (count,):
        raise error(fault, f"its result has the shape {scores.shape}", help)
    if np.isnan(scores).any():
        raise error(fault, f"score {int(np.isnan(scores).argmax())} is not a number", help)
    return scores.astype("float64")


def unfit(
    error: type[TeSchedError], function: str, name: str, value: Any, expected: ParameterKind
) -> TeSchedError:
    """The error for an argument of the wrong kind, or for an element of a list."""
    what = f"argument {name} of {function}"
    if expected.element is not None and is_sequence(value):
        fits = expected.element.fits
        number = next((k for k, element in enumerate(value) if not fits(element)), None)
        if number is not None:
            what, value, expected = f"element {number} of {what}", value[number], expected.element
    return error(
        f"{what} is {repr_of(value)}, expected {expected.words}",
        "" if repr_of(value) == kind_of(value) else f"it is {kind_of(value)}",
        expected.help
        or (
            f"give a list of it: {function}([...])"
            if _fits(expected, []) and not is_sequence(value) and _fits(expected, [value])
            else f"give {expected.words}"
        ),
    )
