"""The report: its dictionary, aligned labels, escaping, limits, and parts that fail."""

from __future__ import annotations

import base64
import copy
import html
import itertools
import json
import re
import zlib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clusterscape import ConsensusClustering, Ensemble
from clusterscape._core.labels import numbered_like
from clusterscape.combine import EAC
from clusterscape.explore import Landscape
from clusterscape.plot.description import number
from clusterscape.preprocess import LogTransformer, TableEncoder, TopVariable
from clusterscape.report import charts, collect, contents, findings, render, text, write
from clusterscape.report.cautions import also_steady
from clusterscape.report.tracking import cuts_of


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(c, 0.6, size=(25, 3)) for c in (0, 3, 6)])
    return pd.DataFrame(X, columns=["length", "<script>alert(1)</script>", "width"])


@pytest.fixture(scope="module")
def model(table: pd.DataFrame) -> ConsensusClustering:
    return ConsensusClustering(n_partitions=20, random_state=0).fit(table)


def embedded(page: str) -> dict:
    """Return the data of a page."""
    text = re.search(r'<script type="application/json" id="report-data">(.*?)</script>', page, re.S)
    assert text is not None
    return json.loads(text[1])


# ---- aligned labels ---------------------------------------------------------------------------

labelled = hnp.arrays(np.int64, 15, elements=st.integers(-2, 4))


@given(labelled, labelled)
def test_alignment_renames_clusters_and_nothing_else(a: np.ndarray, b: np.ndarray) -> None:
    found = numbered_like(b, a, reuse=False)
    assert ((found < 0) == (b < 0)).all()
    assert (found[b < 0] == b[b < 0]).all()
    pairs = {(int(x), int(y)) for x, y in zip(b, found, strict=True)}
    assert len(pairs) == len({x for x, _ in pairs}) == len({y for _, y in pairs})


@given(hnp.arrays(np.int64, 12, elements=st.integers(0, 3)), st.permutations(range(4)))
def test_the_same_partition_keeps_its_numbers(labels: np.ndarray, names: list[int]) -> None:
    _, labels = np.unique(labels, return_inverse=True)
    named = np.asarray(names)[labels]
    assert (numbered_like(named, labels, reuse=False) == labels).all()


# ---- the dictionary ---------------------------------------------------------------------------


def test_every_section_is_made(model: ConsensusClustering, table: pd.DataFrame) -> None:
    page = collect(model, X=table, reference=np.repeat(["a", "b", "c"], 25))
    assert not page["notes"]
    assert set(contents.SECTIONS) <= set(page)
    json.dumps(page, allow_nan=False)
    assert re.fullmatch(r"3 clusters; \d+% of the points are sure\.", page["verdict"]["headline"])
    assert [row["size"] for row in page["clusters"]["rows"]] == [25, 25, 25]
    assert np.asarray(page["reference"]["counts"]).sum() == 75


def test_agreements_are_those_of_scikit_learn(
    model: ConsensusClustering, table: pd.DataFrame
) -> None:
    own = collect(model, X=table)["alternatives"]
    labels = np.asarray(own["labels"])
    assert own["partitions"][0]["kind"] == "answer"
    for j in (1, 7, 20):
        expected = adjusted_rand_score(labels[0], labels[j])
        assert own["partitions"][j]["agreement"] == pytest.approx(expected, abs=1e-4)
        assert own["distances"][j][0] == pytest.approx(max(1 - expected, 0), abs=1e-4)


def test_a_pipeline_is_drawn_as_scaled_and_described_as_given(table: pd.DataFrame) -> None:
    wide = table * [1.0, 1.0, 1000.0]
    scaler = StandardScaler().set_output(transform="pandas")
    whole = make_pipeline(scaler, ConsensusClustering(3, n_partitions=10, random_state=0))
    page = collect(whole.fit(wide), X=wide)
    inside = [c["inside"] for r in page["clusters"]["rows"] for c in r["columns"]]
    assert max(inside) > 1000
    shares = [float(s) for axis in page["alternatives"]["axes"] for s in re.findall(r"\d+", axis)]
    assert shares[1] < 99  # unscaled, the wide column would be all of the first component


def test_a_consensus_of_labels_needs_no_features() -> None:
    model = EAC(2).fit([[0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 1, 1]])
    page = collect(model)
    assert not page["notes"]
    assert page["alternatives"]["places"] is None
    assert "without the features" in render(page)


