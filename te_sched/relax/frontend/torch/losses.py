"""Rows of losses of torch: a function of each element, or of each row, and a reduction of these.

Operators of exported programs number the reductions; torch's functions name them.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from functools import partial

from te_sched import te
from te_sched.errors import GraphError, repr_of
from te_sched.ir import ops
from te_sched.ir.expr import Expr
from te_sched.ir.graph import GraphExpr
from te_sched.relax import op as R
from te_sched.relax.constant import const
from te_sched.relax.frontend.float_functions import emit_elementwise
from te_sched.relax.frontend.torch.elementwise import promoted
from te_sched.relax.frontend.torch.importer import MODULES, ROWS, Importer, Rule, TorchRow, row
from te_sched.relax.frontend.torch.values import Operand, TorchLayer, Value

_REDUCTIONS = ("none", "mean", "sum")
_Reduction = object  # a name, or a number


def reduction_of(
    reduction: _Reduction, size_average: bool | None = None, reduce: bool | None = None
) -> str:
    """The name of a reduction; torch still takes `size_average` and `reduce` in its place."""
    if size_average is not None or reduce is not None:
        return "none" if reduce is False else "sum" if size_average is False else "mean"
    if type(reduction) is int and 0 <= reduction < len(_REDUCTIONS):
        return _REDUCTIONS[reduction]
    if reduction not in (*_REDUCTIONS, "batchmean"):
        raise GraphError(
            f"the reduction of a loss is {repr_of(reduction)}",
            "it is given by name",
            f"use {', '.join(_REDUCTIONS)}: reduction='sum'",
        )
    return str(reduction)


def _reduced(imp: Importer, losses: GraphExpr, reduction: str) -> GraphExpr:
    """The losses, or their mean or sum."""
    if reduction == "none":
        return losses
    if reduction == "batchmean":
        total = imp.emit(R.sum(losses))
        return imp.emit(R.divide(total, const(imp.shape(losses)[0], imp.dtype(losses))))
    return imp.emit((R.mean if reduction == "mean" else R.sum)(losses))


def _like(value: float, x: Expr) -> Expr:
    return ops.const(value, x.dtype)


def _positive(x: Expr) -> Expr:
    """x, or 0 if it is less."""
    return te.select(x < _like(0, x), _like(0, x), x)


# Losses of elements, of their values and options of the loss


def _smooth_l1(x: Expr, y: Expr, beta: float = 1.0) -> Expr:
    size, half = te.abs(x - y), _like(0.5, x)
    if not beta:
        return size
    width = _like(beta, x)
    return te.select(size < width, half * size * size / width, size - half * width)


def _huber(x: Expr, y: Expr, delta: float = 1.0) -> Expr:
    size, half, width = te.abs(x - y), _like(0.5, x), _like(delta, x)
    return te.select(size <= width, half * size * size, width * (size - half * width))


def _soft_margin(x: Expr, y: Expr) -> Expr:
    return te.log(_like(1, x) + te.exp(_like(0, x) - y * x))


def _hinge(x: Expr, y: Expr, margin: float = 1.0) -> Expr:
    zero, one = _like(0, x), _like(1, x)
    beyond = te.select(y.equal(one), zero, _positive(_like(margin, x) - x))
    return beyond + te.select(y.equal(zero - one), zero, x)


def _kl(x: Expr, y: Expr, log_target: bool = False) -> Expr:
    if log_target:
        return te.exp(y) * (y - x)
    return te.select(y.equal(_like(0, y)), _like(0, y), y * te.log(y)) - y * x


def _poisson(
    x: Expr, y: Expr, log_input: bool = True, full: bool = False, eps: float = 1e-8
) -> Expr:
    loss = te.exp(x) - y * x if log_input else x - y * te.log(x + _like(eps, x))
    if not full:
        return loss
    stirling = y * te.log(y) - y + _like(0.5, y) * te.log(_like(2 * math.pi, y) * y)
    return loss + te.select(y <= _like(1, y), _like(0, y), stirling)


def _binary_cross_entropy(x: Expr, y: Expr) -> Expr:
    one, least = _like(1, x), _like(-100, x)
    logs = [te.select(log < least, least, log) for log in (te.log(x), te.log(one - x))]
    return _like(0, x) - (y * logs[0] + (one - y) * logs[1])


_ELEMENTWISE: dict[str, tuple[str, Callable[..., Expr], tuple[str, ...]]] = {
    "l1_loss": ("L1Loss", lambda x, y: te.abs(x - y), ()),
    "mse_loss": ("MSELoss", lambda x, y: (x - y) * (x - y), ()),
    "smooth_l1_loss": ("SmoothL1Loss", _smooth_l1, ("beta",)),
    "huber_loss": ("HuberLoss", _huber, ("delta",)),
    "soft_margin_loss": ("SoftMarginLoss", _soft_margin, ()),
    "hinge_embedding_loss": ("HingeEmbeddingLoss", _hinge, ("margin",)),
    "kl_div": ("KLDivLoss", _kl, ("log_target",)),
    "poisson_nll_loss": ("PoissonNLLLoss", _poisson, ("log_input", "full", "eps")),
}
# Operators whose options stand before the reduction.
_OPTIONS_FIRST = ("hinge_embedding_loss", "poisson_nll_loss")


def _row_of(name: str, function: Callable[..., Expr], options: tuple[str, ...]) -> TorchRow:
    order = (*options, "reduction") if name in _OPTIONS_FIRST else ("reduction", *options)

    def rule(
        imp: Importer,
        x: GraphExpr,
        y: GraphExpr,
        *args: object,
        size_average: bool | None = None,
        reduce: bool | None = None,
        weight: GraphExpr | None = None,
        **loss_options: object,
    ) -> GraphExpr:
        loss_options |= dict(zip(order, args, strict=False))
        reduction = reduction_of(loss_options.pop("reduction", "mean"), size_average, reduce)
        x, y = promoted(imp, x, y)
        losses = emit_elementwise(imp.builder, name, partial(function, **loss_options), x, y)
        return _reduced(imp, _weighted(imp, losses, weight), reduction)

    names = ("imp", "x", "y", *order, "size_average", "reduce", "weight")
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    shown = inspect.Signature([inspect.Parameter(name, kind) for name in names])
    rule.__signature__ = shown  # type: ignore[attr-defined]  # with which calls are matched
    return TorchRow(rule)


def _weighted(imp: Importer, losses: GraphExpr, weight: GraphExpr | None) -> GraphExpr:
    return losses if weight is None else imp.emit(R.multiply(losses, weight))


def _of_module(name: str, options: tuple[str, ...], weights: tuple[str, ...] = ()) -> Rule:
    """The rule of a module, whose attributes are options of its function."""

    def rule(imp: Importer, module: TorchLayer, *args: GraphExpr) -> Value:
        attributes = {option: getattr(module, option) for option in ("reduction", *options)}
        attributes |= {key: imp.param(getattr(module, key)) for key in weights}
        return ROWS[name].rule(imp, *args, **attributes)

    return rule


for _name, (_module, _function, _options) in _ELEMENTWISE.items():
    ROWS[_name] = _row_of(_name, _function, _options)
    MODULES[_module] = _of_module(_name, _options)


@row("binary_cross_entropy")
def _bce(
    imp: Importer,
    x: GraphExpr,
    target: GraphExpr,
    weight: GraphExpr | None = None,
    reduction: _Reduction = "mean",
    *,
    size_average: bool | None = None,
    reduce: bool | None = None,
) -> GraphExpr:
    losses = emit_elementwise(imp.builder, "binary_cross_entropy", _binary_cross_entropy, x, target)
    name = reduction_of(reduction, size_average, reduce)
    return _reduced(imp, _weighted(imp, losses, weight), name)


@row("binary_cross_entropy_with_logits")
def _bce_with_logits(
    imp: Importer,
    x: GraphExpr,
    target: GraphExpr,
    weight: GraphExpr | None = None,
    pos_weight: GraphExpr | None = None,
    reduction: _Reduction = "mean",
    *,
    size_average: bool | None = None,
    reduce: bool | None = None,
) -> GraphExpr:
    def loss(v: Expr, y: Expr, *weights: Expr) -> Expr:
        zero, one = _like(0, v), _like(1, v)
        size = te.log(one + te.exp(zero - te.abs(v))) + _positive(zero - v)
        factor = one + (weights[0] - one) * y if weights else one
        return (one - y) * v + factor * size

    others = () if pos_weight is None else (pos_weight,)
    losses = emit_elementwise(imp.builder, "binary_cross_entropy", loss, x, target, *others)
    name = reduction_of(reduction, size_average, reduce)
    return _reduced(imp, _weighted(imp, losses, weight), name)


@row("nll_loss", "nll_loss_nd", "nll_loss2d")
def _nll(
    imp: Importer,
    x: GraphExpr,
    target: GraphExpr,
    weight: GraphExpr | None = None,
    reduction: _Reduction = "mean",
    ignore_index: int = -100,
    *,
    size_average: bool | None = None,
    reduce: bool | None = None,
) -> GraphExpr:
    name = reduction_of(reduction, size_average, reduce)
    return imp.emit(R.nn.nll_loss(x, target, weight, name, ignore_index))


@row(
    "cross_entropy",
    CrossEntropyLoss=lambda imp, m: {
        "weight": imp.param(m.weight),
        "ignore_index": m.ignore_index,
        "reduction": m.reduction,
        "label_smoothing": m.label_smoothing,
    },
)
def _cross_entropy(
    imp: Importer,
    x: GraphExpr,
    target: GraphExpr,
    weight: GraphExpr | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> GraphExpr:
    if label_smoothing:
        raise GraphError(
            f"label_smoothing of a cross entropy is {label_smoothing}",
            "the loss is imported without smoothing of labels",
            "export the model: from_exported_program(torch.export.export(model, inputs))",
        )
    name = reduction_of(reduction, size_average, reduce)
    logits = imp.emit(R.nn.log_softmax(x, 1 if imp.info(x).ndim > 2 else -1))
    return imp.emit(R.nn.nll_loss(logits, target, weight, name, ignore_index))


@row("margin_ranking_loss")
def _margin_ranking(
    imp: Importer,
    a: GraphExpr,
    b: GraphExpr,
    target: GraphExpr,
    margin: float = 0.0,
    reduction: _Reduction = "mean",
    *,
    size_average: bool | None = None,
    reduce: bool | None = None,
) -> GraphExpr:
    def loss(x: Expr, y: Expr, sign: Expr) -> Expr:
        return _positive((y - x) * sign + _like(margin, x))

    losses = emit_elementwise(imp.builder, "margin_ranking", loss, a, b, target)
    return _reduced(imp, losses, reduction_of(reduction, size_average, reduce))


@row("cosine_embedding_loss")
def _cosine_embedding(
    imp: Importer,
    a: GraphExpr,
    b: GraphExpr,
    target: GraphExpr,
    margin: float = 0.0,
    reduction: _Reduction = "mean",
    *,
    size_average: bool | None = None,
    reduce: bool | None = None,
) -> GraphExpr:
    products = [
        imp.emit(R.sum(imp.emit(R.multiply(*pair)), [-1])) for pair in ((a, b), (a, a), (b, b))
    ]

    def loss(both: Expr, x: Expr, y: Expr, sign: Expr) -> Expr:
        zero, one, least = _like(0, x), _like(1, x), _like(1e-12, x)
        cosine = both / te.sqrt((x + least) * (y + least))
        alike = te.select(sign.equal(one), one - cosine, zero)
        apart = _positive(cosine - _like(margin, x))
        return alike + te.select(sign.equal(zero - one), apart, zero)

    sign = imp.cast(target, imp.dtype(a))
    losses = emit_elementwise(imp.builder, "cosine_embedding", loss, *products, sign)
    return _reduced(imp, losses, reduction_of(reduction, size_average, reduce))


@row("triplet_margin_loss")
def _triplet(
    imp: Importer,
    anchor: GraphExpr,
    positive: GraphExpr,
    negative: GraphExpr,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: _Reduction = "mean",
    *,
    size_average: bool | None = None,
    reduce: bool | None = None,
) -> GraphExpr:
    norm: Callable[..., GraphExpr] = ROWS["norm"].rule  # type: ignore[assignment]

    def distance(a: GraphExpr, b: GraphExpr) -> GraphExpr:
        apart = imp.emit(R.add(imp.emit(R.subtract(a, b)), const(eps, imp.dtype(a))))
        return norm(imp, apart, p, -1)

    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = imp.emit(R.minimum(far, distance(positive, negative)))

    def loss(x: Expr, y: Expr) -> Expr:
        return _positive(x - y + _like(margin, x))

    losses = emit_elementwise(imp.builder, "triplet_margin", loss, near, far)
    return _reduced(imp, losses, reduction_of(reduction, size_average, reduce))


@row("multi_margin_loss")
def _multi_margin(
    imp: Importer,
    x: GraphExpr,
    target: GraphExpr,
    p: float = 1,
    margin: float = 1.0,
    weight: GraphExpr | None = None,
    reduction: _Reduction = "mean",
    *,
    size_average: bool | None = None,
    reduce: bool | None = None,
) -> GraphExpr:
    places = imp.emit(R.expand_dims(target, -1))
    own = imp.emit(R.gather_elements(x, places, -1))
    classes = imp.emit(R.arange(0, imp.shape(x)[-1], 1, imp.dtype(target)))

    def loss(v: Expr, other: Expr, label: Expr, number: Expr) -> Expr:
        beyond = _positive(_like(margin, v) - other + v)
        return te.select(
            ops.equal(label, number), _like(0, v), beyond * beyond if p == 2 else beyond
        )

    losses = emit_elementwise(imp.builder, "multi_margin", loss, x, own, places, classes)
    losses = imp.emit(R.mean(losses, [-1]))
    if weight is not None:
        losses = imp.emit(R.multiply(losses, imp.emit(R.take(weight, target, 0))))
    return _reduced(imp, losses, reduction_of(reduction, size_average, reduce))


@row("multilabel_soft_margin_loss")
def _multilabel_soft_margin(
    imp: Importer,
    x: GraphExpr,
    target: GraphExpr,
    weight: GraphExpr | None = None,
    reduction: _Reduction = "mean",
    *,
    size_average: bool | None = None,
    reduce: bool | None = None,
) -> GraphExpr:
    losses = _bce_with_logits(imp, x, target, weight, reduction="none")
    losses = imp.emit(R.mean(losses, [-1]))
    return _reduced(imp, losses, reduction_of(reduction, size_average, reduce))


@row("gaussian_nll_loss")
def _gaussian(
    imp: Importer,
    x: GraphExpr,
    target: GraphExpr,
    var: Operand,
    full: bool = False,
    eps: float = 1e-6,
    reduction: _Reduction = "mean",
) -> GraphExpr:
    variance = var if imp.is_tensor(var) else const(var, imp.dtype(x))
    if 0 < imp.info(variance).ndim < imp.info(x).ndim:
        variance = imp.emit(R.expand_dims(variance, -1))

    def loss(v: Expr, y: Expr, width: Expr) -> Expr:
        width = te.select(width < _like(eps, v), _like(eps, v), width)
        total = _like(0.5, v) * (te.log(width) + (v - y) * (v - y) / width)
        return total + _like(0.5 * math.log(2 * math.pi), v) if full else total

    losses = emit_elementwise(imp.builder, "gaussian_nll", loss, x, target, variance)
    return _reduced(imp, losses, reduction_of(reduction))


_OF_MODULES: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "BCELoss": ("binary_cross_entropy", (), ("weight",)),
    "BCEWithLogitsLoss": ("binary_cross_entropy_with_logits", (), ("weight", "pos_weight")),
    "NLLLoss": ("nll_loss", ("ignore_index",), ("weight",)),
    "MarginRankingLoss": ("margin_ranking_loss", ("margin",), ()),
    "CosineEmbeddingLoss": ("cosine_embedding_loss", ("margin",), ()),
    "TripletMarginLoss": ("triplet_margin_loss", ("margin", "p", "eps", "swap"), ()),
    "MultiMarginLoss": ("multi_margin_loss", ("p", "margin"), ("weight",)),
    "MultiLabelSoftMarginLoss": ("multilabel_soft_margin_loss", (), ("weight",)),
    "GaussianNLLLoss": ("gaussian_nll_loss", ("full", "eps"), ()),
}
MODULES.update({name: _of_module(*columns) for name, columns in _OF_MODULES.items()})
