"""Passes of users over functions and dataflow blocks."""

import inspect

import pytest

from te_sched import relax
from te_sched.errors import DeclarationError, GraphError, ParameterError
from te_sched.passes import ModulePass
from te_sched.relax import transform
from te_sched.relax.transform import (
    DataflowBlockPass,
    FunctionPass,
    dataflowblock_pass,
    function_pass,
)
from te_sched.relax.transform.rewriting import RulesPass


def _module():
    x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            y = builder.emit(relax.op.add(x, x))
            z = builder.emit_output(relax.op.add(y, x))
        builder.emit_func_output(z)
    return builder.get()


def test_function_pass_of_a_class():
    @function_pass(opt_level=1, name="mark")
    class Mark:
        def __init__(self, value):
            self.value = value

        def transform_function(self, func, mod, context):
            return func.with_attr("marked", (self.value, context.opt_level, len(mod.functions)))

    assert Mark(3)(_module())["main"].attrs["marked"] == (3, 2, 1)
    assert str(Mark(3)) == "Run Function pass: mark at the optimization level 1"


def test_a_pass_that_changes_nothing_returns_the_module():
    module = _module()
    assert function_pass(lambda func, mod, context: func, opt_level=0)(module) is module
    assert dataflowblock_pass(lambda block, mod, context: block, opt_level=0)(module) is module


def test_dataflowblock_pass_exchanges_blocks():
    @dataflowblock_pass(opt_level=0)
    def cut(block, mod, context):
        last = block.bindings[-1]
        x = last.value.args[1]
        return relax.DataflowBlock([relax.VarBinding(last.var, relax.op.add(x, x))])

    main = cut(_module())["main"]
    (binding,) = main.body.blocks[0].bindings
    assert binding.var is main.body.body


def test_passes_reject_other_results():
    with pytest.raises(GraphError, match="pass lost must return a function, got None"):
        function_pass(lambda func, mod, context: None, opt_level=0, name="lost")(_module())
    with pytest.raises(GraphError, match="pass lost must return a dataflow block"):
        dataflowblock_pass(lambda func, mod, context: None, opt_level=0, name="lost")(_module())
    empty = dataflowblock_pass(lambda *given: relax.DataflowBlock([]), opt_level=0, name="empty")
    with pytest.raises(GraphError, match="pass empty must keep the outputs of a block, it lost gv"):
        empty(_module())


def test_an_unknown_pass_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"has no te_sched\.relax\.transform\.FuseAll"):
        transform.FuseAll()


def test_decorators_make_classes_of_classes_and_passes_of_functions():
    """As in TVM; the class has the signature of the user's."""

    @function_pass(opt_level=2)
    class Mark:
        """Marks."""

        def __init__(self, value: int = 3):
            self.value = value

        def transform_function(self, func, mod, context):
            return func

    block = dataflowblock_pass(lambda block, mod, context: block, opt_level=0, name="keep")
    assert issubclass(Mark, FunctionPass)
    assert type(block) is DataflowBlockPass
    assert not isinstance(block, ModulePass)
    assert (Mark.__name__, Mark.__doc__, Mark.info.opt_level) == ("Mark", "Marks.", 2)
    assert str(inspect.signature(Mark)) == "(value: int = 3)"
    assert Mark(4).value == 4


def test_a_class_of_passes_says_its_name_and_level():
    class Mark(FunctionPass, opt_level=1, name="MarkAll"):
        def transform_function(self, func, *_):
            return func.with_attr("marked", 1)

    class Again(Mark):
        """With the defaults."""

    assert str(Mark()) == "Run Function pass: MarkAll at the optimization level 1"
    assert str(Again()) == "Run Function pass: Again at the optimization level 0"
    assert Mark()(_module())["main"].attrs["marked"] == 1


def test_passes_reject_other_options_and_classes_without_a_method():
    with pytest.raises(ParameterError, match=r"relax\.transform\.ToNonDataflow takes 0 arguments"):
        transform.ToNonDataflow(3)
    with pytest.raises(ParameterError, match="FunctionPass takes 0 arguments by position, got 2"):
        FunctionPass(lambda func, mod, context: func, None)
    with pytest.raises(DeclarationError, match="FunctionPass has no method transform_f"):
        FunctionPass()(_module())
    with pytest.raises(DeclarationError, match="BlockPass has no method transform_data"):
        DataflowBlockPass()(_module())
    with pytest.raises(DeclarationError, match="RulesPass has no method rules"):
        RulesPass()(_module())


def test_a_class_of_blocks_maps_them():
    class Last(DataflowBlockPass):
        def transform_dataflowblock(self, block, *_):
            binding = block.bindings[-1]
            x = binding.value.args[1]
            return relax.DataflowBlock([relax.VarBinding(binding.var, relax.op.add(x, x))])

    assert len(Last()(_module())["main"].body.blocks[0].bindings) == 1
