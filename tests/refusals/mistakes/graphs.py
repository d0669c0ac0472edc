"""Graphs: scripts, builders, passes, libraries and calls of models."""

import numpy as np

import te_sched
from te_sched import IRModule, nd, relax, tir, topi
from te_sched.errors import (
    ArgumentError,
    BuildError,
    CallError,
    DeclarationError,
    GraphError,
    GraphTypeError,
    LoweringError,
    ParameterError,
    ScriptError,
)
from te_sched.relax.dpl import is_op, wildcard
from te_sched.script import ir as I
from te_sched.script import relax as R
from te_sched.script import tir as T
from tests.refusals.table import mistake

info = relax.TensorStructInfo((4, 4), "float32")
x, w = relax.Var("x", info), relax.Var("w", info)
ones = np.ones((4, 4), "float32")


def product():
    builder = relax.BlockBuilder()
    with builder.function("main", [x, w]):
        with builder.dataflow():
            out = builder.emit_output(relax.op.matmul(x, w))
        builder.emit_func_output(out)
    return builder.get()


def call(module, *arrays):
    machine = relax.VirtualMachine(relax.build(module, "llvm"), te_sched.cpu())
    return machine["main"](*map(nd.array, arrays))


@mistake(
    "A value of a dataflow block that is not an output",
    ScriptError,
    r"undefined variable y\n(.|\n)*is not an output of the block\n(.|\n)*R\.output\(y, \.\.\.\)",
)
def not_an_output():
    @R.function
    def main(x: R.Tensor((4, 4), "float32")):
        with R.dataflow():
            y = R.exp(x)
            z = R.tanh(y)
            R.output(z)
        return R.add(y, z)


@not_an_output.help
def _():
    @R.function
    def main(x: R.Tensor((4, 4), "float32")):
        with R.dataflow():
            y = R.exp(x)
            z = R.tanh(y)
            R.output(y, z)
        return R.add(y, z)


@mistake(
    "A function that returns nothing", ScriptError, r"function main has no result(.|\n)*return"
)
def no_return():
    @R.function
    def main(x: R.Tensor((4, 4), "float32")):
        y = R.exp(x)  # noqa: F841


@no_return.help
def _():
    @R.function
    def main(x: R.Tensor((4, 4), "float32")):
        y = R.exp(x)
        return y


@mistake("A group of operators left out", ScriptError, r"scripts have no R\.relu(.|\n)*R\.nn\.relu")
def operator_of_a_group():
    @R.function
    def main(x: R.Tensor((4, 4), "float32")):
        return R.relu(x)


@operator_of_a_group.help
def _():
    @R.function
    def main(x: R.Tensor((4, 4), "float32")):
        return R.nn.relu(x)


@mistake(
    "A number of another type",
    ScriptError,
    r"relax\.add have dtypes float32, int32\n(.|\n)*R\.const\(1, \"float32\"\)",
)
def number_of_another_type():
    @R.function
    def main(x: R.Tensor((4, 4), "float32")):
        return R.add(x, R.const(1))


@number_of_another_type.help
def _():
    @R.function
    def main(x: R.Tensor((4, 4), "float32")):
        return R.add(x, R.const(1, "float32"))


