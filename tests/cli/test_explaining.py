"""te-sched explain: the page, its text, and stories that end with an error."""

import json

import pytest

from tests.cli.block_programs import PRODUCT, SCHEDULED, data
from tests.cli.conftest import TEXTS


@pytest.mark.parametrize("name", ["gemm", "gpu", "old", "race"])
def test_explain_writes_a_page(te_sched_command, program, tmp_path, name):
    page = tmp_path / "report.html"
    done = te_sched_command("explain", "--no-measure", "-o", page, program(name))
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith("schedule 1: ")
    assert done.stdout.endswith("report.html\n")
    text = page.read_text()
    assert text.startswith("<!doctype html>") or text.startswith("<!DOCTYPE html>")
    assert "program.py" in text


def test_explain_names_the_page_after_the_program(te_sched_command, program, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    te_sched_command("explain", "--no-measure", program("gemm", "product.py"))
    assert (tmp_path / "product.html").exists()


def test_explain_ends_with_the_error(te_sched_command, program):
    done = te_sched_command("explain", "--json", "--no-measure", program("broken"))
    assert done.exit_code == 1
    last = json.loads(done.stdout)["steps"][-1]
    assert last["problems"][0]["fault"].startswith("cannot split axis i of stage")
    assert "Traceback" in done.stderr


@pytest.mark.parametrize(("name", "shown"), [("'gemm'", "gemm"), ("3", "main"), ("''", "main")])
def test_explain_names_the_function_as_the_program_does(te_sched_command, tmp_path, name, shown):
    path = tmp_path / "named.py"
    path.write_text(
        "import te_sched\nfrom te_sched import te\nA = te.placeholder((8,), name='A')\n"
        "s = te.create_schedule(te.compute((8,), lambda i: A[i] + 1, name='B').op)\n"
        f"te_sched.build(s, [A, s.outputs[0].output(0)], name={name})\n"
    )
    done = te_sched_command("explain", "--text", "--no-measure", path)
    assert f"{shown}(A: float32[8], B: float32[8])" in done.stdout


def test_explain_as_text(te_sched_command, program):
    done = te_sched_command("explain", "--text", "--max-steps", 2, program("gemm"))
    assert "s[C].parallel(i_outer)" in done.stdout
    assert "step 2" not in done.stdout


def test_explain_one_of_several(te_sched_command, program):
    path = program("two")
    done = te_sched_command("explain", path)
    assert done.exit_code == 2
    assert "choose one: --schedule 1" in done.stderr
    done = te_sched_command("explain", "--no-measure", "--text", "-s", "run_second", path)
    assert "second" in done.stdout


def test_explain_ends_with_an_ordinary_error_of_the_program(te_sched_command, program):
    text = f"{TEXTS['gemm']}\nprint(undefined_name)\n"
    done = te_sched_command("explain", "--json", "--no-measure", program(text))
    assert done.exit_code == 1
    (problem,) = json.loads(done.stdout)["steps"][-1]["problems"]
    assert (problem["kind"], problem["phase"]) == ("NameError", "program")


def test_explain_rejects_a_budget_of_nothing(te_sched_command, program):
    done = te_sched_command("explain", "--budget", 0, program("gemm"))
    assert done.exit_code == 2
    assert "--budget" in done.stderr


def test_explain_rejects_a_file_that_cannot_be_written(te_sched_command, program, tmp_path):
    page = tmp_path / f"{'long' * 100}.html"
    done = te_sched_command("explain", "--no-measure", "-o", page, program("gemm"))
    assert done.exit_code == 2
    assert "File name too long" in done.stderr
    assert "-o FILE" in done.stderr


def test_explain_of_a_schedule_of_blocks(te_sched_command, program):
    done = te_sched_command("explain", "-s", 1, "--json", "--no-measure", program(SCHEDULED))
    titles = [step["title"] for step in data(done)["steps"]]
    assert titles == ["The program as given", "reorder(i, k, j)", "parallel(i)"]


def test_explain_ends_with_the_error_of_a_primitive(te_sched_command, program):
    path = program(f"{SCHEDULED}\nsch.parallel(k)\n")
    done = te_sched_command("explain", "-s", 1, "--json", "--no-measure", path)
    assert done.exit_code == 1
    *_, last = data(te_sched_command("explain", "--json", "--no-measure", path))["steps"]
    assert last["problems"][0]["fault"].startswith("cannot parallelize reduction loop k")
    assert last["title"] == "sch.parallel(k)"


def test_explain_of_a_function_of_blocks(te_sched_command, program):
    done = te_sched_command("explain", "--text", "--no-measure", program(PRODUCT))
    assert "block C  vi = i, vj = j, reduce vk = k" in done.stdout
