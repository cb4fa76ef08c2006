"""What the command line reads: joined files, options for one file, and columns to doubt."""

from __future__ import annotations

import errno
import io
import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from typer.testing import CliRunner

from clusterscape import Ensemble
from clusterscape.cli.app import app
from clusterscape.compare import pairwise


def call(*words: str, data: bytes | None = None):
    """Run a command in this process."""
    return CliRunner().invoke(app, list(words), input=data)


def refused(*words: str, code: int = 1) -> str:
    """Return the sentence of a command that must fail and write nothing."""
    before = sorted(Path.cwd().rglob("*"))
    done = call(*words)
    assert done.exit_code == code, done.output
    assert done.stdout == ""
    assert sorted(Path.cwd().rglob("*")) == before
    return " ".join(done.stderr.replace("│", " ").split())


def matrix(*words: str) -> np.ndarray:
    done = call("compare", *words, "--json", "-q")
    assert done.exit_code == 0, done.output
    return np.array(json.loads(done.stdout)["matrix"], dtype=float)


@pytest.fixture
def here(tmp_path: Path, monkeypatch) -> Path:
    """Write clusterings of six points: with ids, with other ids, and without."""
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("id,a\np,0\nq,0\nr,1\ns,1\nt,2\nu,2\n")
    Path("b.csv").write_text("id,b\nu,0\nt,0\ns,1\nr,1\nq,2\np,2\n")
    Path("bare.csv").write_text("c\n0\n0\n1\n1\n1\n2\n")
    Path("more.csv").write_text("id,d\nq,x\nr,x\ns,y\nt,y\nv,z\n")
    return tmp_path


# ---- joining files of labels -----------------------------------------------------------------


@pytest.mark.parametrize("verb", ["compare", "combine"])
def test_ids_in_one_file_only_are_refused(here: Path, verb: str) -> None:
    for files in (("a.csv", "bare.csv"), ("bare.csv", "a.csv"), ("a.csv", "b.csv", "bare.csv")):
        message = refused(verb, *files)
        assert "a.csv has ids and bare.csv has none, so it is not known which rows" in message
        assert "--id-column bare.csv=NAME, or say --join order" in message
    assert call(verb, "a.csv", "bare.csv", "--join", "order").exit_code == 0


def test_order_joins_by_position_and_keeps_the_ids(here: Path) -> None:
    expected = pairwise([[0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 1, 2]], "adjusted_rand").matrix
    np.testing.assert_allclose(matrix("a.csv", "bare.csv", "--join", "order"), expected)
    np.testing.assert_allclose(matrix("bare.csv", "a.csv", "--join", "order"), expected)
    done = call("combine", "bare.csv", "a.csv", "--join", "order", "-k", "2", "-q")
    assert pd.read_csv(io.StringIO(done.stdout))["id"].tolist() == list("pqrstu")
    assert matrix("a.csv", "b.csv")[0, 1] == 1
    Path("c.csv").write_text("id,b\nq,0\nr,0\np,1\ns,1\nt,2\nu,2\n")
    by_id = pairwise([[0, 0, 1, 1, 2, 2], [1, 0, 0, 1, 2, 2]], "adjusted_rand").matrix
    by_order = pairwise([[0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 2, 2]], "adjusted_rand").matrix
    np.testing.assert_allclose(matrix("a.csv", "c.csv"), by_id)
    np.testing.assert_allclose(matrix("a.csv", "c.csv", "--join", "order"), by_order)
    assert not np.allclose(by_id, by_order)


def test_row_numbers_are_no_ids_beside_names(here: Path) -> None:
    Path("run.csv").write_text("id,label\n0,0\n1,0\n2,1\n3,1\n4,1\n5,2\n")
    message = refused("compare", "a.csv", "run.csv")
    assert "a.csv has ids and run.csv has only row numbers" in message
    # They are the positions of rows that have no names at all.
    np.testing.assert_allclose(matrix("run.csv", "bare.csv"), 1)
    # They are ids beside the same numbers in another order.
    Path("turned.csv").write_text("id,label\n5,2\n4,1\n3,1\n2,1\n1,0\n0,0\n")
    np.testing.assert_allclose(matrix("run.csv", "turned.csv"), 1)
    np.testing.assert_allclose(matrix("turned.csv", "run.csv"), 1)