@mistake(
    "A function of loops called without call_tir",
    ScriptError,
    r"'double' is called with 1 argument, expected 2\n(.|\n)*R\.call_tir\(double",
)
def without_call_tir():
    @I.ir_module
    class Module:
        @T.prim_func
        def double(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
            for i in range(4):
                B[i] = A[i] * 2.0

        @R.function
        def main(x: R.Tensor((4,), "float32")):
            return Module.double(x)


@without_call_tir.help
def _():
    @I.ir_module
    class Module:
        @T.prim_func
        def double(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
            for i in range(4):
                B[i] = A[i] * 2.0

        @R.function
        def main(x: R.Tensor((4,), "float32")):
            return R.call_tir(Module.double, (x,), out_sinfo=R.Tensor((4,), "float32"))


@mistake(
    "The shape of a result that the function does not have",
    ScriptError,
    r"double is called with R\.Tensor\(\(5,\)(.|\n)*expected R\.Tensor\(\(4,\)(.|\n)*"
    "a result(.|\n)*correct out_sinfo",
)
def shape_of_a_result():
    @I.ir_module
    class Module:
        @T.prim_func
        def double(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
            for i in range(4):
                B[i] = A[i] * 2.0

        @R.function
        def main(x: R.Tensor((4,), "float32")):
            return R.call_tir(Module.double, (x,), out_sinfo=R.Tensor((5,), "float32"))


@shape_of_a_result.help
def _():
    @I.ir_module
    class Module:
        @T.prim_func
        def double(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
            for i in range(4):
                B[i] = A[i] * 2.0

        @R.function
        def main(x: R.Tensor((4,), "float32")):
            return R.call_tir(Module.double, (x,), out_sinfo=R.Tensor((4,), "float32"))


@mistake(
    "A misspelled function of the module",
    ScriptError,
    r"the module has no function dubble\n(.|\n)*did you mean 'double'",
)
def misspelled_function():
    @I.ir_module
    class Module:
        @T.prim_func
        def double(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
            for i in range(4):
                B[i] = A[i] * 2.0

        @R.function
        def main(x: R.Tensor((4,), "float32")):
            return R.call_tir(Module.dubble, (x,), out_sinfo=R.Tensor((4,), "float32"))


@misspelled_function.help
def _():
    @I.ir_module
    class Module:
        @T.prim_func
        def double(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
            for i in range(4):
                B[i] = A[i] * 2.0

        @R.function
        def main(x: R.Tensor((4,), "float32")):
            return R.call_tir(Module.double, (x,), out_sinfo=R.Tensor((4,), "float32"))


@mistake(
    "A result of another shape than declared",
    ScriptError,
    r"the result of function main is R\.Tensor\(\(4, 4\).*declared as R\.Tensor\(\(4, 5\)",
)
def declared_result():
    @R.function
    def main(x: R.Tensor((4, 4), "float32")) -> R.Tensor((4, 5), "float32"):
        return R.exp(x)


@declared_result.help
def _():
    @R.function
    def main(x: R.Tensor((4, 4), "float32")) -> R.Tensor((4, 4), "float32"):
        return R.exp(x)


@mistake(
    "An effect in a pure function",
    ScriptError,
    r"a pure function has a call with effects: R\.print(.|\n)*pure=False",
)
def effect_of_a_pure_function():
    @R.function
    def main(x: R.Tensor((4, 4), "float32")):
        _ = R.print(x, format="{}")
        return x


@effect_of_a_pure_function.help
def _():
    @R.function(pure=False)
    def main(x: R.Tensor((4, 4), "float32")):
        _ = R.print(x, format="{}")
        return x


@mistake(
    "A function without a result",
    GraphError,
    r"function main has no result\n(.|\n)*emit_func_output",
)
def builder_without_a_result():
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit(relax.op.exp(x))


@builder_without_a_result.help
def _():
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.exp(x)))


@mistake(
    "A variable that is not a parameter",
    GraphError,
    r"variable w is used where it is not defined",
)
def not_a_parameter():
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.matmul(x, w)))
    call(builder.get(), ones)


@not_a_parameter.help
def _():
    builder = relax.BlockBuilder()
    with builder.function("main", [x, w]):
        builder.emit_func_output(builder.emit(relax.op.matmul(x, w)))
    call(builder.get(), ones, ones)


@mistake(
    "An array where a value of the graph is expected",
    GraphError,
    r"an array of shape \(4, 4\) is passed(.|\n)*relax\.const\(array\)",
)
def array_in_a_graph():
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit_te(topi.add, x, ones))


@array_in_a_graph.help
def _():
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit_te(topi.add, x, relax.const(ones)))


@mistake(
    "Shapes that do not fit",
    GraphError,
    r"the summed sizes of relax\.matmul differ(.|\n)*transpose the second argument",
)
def shapes_that_do_not_fit():
    other = relax.Var("other", relax.TensorStructInfo((3, 4), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x, other]):
        builder.emit_func_output(builder.emit(relax.op.matmul(x, other)))


@shapes_that_do_not_fit.help
def _():
    other = relax.Var("other", relax.TensorStructInfo((4, 3), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x, other]):
        builder.emit_func_output(builder.emit(relax.op.matmul(x, other)))


@mistake(
    "A tensor without a dtype",
    GraphError,
    r"the dtype of u is not known(.|\n)*declare it",
)
def tensor_without_a_dtype():
    u = relax.Var("u", R.Tensor((4, 4)))
    builder = relax.BlockBuilder()
    with builder.function("main", [u]):
        builder.emit_func_output(builder.emit_te(topi.exp, u))


