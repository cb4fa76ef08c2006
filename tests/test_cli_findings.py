"""Faults that people met at the command line, each with its mend."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import clusterscape as cs
from clusterscape.cli.app import app
from clusterscape.io import TableError, read_table, read_text
from clusterscape.report.findings import share_words

QUICK = ["-k", "2", "-r", "6", "--references", "0", "--generator", "random_k"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def invoke(*words: str) -> Any:
    return CliRunner().invoke(app, list(words))


def points(n: int = 20) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(c, 1, (n // 2, 2)) for c in (0, 9)]).round(4)
    made = pd.DataFrame(X, columns=["x", "y"])
    made.insert(0, "id", [f"p{i}" for i in range(n)])
    return made


def test_words_for_missing_values_are_no_class():
    made = points().assign(kind=["u"] * 10 + ["v"] * 10)
    made.loc[[1, 12], "kind"] = ["NA", "?"]
    made.to_csv("t.csv", index=False)
    table = read_table("t.csv", label_column="kind", na="?")
    assert sorted(set(table.labels)) == ["", "u", "v"]
    assert "column 'kind': 2 cells ('?', 'NA') stand for no class." in table.notes
    done = invoke("run", "t.csv", "--reference", "kind", *QUICK, "-o", "out", "--na", "?")
    assert done.exit_code == 0, done.stderr
    assert "Compared with the 2 known classes (2 points without a class" in done.stdout


def test_two_columns_of_one_name_are_said():
    points().set_axis(["id", "x", "x"], axis=1).to_csv("t.csv", index=False)
    done = invoke("run", "t.csv", *QUICK, "-o", "out")
    assert done.exit_code == 0, done.stderr
    assert "warning: 2 columns are called 'x'; all of them are used" in done.stderr


def test_the_list_for_dates_names_dates_alone():
    text = "who,day,city,x\n" + "".join(
        f"p{i},2024-01-{i + 1:02d},{i % 2}a,{i}\n" for i in range(9)
    )
    with pytest.raises(TableError) as error:
        read_table(io.BytesIO(text.encode()))
    assert "exclude='day'" in str(error.value) or "exclude=day" in str(error.value)
    assert "exclude='who'" not in str(error.value)
    Path("t.csv").write_text(text)
    done = invoke("run", "t.csv", *QUICK)
    assert "leave out with --exclude day, or" in done.stderr
    assert "('who', 'city': text, see also --categories one-hot)" in done.stderr
    again = invoke("run", "t.csv", *QUICK, "--categories", "one-hot", "--exclude", "who")
    assert "--categories" not in again.stderr


def test_columns_too_small_to_be_squared_are_refused():
    made = points()
    made["z"] = made["x"] * 1e-200
    made.to_csv("t.csv", index=False)
    done = invoke("run", "t.csv", *QUICK, "-o", "out")
    assert done.exit_code == 1
    assert "the column 'z' holds numbers of at most" in done.stderr
    assert "leave the column out with --exclude z" in done.stderr
    assert invoke("run", "t.csv", *QUICK, "-o", "out", "--exclude", "z", "-q").exit_code == 0


def test_a_table_for_a_transposed_run_may_be_upright():
    made = points()
    made.set_index("id").T.rename_axis("gene").to_csv("wide.csv")
    assert invoke("run", "wide.csv", "--transpose", *QUICK, "-o", "out", "-q").exit_code == 0
    assert json.loads(Path("out/run.json").read_text())["parameters"]["transpose"] is True
    made.head(3).to_csv("new.csv", index=False)
    done = invoke("predict", "out", "new.csv", "--no-transpose", "--json", "-q")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["ids"] == ["p0", "p1", "p2"]
    like = invoke("run", "--like", "out/run.json", "wide.csv", "-o", "again", "-q")
    assert like.exit_code == 0, like.stderr


def test_one_of_several_files_without_names():
    Path("a.csv").write_text("id,one\n0,0\n1,0\n2,1\n")
    Path("b.csv").write_text("0,0\n1,1\n2,1\n")
    words = ["compare", "a.csv", "b.csv", "--id-column", "b.csv=1", "--json"]
    done = invoke(*words, "--no-header-in", "b.csv")
    assert done.exit_code == 0, done.stderr
    wrong = invoke(*words, "--no-header-in", "c.csv")
    assert wrong.exit_code == 2
    assert "c.csv" in wrong.stderr


def test_export_reads_as_run_does():
    made = points()
    text = made.to_csv(index=False, sep=";", decimal=",")
    Path("t.csv").write_text(f"# from the laboratory\n{text}")
    assert invoke("run", "t.csv", *QUICK, "-o", "out", "-q").exit_code == 0
    done = invoke("export", "out", "t.csv")
    assert done.exit_code == 0, done.stderr
    first = pd.read_csv(io.StringIO(done.stdout), dtype=str).iloc[0]
    assert first["x"] == str(made["x"][0]).replace(".", ",")
    made.loc[4, "x"] = np.nan
    made.to_csv("gaps.csv", index=False)
    assert invoke("run", "gaps.csv", *QUICK, "-o", "gaps", "--missing", "drop", "-q").exit_code == 0
    done = invoke("export", "gaps", "gaps.csv")
    assert done.exit_code == 0, done.stderr
    joined = pd.read_csv(io.StringIO(done.stdout))
    assert len(joined) == len(made)
    assert joined["label"].isna().tolist() == (joined["id"] == "p4").tolist()
    other = invoke("export", "out", "a.csv")
    assert other.exit_code == 1
    assert "there is no file a.csv" in other.stderr


def test_text_as_it_stands_in_sheets_and_other_files(tmp_path):
    pytest.importorskip("openpyxl")
    made = pd.DataFrame({"id": ["007", "008"], "x": [1.5, 2.0]})
    made.to_excel("t.xlsx", index=False)
    assert read_text("t.xlsx")["id"].tolist() == ["007", "008"]
    np.save("t.npy", np.zeros((2, 2)))
    with pytest.raises(TableError, match="is a npy file, which holds no text; save it as CSV"):
        read_text("t.npy")


def test_clusterings_on_the_columns_that_points_have():
    made = points(60)
    made["z"] = made["x"] + 1
    made.loc[[1, 5], "x"] = np.nan
    made.loc[3, ["y", "z"]] = np.nan
    made.to_csv("gaps.csv", index=False)
    done = invoke("generate", "gaps.csv", "--missing", "members", "-r", "12", "-o", "e.npz")
    assert done.exit_code == 0, done.stderr
    assert "every point is in" in done.stderr
    combined = invoke("combine", "e.npz", "-k", "2", "-o", "labels.csv", "-q")
    assert combined.exit_code == 0, combined.stderr
    assert pd.read_csv("labels.csv")["label"].tolist() == [0] * 30 + [1] * 30
    other = invoke("landscape", "gaps.csv", "--missing", "members")
    assert other.exit_code == 2
    assert "generate" in other.stderr
    wrong = invoke("generate", "gaps.csv", "--missing", "members", "--pca", "2", "-o", "f.npz")
    assert wrong.exit_code == 2


def test_files_without_a_common_id_are_said_to_have_none():
    Path("a.csv").write_text("id,k\ns1,0\ns2,1\n")
    Path("b.csv").write_text("id,k\nt1,0\nt2,1\n")
    done = invoke("combine", "a.csv", "b.csv", "-k", "2")
    assert done.exit_code == 1
    assert "a.csv and b.csv have no id in common ('s1' and 't1', for example)" in done.stderr


def test_a_column_with_a_gap_is_not_left_out_of_the_suggested_run(tmp_path):
    table = tmp_path / "gaps.csv"
    rows = [f"p{i},{i % 4}.5,{i * 0.37:.2f}" for i in range(40)]
    rows[3] = "p3,,1.11"
    table.write_text("id,size,spent\n" + "\n".join(rows) + "\n")
    said = CliRunner().invoke(app, ["info", str(table)]).stdout
    command = next(line for line in said.splitlines() if "clusterscape run" in line)
    assert "--missing impute" in command
    assert "--exclude" not in command


def mixed(n: int) -> pd.DataFrame:
    """Return a table of numbers and words, with a gap, free text and days."""
    rng = np.random.default_rng(0)
    made = pd.DataFrame({"age": rng.integers(17, 90, n) + 0.5})
    for name, words in (("work", "Private State"), ("sex", "m f"), ("country", "A B C D")):
        made[name] = rng.choice(words.split(), n)
    made["remark"] = [f"said {i} words" for i in range(n)]
    made["day"] = pd.date_range("2024-01-01", periods=n).astype(str)
    made.loc[3, ["age", "sex"]] = None, None
    return made


@pytest.mark.parametrize(
    ("rows", "words"),
    [(60, "--categories gower --missing members"), (2001, "--categories one-hot --missing impute")],
)
def test_info_suggests_what_to_do_with_words(rows, words):
    mixed(rows).to_csv("t.csv", index=False)
    said = invoke("info", "t.csv").stdout.splitlines()
    assert said[-1] == (
        f"To cluster it: clusterscape run t.csv --id-column remark {words} --exclude day"
    )
    how = words.split()[1]
    assert any("Columns 'work' and 2 more hold words" in line and how in line for line in said)
    assert "Column 'remark' is different in every row: the command takes it as the names" in str(
        said
    )
    assert "Column 'day' holds dates or times: the command leaves it out" in str(said)
    if rows < 100:
        done = invoke(*said[-1].split()[4:], "-r", "4", "--references", "0", "-k", "2", "-o", "out")
        assert done.exit_code == 0, done.stderr
        used = json.loads(Path("out/run.json").read_text())["input"]["feature_names"]
        assert used == ["age", "work", "sex", "country"]


def test_info_of_words_alone_and_of_one_column_of_words():
    words = mixed(60)[["work", "sex", "country"]].dropna()
    words.to_csv("w.csv", index=False)
    said = invoke("info", "w.csv").stdout
    assert "If its columns are measurements in words: clusterscape run w.csv --categories" in said
    one = pd.DataFrame({"x": np.arange(30) / 7, "sex": ["m", "f"] * 15})
    one.to_csv("one.csv", index=False)
    said = invoke("info", "one.csv").stdout
    assert "Column 'sex' holds words: the command compares the result with it." in said
    assert said.splitlines()[-1].endswith("run one.csv --reference sex")


def test_classes_in_words_are_doubted():
    made = mixed(60).drop(columns=["remark", "day"]).dropna().rename(columns={"work": "species"})
    made.to_csv("t.csv", index=False)
    said = invoke("info", "t.csv").stdout
    assert "Column 'species' holds 2 different words, and its name suggests known classes" in said
    assert "--reference species --categories gower" in said
    done = invoke(
        "run", "t.csv", "--categories", "one-hot", "-r", "4", "--references", "0", "-k", "2"
    )
    assert done.exit_code == 0, done.stderr
    assert "warning: column 'species' holds 2 different words" in done.stderr
    assert "--exclude species, or compare the result with it: --reference species" in done.stderr


def test_small_shares_are_not_rounded_away():
    assert share_words(239, 240) == ">99%"
    assert share_words(1, 240) == "<1%"
    assert share_words(240, 240) == "100%"
    assert share_words(0, 240) == "0%"


# ---- what people met who had only the wheel and the documentation ----------------------------


def test_predict_does_not_advise_to_leave_out_columns_that_it_needs():
    points().to_csv("t.csv", index=False)
    assert invoke("run", "t.csv", *QUICK, "-o", "out").exit_code == 0
    points().assign(y="abc").to_csv("words.csv", index=False)
    done = invoke("predict", "out", "words.csv")
    assert done.exit_code == 1
    assert "'abc' in row 2" in done.stderr
    assert "the run was made with the column y, which cannot be left out" in done.stderr
    assert "--exclude" not in done.stderr
    assert "--categories" not in done.stderr
    made = points()
    made.loc[3, "y"] = np.nan
    made.to_csv("gap.csv", index=False)
    done = invoke("predict", "out", "gap.csv")
    assert "or leave such rows out with --missing drop" in done.stderr
    assert "--exclude" not in done.stderr
    assert "impute" not in done.stderr
    assert invoke("predict", "out", "gap.csv", "--missing", "drop").exit_code == 0


def test_predict_reads_utf8_after_a_run_in_another_encoding():
    made = points().rename(columns={"x": "Höhe"})
    made.to_csv("old.csv", index=False, encoding="cp1252")
    done = invoke("run", "old.csv", "--encoding", "cp1252", *QUICK, "-o", "out")
    assert done.exit_code == 0, done.stderr
    made.to_csv("new.csv", index=False)
    made.to_csv("alike.csv", index=False, encoding="cp1252")
    for file in ("new.csv", "alike.csv"):
        done = invoke("predict", "out", file)
        assert done.exit_code == 0, done.stderr
        assert len(done.stdout.splitlines()) == 21


def test_remedies_that_were_taken_are_not_advised():
    made = points()
    made["x"] = made["x"].abs()
    made["y"] = made["y"].abs()
    made.loc[5, "x"] = 4500
    made.to_csv("t.csv", index=False)
    done = invoke("run", "t.csv", *QUICK, "-o", "out")
    assert "consider --scale robust or --log." in done.stderr
    done = invoke("run", "t.csv", *QUICK, "-o", "out", "--scale", "robust")
    assert "If not, consider --log." in done.stderr
    note = " ".join(done.stderr.split())
    assert "because of one value, in row 5, which decides the clusters" in note
    assert "StandardScaler" not in note
    done = invoke("generate", "t.csv", "-r", "3", "--scale", "robust", "--log", "-o", "e.npz")
    assert "it may decide the clusters." in done.stderr
    assert "consider" not in done.stderr


def test_compare_draws_which_clusterings_are_alike():
    rng = np.random.default_rng(0)
    made = pd.DataFrame(rng.integers(0, 3, (30, 4)), columns=["a", "b", "c", "d"])
    made["d"] = made["a"]
    made.to_csv("t.csv", index=False)
    before = invoke("compare", "t.csv", "--metric", "ari,vi")
    done = invoke("compare", "t.csv", "--metric", "ari,vi", "--plot", "alike.svg")
    assert done.exit_code == 0, done.stderr
    assert done.stdout == before.stdout  # the table goes where it went
    assert "alike.svg: which clusterings are alike" in done.stderr
    drawn = Path("alike.svg").read_text()
    assert "1 - adjusted rand" in drawn
    assert "distances of 4 partitions" in drawn
    again = invoke("compare", "t.csv", "--plot", "alike.svg")
    assert again.exit_code == 1
    assert "--force" in again.stderr
    assert invoke("compare", "t.csv", "--plot", "alike.txt").exit_code == 2


def test_displays_of_pairs_are_those_of_the_ensemble():
    from clusterscape.compare import pairwise
    from clusterscape.plot import DendrogramDisplay, DistanceMatrixDisplay

    runs = [[0, 0, 1, 1, 2], [1, 1, 0, 0, 0], [0, 1, 1, 1, 2]]
    for metric in ("vi", "adjusted_rand"):
        found = pairwise(runs, metric)
        tree = DendrogramDisplay.from_ensemble(runs, metric=metric)
        assert (DendrogramDisplay.from_pairwise(found).merges == tree.merges).all()
        drawn = DistanceMatrixDisplay.from_pairwise(found, names=["p", "q", "r"]).to_frame()
        far = found.matrix if metric == "vi" else 1 - found.matrix
        where = [["p", "q", "r"].index(name) for name in drawn.index]
        np.testing.assert_allclose(drawn, far[np.ix_(where, where)], atol=1e-12)


def gappy(n: int = 40) -> pd.DataFrame:
    """Return points of two kinds, by numbers and by a word, with gaps."""
    rng = np.random.default_rng(0)
    kind = np.arange(n) % 2
    made = pd.DataFrame(rng.normal(9 * kind[:, None], 1, (n, 3)).round(3), columns=list("abc"))
    made[rng.random(made.shape) < 0.15] = np.nan
    made.loc[made.isna().all(axis=1), "a"] = 0.0
    made.insert(0, "id", [f"p{i}" for i in range(n)])
    return made.assign(word=np.array(["u", "v"])[kind])


def is_split_in_two(file: str) -> bool:
    labels = pd.read_csv(file)["label"].to_numpy()
    return sorted({*labels[::2]}) != sorted({*labels[1::2]}) and len({*labels}) == 2


def test_a_run_on_the_columns_that_points_have():
    gappy().drop(columns="word").to_csv("t.csv", index=False)
    words = ("run", "t.csv", "--missing", "members", "-k", "2", "-r", "15")
    done = invoke(*words, "-o", "out")
    assert done.exit_code == 0, done.stderr
    assert "each on columns that many points have" in done.stderr
    assert "model.npz: the consensus, for Python; it places no other points" in done.stdout
    assert is_split_in_two("out/labels.csv")
    run = json.loads(Path("out/run.json").read_text())
    assert run["parameters"]["missing"] == "members"
    assert "columns that many points have" not in run["result"]
    assert Path("out/report.html").stat().st_size > 10_000
    # As generate and combine do it; and again, as the run says, with another number of workers.
    made = invoke("generate", "t.csv", "--missing", "members", "-k", "2", "-r", "15", "-o", "e.npz")
    assert made.exit_code == 0, made.stderr
    import clusterscape as cs

    theirs = cs.Ensemble.from_npz("e.npz").labels
    assert np.array_equal(cs.Ensemble.from_npz("out/ensemble.npz").labels, theirs)
    assert invoke("run", "t.csv", "--like", "out", "-j", "2", "-o", "again").exit_code == 0
    assert Path("again/labels.csv").read_bytes() == Path("out/labels.csv").read_bytes()
    done = invoke("predict", "out", "t.csv")
    assert done.exit_code == 1
    assert "run again with --missing impute" in done.stderr
    for more in (["--log"], ["--generator", "random_k"], ["--resume"]):
        assert invoke(*words, *more, "-o", "no").exit_code == 2
    assert not Path("no").exists()


def test_a_run_on_distances_of_gower():
    made = gappy()
    made.to_csv("t.csv", index=False)
    words = ("--categories", "gower", "--missing", "members")
    done = invoke("run", "t.csv", *words, "-k", "2", "-r", "10", "-o", "out")
    assert done.exit_code == 0, done.stderr
    assert "Gower's distances" in done.stderr
    assert is_split_in_two("out/labels.csv")
    found = invoke("predict", "out", "t.csv")
    assert found.exit_code == 0, found.stderr
    Path("p.csv").write_text(found.stdout)
    assert is_split_in_two("p.csv")
    assert "confidence" not in found.stdout
    assert invoke("report", "out", "t.csv", "-o", "page.html").exit_code == 0
    assert invoke("run", "t.csv", "--like", "out", "-o", "again").exit_code == 0
    assert Path("again/labels.csv").read_bytes() == Path("out/labels.csv").read_bytes()
    # Gaps are an error unless they are to be passed over.
    done = invoke("run", "t.csv", "--categories", "gower", "-o", "no")
    assert "the value is missing" in done.stderr
    for more in (["--missing", "impute"], ["--scale", "robust"], ["--pca", "2"]):
        done = invoke("run", "t.csv", "--categories", "gower", *more, "-o", "no")
        assert done.exit_code in (1, 2)
    assert not Path("no").exists()
    assert invoke("generate", "t.csv", *words, "-r", "4", "-o", "e.npz").exit_code == 0
    done = invoke("landscape", "t.csv", "--categories", "gower")
    assert done.exit_code == 2
    assert "one-hot or drop here" in " ".join(done.stderr.replace("│", " ").split())
    made.drop(columns="word").fillna(0).to_csv("n.csv", index=False)
    assert invoke("run", "n.csv", *QUICK, "-o", "plain").exit_code == 0
    assert invoke("predict", "plain", "n.csv", *words).exit_code == 2


def test_members_on_present_columns_need_numbers():
    gappy().to_csv("t.csv", index=False)
    words = ("--categories", "one-hot", "--missing", "members", "-o", "no.npz")
    done = invoke("generate", "t.csv", *words)
    assert done.exit_code == 2
    assert "--categories gower" in " ".join(done.stderr.replace("│", " ").split())


def test_methods_are_found_by_the_names_that_python_has():
    pd.DataFrame({"a": [0, 0, 1, 1, 1], "b": [0, 0, 0, 1, 1]}).to_csv("t.csv", index=False)
    for name in ("MajorityVote", "EAC", "majority_vote"):
        done = invoke("combine", "t.csv", "--consensus", name, "-o", f"{name}.out.csv")
        assert done.exit_code == 0, done.stderr
    assert Path("MajorityVote.out.csv").read_bytes() == Path("majority_vote.out.csv").read_bytes()
    assert "'NoSuch' is not one of" in invoke("combine", "t.csv", "--consensus", "NoSuch").stderr


def test_info_names_the_column_of_ids_that_run_takes():
    made = points().rename(columns={"id": "who"}).assign(city=["Ulm", "Bonn"] * 10)
    made.to_csv("t.csv", index=False)
    said = invoke("info", "t.csv").stdout
    assert "20 rows, 4 columns, ids in column 'who'." in said
    assert "no ids" not in said
    assert json.loads(invoke("info", "t.csv", "--json").stdout)["id_column"] == "who"


def test_info_says_what_else_an_h5ad_file_holds():
    anndata = pytest.importorskip("anndata")
    made = anndata.AnnData(np.random.default_rng(0).normal(size=(12, 3)))
    made.obsm["X_pca"] = np.zeros((12, 2))
    made.layers["counts"] = np.ones((12, 3))
    made.obs["leiden_1"] = pd.Categorical(["0", "1", "2"] * 4)
    made.obs["name"] = pd.Categorical([f"c{i}" for i in range(12)])
    made.write_h5ad("c.h5ad")
    said = invoke("info", "c.h5ad").stdout
    assert "Its obsm holds X_pca: clusterscape run c.h5ad --obsm X_pca --scale none" in said
    assert "Its layers holds counts: clusterscape run c.h5ad --layer counts" in said
    assert "which may be clusterings: clusterscape combine c.h5ad --obs leiden_1\n" in said
    facts = json.loads(invoke("info", "c.h5ad", "--json").stdout)
    assert facts["parts"] == {"obsm": ["X_pca"], "layers": ["counts"], "obs": ["leiden_1"]}


def test_one_cluster_per_line_is_refused():
    Path("mcl.txt").write_text("s0\ts1\ts2\ns3\ts4\ts5\ns6\ts7\ts8\n")
    done = invoke("compare", "mcl.txt")
    assert done.exit_code == 1
    assert "the lines look like clusters with the names of their points; write one" in done.stderr


def test_a_name_that_is_close_is_said():
    Path("t.csv").write_text("a,b\n0,1\n0,1\n1,0\n")
    assert "Did you mean 'ari'?" in invoke("compare", "t.csv", "--metric", "arri").stderr
    assert "Did you mean" not in invoke("compare", "t.csv", "--metric", "zzzz").stderr


def test_files_of_one_command_are_written_all_or_none(monkeypatch):
    points(40).to_csv("t.csv", index=False)
    from clusterscape.plot import LandscapeDisplay

    def fail(*_, **__):
        raise ValueError("not drawn")

    monkeypatch.setattr(LandscapeDisplay, "from_estimator", fail)
    words = ("landscape", "t.csv", "-k", "2", "--samples", "40")
    done = invoke(*words, "-o", "a.csv", "--map", "m.svg")
    assert done.exit_code == 1
    assert not Path("a.csv").exists()
    assert not Path("m.svg").exists()
    monkeypatch.undo()


def test_the_map_of_a_landscape_is_the_same_every_time():
    points(40).to_csv("t.csv", index=False)
    for name in ("one", "two"):
        words = ("landscape", "t.csv", "-k", "2", "--samples", "40", "-q")
        done = invoke(*words, "-o", f"{name}.csv", "--map", f"{name}.svg")
        assert done.exit_code == 0, done.stderr
    assert Path("one.svg").read_bytes() == Path("two.svg").read_bytes()


def test_a_column_of_the_run_is_no_reference_for_it():
    made = points(40).assign(kind=[0, 1] * 20)
    made.to_csv("t.csv", index=False)
    assert invoke("run", "t.csv", *QUICK, "-o", "out", "-q").exit_code == 0
    for words in (
        ("report", "out", "t.csv", "-o", "r.html"),
        ("plot", "contingency", "out", "t.csv"),
    ):
        done = invoke(*words, "--reference", "kind")
        assert done.exit_code == 2
        assert "the run was clustered on 'kind'" in " ".join(done.stderr.split())


def test_the_table_behind_a_picture_does_not_count_its_rows():
    points(40).to_csv("t.csv", index=False)
    assert invoke("run", "t.csv", *QUICK, "-o", "out", "-q").exit_code == 0
    done = invoke("plot", "description", "out", "t.csv", "--table", "d.csv", "-q")
    assert done.exit_code == 0, done.stderr
    assert pd.read_csv("d.csv").columns[0] == "cluster"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "t.csv", "--obs", "leiden_*"), "'clusterscape combine' does"),
        (("combine", "l.csv", "--missing", "drop"), "how a table of features is read, and none"),
        (("combine", "l.csv", "--transpose"), "how a table of features is read, and none"),
        (("compare", "l.csv", "--scale", "robust"), "how a table of features is read, and none"),
        (("info", "t.csv", "--categories", "drop"), "info says what stands in a file"),
    ],
)
def test_options_that_would_do_nothing_are_refused(words, said):
    points(40).to_csv("t.csv", index=False)
    Path("l.csv").write_text("a,b\n0,1\n0,1\n1,0\n")
    done = invoke(*words)
    assert done.exit_code == 2
    assert said in " ".join(done.stderr.replace("│", "").split())


def test_info_describes_a_part_of_an_h5ad_file():
    anndata = pytest.importorskip("anndata")
    made = anndata.AnnData(np.random.default_rng(0).normal(size=(12, 3)))
    made.obsm["X_pca"] = np.random.default_rng(1).normal(size=(12, 2))
    made.obs["leiden_1"] = pd.Categorical(["0", "1", "2"] * 4)
    made.write_h5ad("c.h5ad")
    said = invoke("info", "c.h5ad", "--obsm", "X_pca").stdout
    assert "12 rows, 2 columns" in said
    assert "To cluster it: clusterscape run c.h5ad --obsm X_pca" in said
    assert "12 points, 1 partition with 3 clusters" in invoke("info", "c.h5ad", "--obs", "*").stdout


def test_info_suggests_what_a_text_among_numbers_may_mean():
    made = points().astype({"x": object})
    made.loc[[2, 5, 9], "x"] = "n.a."
    made.assign(typing=["1O", *range(2, 21)]).to_csv("t.csv", index=False)
    said = invoke("info", "t.csv").stdout.splitlines()
    line = "Column 'x' holds 'n.a.' among numbers: --na n.a., if it stands for a missing value."
    assert line in said
    assert "Column 'typing' holds cells that are no numbers" in str(said)
    command = said[-1].split(": ", 1)[1].split()
    assert command[command.index("--na") + 1] == "n.a."
    assert command[command.index("--exclude") + 1 :] == ["typing"]
    done = invoke(*command[1:], "-r", "4", "--references", "0", "-k", "2", "-o", "out")
    assert done.exit_code == 0, done.stderr


def test_ids_beside_words_are_to_name_the_rows():
    made = points().rename(columns={"id": "bottle"}).assign(kind=["u", "v"] * 10)
    made.to_csv("t.csv", index=False)
    said = " ".join(invoke("run", "t.csv", *QUICK).stderr.split())
    assert "name the rows with --id-column bottle, and of the others leave out" in said
    assert "--exclude kind," in said
    assert "--exclude bottle" not in said


def test_lines_above_a_table_are_to_be_skipped():
    Path("t.csv").write_text("Export of today\nSource: shop\n\n" + points().to_csv(index=False))
    said = invoke("run", "t.csv", *QUICK)
    assert "if the lines above are a title, skip them with --skip 3" in " ".join(
        said.stderr.split()
    )
    done = invoke("run", "t.csv", "--skip", "3", *QUICK, "-o", "out")
    assert done.exit_code == 0, done.stderr


def test_files_of_other_formats_are_to_be_saved_as_csv():
    Path("t.json").write_text("{}")
    said = " ".join(invoke("run", "t.json", *QUICK).stderr.split())
    assert "save it as CSV, or say with --format csv which format it has (known: .csv," in said


def test_a_report_is_of_a_model():
    with pytest.raises(TypeError, match=r"model must be a fitted estimator.*It comes first"):
        cs.report.write("report.html", object())


def test_unknown_arguments_are_said_with_the_function():
    with pytest.raises(TypeError, match=r"resampling_consensus\(\) got an unexpected .*'maxK'"):
        cs.validate.resampling_consensus(np.zeros((9, 2)), maxK=4)


def test_one_point_is_counted_in_the_singular():
    assert "there is only 1 point." in cs.validate.structure_test([[1.0, 2.0]]).message


def test_labels_in_an_array_that_lies_on_its_side():
    np.save("t.npy", np.tile([0, 0, 1, 1, 2], (4, 20)))
    done = invoke("compare", "t.npy")
    assert done.exit_code == 1
    said = " ".join(done.stderr.split())
    assert "(4, 100), which would be 100 clusterings of 4 points; save it transposed" in said
    np.save("t.npy", np.tile([0, 0, 1, 1, 2], (4, 20)).T)
    assert invoke("compare", "t.npy").exit_code == 0


def test_one_row_per_point_and_clustering_is_recognised():
    long = pd.DataFrame(
        {"id": ["a", "b", "c"] * 2, "how": ["x"] * 3 + ["y"] * 3, "c": [0, 1, 1] * 2}
    )
    long.to_csv("t.csv", index=False)
    done = invoke("combine", "t.csv", "-k", "2")
    assert done.exit_code == 1
    said = " ".join(done.stderr.split())
    assert "every id stands 2 times or more" in said
    assert "make one column of each first" in said


def test_numbers_that_are_no_labels_have_a_remedy():
    soft = pd.DataFrame({"a": [0.25, 0.5, 1], "b": [0.75, 0.5, 0]})
    soft.to_csv("t.csv", index=False)
    said = " ".join(invoke("compare", "t.csv").stderr.split())
    assert "memberships of a soft clustering are columns called NAME[0], NAME[1], ..." in said
    both = pd.concat(
        [soft.set_axis(["q[0]", "q[1]"], axis=1), soft.round().add_suffix("1")], axis=1
    )
    both.to_csv("t.csv", index=False)
    done = invoke("compare", "t.csv", "--metric", "ari")
    assert done.exit_code == 0, done.stderr
    assert "3 partitions" in done.stderr


def test_models_are_read_from_and_written_to_files():
    model = cs.combine.EAC(2).fit([[0, 0, 1, 1], [0, 0, 0, 1]])
    Path("folder").mkdir()
    with pytest.raises(IsADirectoryError, match="is a folder; name a file in it, or read"):
        cs.io.load_model("folder")
    for call in (cs.io.load_model, lambda path: cs.io.save_model(model, path)):
        with pytest.raises(TypeError, match="path must be the name of a file; got BytesIO"):
            call(io.BytesIO())


def test_completion_that_cannot_be_installed():
    Path("home").write_text("no folder")
    done = subprocess.run(
        [sys.executable, "-m", "clusterscape", "--install-completion", "bash"],
        env={**os.environ, "HOME": str(Path("home").absolute())},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("clusterscape: ")
    assert "home: " in done.stderr
    assert "Traceback" not in done.stderr