def test_points_and_partitions_beyond_the_limits_are_said(
    model: ConsensusClustering, table: pd.DataFrame
) -> None:
    page = collect(model, X=table, max_points=30, max_partitions=5)
    assert len(page["points"]["ids"]) == 30
    assert len(page["alternatives"]["partitions"]) == 6
    text = render(page)
    assert "30 of 75 points are shown, drawn at random." in text
    assert "<figcaption>30 of the 75 points by" in text
    assert "5 of 24 clusterings are shown." in text


def test_one_opinion_and_one_cluster_have_their_words() -> None:
    same = Ensemble.from_labels(np.array([[0, 0, 1, 1]] * 3).T)
    with pytest.warns(UserWarning, match="no evidence|same"):
        page = collect(EAC(2).fit(same))
    assert page["verdict"]["headline"] == "2 clusters; nothing is known of how sure they are."
    noise = np.random.default_rng(0).normal(size=(60, 4))
    model = ConsensusClustering(n_partitions=10, random_state=0).fit(noise)
    assert model.n_clusters_ == 1
    page = collect(model, X=noise)
    assert not page["notes"]
    assert page["verdict"]["headline"].startswith("One cluster")
    render(page)


def test_clusters_are_followed_across_numbers_of_clusters(
    model: ConsensusClustering, table: pd.DataFrame
) -> None:
    page = collect(model, X=table)
    own = page["across_k"]["tracking"]
    assert own["answer"] == 3
    ks = [row["k"] for row in own["rows"]]
    assert ks == [2, 3, 4, 5]
    answer = own["rows"][1]["clusters"]
    assert sorted(c["points"] for c in answer) == [25, 25, 25]
    for row in own["rows"]:
        assert sum(c["points"] for c in row["clusters"]) == 75
        assert len(row["clusters"]) == row["k"]
    for above, below in itertools.pairwise(ks):
        moved = [a for a in own["arrows"] if (a["from"], a["to"]) == (above, below)]
        assert sum(a["points"] for a in moved) == 75
    text = render(page)
    assert text.count('class="cluster"') == sum(ks)
    assert "The row k = 3 is the answer" in text


def test_cuts_need_two_clusters_and_may_be_given_fewer(table: pd.DataFrame) -> None:
    one = EAC(1).fit([[0, 0, 1, 1], [0, 0, 0, 1]])
    assert "across_k" not in collect(one)
    pair = EAC(2).fit([[0, 0, 1, 1], [0, 0, 0, 1], [0, 1, 1, 1]])
    found = cuts_of(pair, np.arange(4))
    assert found is not None
    assert 2 in found


def test_labels_in_small_integers_are_aligned() -> None:
    # 5 clusters times 40 labels do not fit the eight bits that the labels are kept in.
    fine, coarse = np.arange(200) % 40, np.arange(200) % 5
    model = EAC(5).fit(np.column_stack([fine, coarse, coarse]))
    assert model.ensemble_.labels.dtype.itemsize == 1
    assert not collect(model)["notes"]


def test_blank_classes_count_for_nothing(model: ConsensusClustering, table: pd.DataFrame) -> None:
    classes = np.repeat(["a", "b", "c"], 25).astype(object)
    whole = collect(model, X=table, reference=classes)["reference"]
    classes[[0, 1, 30, 70]] = ["", None, np.nan, " "]
    page = collect(model, X=table, reference=classes)
    assert page["reference"]["n_classes"] == whole["n_classes"] == 3
    assert page["reference"]["n_blank"] == 4
    assert page["reference"]["adjusted_rand"] == whole["adjusted_rand"] == 1.0
    assert np.asarray(page["reference"]["counts"]).sum() == 71
    assert "4 points without a class do not count" in render(page)
    none = collect(model, X=table, reference=[""] * 75)
    assert none["reference"]["adjusted_rand"] is None
    assert "No point has a known class" in render(none)


def test_what_weakens_a_result_is_said() -> None:
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(12), 10)
    fine = [np.where(rng.random(120) < 0.1, rng.integers(0, 12, 120), labels) for _ in range(8)]
    page = collect(EAC(2).fit(Ensemble.from_labels(fine)))
    assert page["verdict"]["headline"].endswith(" – with reservations.")
    said = " ".join(page["failures"]["cautions"])
    assert "finer than the answer" in said
    assert "None of the clusterings is near the answer" in said
    assert "No test for structure was made" in said
    X = rng.normal(size=(80, 3))
    with pytest.warns(UserWarning, match="n_clusters"):
        forced = ConsensusClustering(3, n_partitions=10, random_state=0).fit(X)
    said = " ".join(collect(forced, X=X)["failures"]["cautions"])
    assert "found none, but 3 clusters were asked for" in said