def test_inner_and_outer(here: Path) -> None:
    assert "--join inner keeps" in refused("compare", "a.csv", "more.csv")
    inner = pairwise([[0, 1, 1, 2], [0, 0, 1, 1]], "adjusted_rand").matrix
    np.testing.assert_allclose(matrix("a.csv", "more.csv", "--join", "inner"), inner)
    done = call("combine", "a.csv", "more.csv", "--join", "inner", "-k", "2", "-q")
    assert pd.read_csv(io.StringIO(done.stdout))["id"].tolist() == list("qrst")
    done = call("compare", "a.csv", "more.csv", "--join", "outer", "--json", "-q")
    found = json.loads(done.stdout)
    np.testing.assert_allclose(found["matrix"], inner)  # of the points that both hold
    assert found["coverage"][0][1] == pytest.approx(4 / 7)
    done = call("combine", "a.csv", "more.csv", "--join", "outer", "-k", "2", "-q")
    assert pd.read_csv(io.StringIO(done.stdout))["id"].tolist() == list("pqrstuv")
    Path("far.csv").write_text("id,d\nx,0\ny,1\n")
    assert "have no id in common" in refused("compare", "a.csv", "far.csv", "--join", "inner")
    Path("bare2.csv").write_text("c\n0\n0\n1\n1\n1\n2\n")
    assert "--join outer joins files by their ids, and bare.csv, bare2.csv have none" in refused(
        "compare", "bare.csv", "bare2.csv", "--join", "outer"
    )
    assert "'left' is not one of same, inner" in refused(
        "compare", "a.csv", "b.csv", "--join", "left", code=2
    )


def test_outer_keeps_soft_labels_records_and_weights(here: Path) -> None:
    soft = np.array([[0.25, 0.75], [1, 0], [np.nan, np.nan], [0, 0], [0.5, 0.5], [0, 1]])
    weights = np.array([1.0, 2, 3, 1, 1, 2])
    made = Ensemble.from_labels(
        [soft, ["a", "a", "b", None, "b", "b"]], index=list("pqrstu"), sample_weight=weights
    )
    made.to_npz("e.npz")
    from clusterscape.cli.inputs import read_clusterings
    from clusterscape.cli.options import Reading

    files = ["more.csv", "e.npz"]
    whole, names, _ = read_clusterings(files, None, Reading(), join="outer", quiet=True)
    assert names == ["more.csv", "e.npz:p0", "e.npz:p1"]
    assert list(whole.index) == list("qrstvpu")
    rows = [1, 2, 3, 4, None, 0, 5]
    assert whole.partition(2).tolist() == ["a", "b", "-2", "b", "-2", "a", "b"]
    assert whole.labels[:, 2].tolist() == [0, 1, -2, 1, -2, 0, 1]
    assert whole.labels[:, 1].tolist()[1] == -2  # unsampled in the file
    assert whole.labels[:, 1].tolist()[4] == -2  # not in the file
    assert whole.labels[:, 1].tolist()[2] == -1  # noise
    expected = np.array([[0, 0] if r in (None, 2) else soft[r] for r in rows])
    np.testing.assert_allclose(whole.soft[1].toarray(), expected)
    assert whole.sample_weight.tolist() == [2, 3, 1, 1, 1, 1, 2]
    assert whole.records[1:] == made.records