@tensor_without_a_dtype.help
def _():
    u = relax.Var("u", R.Tensor((4, 4), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [u]):
        builder.emit_func_output(builder.emit_te(topi.exp, u))


@mistake(
    "An operator of an older version",
    DeclarationError,
    r"there is no operator 'relax\.nn\.dense'(.|\n)*relax\.matmul",
)
def older_operator():
    te_sched.ir.Op.get("relax.nn.dense")


@older_operator.help
def _():
    te_sched.ir.Op.get("relax.matmul")


@mistake(
    "A pattern of a misspelled operator",
    DeclarationError,
    r"there is no operator 'matmul'\n(.|\n)*use 'relax\.matmul'",
)
def misspelled_pattern():
    is_op("matmul")(wildcard(), wildcard())


@misspelled_pattern.help
def _():
    is_op("relax.matmul")(wildcard(), wildcard())


@mistake(
    "A mutator that does not set up its builder",
    GraphError,
    r"mutator Changed has no builder\n(.|\n)*super\(\)\.__init__",
)
def mutator_without_a_builder():
    class Changed(relax.PyExprMutator):
        def __init__(self, mod):
            self.mod = mod

    module = product()
    Changed(module).visit_expr(module["main"])


@mutator_without_a_builder.help
def _():
    class Changed(relax.PyExprMutator):
        def __init__(self, mod):
            super().__init__(mod)
            self.mod = mod

    module = product()
    Changed(module).visit_expr(module["main"])


@mistake(
    "A function of a mutator that is lost",
    GraphError,
    r"function double is not in the module\n(.|\n)*self\.builder_\.get\(\)",
)
def lost_function():
    class Doubled(relax.PyExprMutator):
        def visit_call_(self, op):
            builder = relax.BlockBuilder()
            with builder.function("double", [x]):
                builder.emit_func_output(builder.emit(relax.op.add(x, x)))
            name = self.builder_.add_func(builder.get()["double"], "double")
            return relax.Call(name, [op.args[0]])

    module = product()
    changed = IRModule({"main": Doubled(module).visit_expr(module["main"])})
    call(changed, ones, ones)


@lost_function.help
def _():
    class Doubled(relax.PyExprMutator):
        def visit_call_(self, op):
            builder = relax.BlockBuilder()
            with builder.function("double", [x]):
                builder.emit_func_output(builder.emit(relax.op.add(x, x)))
            name = self.builder_.add_func(builder.get()["double"], "double")
            return relax.Call(name, [op.args[0]])

    module = product()
    mutator = Doubled(module)
    mutator.builder_.update_func(module.get_global_var("main"), mutator.visit_expr(module["main"]))
    call(mutator.builder_.get(), ones, ones)


@mistake(
    "A pass without parentheses",
    DeclarationError,
    r"FuseOps is not a pass\n(.|\n)*a pass that it makes: FuseOps\(\)",
)
def pass_without_parentheses():
    te_sched.transform.Sequential([relax.transform.FuseOps])(product())


@pass_without_parentheses.help
def _():
    te_sched.transform.Sequential([relax.transform.FuseOps()])(product())


@mistake(
    "A pass that is given the module as its option",
    ParameterError,
    r"FuseOps makes a pass, and cannot be called with an IRModule(.|\n)*FuseOps\(\)\(module\)",
)
def module_as_an_option():
    relax.transform.FuseOps(product())


@module_as_an_option.help
def _():
    relax.transform.FuseOps()(product())


@mistake(
    "A pass without its method",
    DeclarationError,
    r"class Changed of a pass has no method transform_module",
)
def pass_without_a_method():
    @te_sched.transform.module_pass(opt_level=0)
    class Changed:
        def transform(self, mod, ctx):
            return mod


@pass_without_a_method.help
def _():
    @te_sched.transform.module_pass(opt_level=0)
    class Changed:
        def transform_module(self, mod, ctx):
            return mod

    Changed()(product())


@mistake(
    "A pass that returns nothing",
    LoweringError,
    r"pass Changed must return a module, got None",
)
def pass_that_returns_nothing():
    @te_sched.transform.module_pass(opt_level=0)
    class Changed:
        def transform_module(self, mod, ctx):
            relax.transform.LegalizeOps()(mod)

    Changed()(product())


@pass_that_returns_nothing.help
def _():
    @te_sched.transform.module_pass(opt_level=0)
    class Changed:
        def transform_module(self, mod, ctx):
            return relax.transform.LegalizeOps()(mod)

    Changed()(product())


@mistake(
    "Parameters that are not bound",
    CallError,
    r"main\(\) takes 2 arguments, got 1\n(.|\n)*are x, w",
)
def parameters_that_are_not_bound():
    call(product(), ones)


@parameters_that_are_not_bound.help
def _():
    call(relax.transform.BindParams("main", {"w": ones})(product()), ones)


@mistake(
    "Parameters without names",
    GraphTypeError,
    r"argument params of relax.transform.BindParams is a list, expected a dictionary",
)
def parameters_without_names():
    relax.transform.BindParams("main", [ones])


@parameters_without_names.help
def _():
    relax.transform.BindParams("main", {"w": ones})(product())


@mistake(
    "A graph compiled as a function of loops",
    BuildError,
    r"build does not take functions of graphs, got main\n(.|\n)*relax\.build",
)
def graph_compiled_as_loops():
    te_sched.build(product(), target="llvm")


@graph_compiled_as_loops.help
def _():
    relax.build(product(), target="llvm")


@mistake(
    "A graph of operators that is tuned",
    DeclarationError,
    r"no functions of blocks to search for\n(.|\n)*LegalizeOps",
)
def operators_that_are_tuned(folder):
    from te_sched import meta_schedule as ms

    ms.tune_tir(product(), "llvm -num-cores=1", folder, max_trials_global=1)


@operators_that_are_tuned.help
def _():
    module = relax.transform.LegalizeOps()(product())
    assert tir.Schedule(module).get_block("matmul", func_name="matmul")


@mistake(
    "A pipeline with other options",
    GraphError,
    r"'static_shape_tuning' does not take these options\n(.|\n)*it takes total_trials, target",
)
def pipeline_with_other_options():
    relax.get_pipeline("static_shape_tuning", trials=64, target="llvm")


@pipeline_with_other_options.help
def _():
    relax.get_pipeline("static_shape_tuning", total_trials=64, target="llvm")


@mistake(
    "A function that is not registered",
    GraphError,
    r"functions that are not registered: course\.missing\n(.|\n)*register_func",
)
def not_registered():
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.call_dps_packed("course.missing", x, info)))
    call(builder.get(), ones)