@pytest.mark.parametrize(("rest", "named"), [(1, "one point"), (4, "a few points"), (5, None)])
def test_an_answer_that_takes_a_few_points_off_is_a_reservation(
    rest: int, named: str | None
) -> None:
    # As a table with rare words gives: 5,994 points and 6.
    labels = np.zeros(200, dtype=int)
    labels[:rest] = 1
    page = collect(EAC(2).fit(Ensemble.from_labels([labels] * 2 + [np.arange(200) % 5])))
    assert page["verdict"]["sizes"] == [200 - rest, rest]
    said = " ".join(page["failures"]["cautions"])
    if named is None:
        assert "All but" not in said
        return
    assert f"All but {rest} of 200 points are in cluster 0" in said
    assert f"takes {named} off, perhaps outliers" in said
    assert page["verdict"]["headline"].endswith(" – with reservations.")


def test_rare_words_are_named_where_they_may_have_made_the_answer() -> None:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"a": 0.1 * rng.normal(size=120), "town": ["Ulm"] * 119 + ["Bonn"]})
    inner = ConsensusClustering(2, n_partitions=4, n_references=0, random_state=0)
    whole = make_pipeline(TableEncoder(categories="one-hot"), inner).fit(rows)
    inner.labels_ = (rows["town"] == "Bonn").to_numpy().astype(int)
    said = " ".join(collect(whole, X=rows)["failures"]["cautions"])
    assert "All but 1 of 120 points are in cluster 0" in said
    assert "rare ones can do that: compare with Gower's distances" in said
    said = " ".join(collect(inner, X=whole[:-1].transform(rows))["failures"]["cautions"])
    assert "All but 1 of 120" in said  # who encoded the words is not known here
    assert "Gower" not in said


def test_clusters_that_the_matrix_cannot_show_are_named() -> None:
    labels = np.zeros(2500, dtype=int)
    labels[:30] = 1
    labels[:3] = 2
    model = EAC(3).fit(Ensemble.from_labels([labels, labels, np.arange(2500) % 3]))
    said = render(collect(model))
    assert "193 of the 2,500 points in the order" in said
    assert "Cluster 2 has too few points to be among them." in said
    every = EAC(2).fit([[0, 0, 1, 1], [0, 0, 0, 1]])
    assert "too few points to be among" not in render(collect(every))


def test_the_candidates_of_the_consensus_have_words(
    model: ConsensusClustering, table: pd.DataFrame
) -> None:
    way = text._way
    assert way("gmm with k, best").startswith("the best single clustering that gmm made with")
    assert way("finer, genie") == (
        "the clusterings with more clusters than the answer, combined by genie"
    )
    assert way("finer kmeans, lwgp").startswith("the clusterings of kmeans with more clusters")
    assert way("with k, lwea").startswith("the clusterings with as many clusters as the answer")
    assert way("all, lwgp") == "the clusterings, combined by lwgp"
    own = collect(model, X=table)["methods"]
    assert f"“{own['candidate']}” was taken: {way(own['candidate'])}" in render(collect(model))


def test_no_zero_has_a_sign_and_large_numbers_no_exponent() -> None:
    assert "<span>+0.00</span>" in charts.effect_bar(-0.0004, 0)
    assert [number(v) for v in (218_193.4, -12_345.6, 1234.5, 0.25, 2e12)] == [
        "218,193",
        "-12,346",
        "1,234",
        "0.25",
        "2e+12",
    ]


def test_few_sure_points_are_a_reservation() -> None:
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 50)
    # Three of five clusterings agree: most points have a share of 0.6 to 0.8, and few less.
    votes = [labels] * 3 + [np.where(rng.random(100) < 0.4, 1 - labels, labels) for _ in range(4)]
    page = collect(EAC(2).fit(Ensemble.from_labels(votes)))
    score = page["verdict"]["confidence"]
    assert score["confident"] < 50
    assert score["doubtful"] < 50
    assert page["verdict"]["headline"].endswith(" – with reservations.")
    said = " ".join(page["failures"]["cautions"])
    assert f"Only {score['confident']} of 100 points are sure" in said


