"""UpdateParamStructInfo: parameters with other struct infos."""

from te_sched import relax
from te_sched.relax.transform import UpdateParamStructInfo
from tests.relax.transform.lowered import INFO, chained


def test_what_is_computed_of_a_parameter_follows():
    module = UpdateParamStructInfo(lambda param: relax.TensorStructInfo([8], "float16"))(chained(1))
    infos = [one.var.struct_info for one in module["main"].body.blocks[0].bindings]
    assert {str(info) for info in infos} == {'R.Tensor((8,), dtype="float16")'}


def test_parameters_without_a_new_struct_info_stay():
    module = chained(1)
    assert UpdateParamStructInfo(lambda param: None)(module)["main"] is module["main"]
    assert module["main"].params[0].struct_info == INFO