def test_every_file_takes_that_name_of_ids_that_it_has(here: Path) -> None:
    Path("r.csv").write_text("sample,c\nu,0\nt,0\ns,1\nr,1\nq,2\np,2\n")
    Path("s.csv").write_text("barcode,d\np,x\nq,x\nr,y\ns,y\nt,z\nu,z\n")
    names = ("--id-column", "barcode", "--id-column", "sample")
    assert (matrix("a.csv", "r.csv", "s.csv", *names) == 1).all()
    assert "r.csv has no column 'barcode'" in refused("compare", "r.csv", *names)
    Path("two.csv").write_text("sample,barcode,e\n" + "".join(f"g,{c},0\n" for c in "pqrstu"))
    message = refused("compare", "two.csv", *names, code=2)
    assert "'sample' names the points of no file" in message


def test_repeated_ids_of_an_ensemble_are_refused(here: Path) -> None:
    Ensemble.from_labels([[0, 0, 1]], index=["p", "q", "p"]).to_npz("e.npz")
    assert "e.npz holds the id 'p' twice" in refused("compare", "e.npz", "a.csv")


# ---- options for one of several files --------------------------------------------------------


def test_columns_of_one_file(here: Path) -> None:
    Path("k.csv").write_text("key;b;junk\nu;0;0.5\nt;0;0.5\ns;1;0.5\nr;1;0.5\nq;2;0.5\np;2;0.5\n")
    # The mark between the fields is found without being said.
    assert "'key' is different in every row" in refused("compare", "a.csv", "k.csv")
    words = ("a.csv", "k.csv", "--delimiter", "k.csv=;")
    assert "'key' is different in every row" in refused("compare", *words)
    words += ("--id-column", "k.csv=key")
    assert "column 'junk': 0.5 is not a label" in refused("compare", *words)
    assert matrix(*words, "--exclude", "k.csv=junk")[0, 1] == 1
    assert matrix(*words, "--exclude", "junk")[0, 1] == 1
    assert matrix(*words, "--columns", "k.csv=b")[0, 1] == 1
    message = refused("compare", *words, "--columns", "b")
    assert "a.csv has no column 'b'" in message
    # a.csv has a column of ids of its own.
    key = ("--exclude", "junk", "--id-column", "key")
    assert matrix("a.csv", "k.csv", *key)[0, 1] == 1
    message = refused("compare", "bare.csv", "k.csv", *key)
    assert "bare.csv has no column 'key'" in message
    assert "--id-column bare.csv=NAME" in message
    message = refused("compare", *words, "--id-column", "k.csv=b", code=2)
    assert "'key' and 'b' are given for k.csv; give one." in message


def test_layout_options_reach_labels_and_features(here: Path) -> None:
    Path("l.txt").write_text("id;a;b\np;0;0\nq;0;0\nr;1;1\ns;1;0\n")
    Path("x.txt").write_text("id;u;v\ns;5;6\nr;5;5\nq;0;1\np;0;0\n")
    words = ("--features", "x.txt", "-m", "lift_emd", "--delimiter", ";", "--format", "csv")
    with_header = matrix("l.txt", *words)
    # The same without a header: columns go by number, and the option holds for both files.
    for name in ("l.txt", "x.txt"):
        Path(name).write_text(Path(name).read_text().partition("\n")[2])
    bare = (*words, "--no-header", "--id-column", "1")
    np.testing.assert_allclose(matrix("l.txt", *bare), with_header)
    some = matrix("l.txt", *bare, "--columns", "x.txt=2")
    assert not np.allclose(some, with_header)


# ---- columns that may be no measurements -----------------------------------------------------