@not_registered.help
def _():
    te_sched.register_func("course.copy", lambda x, out: x.copyto(out), override=True)
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.call_dps_packed("course.copy", x, info)))
    call(builder.get(), ones)


@mistake(
    "A part for a library that is not compiled",
    GraphError,
    r"is not compiled by its library, course\n(.|\n)*RunCodegen\(\)",
)
def part_of_a_library():
    patterns = [("course.product", is_op("relax.matmul")(wildcard(), wildcard()))]
    parts = relax.transform.FuseOpsByPattern(patterns, annotate_codegen=True)(product())
    call(parts, ones, ones)


@part_of_a_library.help
def _():
    def compiled(functions, options, constants):
        return [lambda x, w, out: out.copyfrom(x.numpy() @ w.numpy()) for _ in functions]

    te_sched.register_func("relax.ext.course", compiled, override=True)
    patterns = [("course.product", is_op("relax.matmul")(wildcard(), wildcard()))]
    parts = relax.transform.FuseOpsByPattern(patterns, annotate_codegen=True)(product())
    call(relax.transform.RunCodegen()(parts), ones, ones)


@mistake(
    "An argument of another shape",
    ArgumentError,
    r"argument x of main has shape \(4, 5\), expected 4 along axis 1",
)
def argument_of_another_shape():
    call(product(), np.ones((4, 5), "float32"), ones)


@argument_of_another_shape.help
def _():
    call(product(), np.ones((4, 4), "float32"), ones)


@mistake(
    "An argument of another dtype",
    ArgumentError,
    r"argument w of main has dtype float64, expected float32\n(.|\n)*dtype=\"float32\"",
)
def argument_of_another_dtype():
    call(product(), ones, np.ones((4, 4)))


@argument_of_another_dtype.help
def _():
    call(product(), ones, np.ones((4, 4), "float32"))


@mistake(
    "Values of different dtypes",
    GraphTypeError,
    r"the arguments of relax\.matmul have dtypes float32, float16\n(.|\n)*astype",
)
def values_of_different_dtypes():
    half = relax.Var("half", relax.TensorStructInfo((4, 4), "float16"))
    relax.BlockBuilder().normalize(relax.op.matmul(x, half))


@values_of_different_dtypes.help
def _():
    half = relax.Var("half", relax.TensorStructInfo((4, 4), "float16"))
    relax.BlockBuilder().normalize(relax.op.matmul(x, relax.op.astype(half, "float32")))


