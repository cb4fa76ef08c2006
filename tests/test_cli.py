"""The command line: what it writes, what it says, and its exit codes."""

from __future__ import annotations

import ast
import hashlib
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import clusterscape
from clusterscape import Ensemble
from clusterscape._core.errors import InvalidParameter, MemoryLimitError, ParameterError
from clusterscape._core.store import AnotherRunError
from clusterscape.cli import command
from clusterscape.cli.app import app
from clusterscape.cli.console import sentence
from clusterscape.combine import METHODS
from clusterscape.compare import MEASURES
from clusterscape.io import TableError, load_model
from clusterscape.report.findings import sentences

RUN_FILES = {
    "report.html",
    "consensus.png",
    "ensemble.npz",
    "k_selection.csv",
    "k_selection.png",
    "labels.csv",
    "model.npz",
    "run.json",
}
CHOICE = {"k_selection.csv", "k_selection.png"}
COLUMNS = ["id", "label", "confidence", "runner_up", "runner_up_share"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch) -> Path:
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CLUSTERSCAPE_DATA", raising=False)
    return tmp_path


def call(*words: str, data: bytes | None = None, **options):
    """Run a command in this process."""
    return CliRunner().invoke(app, list(words), input=data, **options)


def shell(*words: str, data: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    """Run a command as people do."""
    return subprocess.run(
        [sys.executable, "-m", "clusterscape", *words],
        input=data,
        capture_output=True,
        timeout=120,
        check=False,
    )


def refused(*words: str, data: bytes | None = None, code: int = 1) -> str:
    """Run a command that must fail; return its one message."""
    before = sorted(Path.cwd().rglob("*"))
    result = call(*words, data=data)
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert sorted(Path.cwd().rglob("*")) == before, "a refused command wrote something"
    if code == 1:
        last = result.stderr.strip().splitlines()[-1]
        assert last.startswith("clusterscape: ")
        assert last.endswith(".")
        return last.removeprefix("clusterscape: ")
    return " ".join(result.stderr.replace("│", " ").split())


def three_groups(seed: int = 0) -> pd.DataFrame:
    """Return 60 points in three groups, with ids and classes."""
    rng = np.random.default_rng(seed)
    X = np.concatenate([rng.normal(c, 0.3, size=(20, 2)) for c in (0, 3, 6)])
    frame = pd.DataFrame(X, columns=["x", "y"])
    frame.insert(0, "name", [f"p{i}" for i in range(60)])
    frame["kind"] = np.repeat(["a", "b", "c"], 20)
    return frame


@pytest.fixture
def table(here: Path) -> str:
    """Write the three groups to a file."""
    three_groups().to_csv(here / "points.csv", index=False)
    return "points.csv"


@pytest.fixture
def labels(here: Path) -> str:
    """Write three clusterings to a file."""
    text = "id,a,b,c\np,x,0,0\nq,x,0,0\nr,y,1,1\ns,y,1,2\nt,y,1,2\n"
    (here / "labels.csv").write_text(text)
    return "labels.csv"


RUN = ("--reference", "kind", "--partitions", "20", "--seed", "3")
# Commands that read tables.
READERS = ("run", "predict", "generate", "combine", "forest", "compare", "explain", "info")
# Without the test for structure, which takes longer than all the rest.
QUICK = (*RUN, "--references", "0", "-q")


# ---- the command itself -----------------------------------------------------------------------


def test_version_and_help() -> None:
    assert call("--version").stdout == f"clusterscape {clusterscape.__version__}\n"
    text = call("--help").stdout
    for verb in (*READERS, "demo"):
        assert f" {verb} " in text
        shown = call(verb, "-h")
        assert shown.exit_code == 0
        assert f"Example: clusterscape {verb} " in shown.stdout
        assert "<" not in shown.stdout.replace("<=", "")
    assert "<" not in text
    written = call("run", "-h").stdout
    assert set(re.findall(r"[\w.]+\.\w+", written)) >= RUN_FILES
    assert set(re.findall(r"\w+", written)) >= set(COLUMNS)
    assert call().exit_code == 2


def test_help_loads_nothing_heavy() -> None:
    program = (
        "import sys, clusterscape.cli\n"
        "sys.argv = ['clusterscape', 'run', '--help']\n"
        "try:\n    clusterscape.cli.main()\nexcept SystemExit: pass\n"
        "others = [f'clusterscape.cli.{verb}' for verb in ('combine', 'demo', 'info')]\n"
        "print([m for m in ('sklearn', 'scipy', 'pandas', 'numba', *others) if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.decode().strip().endswith("[]")


def test_every_command_is_a_file_and_an_unknown_one_is_answered_with_all() -> None:
    folder = Path(command.__file__).parent
    files = {p.stem for p in folder.glob("*.py") if f"\ndef {p.stem}(" in p.read_text("utf8")}
    assert files - {"command"} == set(command.VERBS)
    done = shell("comine")
    assert done.returncode == 2
    assert b"combine" in done.stderr


# ---- run --------------------------------------------------------------------------------------


def test_run_writes_everything_and_says_what_it_found(table: str) -> None:
    done = shell("run", table, "-o", "out", *RUN)
    assert done.returncode == 0, done.stderr.decode()
    words = done.stdout.decode()
    assert "3 clusters (chosen by the rise of the share of separated near neighbours" in words
    assert "20, 20 and 20 points" in words
    assert "Of 60 points 59 (98%) are confident" in words
    assert "Compared with the 3 known classes: 100.0% of the points agree" in words
    assert "The data have cluster structure" in words
    assert "column 'name' holds text" in done.stderr.decode()
    assert "points.csv: 2 columns are used: x, y." in done.stderr.decode()
    said = " ".join(done.stderr.decode().split())
    assert "times, and a fifth as often again with the number of clusters found (diverse" in said
    assert set(os.listdir("out")) == RUN_FILES
    for name in RUN_FILES:
        assert f"{Path('out') / name}: " in words

    frame = pd.read_csv("out/labels.csv")
    assert list(frame.columns) == COLUMNS
    assert list(frame["id"]) == [f"p{i}" for i in range(60)]
    assert frame.groupby(np.repeat([0, 1, 2], 20))["label"].nunique().tolist() == [1, 1, 1]
    assert frame["confidence"].between(0, 1).all()

    ensemble = Ensemble.from_npz("out/ensemble.npz")
    assert ensemble.shape == (60, 24)  # and a fifth as many with the number that was chosen
    assert list(ensemble.index) == list(frame["id"])
    assert Path("out/consensus.png").read_bytes().startswith(b"\x89PNG")

    report = json.loads(Path("out/run.json").read_text())
    assert report["program"] == "clusterscape"
    assert report["versions"]["clusterscape"] == clusterscape.__version__
    assert {"numpy", "scipy", "scikit-learn", "python"} <= set(report["versions"])
    assert report["input"]["file"] == "points.csv"
    digest = hashlib.sha256(Path(table).read_bytes()).hexdigest()
    assert report["input"]["sha256"] == digest
    assert (report["input"]["n_points"], report["input"]["n_features"]) == (60, 2)
    assert report["parameters"]["seed"] == 3
    assert report["parameters"]["partitions"] == 20
    assert report["parameters"]["scaled"] == "standard"
    assert report["generator"]["n_partitions"] == 20
    taken = load_model("out/model.npz")[-1].consensus_
    found = report["result"]["consensus"]
    assert (found["candidate"], found["runner_up"]) == (taken.chosen_, taken.runner_up_)
    assert found["agreement"] == taken.agreement_
    assert report["result"]["n_clusters"] == 3
    assert report["result"]["structure"]["found"] is True
    assert report["result"]["k_selection"]["n_clusters"] == 3
    assert report["result"]["reference"]["adjusted_rand"] == 1
    assert report["result"]["failures"] == []
    assert report["input"]["feature_names"] == ["x", "y"]
    assert report["input"]["id_column"] == "name"
    for name, digest in report["outputs"].items():
        assert hashlib.sha256((Path("out") / name).read_bytes()).hexdigest() == digest


def test_the_same_seed_gives_the_same_files(table: str) -> None:
    for folder in ("one", "two"):
        assert call("run", table, "-o", folder, *QUICK).exit_code == 0
    assert call("run", table, "-o", "jobs", "--jobs", "2", *QUICK).exit_code == 0
    for name in RUN_FILES:
        one, two, jobs = ((Path(f) / name).read_bytes() for f in ("one", "two", "jobs"))
        assert one == two, name
        assert one == jobs or name == "run.json"


def test_run_is_generate_and_combine(table: str) -> None:
    three = ("--clusters", "3", "--partitions", "10")
    quick = ("--exclude", "kind", "--references", "0", "-q")
    assert call("run", table, "-o", "out", *quick, *three).exit_code == 0
    made = call("generate", table, "-o", "made.npz", "--exclude", "kind", *three)
    assert made.exit_code == 0
    assert "made.npz: 60 points, 10 partitions" in made.stdout
    assert Path("made.npz").read_bytes() == Path("out/ensemble.npz").read_bytes()
    assert call("combine", "made.npz", "-k", "3", "-o", "l.csv", "-q").exit_code == 0
    assert Path("l.csv").read_bytes() == Path("out/labels.csv").read_bytes()


def test_another_base_clusterer(table: str) -> None:
    done = call("run", table, "-o", "out", "--algorithm", "ward", "--generator", "bagging", *QUICK)
    assert done.exit_code == 0, done.stderr
    ensemble = Ensemble.from_npz("out/ensemble.npz")
    assert {r.algorithm for r in ensemble.records} == {"ward"}
    assert not ensemble.is_complete
    assert json.loads(Path("out/run.json").read_text())["generator"]["algorithm"] == "ward"


def test_quiet_and_json(table: str) -> None:
    done = call("run", table, "-o", "out", *QUICK)
    assert (done.stdout, done.stderr) == ("", "")
    done = call("run", table, "-o", "out", "--json", *QUICK)
    report = json.loads(done.stdout)
    assert report["output"] == "out"
    assert report["result"]["n_clusters"] == 3
    assert report["result"]["structure"] is None


def test_run_from_a_pipe(table: str) -> None:
    content = Path(table).read_bytes()
    done = call("run", "-", "-o", "out", "--json", *QUICK, data=content)
    assert done.exit_code == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["input"]["file"] == "stdin"
    assert report["input"]["sha256"] == hashlib.sha256(content).hexdigest()


def test_run_on_sparse_data_with_ids(here: Path) -> None:
    X = three_groups()[["x", "y"]].to_numpy()
    from scipy import sparse

    csr = sparse.csr_matrix(np.abs(X))
    np.savez(
        here / "t.npz",
        data=csr.data,
        indices=csr.indices,
        indptr=csr.indptr,
        shape=csr.shape,
        ids=[f"p{i}" for i in range(60)],
    )
    done = call("run", "t.npz", "-o", "out", "-r", "5", "--json", "-q", "--references", "0")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["parameters"]["scaled"] == "none"
    assert Ensemble.from_npz("out/ensemble.npz").index[1] == "p1"
    assert "sparse table cannot be standardised" in refused("run", "t.npz", "--scale", "standard")


def test_earlier_results_are_replaced_and_other_files_are_not(table: str) -> None:
    assert call("run", table, "-o", "out", *QUICK).exit_code == 0
    assert call("run", table, "-o", "out", "-k", "2", *QUICK).exit_code == 0
    # The picture of a choice that this run did not make is gone.
    assert set(os.listdir("out")) == RUN_FILES - CHOICE
    Path("mine").mkdir()
    Path("mine/notes.txt").write_text("keep me")
    assert call("run", table, "-o", "mine", *QUICK).exit_code == 0
    assert Path("mine/notes.txt").read_text() == "keep me"
    Path("theirs").mkdir()
    Path("theirs/labels.csv").write_text("precious")
    words = refused("run", table, "-o", "theirs")
    assert words.startswith("theirs holds a file labels.csv that clusterscape did not write; ")
    assert words.endswith("name another folder, or replace the file with --force.")
    assert Path("theirs/labels.csv").read_text() == "precious"
    assert call("run", table, "-o", "theirs", "--force", *QUICK).exit_code == 0


def test_a_failure_at_the_end_leaves_nothing(table: str, monkeypatch) -> None:
    def fail(*_, **__):
        raise OSError(28, "No space left on device", "run.json")

    assert call("run", table, "-o", "out", *QUICK).exit_code == 0
    before = {p: p.read_bytes() for p in Path("out").iterdir()}
    monkeypatch.setattr("clusterscape.io.results.write_json", fail)
    assert refused("run", table, "-o", "new/deep", *QUICK) == "run.json: No space left on device."
    refused("run", table, "-o", "out", "-k", "2", *QUICK)
    assert {p: p.read_bytes() for p in Path("out").iterdir()} == before


def test_resume(table: str) -> None:
    plain = ("-r", "6", "--exclude", "kind", "-q", "--references", "0")
    assert call("run", table, "-o", "plain", *plain).exit_code == 0
    assert call("run", table, "-o", "out", "--resume", *plain).exit_code == 0
    members = sorted(Path("out/store").glob("member-*.npz"))
    assert len(members) == 6
    members[2].unlink()
    stamps = {p: p.stat().st_mtime_ns for p in members if p.exists()}
    assert call("run", table, "-o", "out", "--resume", *plain).exit_code == 0
    assert {p: p.stat().st_mtime_ns for p in stamps} == stamps
    assert Path("out/ensemble.npz").read_bytes() == Path("plain/ensemble.npz").read_bytes()
    assert Path("out/labels.csv").read_bytes() == Path("plain/labels.csv").read_bytes()
    again = call("run", table, "-o", "out", "--resume", "--seed", "9", *plain)
    assert again.exit_code == 1
    assert "the seed (from --seed) was 0 there and is 9 now" in again.stderr


def test_a_store_of_another_run_is_refused_in_plain_words(table: str, monkeypatch) -> None:
    plain = ("--exclude", "kind", "-q", "--references", "3", "-o", "store", "--resume")
    plain = (*plain, "--generator", "random_k")
    assert call("run", table, "-r", "4", "-k", "5", *plain).exit_code == 0
    says = "the store store/store belongs to another run: "
    # It is found before the test for structure, which takes longer than all the rest.
    monkeypatch.setattr("clusterscape.model.structure_test", pytest.fail)
    differences = {
        ("-r", "4", "-k", "6"): "the number of clusters of the members (from --clusters) was 5 to ",
        ("-r", "5", "-k", "5"): "--partitions was 4 there and is 5 now. ",
        ("-r", "4", "-k", "5", "--scale", "none"): "the data differ (the table, its columns, or "
        "--scale). ",
        ("-r", "4", "-k", "5", "--algorithm", "ward"): "the base clusterer (from --generator and "
        "--algorithm) was kmeans there and is ward now. ",
    }
    for options, words in differences.items():
        message = refused("run", table, *options, *plain)
        assert message.startswith(says + words), message
        assert message.endswith("name another place with --output.")


def test_no_input_is_written_over(table: str, labels: str) -> None:
    assert call("run", table, "-o", "out", *QUICK).exit_code == 0
    Path("link.csv").symlink_to(table)
    kept = {p: p.read_bytes() for p in (Path(table), Path(labels), Path("out/labels.csv"))}
    for words in (
        ("generate", table, "-o", table, "--exclude", "kind"),
        ("generate", table, "-o", "link.csv", "--exclude", "kind"),
        ("combine", labels, "-o", labels),
        ("combine", "out/labels.csv", labels, "-o", "./labels.csv"),
        ("compare", labels, "-o", labels),
        ("combine", labels, "--method", "lsce", "--features", table, "-o", table),
        ("run", "out/labels.csv", "-o", "out"),
        ("run", "out/labels.csv", "-o", "out", "--force"),
    ):
        assert "is the input itself and would be lost; name another" in refused(*words)
    assert {p: p.read_bytes() for p in kept} == kept


def test_the_classes_are_not_clustered(table: str) -> None:
    frame = three_groups().assign(kind=np.repeat([0, 1, 2], 20))
    frame.to_csv(table, index=False)
    assert refused("run", table, "--reference", "kind", "--columns", "x,kind") == (
        "points.csv: the column 'kind' holds the reference classes, which must not be clustered "
        "on; choose other columns than --columns kind, or leave out --reference kind."
    )


def test_the_number_of_clusters_as_a_range(table: str) -> None:
    done = call("run", table, "-o", "out", "-k", "2-4", "--json", *QUICK)
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["parameters"]["clusters"] == [2, 4]
    candidates = pd.read_csv("out/k_selection.csv")
    assert list(candidates["k"]) == [2, 3, 4]
    best = candidates["k"][candidates["score"].argmax()]
    assert json.loads(Path("out/run.json").read_text())["result"]["n_clusters"] == best
    auto = call("run", table, "-o", "auto", "-k", "auto", "--json", *QUICK)
    assert json.loads(auto.stdout)["result"]["k_selection"]["columns"]["k"][:3] == [2, 3, 4]
    for wrong in ("4-2", "0", "two", "2-", "1-1", "2-3-4"):
        assert "is not a number, a range" in refused("run", table, "-k", wrong, code=2)


def test_no_structure_is_reported(here: Path) -> None:
    X = np.random.default_rng(0).normal(size=(80, 2))
    pd.DataFrame(X, columns=["x", "y"]).to_csv("noise.csv", index=False)
    done = call("run", "noise.csv", "-o", "out", "-r", "20")
    assert done.exit_code == 0
    assert "One cluster: the 80 points were not divided" in done.stdout
    assert "(decided by the test for structure)" in done.stdout
    assert "largest eigengap" not in done.stdout
    assert "No cluster structure found" in done.stdout
    # The candidates had no say, so there is no picture of them; the table is there to be read.
    assert set(os.listdir("out")) == RUN_FILES - {"k_selection.png"}
    assert (pd.read_csv("out/labels.csv")["confidence"] == 0).all()
    done = call("run", "noise.csv", "-o", "out", "-r", "20", "-k", "3")
    assert "clusterscape: note: --clusters 3 was asked for" in done.stderr


# ---- refusals: one sentence, exit code, nothing written -----------------------------------------

BAD_TABLES = {
    "text": ("x,y\n1,2\n3,abc\n", "row 3 .*column 'y': 'abc' is not a number.*--exclude y"),
    "missing": ("x,y\n1,2\n3,\n", "row 3 .*column 'y': the value is missing"),
    "ragged": ("x,y\n1,2\n3\n", "row 3 .*has 1 field"),
    "kinds": ("x,kind\n1,a\n2,a\n", "column 'kind' holds text .*--exclude kind.*--id-column kind"),
    "header": ("0,1\n2,3\n", "say --header if .* or --no-header if"),
    "semicolons": ("x;y\n1;2\n3\n", "say --delimiter ';'"),
    "empty": ("", "data.csv is empty"),
}


DESCRIBED = {"text", "missing", "kinds"}  # what info describes and the other verbs refuse


@pytest.mark.parametrize("verb", ["run", "generate", "info"])
@pytest.mark.parametrize("case", BAD_TABLES)
def test_bad_tables(here: Path, verb: str, case: str) -> None:
    text, words = BAD_TABLES[case]
    if verb == "info" and case in DESCRIBED:
        (here / "data.csv").write_text(text)
        assert call("info", "data.csv").stdout.startswith("data.csv is a table: 2 rows")
        return
    (here / "data.csv").write_text(text)
    message = refused(verb, "data.csv")
    assert message.startswith("data.csv")
    assert re.search(words, message), message


def test_bad_files_and_columns(table: str) -> None:
    assert refused("run", "no.csv") == "there is no file no.csv; check the name and the folder."
    assert "is a folder" in refused("run", ".")
    assert "no column 'nane'; did you mean 'name'?" in refused("run", table, "--id-column", "nane")
    assert "no column 'z'" in refused("run", table, "--exclude", "kind", "--reference", "z")
    assert "--clusters 99 is more than the 60" in refused(
        "run", table, "--exclude", "kind", "-k", "99"
    )
    assert "is a file; name a folder" in refused("run", table, "-o", table)


def test_usage_errors(table: str, labels: str) -> None:
    assert "'foo' is not one of auto" in refused("run", table, "--consensus", "foo", code=2)
    assert "'foo' is not one of random_k" in refused("run", table, "--generator", "foo", code=2)
    assert "'foo' is not one of kmeans" in refused("run", table, "--algorithm", "foo", code=2)
    assert "mixed chooses its own" in refused(
        "run", table, "--generator", "mixed", "--algorithm", "ward", code=2
    )
    assert "'foo' is not one of auto" in refused(
        "run", table, "--exclude", "kind", "--scale", "foo", code=2
    )
    assert "majority_vote finds the number" in refused(
        "combine", labels, "--method", "majority_vote", "-k", "2", code=2
    )
    assert "'foo' is not one of" in refused("compare", labels, "-m", "foo", code=2)
    assert "'foo' is not one of singletons" in refused("compare", labels, "--noise", "foo", code=2)
    assert "must end in one of .npz" in refused("generate", table, "-o", "x.txt", code=2)
    assert "give a file or --list" in refused("info", code=2)
    assert "No such option" in refused("run", table, "--no-such", code=2)
    refused("run", code=2)
    for verb in ("run", "generate", "demo"):
        words = refused(verb, *([] if verb == "demo" else [table]), "-j", "0", code=2)
        assert "'--jobs' / '-j': 0 workers do nothing" in words
    for n in ("1", "2"):
        assert f"'--references': {n} are too few" in refused(
            "run", table, "--references", n, code=2
        )
    for name in ("y.xlsx", "y.tsv", "y.csv.gz", "y"):
        assert f"{name} must end in one of .csv, .parquet" in refused(
            "combine", labels, "-o", name, code=2
        )
    assert "must end in .csv" in refused("compare", labels, "-o", "y.xlsx", code=2)
    assert "must end in .json" in refused("compare", labels, "-o", "y.csv", "--json", code=2)
    refused("run", table, "--clusters", "0", code=2)
    refused("run", table, "--seed", "-1", code=2)
    assert "can be given once" in refused("compare", "-", "-", code=2)


def test_debug_lets_the_error_through(here: Path) -> None:
    done = call("run", "no.csv", "--debug")
    assert done.exit_code == 1
    assert isinstance(done.exception, TableError)
    done = shell("info", "no.csv")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr == b"clusterscape: there is no file no.csv; check the name and the folder.\n"


def test_unexpected_errors_ask_for_a_report(table: str, monkeypatch) -> None:
    def fail(*_, **__):
        raise KeyError("odd")

    monkeypatch.setattr("clusterscape.cli.inputs.scaling", fail)
    message = refused("run", table, "--exclude", "kind")
    assert message.startswith(
        "unexpected error (KeyError: 'odd'); run the command again with --debug"
    )


def test_interrupts(table: str, monkeypatch) -> None:
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("clusterscape.cli.inputs.scaling", stop)
    done = call("run", table, "--exclude", "kind")
    assert done.exit_code == 130
    assert "interrupted" in done.stderr


def test_no_message_is_read_to_reword_it() -> None:
    from sources import SOURCE

    files = sorted((SOURCE / "cli").glob("*.py"))
    assert len(files) > 10
    for file in files:
        loaded = [
            n.names for n in ast.walk(ast.parse(file.read_text())) if isinstance(n, ast.Import)
        ]
        assert "re" not in {alias.name for names in loaded for alias in names}, file


def test_warnings_with_fields_are_worded_from_them(labels: str) -> None:
    Path("same.csv").write_text("id,a,b\np,0,0\nq,0,0\nr,1,1\n")
    done = call("combine", "same.csv", "-k", "3")
    assert done.exit_code == 0, done.stderr
    assert "note: SEC: --clusters 3 was asked for and 2 returned" in done.stderr


def test_identical_clusterings_give_no_confidence(table: str) -> None:
    words = ("-k", "3", "-r", "4", "--generator", "restarts", "--algorithm", "single")
    done = call("run", table, "-o", "out", "--reference", "kind", "--references", "0", *words)
    assert done.exit_code == 0, done.stderr
    assert "No confidence is given for any point" in done.stdout
    frame = pd.read_csv("out/labels.csv")
    assert frame["confidence"].isna().all()
    assert frame["label"].nunique() == 3
    found = json.loads(Path("out/run.json").read_text())["result"]["confidence"]
    assert (found["mean"], found["missing"]) == (None, 60)


def test_errors_with_fields_are_worded_from_them() -> None:
    error = ParameterError("{n_clusters} is too many for {scale.name}", n_clusters=5, scale="none")
    assert sentence(error, ["clusters", "scale"]) == "--clusters 5 is too many for --scale"
    derived = ParameterError(
        "{n_clusters} asks for 5; {overwrite} not", n_clusters=(5, "sqrt"), overwrite=True
    )
    assert sentence(derived, ["clusters", "force"]) == "--clusters asks for 5; --force not"
    wrong = InvalidParameter("Model", "n_jobs", 0, expected="an integer other than 0")
    words = "Model: --jobs must be an integer other than 0; got 0 (int)."
    assert sentence(wrong, ["jobs"]) == words
    memory = MemoryLimitError(
        "the table", 9.0, 0.5, remedies=["use LiftKM", "take fewer {bins}"], bins=3
    )
    assert sentence(memory, ["clusters"]) == (
        "there is not enough memory. the table would take 9.0 GB, more than the 0.5 GB that are "
        "allowed. Use LiftKM."
    )
    store = AnotherRunError(Path("store"), "n_clusters", {"pair": [2, "sqrt"]}, [*"ab" * 40])
    assert sentence(store).startswith(
        "the store store belongs to another run: the number of clusters of the members (from "
        "--clusters) was 2 to the root of n there and is a, b, a,"
    )


def test_sizes_and_confidences_in_words() -> None:
    found = {
        "n_clusters": 16,
        "how": "as asked",
        "cluster_sizes": [1325, 323, *range(60, 46, -1)],
        "k_selection": None,
        "consensus": None,
        "structure": None,
        "failures": [],
        "n_unclustered": 0,
        "cluster_confidence": [0.5] * 16,
        "confidence": {"confident": 0, "doubtful": 0, "missing": 2397, "least": []},
    }
    first, second = sentences(found, 2397)
    assert first == (
        "16 clusters (as asked), numbered 0 to 15 by size: 1,325, 323, 60, 59, 58, 57, 56, 55, 54, "
        "53, 52, 51 points, and 4 smaller clusters with 194 points in all."
    )
    # Confidences that are missing are not counted as doubt or as trust.
    assert second.startswith("No confidence is given for any point")
    found |= {"n_clusters": 4, "cluster_sizes": [325, 323, 213, 1]}
    found["confidence"] |= {"confident": 800, "doubtful": 1, "missing": 1}
    found["confidence"]["least"] = [{"id": "p7", "confidence": 0.25}]
    first, second = sentences(found, 862)
    assert first.endswith("numbered 0 to 3 by size: 325, 323, 213 and 1 points.")
    assert "60 lie between, and 1 (<1%) are doubtful" in second
    assert second.endswith("For 1 there is no confidence. The most doubtful: p7 (0.25).")


@pytest.mark.parametrize("verb", READERS)
def test_every_command_reads_tables_with_the_same_options(verb: str) -> None:
    text = " ".join(call(verb, "-h", terminal_width=200).stdout.split())
    for option in ("--id-column", "--columns", "--exclude", "--format", "--delimiter", "--header"):
        assert option in text


# ---- combine, compare, info ----------------------------------------------------------------------


def test_combine_to_stdout(labels: str) -> None:
    done = call("combine", labels, "-k", "2")
    assert done.exit_code == 0
    frame = pd.read_csv(io.StringIO(done.stdout))
    assert frame["id"].tolist() == list("pqrst")
    assert frame["label"].tolist() == [1, 1, 0, 0, 0]
    assert "2 clusters (as asked)" in done.stderr
    piped = call("combine", "-", "-k", "2", "-q", data=Path(labels).read_bytes())
    assert piped.stdout == done.stdout
    assert piped.stderr == ""


@pytest.fixture
def features(labels: str) -> str:
    """Features of the points of ``labels``, in another order."""
    rows = {"s": (5.2, 5.1), "p": (0.1, 0.0), "t": (5.0, 5.2), "q": (0.0, 0.2), "r": (5.1, 5.0)}
    Path("features.csv").write_text(
        "id,a,b\n" + "".join(f"{i},{a},{b}\n" for i, (a, b) in rows.items())
    )
    return "features.csv"


@pytest.mark.parametrize("method", ["auto", *METHODS])
def test_every_method_combines(labels: str, features: str, method: str) -> None:
    known = METHODS.get(method)
    given = ("--features", features) if known and known.features == "needed" else ()
    if method == "lwea":  # by its rule, pairs of equal rows are clusters of their own here
        given = ("-k", "2")
    done = call("combine", labels, "--method", method, "--json", *given)
    found = json.loads(done.stdout)
    assert found["n_clusters"] == 2
    assert found["labels"] == [1, 1, 0, 0, 0]
    assert found["ids"] == list("pqrst")
    assert found["how"].startswith("as asked" if method == "lwea" else "chosen by the ")
    written = call("combine", labels, "--method", method, "-o", "o.parquet", "-q", *given)
    assert written.exit_code == 0
    assert pd.read_parquet("o.parquet")["label"].tolist() == [1, 1, 0, 0, 0]


def test_features_are_read_where_they_are_used(labels: str, features: str) -> None:
    assert "sec does not use features" in refused(
        "combine", labels, "--method", "sec", "--features", features, code=2
    )
    assert "lsce needs the points' features" in refused(
        "combine", labels, "--method", "lsce", code=2
    )
    Path("few.csv").write_text("id,a\np,1\nq,2\n")
    message = refused("combine", labels, "--method", "lsce", "--features", "few.csv", code=2)
    assert "no row for 3 of the 5 points" in message
    Path("bare.csv").write_text("a,b\n1,2\n3,4\n")
    words = ("combine", labels, "--method", "lsce", "--features", "bare.csv")
    assert "labels.csv has ids and bare.csv has none" in refused(*words, code=2)
    message = refused(*words, "--join", "order", code=2)
    assert "bare.csv has 2 rows and the clusterings 5 points" in message


def test_combine_refuses(labels: str) -> None:
    assert "--clusters 9 is more than the 5 points" in refused("combine", labels, "-k", "9")
    assert "there is no folder nowhere" in refused("combine", labels, "-o", "nowhere/l.csv")
    assert "is a folder" in refused("combine", labels, "-o", ".")
    Path("scores.csv").write_text("id,a\np,0.5\nq,0.25\n")
    assert (
        "row 2 .its line in the file, header included., column 'a': 0.5 is not a label"
        in refused("combine", "scores.csv").replace("(", ".").replace(")", ".")
    )


@pytest.mark.parametrize("metric", [n for n, m in MEASURES.items() if not m.needs_features])
def test_every_measure_compares(labels: str, metric: str) -> None:
    done = call("compare", labels, "--metric", metric)
    assert done.exit_code == 0, done.stderr
    frame = pd.read_csv(io.StringIO(done.stdout), index_col=metric)
    assert list(frame.index) == list(frame.columns) == ["a", "b", "c"]


def test_compare_files_by_their_ids(labels: str) -> None:
    Path("other.csv").write_text("id,label,confidence\nt,1,1\ns,1,1\nr,1,1\nq,0,1\np,0,0.5\n")
    done = call("compare", labels, "other.csv", "--columns", "label", "--json")
    assert done.exit_code == 1
    done = call("compare", "other.csv", labels, "--json", "-q")
    found = json.loads(done.stdout)
    assert found["names"] == ["other.csv", "labels.csv:a", "labels.csv:b", "labels.csv:c"]
    assert found["matrix"][0][1] == 1
    assert found["coverage"][0][1] == 1
    assert call("compare", labels, "other.csv", "-o", "m.csv", "-q").stdout == ""
    assert Path("m.csv").read_text().startswith("adjusted_rand,labels.csv:a")


def test_compare_refuses(labels: str) -> None:
    Path("other.csv").write_text("id,label\np,1\nq,1\nr,1\ns,0\nz,0\n")
    message = refused("compare", labels, "other.csv")
    assert message.startswith("the point 't' of labels.csv is not in other.csv (1 of its 5 points")
    assert message.endswith("--join outer all points.")
    Path("short.csv").write_text("id,label\np,1\nq,1\n")
    message = refused("compare", labels, "short.csv")
    assert "the point 'r' of labels.csv is not in short.csv (3 of its 5 points" in message
    message = refused("compare", "short.csv", labels)
    assert "the point 'r' of labels.csv is not in short.csv (3 of its 5 points" in message
    assert "holds one clustering" in refused("compare", "short.csv")


def test_info(table: str) -> None:
    assert call("run", table, "-o", "out", *QUICK).exit_code == 0
    Path("labels.csv").write_text("id,a\np,x\nq,x\nr,y\ns,y\n")
    kinds = {
        "out": "run",
        "out/run.json": "run",
        "out/ensemble.npz": "ensemble",
        "out/labels.csv": "labels",
        "out/model.npz": "model",
        "labels.csv": "labels",
        "xy.csv": "table",
    }
    three_groups()[["x", "y"]].to_csv("xy.csv", index=False)
    for file, kind in kinds.items():
        done = call("info", file, "--json")
        assert done.exit_code == 0, done.stderr
        assert json.loads(done.stdout)["kind"] == kind
        assert call("info", file).stdout.startswith(file.removesuffix("/run.json"))
    assert "3 clusters (chosen" in call("info", "out").stdout
    with open("out/labels.csv", "a") as handle:
        handle.write("p60,0,1\n")
    assert "Changed or missing since the run: labels.csv." in call("info", "out").stdout
    assert "holds no run.json" in refused("info", ".")


def test_info_names_a_bad_run_file(here: Path) -> None:
    assert refused("info", "run.json").startswith("there is no file run.json;")
    for text in ("{", "[]", '{"program": "another"}', "\x00"):
        Path("run.json").write_text(text)
        for name in ("run.json", "."):
            words = "run.json is damaged, or was not written by clusterscape; "
            assert refused("info", name).startswith(words)
    for text in ('{"program": "clusterscape"}', '{"program": "clusterscape", "outputs": 3}'):
        Path("run.json").write_text(text)
        assert refused("info", "run.json").startswith("run.json is damaged: ")


def test_lists() -> None:
    assert set(json.loads(call("info", "--list", "methods", "--json").stdout)) == set(METHODS)
    assert set(json.loads(call("info", "--list", "measures", "--json").stdout)) == set(MEASURES)
    for what in ("generators", "algorithms", "datasets", "formats"):
        assert len(call("info", "--list", what).stdout.splitlines()) >= 4


def test_a_closed_pipe_is_no_error() -> None:
    command = f"{sys.executable} -m clusterscape info --list formats | true"
    done = subprocess.run(["bash", "-c", command], capture_output=True, timeout=60, check=False)
    assert b"Traceback" not in done.stderr
    assert b"Exception" not in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_full_disk_behind_stdout() -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "clusterscape", "info", "--list", "formats"],
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    assert done.returncode == 1
    words = b"clusterscape: the output cannot be written: No space left on device.\n"
    assert done.stderr == words


# ---- demo ---------------------------------------------------------------------------------


def test_demo(here: Path) -> None:
    done = call("demo")
    assert done.exit_code == 0, done.stderr
    words = done.stdout
    written = RUN_FILES - CHOICE | {"classes.png"}  # k was given
    assert set(os.listdir("demo-output")) == written
    assert "3 clusters (as asked)" in words
    assert "Compared with the 3 known classes" in words
    assert "k-means alone, the best of ten starts" in words
    for name in written:
        assert f"{Path('demo-output') / name}: " in words
    assert json.loads(Path("demo-output/run.json").read_text())["command"] == "demo"
    assert "'foo' is not one of iris" in refused("demo", "foo", code=2)