def measured(n: int = 40) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(c, 0.3, size=(n // 2, 2)) for c in (0, 4)])
    return pd.DataFrame(X, columns=["height", "width"])


RUN = ("--references", "0", "-r", "5", "-k", "2")


def test_suspicious_columns_are_reported_before_the_work(here: Path) -> None:
    frame = measured()
    frame.insert(0, "row", np.arange(1, 41))
    frame["code"] = np.random.default_rng(1).permutation(40) * 7 + 100
    frame["Species"] = np.repeat([0, 1], 20)
    frame["visits"] = np.arange(40) % 3  # few values, but its name says a measurement
    frame.to_csv("t.csv", index=False)
    done = call("run", "t.csv", "-o", "out", *RUN)
    assert done.exit_code == 0, done.output
    lines = done.stderr.splitlines()
    work = next(i for i, line in enumerate(lines) if line.startswith("clustering 40 points"))
    before = "\n".join(lines[:work])
    assert "6 columns are used: row, height, width, code, Species, visits." in before
    assert "warning: column 'row' counts the rows (1, 2, 3, ...)." in before
    assert "leave it out with --exclude row, or use it as the ids with --id-column row" in before
    assert "column 'code' holds whole numbers that are different in every row" in before
    assert "column 'Species' holds 2 different whole numbers, and its name" in before
    assert "--exclude Species, or compare the result with it: --reference Species" in before
    assert "'visits' holds" not in before
    report = json.loads(Path("out/run.json").read_text())
    assert report["input"]["feature_names"] == list(frame.columns)
    assert [n.split("'")[1] for n in report["input"]["notes"]] == ["row", "code", "Species"]
    # Columns that were named one by one are meant.
    done = call("run", "t.csv", "-o", "out", *RUN, "--columns", "row,height")
    assert "warning" not in done.stderr
    assert "2 columns are used: row, height." in done.stderr
    done = call("generate", "t.csv", "-r", "2", "--exclude", "row,code")
    assert "--exclude Species." in done.stderr  # generate has no --reference
    done = call("run", "t.csv", "-o", "out", *RUN, "-q")
    assert done.stderr == ""


def test_many_columns_that_are_alike_have_few_warnings(here: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 9)), columns=[f"g{j}" for j in range(9)])
    frame.iloc[3] = 500.0
    frame.insert(9, "row", np.arange(40))
    frame.to_csv("t.csv", index=False)
    done = call("run", "t.csv", "-o", "out", *RUN)
    assert done.stderr.count("times as far from the other values") == 5
    assert "warning: 4 more columns are like that." in done.stderr
    assert "warning: column 'row' counts the rows" in done.stderr  # not lost among the many
    said = json.loads(Path("out/run.json").read_text())["input"]["suspicious"]
    assert len(said) == 2
    assert said[1].endswith("8 more columns are like that.")


def test_suspicious_features_and_labels_beside_each_other(here: Path) -> None:
    frame = measured().assign(id=[f"p{i}" for i in range(40)], n=np.arange(40))
    frame.to_csv("X.csv", index=False)
    labels = pd.DataFrame({"id": frame["id"], "one": np.repeat([0, 1], 20), "each": range(40)})
    labels.to_csv("l.csv", index=False)
    done = call("compare", "l.csv", "-m", "lift_emd", "--features", "X.csv")
    assert "l.csv: warning: in 'each' every point is a cluster of its own." in done.stderr
    assert "X.csv: warning: column 'n' counts the rows" in done.stderr
    assert "leave it out with --exclude X.csv=n" in done.stderr
    assert "partitions with 2 to 40 clusters: one, each." in done.stderr


def test_many_columns_are_listed_in_part(here: Path) -> None:
    X = np.random.default_rng(0).normal(size=(30, 25))
    pd.DataFrame(X, columns=[f"g{i}" for i in range(25)]).to_csv("t.csv", index=False)
    done = call("generate", "t.csv", "-r", "2")
    assert "25 columns are used: g0, g1," in done.stderr
    assert "g19, and 5 more." in done.stderr


# ---- info ------------------------------------------------------------------------------------


