"""Choices made on a report: checked, kept, applied; and the server that takes them."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score
from typer.testing import CliRunner

from clusterscape import Ensemble
from clusterscape.cli.app import app
from clusterscape.io import load_model
from clusterscape.io.models import last_step
from clusterscape.report import Choices, ChoicesError, ReportServer


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([], "must be a mapping"),
        ({"colour": 1}, "'colour' is not known"),
        ({"partition": -1}, "partition must be an integer"),
        ({"partition": True}, "partition must be an integer"),
        ({"names": {"a": "x"}}, "name of cluster 'a'"),
        ({"names": {"0": "x" * 201}}, "at most 200"),
        ({"names": ["x"]}, "names must be a mapping"),
        ({"merged": [[1]]}, "merged must hold"),
        ({"merged": 3}, "merged must hold"),
        ({"marked": [1]}, "marked must hold"),
        ({"must_link": [["a", "b", "c"]]}, "must_link must hold"),
    ],
)
def test_impossible_choices_are_named(given: object, words: str) -> None:
    with pytest.raises(ChoicesError, match=words):
        Choices.of(given)


def test_choices_come_back_from_their_file(tmp_path: Path) -> None:
    made = Choices.of({"names": {"0": "rot"}, "merged": [[0, 2]], "must_link": [["a", "b"]]})
    made.save(tmp_path / "choices.json")
    again = Choices.read(tmp_path / "choices.json")
    assert again.names == {"0": "rot"}
    assert again.applied([2, 1, 0, -1]).tolist() == [0, 1, 0, -1]
    (tmp_path / "bad.json").write_bytes(b"\xff{")
    with pytest.raises(ChoicesError, match="not JSON"):
        Choices.read(tmp_path / "bad.json")


# ---- the server -------------------------------------------------------------------------------


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ReportServer]:
    made = ReportServer("<p>page</p>", tmp_path / "choices.json")
    thread = threading.Thread(target=made.serve, daemon=True)
    thread.start()
    yield made
    made.stop()
    thread.join()


def asked(
    server: ReportServer,
    method: str,
    path: str,
    body: bytes | None = None,
    **headers: str,
) -> tuple[int, bytes]:
    """Ask the server as any program of this machine could."""
    parts = urlsplit(server.address)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=10)
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body, given)
    answer = connection.getresponse()
    found = answer.status, answer.read()
    connection.close()
    return found


def posted(server: ReportServer, value: object, **changes: str) -> tuple[int, bytes]:
    parts = urlsplit(server.address)
    headers = {"Content_Type": "application/json", "Origin": f"http://{parts.netloc}"} | changes
    return asked(server, "POST", f"{parts.path}choices", json.dumps(value).encode(), **headers)


def test_the_page_is_served_at_its_secret_address_only(server: ReportServer) -> None:
    path = urlsplit(server.address).path
    assert asked(server, "GET", path) == (200, b"<p>page</p>")
    for wrong in ("/", "/x/", path + "../", path + "etc"):
        assert asked(server, "GET", wrong)[0] == 404
    assert asked(server, "GET", path, Host="evil.example")[0] == 404


def test_choices_are_written(server: ReportServer, tmp_path: Path) -> None:
    status, said = posted(server, {"names": {"1": "blau"}})
    assert status == 200
    assert b"choices.json" in said
    assert Choices.read(tmp_path / "choices.json").names == {"1": "blau"}


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"Origin": "http://evil.example"}, 403),
        ({"Content_Type": "text/plain"}, 415),
        ({"Host": "evil.example"}, 404),
        ({"Content_Length": "99999999"}, 413),
    ],
)
def test_other_pages_cannot_write(
    server: ReportServer, tmp_path: Path, changes: dict[str, str], status: int
) -> None:
    assert posted(server, {}, **changes)[0] == status
    assert not (tmp_path / "choices.json").exists()


def test_bad_choices_leave_the_file_as_it_was(server: ReportServer, tmp_path: Path) -> None:
    posted(server, {"marked": ["a"]})
    status, said = posted(server, {"marked": 3})
    assert status == 400
    assert b"marked" in said
    assert list(Choices.read(tmp_path / "choices.json").marked) == ["a"]


# ---- export -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("run")
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(c, 0.3, size=(12, 2)) for c in (0, 4, 8)]).round(3)
    frame = pd.DataFrame(X, columns=["a", "b"])
    frame.insert(0, "id", [f"0{i}" for i in range(36)])
    frame.to_csv(home / "table.csv", index=False)
    arguments = ["run", str(home / "table.csv"), "-k", "3", "--partitions", "10", "-q"]
    result = CliRunner().invoke(app, [*arguments, "-o", str(home / "out")])
    assert result.exit_code == 0, result.output
    assert (home / "out" / "report.html").read_text("utf8").startswith("<!doctype html>")
    return home


def exported(run: Path, *arguments: str) -> pd.DataFrame:
    file = run / "exported.csv"
    given = ["export", str(run / "out"), *arguments, "-o", str(file), "--force", "-q"]
    result = CliRunner().invoke(app, given)
    assert result.exit_code == 0, result.output
    return pd.read_csv(file, dtype=str)


def test_export_joins_labels_to_the_table_as_it_is(run: Path) -> None:
    table = pd.read_csv(run / "table.csv", dtype=str)
    found = exported(run, str(run / "table.csv"))
    pd.testing.assert_frame_equal(found[["id", "a", "b"]], table)
    assert (
        found["label"].tolist() == pd.read_csv(run / "out/labels.csv", dtype=str)["label"].tolist()
    )


def test_export_marks_what_a_spreadsheet_would_run_on_demand(run: Path) -> None:
    table = pd.read_csv(run / "table.csv", dtype=str)
    table.insert(1, "=note", ["=cmd()", "-1.5", "@x", "plain"] * (len(table) // 4))
    table.to_csv(run / "risky.csv", index=False)
    found = exported(run, str(run / "risky.csv"), "--for-spreadsheet")
    assert found["'=note"].tolist()[:4] == ["'=cmd()", "-1.5", "'@x", "plain"]
    found = exported(run, str(run / "risky.csv"))
    assert found["=note"].tolist()[:4] == ["=cmd()", "-1.5", "@x", "plain"]


def test_export_applies_choices(run: Path) -> None:
    Choices(names={"0": "near"}, merged=[[0, 1]], marked=["03"]).save(run / "c.json")
    found = exported(run, "--choices", str(run / "c.json"))
    # Numbered as in the report and the pictures of the same choices.
    chosen = Choices.read(run / "c.json").applied_to(last_step(load_model(run / "out/model.npz")))
    assert found["label"].astype(int).tolist() == chosen.labels_.tolist()
    assert set(found["label"]) == {"0", "1"}
    assert set(found["cluster"]) == {"near", "1"}
    assert found.loc[found["marked"] == "True", "id"].tolist() == ["03"]
    np.testing.assert_allclose(found["confidence"].astype(float), chosen.confidence_, atol=1e-5)
    Choices(partition=3).save(run / "c.json")
    names = ["id", "label", "confidence", "runner_up", "runner_up_share", "cluster", "marked"]
    assert list(exported(run, "--choices", str(run / "c.json"))) == names
    Choices(partition=99).save(run / "c.json")
    result = CliRunner().invoke(app, ["export", str(run / "out"), "--choices", str(run / "c.json")])
    assert result.exit_code == 1
    assert "the run has 10" in result.output


def test_export_matches_by_id_and_refuses_another_table(run: Path) -> None:
    table = pd.read_csv(run / "table.csv", dtype=str)
    table.iloc[::-1].to_csv(run / "other.csv", index=False)
    invoked("export", run / "out", run / "other.csv", "-o", run / "joined.csv")
    found = pd.read_csv(run / "joined.csv", dtype=str).set_index("id")["label"]
    wanted = pd.read_csv(run / "out" / "labels.csv", dtype=str).set_index("id")["label"]
    assert found.to_dict() == wanted.to_dict()
    table.assign(id="x" + table["id"]).to_csv(run / "other.csv", index=False)
    result = CliRunner().invoke(app, ["export", str(run / "out"), str(run / "other.csv")])
    assert result.exit_code == 1
    assert "holds the ids of the run" in result.output


def test_export_reads_the_table_as_the_run_did(run: Path) -> None:
    frame = pd.read_csv(run / "table.csv", dtype={"id": str})
    frame["id"] = [f"Jürgen {i}" for i in range(36)]
    text = "A title; of one line\n" + frame.to_csv(index=False, sep=";", decimal=",")
    (run / "old.csv").write_bytes(text.encode("cp1252"))
    with pd.ExcelWriter(run / "old.xlsx") as book:
        pd.DataFrame({"x": [1]}).to_excel(book, sheet_name="notes", index=False)
        frame.to_excel(book, sheet_name="data", index=False)
    quick = ("-k", "3", "--partitions", "5", "--references", "0", "-q")
    for file, words in (
        ("old.csv", ("--encoding", "cp1252", "--skip", "1")),
        ("old.xlsx", ("--sheet", "data")),
    ):
        out = run / f"out-{file}"
        invoked("run", run / file, *words, *quick, "-o", out)
        invoked("export", out, run / file, "-o", run / "joined.csv", "--force")
        found = pd.read_csv(run / "joined.csv", dtype=str, encoding="utf-8-sig")
        assert found["id"].tolist() == frame["id"].tolist()
        assert [float(a.replace(",", ".")) for a in found["a"]] == frame["a"].tolist()
        assert "label" in found
    said = invoked("export", run / "out", run / "old.csv", code=1)
    assert "is not UTF-8 text; save it again as CSV in UTF-8, or give the run the options" in said
    frame.to_parquet(run / "old.parquet")
    said = invoked("export", run / "out", run / "old.parquet", code=1)
    assert "old.parquet is a parquet file" in said
    (run / "bad.xlsx").write_bytes(b"no sheet")
    assert "save it again, or as CSV" in invoked("export", run / "out", run / "bad.xlsx", code=1)


def test_report_is_written_again_with_other_limits(run: Path) -> None:
    file = run / "again.html"
    given = ["report", str(run / "out"), str(run / "table.csv"), "--points", "9", "-o", str(file)]
    result = CliRunner().invoke(app, [*given, "--title", "Nine"])
    assert result.exit_code == 0, result.output
    assert "<h1>Nine</h1>" in file.read_text("utf8")
    assert "9 of 36 points are shown" in file.read_text("utf8")
    result = CliRunner().invoke(app, ["report", str(run / "out"), "--json", "-q"])
    assert json.loads(result.stdout)["verdict"]["n_clusters"] == 3


# ---- the other verbs --------------------------------------------------------------------------


def invoked(*arguments: object, code: int = 0) -> str:
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == code, result.output
    return result.output


def test_report_shows_what_was_chosen(run: Path) -> None:
    Choices(names={"0": "near & far"}, merged=[[0, 1]]).save(run / "c.json")
    found = json.loads(
        invoked(
            "report", run / "out", run / "table.csv", "--choices", run / "c.json", "--json", "-q"
        )
    )
    assert found["verdict"]["n_clusters"] == 2
    assert found["verdict"]["how"] == "as chosen"
    assert [row["name"] for row in found["clusters"]["rows"]] == ["near & far", None]
    assert not found["notes"]
    file = run / "chosen.html"
    given = ("report", run / "out", run / "table.csv", "--choices", run / "c.json", "-o", file)
    invoked(*given, "--force", "-q")
    text = file.read_text("utf8")
    assert "near &amp; far" in text
    assert '"names":{"0":"near & far"}' in text
    assert '"name":"what was chosen"' in text
    assert "what a person chose" in text


def test_confidences_of_a_chosen_clustering_are_its_own(run: Path) -> None:
    from clusterscape.combine import consensus_scores
    from clusterscape.io import load_results

    found = load_results(run / "out")
    model = found.model[-1] if hasattr(found.model, "steps") else found.model
    taken = Choices(partition=2, merged=[[0, 1]]).applied_to(model)
    kept = np.unique(taken.labels_)
    assert kept.tolist() == list(range(taken.n_clusters_))
    expected = consensus_scores(model.ensemble_, taken.labels_).confidence
    np.testing.assert_allclose(taken.confidence_, expected)


def test_questions_are_asked_by_the_ids_of_the_points(run: Path) -> None:
    from clusterscape.io import load_results
    from clusterscape.io.models import last_step
    from clusterscape.report.choices import questions_of

    model = last_step(load_results(run / "out").model)
    rows = model.suggest_queries(3)
    ids = [f"0{i}" for i in range(36)]
    expected = [[ids[a], ids[b]] for a, b in zip(rows["first"], rows["second"], strict=True)]
    assert questions_of(model, n=3) == expected


def test_constrain_keeps_the_pairs_that_were_answered(run: Path) -> None:
    Choices(must_link=[["00", "013"]], cannot_link=[["01", "02"]]).save(run / "c.json")
    file = run / "constrained.csv"
    given = ("constrain", run / "table.csv", "--choices", run / "c.json", "-k", 3)
    invoked(*given, "--partitions", 5, "-o", file, "--force", "-q")
    label = pd.read_csv(file, dtype=str).set_index("id")["label"]
    assert label["00"] == label["013"]
    assert label["01"] != label["02"]
    Choices(must_link=[["00", "nobody"]]).save(run / "c.json")
    assert "no point 'nobody'" in invoked(*given, code=1)
    Choices(marked=["00"]).save(run / "c.json")
    assert "holds no pairs" in invoked(*given, code=1)


def test_clusterings_from_anywhere_have_a_page(run: Path) -> None:
    votes = run / "votes.npz"
    votes.write_bytes((run / "out" / "ensemble.npz").read_bytes())
    given = ("report", votes, run / "table.csv", "--json", "-q")
    found = json.loads(invoked(*given))
    assert not found["notes"]
    assert found["verdict"]["n_clusters"] == 3
    assert {c["column"] for r in found["clusters"]["rows"] for c in r["columns"]} == {"a", "b"}
    # In their own units, though they are drawn as they were clustered.
    assert max(c["inside"] for r in found["clusters"]["rows"] for c in r["columns"]) > 3
    assert "name its folder" in invoked(*given, "--reference", "b", code=2)


# ---- plot -------------------------------------------------------------------------------------


def test_plot_lists_its_pictures() -> None:
    from clusterscape.cli.pictures import IN_PYTHON, PICTURES

    lines = invoked("plot", "list").splitlines()
    assert [line.split()[0] for line in lines] == [*PICTURES, "Only", *IN_PYTHON]


def test_what_cannot_be_drawn_from_files_says_how_it_is_drawn() -> None:
    from clusterscape import plot
    from clusterscape.cli.pictures import IN_PYTHON, PICTURES

    said = " ".join(invoked("plot", "boundary", "result", code=2).replace("│", " ").split())
    assert "draw it in Python: clusterscape.plot.BoundaryDisplay.from_estimator" in said
    # Every display has a name, and every sentence begins with what there is.
    for how in IN_PYTHON.values():
        kind, *ways = how.split(",")[0].split(".")[1:]
        assert all(hasattr(getattr(plot, kind), way) for way in ways)
    assert len(PICTURES) + len(IN_PYTHON) == sum("Display" in name for name in plot.__all__)


@pytest.mark.parametrize(
    "name",
    [
        "affinity_map",
        "cluster_images",
        "consensus_matrix",
        "dendrogram",
        "description",
        "distance_distribution",
        "distance_matrix",
        "gallery",
        "landscape",
        "quality_distribution",
        "scatter",
        "stability",
        "sweep",
        "tracking",
    ],
)
def test_plot_draws_a_run_and_gives_the_table(run: Path, name: str) -> None:
    file, table = run / f"{name}.svg", run / f"{name}.csv"
    given = ("plot", name, run / "out", run / "table.csv", "-o", file, "--table", table, "--force")
    given = (*given, "--shape", "1x2")
    invoked(*given, "-q")
    first = file.read_bytes()
    assert b"<svg" in first
    assert len(pd.read_csv(table))
    invoked(*given, "-q")
    assert file.read_bytes() == first  # the same bytes every time


def test_the_trajectory_is_that_of_the_run_or_of_sca_on_the_clusterings(run: Path) -> None:
    from types import SimpleNamespace

    from matplotlib.figure import Figure

    from clusterscape.cli.pictures import PICTURES, Sources
    from clusterscape.combine import SCA

    rng = np.random.default_rng(0)
    votes = np.where(
        rng.random((40, 9)) < 0.3, rng.integers(0, 3, (40, 9)), np.arange(40)[:, None] % 3
    )
    Ensemble.from_labels(votes).to_npz(run / "noisy.npz")
    given = ("plot", "trajectory", run / "noisy.npz", "--clustering", "p0")
    out = ("-o", run / "t.svg", "--force", "--json", "-q")
    table = json.loads(invoked(*given, *out))["table"]
    assert len(table["0"]) > 2  # the steps; one column for each distinct row of labels
    assert b"fitted to the clusterings" in (run / "t.svg").read_bytes()
    # Where the run used SCA, its own chain is drawn.
    own = SCA(3, random_state=5).fit(votes)
    model = SimpleNamespace(consensus_=own)
    sources = Sources(
        model, own.ensemble_, own.labels_, True, *(None,) * 4, names={}, titles=("answer", "")
    )
    assert PICTURES["trajectory"].draw(sources, Figure()).trajectory is own.trajectory_


def test_pictures_of_images_and_planes_say_what_they_need(run: Path) -> None:
    given = ("cluster_images", run / "out", run / "table.csv", "-o", run / "x.png", "--force")
    assert "cluster_images needs the height and width" in invoked("plot", *given, code=1)
    assert "two numbers such as 28x28" in invoked("plot", *given, "--shape", "2", code=2)
    assert "1 x 3 = 3 columns" in invoked("plot", *given, "--shape", "1x3", code=1)
    wide = pd.read_csv(run / "table.csv", dtype={"id": str}).assign(c=range(36))
    wide.to_csv(run / "wide.csv", index=False)
    quick = ("-k", "2", "--partitions", "4", "--references", "0", "-q", "-o", run / "three")
    invoked("run", run / "wide.csv", "--exclude", "id", *quick)
    said = invoked("plot", "affinity_map", run / "three", run / "wide.csv", *given[3:], code=1)
    assert "over two columns, and the points have 3" in said


def test_plot_applies_choices_and_names_the_clusters(run: Path) -> None:
    Choices(names={"2": "far"}, merged=[[0, 1]]).save(run / "c.json")
    given = ("plot", "scatter", run / "out", run / "table.csv", "--choices", run / "c.json")
    found = json.loads(invoked(*given, "-o", run / "p.png", "--force", "--json", "-q"))
    assert set(found["table"]["cluster"]) == {0, 1}
    assert found["table"]["id"][:2] == ["00", "01"]  # rows have the ids of the points
    assert len(found["table"]["id"]) == 36
    two = run / "two.csv"
    pd.DataFrame({"id": ["a", "b", "c", "d"], "x": [0, 0, 1, 1], "y": [0, 1, 1, 1]}).to_csv(
        two, index=False
    )
    out = ("-o", run / "q.pdf", "--force")
    found = json.loads(invoked("plot", "contingency", two, *out, "--json", "-q"))
    assert sum(found["table"]["0"] + found["table"]["1"]) == 4
    said = invoked("plot", "scatter", two, "--clustering", "x", *out, code=1)
    assert "scatter needs the TABLE" in said
    said = invoked("plot", "silhouette", two, *out, code=2)
    assert "--clustering" in said
    assert "k_selection needs the folder" in invoked("plot", "k_selection", two, *out, code=1)
    assert "PICTURE" in invoked("plot", "elbow", two, *out, code=2)


def test_predict_places_points_in_the_clusters_that_were_chosen(run: Path) -> None:
    Choices(names={"2": "far"}, merged=[[0, 1]]).save(run / "c.json")
    given = ("predict", run / "out", run / "table.csv", "--choices", run / "c.json", "-q")
    found = json.loads(invoked(*given, "--json"))
    wanted = exported(run, "--choices", str(run / "c.json"))
    # Points of the run itself, in clusters that are far apart, are placed where they were.
    assert found["labels"] == wanted["label"].astype(int).tolist()
    assert found["clusters"] == wanted["cluster"].tolist()
    assert set(found["clusters"]) == {"0", "far"}
    Choices(partition=2).save(run / "c.json")
    found = json.loads(invoked(*given, "--json"))
    taken = exported(run, "--choices", str(run / "c.json"))["label"].astype(int)
    assert adjusted_rand_score(found["labels"], taken) > 0.9
    invoked(*given, "-o", run / "placed.csv", "--force")
    assert list(pd.read_csv(run / "placed.csv")) == ["id", "label", "confidence", "cluster"]


def test_commands_on_labels_read_what_export_wrote(run: Path) -> None:
    Choices(names={"2": "far"}, merged=[[0, 1]]).save(run / "c.json")
    exported(run, "--choices", str(run / "c.json"))
    found = json.loads(
        invoked("compare", run / "exported.csv", run / "out/labels.csv", "--json", "-q")
    )
    assert found["names"] == ["exported.csv", "labels.csv"]  # names and marks are no clusterings
    certified = json.loads(
        invoked("validate", run / "table.csv", run / "exported.csv", "--json", "-q")
    )
    assert certified
    # In a table of clusterings they may be some.
    pd.DataFrame({"cluster": [0, 1, 1], "marked": [0, 0, 1]}).to_csv(run / "two.csv", index=False)
    found = json.loads(invoked("compare", run / "two.csv", "--json", "-q"))
    assert len(found["names"]) == 2