def test_a_number_that_was_chosen_by_other_clusters_is_a_reservation(
    model: ConsensusClustering, table: pd.DataFrame
) -> None:
    own = collect(model, X=table)
    assert own["across_k"]["tracking"]["cut_agreement"] == pytest.approx(1.0)
    assert own["verdict"]["reservations"] == 0
    other = copy.copy(model)
    other.labels_ = np.arange(75) % 3
    page = collect(other, X=table)
    assert page["across_k"]["tracking"]["cut_agreement"] < 0.05
    said = " ".join(page["failures"]["cautions"])
    assert "The number of clusters was chosen by other clusters than these" in said
    assert page["verdict"]["headline"].endswith(" – with reservations.")
    assert "give clusters that agree with the answer by" in render(page)  # at the tree, too
    other.k_selection_ = None  # a number that was asked for was chosen by nothing
    said = " ".join(collect(other, X=table)["failures"]["cautions"])
    assert "was chosen by other clusters" not in said


def test_classes_that_the_clusters_know_nothing_of_are_named(
    model: ConsensusClustering, table: pd.DataFrame
) -> None:
    page = collect(model, X=table, reference=np.arange(75) % 3)
    assert "say next to nothing of the known classes" in " ".join(page["failures"]["cautions"])
    assert page["verdict"]["reservations"] == 0  # the data may well have another division
    made = render(page)
    assert "<h3>Worth a look</h3>" in made
    assert "Reservations" not in made