@mistake(
    "A condition for each element",
    ScriptError,
    r"a condition is R\.Tensor\(\(4, 4\).*expected one value\n(.|\n)*R\.where",
)
def condition_for_each_element():
    @R.function
    def main(x: R.Tensor((4, 4), "float32")):
        if x > R.const(0.0, "float32"):
            y = R.exp(x)
        else:
            y = R.tanh(x)
        return y


@condition_for_each_element.help
def _():
    @R.function
    def main(x: R.Tensor((4, 4), "float32")):
        return R.where(x > R.const(0.0, "float32"), R.exp(x), R.tanh(x))


@mistake(
    "Sizes that may differ",
    GraphError,
    r"cannot run operator relax\.add: the shape of its result is not known(.|\n)*match_cast",
)
def sizes_that_may_differ():
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), y: R.Tensor(("m", 4), "float32")):
        return R.add(x, y)

    call(IRModule({"main": main}), ones, ones)


@sizes_that_may_differ.help
def _():
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), y: R.Tensor(("m", 4), "float32")):
        n = T.int64()
        z = R.match_cast(y, R.Tensor((n, 4), "float32"))
        return R.add(x, z)

    call(IRModule({"main": main}), ones, ones)


@mistake(
    "A cast that does not hold",
    ArgumentError,
    r"the value of a match_cast has shape \(4, 4\), expected 3(.|\n)*cast to R\.Tensor\(\(3, 3\)",
)
def cast_that_does_not_hold():
    @R.function
    def main(x: R.Tensor("float32", ndim=2)):
        y = R.match_cast(x, R.Tensor((3, 3), "float32"))
        return R.exp(y)

    call(IRModule({"main": main}), ones)


@cast_that_does_not_hold.help
def _():
    @R.function
    def main(x: R.Tensor("float32", ndim=2)):
        n, m = T.int64(), T.int64()
        y = R.match_cast(x, R.Tensor((n, m), "float32"))
        return R.exp(y)

    call(IRModule({"main": main}), ones)


@mistake(
    "Tensors that are joined, without a tuple",
    ScriptError,
    r"the axis of relax\.concat is x, expected an int\n(.|\n)*as a tuple",
)
def joined_without_a_tuple():
    @R.function
    def main(x: R.Tensor((4, 4), "float32")):
        return R.concat(x, x)


@joined_without_a_tuple.help
def _():
    @R.function
    def main(x: R.Tensor((4, 4), "float32")):
        return R.concat((x, x))


@mistake(
    "A parameter of another library",
    ScriptError,
    r"nn.softmax has no parameter dim(.|\n)*are data, axis",
)
def parameter_of_another_library():
    @R.function
    def main(x: R.Tensor((4, 4), "float32")):
        return R.nn.softmax(x, dim=-1)


@parameter_of_another_library.help
def _():
    @R.function
    def main(x: R.Tensor((4, 4), "float32")):
        return R.nn.softmax(x, axis=-1)


@mistake(
    "An element that a tuple does not have",
    ScriptError,
    r"index 2 is out of range for a tuple of 2 values\n(.|\n)*from 0 to 1",
)
def element_of_a_tuple():
    @R.function
    def main(x: R.Tensor((4, 4), "float32")):
        halves = R.split(x, 2)
        return halves[2]


@element_of_a_tuple.help
def _():
    @R.function
    def main(x: R.Tensor((4, 4), "float32")):
        halves = R.split(x, 2)
        return halves[1]


@mistake(
    "An annotation that is not in the pattern",
    GraphError,
    r"the annotated pattern 'weight' is not a part of the pattern of course\.product\n(.|\n)*same",
)
def annotation_of_another_pattern():
    pattern = is_op("relax.matmul")(wildcard(), wildcard())
    patterns = [("course.product", pattern, {"weight": wildcard()})]
    relax.transform.FuseOpsByPattern(patterns)(product())


@annotation_of_another_pattern.help
def _():
    weight = wildcard()
    pattern = is_op("relax.matmul")(wildcard(), weight)
    patterns = [("course.product", pattern, {"weight": weight})]
    relax.transform.FuseOpsByPattern(patterns)(product())


@mistake(
    "An executable for a GPU in a machine of the processor",
    CallError,
    r"built for cuda, the machine is on cpu\(0\)\n(.|\n)*emulated_cuda\(0\)",
)
def machine_of_another_device():
    executable = relax.build(product(), "cuda")
    relax.VirtualMachine(executable, te_sched.cpu())


@machine_of_another_device.help
def _():
    executable = relax.build(product(), "cuda")
    relax.VirtualMachine(executable, te_sched.emulated_cuda(0))