def test_info_describes_any_table(here: Path) -> None:
    frame = measured().assign(site=["north", "south"] * 20, label=np.repeat([1, 2], 20))
    frame.insert(0, "row", np.arange(40))
    frame["gap"] = [np.nan, *np.linspace(0, 1, 39)]
    frame["dose"] = [*map(str, range(39)), "none given"]
    frame["flag"] = True
    frame["nothing"] = ""
    frame.to_csv("t.csv", index=False)
    done = call("info", "t.csv", "--json")
    found = json.loads(done.stdout)
    assert (found["kind"], found["n_points"], found["n_features"]) == ("table", 40, 5)
    kinds = {c["name"]: (c["kind"], c["n_missing"]) for c in found["columns"]}
    assert kinds == {
        "row": ("whole numbers", 0),
        "height": ("numbers", 0),
        "width": ("numbers", 0),
        "site": ("text", 0),
        "label": ("whole numbers", 0),
        "gap": ("numbers", 1),
        "dose": ("mixed", 0),
        "flag": ("yes/no", 0),
        "nothing": ("empty", 40),
    }
    height = next(c for c in found["columns"] if c["name"] == "height")
    assert (height["low"], height["high"]) == (frame["height"].min(), frame["height"].max())
    text = call("info", "t.csv").stdout
    assert "t.csv is a table: 40 rows, 9 columns, no ids." in text
    assert "Column 'row' counts the rows (0, 1, 2, ...): is it a measurement?" in text
    assert "Column 'dose' holds cells that are no numbers" in text
    assert "Column 'gap' holds missing values" in text
    assert "Column 'row' is different in every row: the command takes it as the names" in text
    assert "Column 'site' holds words: --categories gower compares rows" in text
    words = text.splitlines()[-1].removeprefix("To cluster it: clusterscape ").split()
    assert words == found["suggestion"].split()[1:]
    assert call(*words, "-o", "out", "--references", "0", "-r", "5", "-q").exit_code == 0
    report = json.loads(Path("out/run.json").read_text())
    assert report["input"]["feature_names"] == ["height", "width", "site", "gap", "flag"]
    assert report["input"]["id_column"] == "row"
    assert report["parameters"]["reference"] == "label"


def test_info_asks_about_the_first_of_many_odd_columns(here: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 9))
    X[3, :8] = 1000.0
    X[[7, 9], 8] = 1000.0
    pd.DataFrame(X, columns=[f"c{i}" for i in range(9)]).to_csv("wide.csv", index=False)
    text = call("info", "wide.csv").stdout
    assert text.count("is that right?") == 5
    assert "\n4 more columns are like that (--json names all).\n" in text
    found = json.loads(call("info", "wide.csv", "--json").stdout)["columns"]
    assert sum(column["suspicion"] is not None for column in found) == 9
    assert "and 1 more cell," in found[8]["suspicion"]["reason"]


@pytest.mark.parametrize(("n", "said"), [(2_500, "gower, which compares"), (10_500, "drop.")])
def test_info_names_gower_as_far_as_run_takes_it(here: Path, n: int, said: str) -> None:
    frame = pd.DataFrame(
        {"x": np.random.default_rng(0).normal(size=n), "y": np.arange(n) % 7 + 0.5}
    )
    frame["kind"], frame["town"] = np.arange(n) % 3, np.arange(n) % 2
    words = {"kind": "kind-" + frame["kind"].astype(str), "town": "t" + frame["town"].astype(str)}
    frame.assign(**words).to_csv("t.csv", index=False)
    text = call("info", "t.csv").stdout
    assert f"compare with --categories {said}" in text
    assert "--categories one-hot" in text.splitlines()[-1]


def test_info_on_tables_that_are_matrices(here: Path) -> None:
    X = np.array([[1.0, np.nan], [0, 2.5], [0, 3], [4, 5], [6, 7]])
    np.save("t.npy", X)
    found = json.loads(call("info", "t.npy", "--json").stdout)
    assert [(c["kind"], c["n_missing"]) for c in found["columns"]] == [
        ("whole numbers", 0),
        ("numbers", 1),
    ]
    sparse.save_npz("s.npz", sparse.csr_matrix(np.nan_to_num(X)))
    assert "sparse (70.00% of the cells)" in call("info", "s.npz").stdout
    pd.DataFrame({"when": pd.to_datetime(["2020", "2021"])}).to_parquet("d.parquet")
    text = call("info", "d.parquet").stdout
    assert "dates" in text
    assert "No column can be clustered as it is." in text
    assert "To cluster it" not in text