def test_a_cluster_without_a_sure_point_is_named(
    model: ConsensusClustering, table: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "is sure:" not in " ".join(collect(model, X=table)["failures"]["cautions"])
    shares = np.where(model.labels_ == 2, 0.7, 0.9)
    monkeypatch.setattr(ConsensusClustering, "confidence_", property(lambda self: shares))
    said = " ".join(collect(model, X=table)["failures"]["cautions"])
    assert "No point of cluster 2 is sure" in said


def test_a_picture_stands_beside_the_verdict(
    model: ConsensusClustering, table: pd.DataFrame
) -> None:
    page = collect(model, X=table)
    counts = page["verdict"]["by_cluster"]
    assert [c["points"] for c in counts] == [25, 25, 25]
    assert sum(c["sure"] for c in counts) == page["verdict"]["confidence"]["confident"]
    made = render(page)
    assert made.index('<canvas id="glance"') < made.index('id="input"')
    assert f"cluster 0: {counts[0]['sure']} of 25 sure" in made
    bare = render(collect(model))  # without features there is no map, but the bars
    assert '<canvas id="glance"' not in bare
    assert 'class="chart sure"' in bare


def test_the_steps_before_are_named_in_words(table: pd.DataFrame) -> None:
    inner = ConsensusClustering(3, n_partitions=4, n_references=0, random_state=0)
    steps = [LogTransformer(), TopVariable(2), StandardScaler(), inner]
    whole = make_pipeline(*steps).fit(table.abs())
    run = {"parameters": {"scaled": "standard"}}
    said = render(collect(whole, X=table.abs(), run=run))
    wanted = "logarithms, log(1 + x), then keeping the columns of largest variance"
    assert f"<dt>Prepared by</dt><dd>{wanted}</dd>" in said
    assert "every column to mean 0" in said
    assert f"<dd>{wanted}, then StandardScaler</dd>" in render(collect(whole, X=table.abs()))


def test_a_page_without_the_classes_of_its_run_says_so(
    model: ConsensusClustering, table: pd.DataFrame
) -> None:
    run = {"parameters": {"reference": "kind"}}
    classes = np.repeat(["a", "b", "c"], 25)
    assert "kind (not clustered)" in render(collect(model, X=table, run=run, reference=classes))
    bare = render(collect(model, X=table, run=run))
    assert "kind (not clustered; not given when this page was written)" in bare
    unnamed = render(collect(model, X=table, reference=classes))
    assert "<dt>Known classes</dt><dd>compared with the clusters below (not" in unnamed
    assert "Known classes" not in render(collect(model, X=table))


def test_clusterings_by_angles_are_called_so(table: pd.DataFrame) -> None:
    run = {"parameters": {"scaled": "none"}}
    words = sparse.csr_matrix(np.random.default_rng(0).poisson(0.5, size=(60, 30)).astype(float))
    model = ConsensusClustering(2, n_partitions=8, n_references=0, random_state=0).fit(words)
    assert "rows are compared by their angles" in render(collect(model, X=words, run=run))
    plain = ConsensusClustering(2, n_partitions=8, n_references=0, random_state=0).fit(table)
    assert "columns with large values count most" in render(collect(plain, X=table, run=run))


def test_a_single_clustering_is_compared_with_the_classes_too(
    model: ConsensusClustering, table: pd.DataFrame
) -> None:
    run = {"result": {"single": {"accuracy": 0.5, "adjusted_rand": 0.25}}}
    page = collect(model, X=table, reference=np.repeat(["a", "b", "c"], 25), run=run)
    assert "k-means alone, the best of ten starts with as many clusters: 50.0%" in render(page)


def test_one_point_has_its_words() -> None:
    model = ConsensusClustering(n_partitions=3, n_references=0, random_state=0).fit([[1.0, 2.0]])
    page = collect(model, X=np.array([[1.0, 2.0, 3.0]])[:, :2])
    assert not page["notes"]
    assert page["title"] == "Clusters of 1 point"
    assert page["verdict"]["headline"] == "One cluster: the point is alone."
    said = render(page)
    assert "Here all are the same, and on one spot." in said
    assert "Constant columns" not in said
    only = page["clusters"]["rows"][0]
    assert (only["confidence"], only["typical"], only["least_sure"]) == (None, [], [])
    assert "matrix" not in page
    assert "1 points" not in render(page)


def test_how_to_repeat_it_names_the_command_and_the_seed(
    model: ConsensusClustering, table: pd.DataFrame
) -> None:
    run = {
        "command": "run",
        "parameters": {
            "clusters": [2, 6],
            "seed": 0,
            "reference": "a class",
            "scaled": "standard",
            "header": False,
            "jobs": 2,
        },
        "input": {"file": "my table.csv"},
    }
    text = html.unescape(render(collect(model, X=table, run=run)))
    wanted = "clusterscape run 'my table.csv' --clusters 2-6 --seed 0 --reference 'a class' "
    assert wanted + "--no-header</code>" in text
    assert "ConsensusClustering(n_partitions=20, random_state=0).fit(X)" in text


def test_a_failing_section_becomes_a_note(
    model: ConsensusClustering, table: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(case: object) -> dict:
        raise RuntimeError("no <matrix> today")

    monkeypatch.setitem(contents.SECTIONS, "matrix", broken)
    page = collect(model, X=table)
    assert "matrix" not in page
    text = render(page)
    assert "“matrix” could not be made (RuntimeError: no &lt;matrix&gt; today)" in text
    assert 'id="points"' in text


def test_a_section_that_cannot_be_written_becomes_a_note(
    model: ConsensusClustering, table: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(page: object) -> str:
        raise KeyError("<clusters>")

    monkeypatch.setitem(text.SECTIONS, "clusters", ("The clusters", broken))
    page = render(collect(model, X=table))
    assert "“clusters” could not be made (KeyError: &#x27;&lt;clusters&gt;&#x27;)" in page
    assert 'href="#notes"' in page
    assert 'href="#clusters"' not in page
    assert 'id="points"' in page


@pytest.mark.parametrize("name", ["X", "table", "coordinates", "reference"])
def test_rows_that_are_not_the_points_are_refused(model: ConsensusClustering, name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must have one row for each of the 75 points"):
        collect(model, **{name: np.zeros((3, 2))})


@pytest.mark.parametrize("name", ["X", "table", "coordinates", "reference"])
def test_rows_in_another_order_are_refused(
    model: ConsensusClustering, table: pd.DataFrame, name: str
) -> None:
    given = table["length"] if name == "reference" else table.iloc[:, :2]
    shuffled = given.sample(frac=1, random_state=0)
    with pytest.raises(ValueError, match=f"{name} and the points of the fit have different index"):
        collect(model, **{name: shuffled})
    collect(model, **{name: shuffled.to_numpy()})


# ---- the page ---------------------------------------------------------------------------------


def test_names_from_the_data_are_escaped(model: ConsensusClustering, table: pd.DataFrame) -> None:
    classes = np.repeat(["</script><script>alert(2)</script>", "@@script@@", 'c" onload="x'], 25)
    frame = table.set_index(pd.Index([f"<img src=x onerror=alert({i})>" for i in range(75)]))
    named = ConsensusClustering(3, n_partitions=10, n_references=0, random_state=0).fit(frame)
    text = render(collect(named, X=frame, reference=classes, title="<b>@@data@@</b>"))
    assert text.count("<script") == 2
    assert text.count("</script>") == 2
    assert "<img" not in text
    assert 'onload="x' not in text
    assert "&lt;b&gt;@@data@@&lt;/b&gt;" in text
    assert embedded(text)["points"]["ids"][0].startswith("<img")  # unharmed where it is data


def test_the_content_policy_of_the_page_forbids_all_else(
    model: ConsensusClustering, table: pd.DataFrame
) -> None:
    text = render(collect(model, X=table))
    rules = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert rules is not None
    assert rules[1].startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in rules[1]
    # Neither addresses nor attributes that the rules would block.
    assert not re.search(r"https?://|<[^>]+ style=|<[^>]+ on\w+=", text.split("<script>")[0])


def test_packed_labels_are_the_labels(model: ConsensusClustering, table: pd.DataFrame) -> None:
    page = collect(model, X=table)
    own = embedded(render(page))["alternatives"]
    answer = np.frombuffer(base64.b64decode(own["answer"]), dtype=np.uint8)
    raw = np.frombuffer(zlib.decompress(base64.b64decode(own["labels"])), dtype=np.uint8)
    codes = raw.reshape(-1, answer.size) + answer
    expected = np.asarray(page["alternatives"]["labels"])
    assert (codes == expected % 256).all()


def test_many_clusters_take_two_bytes() -> None:
    rng = np.random.default_rng(0)
    labels = np.column_stack([rng.permutation(300), np.arange(300) % 2, np.arange(300) % 2])
    own = embedded(render(collect(EAC(2).fit(labels))))["alternatives"]
    assert own["bytes"] == 2


def test_the_same_model_gives_the_same_bytes(
    model: ConsensusClustering, table: pd.DataFrame, tmp_path: Path
) -> None:
    for name in ("a", "b"):
        write(model, tmp_path / name, X=table)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_large_file_is_warned_of(
    model: ConsensusClustering, table: pd.DataFrame, tmp_path: Path
) -> None:
    with pytest.warns(UserWarning, match="smaller max_points"):
        write(model, tmp_path / "page.html", X=table, max_mb=0.01)


def test_a_resumed_run_gives_the_same_page(table: pd.DataFrame, tmp_path: Path) -> None:
    settings = {"n_partitions": 6, "n_references": 0, "random_state": 0, "store": tmp_path / "s"}
    first = ConsensusClustering(3, **settings).fit(table)
    again = ConsensusClustering(3, **settings).fit(table)  # all of it comes from the store
    assert render(collect(again, X=table)) == render(collect(first, X=table))


def test_a_share_that_misses_a_limit_by_its_last_digit_reaches_it() -> None:
    shares = np.array([0.5 - 1e-16, 0.8 - 1e-16, 0.49, np.nan])
    found = findings._confidence(shares, None)
    assert (found["confident"], found["doubtful"], found["missing"]) == (1, 1, 1)


def test_columns_of_the_choice_of_k_are_explained(model: ConsensusClustering) -> None:
    page = render(collect(model))
    for name in model.k_selection_.columns:
        assert name in text._HEADS, name
    # What is said to decide is what decides.
    own = model.k_selection_.columns
    parts = own["separation_rise"] + own["clearness_drop"] + own["eigengap"]
    np.testing.assert_allclose(own["score"], parts)
    assert "the sum of rise, drop of clearness and eigengap" in page
    assert "their clusters agree with those of all by 1.00 (1: equal)." in page
    assert "The clusters by which it was chosen agree with the answer by 1.00." in page


def test_finer_clusters_are_a_reservation_only_where_they_have_a_score() -> None:
    ks = np.arange(2, 7)

    def finer(score: list[float]) -> list[int]:
        columns = {"k": ks, "stability": np.array([1.0, 0.7, 1.0, 1.0, 1.0])}
        chosen = SimpleNamespace(columns=columns | {"score": np.array(score)})
        return also_steady(chosen, 2, finer=True)

    assert finer([4.9, 1.1, 1.8, 0.7, 0.7]) == [4]  # 3 varies, more than 4 is not asked about
    assert finer([8.0, 1.5, 0.7, 0.3, 0.3]) == []  # a division of one group is steady too


def test_clusters_keep_their_numbers_from_row_to_row() -> None:
    # 0 falls into a large and a small part, of which the large one divides again.
    fine = np.repeat([0, 1, 2, 3, 4], [30, 20, 14, 8, 40])
    runs = [fine, np.where(fine == 1, 0, fine), np.where(fine < 3, 0, fine)] * 4
    model = EAC(2).fit(Ensemble.from_labels(runs))
    cuts = cuts_of(model, np.arange(112))
    assert cuts is not None
    for upper, lower in itertools.pairwise(cuts.columns):
        shared = pd.crosstab(cuts[upper], cuts[lower])
        largest = shared.to_numpy().max(axis=1)
        for cluster, most in zip(shared.index, largest, strict=True):
            if cluster in shared.columns:  # the number went to the part that shares most
                assert shared.loc[cluster, cluster] == most


def test_many_suspicious_columns_are_one_line() -> None:
    model = EAC(2).fit([[0, 0, 1, 1], [0, 0, 0, 1]])
    odd = [f"Column 'c{i}' looks odd." for i in range(900)]
    run = {"input": {"suspicious": odd, "notes": ["column 'id' is taken.", *odd], "file": "a.csv"}}
    page = collect(model, run=run)
    assert page["input"]["notes"] == ["column 'id' is taken."]
    said = render(page)
    assert said.count("looks odd") < 20
    assert "895 more columns are suspicious like these." in said
    none = render(collect(model, run={"input": {"suspicious": [], "file": "a.csv"}}))
    assert "none: no column looks like ids or classes" in none
    named = {"input": {"suspicious": []}, "parameters": {"columns": ["a"]}}
    assert "Suspicious" not in render(collect(model, run=named))  # they were not looked at


def test_gaps_and_words_that_were_encoded_are_said() -> None:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"a": rng.normal(size=30), "town": ["Ulm", "Bonn", None] * 10})
    inner = ConsensusClustering(2, n_partitions=4, n_references=0, random_state=0)
    whole = make_pipeline(TableEncoder(missing="impute", categories="one-hot"), inner).fit(rows)
    page = collect(whole, X=rows)
    assert len(page["input"]["columns_changed"]) == 2
    # What is to be typed to repeat it does all that the pipeline does.
    said = html.unescape(render(page))
    assert "from clusterscape.preprocess import TableEncoder\n" in said
    assert "X = TableEncoder().fit_transform(X)\nConsensusClustering(n_clusters=2" in said
    assert "Column &#x27;town&#x27;: 10 of 30 values are missing" in render(page)


def test_an_agreement_that_one_cluster_would_reach_is_called_so() -> None:
    classes = np.repeat(["a", "b"], [9, 3])
    bad = findings.agreement(np.array([0, 1] * 6), classes)
    assert bad["largest_class"] == 0.75
    assert "one cluster of all points would reach 75.0%" in findings.reference_words(bad)
    good = findings.agreement(np.repeat([0, 1], [9, 3]), classes)
    assert "one cluster" not in findings.reference_words(good)


def test_only_small_clusters_are_said_to_use_points_twice() -> None:
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], [20, 15, 4])
    X = rng.normal(size=(39, 3)) + 6.0 * labels[:, None]
    page = collect(EAC(3).fit(Ensemble.from_labels([labels, labels % 2])), X=X)
    assert [row["held_back"] for row in page["clusters"]["rows"]] == [True, True, False]
    made = render(page)
    assert "for cluster 2 with fewer than 8 points to look at, from all points" in made
    for row in page["clusters"]["rows"]:
        row["held_back"] = True
    assert "fewer than 8 points to look at" not in render(page)


def test_a_landscape_has_no_single_answer_to_report():
    X = np.random.default_rng(0).normal(size=(20, 2))
    landscape = Landscape(2, n_samples=20, n_representatives=2, random_state=0).fit(X)
    with pytest.raises(ValueError, match="has several clusterings and no single answer"):
        collect(landscape)


def test_columns_that_were_left_out_are_a_caution() -> None:
    from clusterscape.report.cautions import _on_left_out

    read = {"n_features": 3, "left_out": ["work", "sex"]}
    (said,) = _on_left_out({"input": read})
    assert said.startswith("2 of 5 columns were left out (work, sex)")
    assert not _on_left_out({"input": read | {"left_out": ["id"]}})
    assert not _on_left_out({})