@pytest.mark.parametrize("chosen", [(), ("--columns", "x"), ("--exclude", "y")])
@pytest.mark.parametrize("names", [["a", "b", "c"], ["a", "a", "c"], ["a", "", "c"]])
def test_info_takes_the_ids_that_run_would(here: Path, chosen, names) -> None:
    table = pd.DataFrame({"name": names, "x": [1.5, 2.5, 9.0], "y": [3.5, 1.5, 8.0]})
    table.to_csv("t.csv", index=False)
    found = json.loads(call("info", "t.csv", "--json", *chosen).stdout)
    words = ("run", "t.csv", "-o", "out", "-k", "2", "-r", "3", "--references", "0", "--json")
    done = call(*words, *chosen)
    if done.exit_code == 0:
        report = json.loads(done.stdout)
        assert found["id_column"] == report["input"]["id_column"]
        used = [c["name"] for c in found["columns"]]
        assert used == report["input"]["feature_names"]
    else:
        assert found["id_column"] is None
        assert "name" in [c["name"] for c in found["columns"]]


def test_info_keeps_the_options_in_what_it_suggests(here: Path) -> None:
    Path("e.csv").write_text("a;b c\n1.5;2\n2.5;3\n")
    text = call("info", "e.csv", "--delimiter", ";", "--exclude", "b c").stdout
    assert text.splitlines()[-1] == (
        "To cluster it: clusterscape run e.csv --delimiter ';' --exclude 'b c'"
    )


# ---- several measures ------------------------------------------------------------------------


def test_several_measures_give_several_tables(here: Path) -> None:
    words = ("compare", "a.csv", "more.csv", "--join", "outer", "-m", "vi", "-m", "adjusted_rand")
    done = call(*words)
    frame = pd.read_csv(io.StringIO(done.stdout), index_col=["metric", "clustering"])
    ensemble = [[0, 1, 1, 2], [0, 0, 1, 1]]
    for name in ("vi", "adjusted_rand"):
        expected = pairwise(ensemble, name).matrix
        np.testing.assert_allclose(frame.loc[name].to_numpy()[0, 1], expected[0, 1], rtol=1e-5)
        assert f"{name}: a " in done.stderr
    found = json.loads(call(*words, "--json", "-q").stdout)
    assert [table["metric"] for table in found] == ["vi", "adjusted_rand"]
    once = call(*words[:-2], "-m", "vi", "-q")  # the same measure again is one table
    assert once.stdout.startswith("vi,a.csv,more.csv\n")


def test_measures_with_and_without_features(here: Path) -> None:
    Path("X.csv").write_text("id,x\n" + "".join(f"{p},{i}\n" for i, p in enumerate("pqrstu")))
    words = ("compare", "a.csv", "b.csv", "--features", "X.csv")
    done = call(*words, "-m", "lift_emd", "-m", "nmi", "--bandwidth", "2", "--json", "-q")
    assert done.exit_code == 0, done.output
    lift, nmi = json.loads(done.stdout)
    assert lift["options"] == {"bandwidth": 2.0, "random_state": 0}
    assert nmi["options"] == {}
    assert lift["matrix"] == matrix(*words[1:], "-m", "lift_emd", "--bandwidth", "2").tolist()
    assert "nmi, vi have no such option" in refused(
        "compare", "a.csv", "b.csv", "-m", "nmi", "-m", "vi", "--bandwidth", "2", code=2
    )
    assert "'singletons' is not one of cluster, drop" in refused(
        *words, "-m", "nmi", "-m", "lift_emd", "--noise", "singletons", code=2
    )


# ---- checks before the work ------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["combine", "compare"])
def test_a_file_given_twice_is_refused(here: Path, verb: str) -> None:
    pd.DataFrame({"a": [0, 0, 1], "b": [0, 1, 1]}).to_csv("lab.csv", index=False)
    Path("link.csv").symlink_to("lab.csv")
    message = refused(verb, "lab.csv", "lab.csv", code=2)
    assert "lab.csv is given already, and its clusterings would count twice" in message
    for other in ("./lab.csv", "link.csv"):
        message = refused(verb, "lab.csv", other, code=2)
        assert f"{other} is given already, as lab.csv" in message
        assert "name every file once" in message


def no_work(*_, **__):
    raise AssertionError("the work began")


def test_outputs_are_checked_before_the_work(here: Path, monkeypatch) -> None:
    measured().to_csv("t.csv", index=False)
    monkeypatch.setattr("clusterscape.cli.inputs.scaling", no_work)
    assert "t.csv is a file, not a folder" in refused("run", "t.csv", "-o", "t.csv/deep/out")
    real = os.mkdir

    def mkdir(path, *options):
        if Path(path).absolute().parent == here:
            raise PermissionError(errno.EACCES, "Permission denied")
        real(path, *options)

    monkeypatch.setattr("os.mkdir", mkdir)
    for words in (
        ("run", "t.csv", "-o", "out"),
        ("generate", "t.csv", "-o", "e.npz"),
        ("forest", "t.csv", "-o", "l.csv"),
        ("forest", "t.csv", "--importances", "l.csv"),
        ("combine", "a.csv", "-o", "l.csv"),
        ("compare", "a.csv", "b.csv", "-o", "m.csv"),
    ):
        assert "(Permission denied); name another" in refused(*words)


def test_nmf_is_not_given_standardised_columns(here: Path) -> None:
    frame = pd.DataFrame(np.random.default_rng(0).uniform(1, 9, (30, 3)), columns=list("abc"))
    frame.to_csv("t.csv", index=False)
    quick = ("--algorithm", "nmf", "-k", "2", "-r", "4")
    done = call("run", "t.csv", *quick, "--references", "0", "-o", "out")
    assert done.exit_code == 0, done.stderr
    assert "scaling: none" in done.stderr
    assert json.loads(Path("out/run.json").read_text())["parameters"]["scaled"] == "none"
    done = call("generate", "t.csv", *quick, "-o", "e.npz")
    assert "failed" not in done.stdout
    for words in (("run", "t.csv", "-o", "o"), ("generate", "t.csv", "-o", "o.npz")):
        message = refused(*words, *quick, "--scale", "standard")
        assert "--algorithm nmf needs data without negative values" in message
        assert message.endswith("use --scale none or minmax.")
    (frame - 5).to_csv("t.csv", index=False)
    message = refused("run", "t.csv", *quick, "--references", "0", "-o", "o")
    assert "the smallest value is -3.9" in message


def test_missing_packages_are_reported_before_the_work(here: Path, monkeypatch) -> None:
    measured().to_csv("t.csv", index=False)
    monkeypatch.setattr("clusterscape.cli.inputs.scaling", no_work)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for words in (
        ("generate", "t.csv", "-o", "e.parquet"),
        ("forest", "t.csv", "-o", "l.parquet"),
        ("combine", "a.csv", "-o", "l.pq"),
    ):
        assert "Parquet files need pyarrow" in refused(*words)

    def absent(name: str):
        raise ImportError(f"graph consensus needs {name}: pip install 'clusterscape[graph]'")

    monkeypatch.setattr("clusterscape.linalg.graphcut._extra", absent)
    for method in ("cspa", "hgpa", "mcla"):
        assert "clusterscape[graph]" in refused("run", "t.csv", "--consensus", method)
        assert "clusterscape[graph]" in refused("combine", "a.csv", "--method", method)
