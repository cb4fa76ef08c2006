"""Tables and labels from files: what is read, and the sentence when it cannot be."""

from __future__ import annotations

import gzip
import io
import json
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse

from clusterscape import Ensemble
from clusterscape.io import (
    Table,
    TableError,
    UnknownColumn,
    describe_table,
    is_ensemble_file,
    labels_frame,
    read_label_table,
    read_labels,
    read_table,
    suspicious_columns,
    tables,
    write_json,
    write_labels,
)
from clusterscape.io.results import json_text


def table(text: str | bytes, **options) -> Table:
    """Read a table from text, as from a pipe."""
    return read_table(io.BytesIO(text.encode() if isinstance(text, str) else text), **options)


def labels(text: str, **options) -> Ensemble:
    """Read labels from text, as from a pipe."""
    return read_labels(io.BytesIO(text.encode()), **options)


X = np.array([[1.5, -2.0], [0.1, 1e-30], [3.0, 4.0]])


# ---- every format brings back the same numbers ----------------------------------------------


def write_csv(path: Path) -> None:
    pd.DataFrame(X, columns=["u", "v"]).to_csv(path, index=False)


WRITERS = {
    "t.csv": write_csv,
    "t.CSV": write_csv,
    "t.csv.gz": write_csv,
    "t.tsv": lambda p: pd.DataFrame(X, columns=["u", "v"]).to_csv(p, sep="\t", index=False),
    "t.tsv.gz": lambda p: pd.DataFrame(X, columns=["u", "v"]).to_csv(p, sep="\t", index=False),
    "t.parquet": lambda p: pd.DataFrame(X, columns=["u", "v"]).to_parquet(p),
    "t.npy": lambda p: np.save(p, X),
    "t.npz": lambda p: np.savez(p, X=X, y=[0, 1, 1]),
    "one.npz": lambda p: np.savez(p, anything=X),
    "csr.npz": lambda p: sparse.save_npz(p, sparse.csr_matrix(X)),
    "csc.npz": lambda p: sparse.save_npz(p, sparse.csc_matrix(X)),
    "parts.npz": lambda p: np.savez(p, y=[0, 1, 1], **csr_parts(X)),
    "t.libsvm": lambda p: p.write_text("".join(f"1 1:{float(a)!r} 2:{float(b)!r}\n" for a, b in X)),
    "t.svm.gz": lambda p: p.write_bytes(
        gzip.compress("".join(f"1 1:{float(a)!r} 2:{float(b)!r}\n" for a, b in X).encode())
    ),
}


def csr_parts(values: np.ndarray) -> dict[str, np.ndarray]:
    """Return the four arrays of a CSR matrix."""
    csr = sparse.csr_matrix(values)
    shape = np.array(csr.shape)
    return {"data": csr.data, "indices": csr.indices, "indptr": csr.indptr, "shape": shape}


@pytest.mark.parametrize("name", WRITERS)
def test_formats(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    WRITERS[name](path)
    read = read_table(path)
    dense = read.X.toarray() if sparse.issparse(read.X) else read.X
    assert np.array_equal(dense, X)
    assert dense.dtype == np.float64
    assert read.ids is None
    named = any(ending in name.lower() for ending in ("csv", "tsv", "parquet"))
    assert read.feature_names == (("u", "v") if named else ("1", "2"))
    assert read.source == str(path)
    is_sparse = name in ("csr.npz", "csc.npz", "parts.npz", "t.libsvm", "t.svm.gz")
    assert sparse.issparse(read.X) == is_sparse
    if is_sparse:
        assert read.X.format == "csr"


def test_h5ad(tmp_path: Path) -> None:
    anndata = pytest.importorskip("anndata")
    cells = pd.DataFrame({"kind": ["a", "b", "a"]}, index=["c1", "c2", "c3"])
    genes = pd.DataFrame(index=["g1", "g2"])
    data = anndata.AnnData(sparse.csr_matrix(X.astype(np.float32)), obs=cells, var=genes)
    data.write_h5ad(tmp_path / "t.h5ad")
    read = read_table(tmp_path / "t.h5ad", label_column="kind")
    assert read.X.dtype == np.float32
    assert np.array_equal(read.X.toarray(), X.astype(np.float32))
    assert list(read.ids) == ["c1", "c2", "c3"]
    assert read.feature_names == ("g1", "g2")
    assert list(read.labels) == ["a", "b", "a"]
    assert read_table(tmp_path / "t.h5ad", exclude="g1").feature_names == ("g2",)


@given(
    arrays.arrays(
        np.float64,
        st.tuples(st.integers(1, 6), st.integers(1, 4)),
        elements=st.floats(allow_nan=False, allow_infinity=False),
    )
)
def test_csv_keeps_every_bit(values: np.ndarray) -> None:
    names = [f"c{i}" for i in range(values.shape[1])]
    text = pd.DataFrame(values, columns=names).to_csv(index=False)
    assert np.array_equal(table(text).X, values)


def test_single_precision_stays(tmp_path: Path) -> None:
    np.save(tmp_path / "t.npy", X.astype(np.float32))
    assert read_table(tmp_path / "t.npy").X.dtype == np.float32
    pd.DataFrame(X.astype(np.float32), columns=["a", "b"]).to_parquet(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet").X.dtype == np.float32
    np.save(tmp_path / "t.npy", (X > 0).astype(np.uint8))
    assert read_table(tmp_path / "t.npy").X.dtype == np.float64


def test_windows_files_and_quotes() -> None:
    read = table(b'\xef\xbb\xbf"first, of all",y\r\n"1",2\r\n\r\n3, 4\r\n')
    assert read.feature_names == ("first, of all", "y")
    assert np.array_equal(read.X, [[1, 2], [3, 4]])
    assert table("x,flag\n1,True\n2,False\n").X.tolist() == [[1, 1], [2, 0]]


# ---- ids, labels, columns --------------------------------------------------------------------


def test_ids_are_taken_only_where_nothing_else_can_be_meant() -> None:
    text = table("name,x,y\nann,1,2\nbob,3,4\n")
    assert list(text.ids) == ["ann", "bob"]
    assert text.feature_names == ("x", "y")
    assert text.notes == (
        "column 'name' holds text, different in every row: it is taken as the ids.",
    )
    named = table("x,ID\n1,007\n2,008\n")
    assert list(named.ids) == ["007", "008"]
    assert named.notes == ("column 'ID' is taken as the ids of the rows.",)
    assert list(table(",x\n0,1\n1,2\n").ids) == ["0", "1"]
    assert list(table(",0,1\n5,1,2\n6,3,4\n").ids) == ["5", "6"]
    assert list(table("who,x\nNA,1\nNaN,2\n", id_column="who").ids) == ["NA", "NaN"]
    assert table("x,y\n1,2\n3,4\n").ids is None


@pytest.mark.parametrize("name", ["ids", "Index", "Unnamed: 0"])
def test_tables_and_ensembles_know_ids_by_the_same_names(name: str) -> None:
    assert list(table(f"{name},x\n7,1\n9,2\n").ids) == ["7", "9"]
    frame = pd.DataFrame({name: [7, 9], "labels": [0, 1]})
    assert list(Ensemble.from_labels(frame).index) == [7, 9]


def test_a_feature_named_on_purpose_is_no_id() -> None:
    read = table("id,x\n1,5\n2,6\n", columns=["id", "x"])
    assert read.ids is None
    assert read.X.tolist() == [[1, 5], [2, 6]]


def test_columns_exclude_and_labels() -> None:
    text = 'kind,x,"a,b",z\nu,1,2,3\nu,4,5,6\n'
    assert table(text, columns="z,x").X.tolist() == [[3, 1], [6, 4]]
    assert table(text, columns=["a,b"]).X.tolist() == [[2], [5]]
    assert table(text, exclude="kind,x").feature_names == ("a,b", "z")
    with pytest.raises(TableError, match="'kind' holds the reference classes.*columns='kind'"):
        table(text, label_column="kind", columns=["x", "kind"])
    read = table(text, label_column="kind")
    assert list(read.labels) == ["u", "u"]
    assert read.feature_names == ("x", "a,b", "z")


def test_npz_names(tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    np.savez(path, X=X, y=[3, 4, 4], sample_names=["a", "b", "c"], feature_names=["u", "v"])
    read = read_table(path, label_column="y")
    assert list(read.ids) == ["a", "b", "c"]
    assert read.feature_names == ("u", "v")
    assert read.labels.tolist() == [3, 4, 4]
    assert read.notes == ("the array 'sample_names' is taken as the ids of the rows.",)


def test_parquet_index_names_the_rows(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [1, 2]}, index=["a", "b"])
    frame.to_parquet(tmp_path / "t.parquet")
    assert list(read_table(tmp_path / "t.parquet").ids) == ["a", "b"]


def test_header() -> None:
    assert table("1.5,2\n3,4\n").X.tolist() == [[1.5, 2], [3, 4]]
    assert "columns go by number" in table("1.5,2\n3,4\n").notes[0]
    assert table("0,1\n3,4\n", header=True).X.tolist() == [[3, 4]]
    assert table("0,1\n3,4\n", header=False).X.tolist() == [[0, 1], [3, 4]]
    assert list(table("a,1\nb,2\n", header=False).ids) == ["a", "b"]


# ---- refusals: one sentence with the file, the row, the column and the remedy -----------------

REFUSED = {
    "empty": ("", {}, r"^stdin is empty; give a file with a table in it\.$"),
    "blank": ("\n \n", {}, r"^stdin is empty; give a file with a table in it\.$"),
    "no rows": ("x,y\n", {}, r"^stdin has column names but no rows of data; give a table"),
    "text": (
        "x,y\n1,2\n\n3,abc\n",
        {},
        r"^stdin, row 4 \(its line in the file, header included\), column 'y': 'abc' is not a "
        r"number; correct the cell, leave the column out with exclude='y', or say na='abc' if it "
        r"stands for a missing value\.$",
    ),
    "more text": ("x,y\n1,2\nu,abc\n", {}, r"row 3 .*column 'x': 'u' .*2 such cells in all"),
    "missing": ("x,y\n1,2\n3,\n", {}, r"row 3 .*column 'y': the value is missing; fill it in"),
    "NA": ("x,y\n1,2\nNA,3\n", {}, r"row 3 .*column 'x': the value is missing"),
    "infinite": ("x,y\n1,-inf\n", {}, r"row 2 .*column 'y': the value is infinite \(-inf\)"),
    "too large": ("x,y\n1e400,1\n", {}, r"row 2 .*column 'x': the value is infinite"),
    "short row": ("x,y\n1,2\n3\n", {}, r"row 3 .*has 1 field where the first row has 2"),
    "short labels": ("x,k\n1,u\n3\n", {"label_column": "k"}, r"row 3 .*has 1 field where"),
    "long row": ("x,y\n1,2\n3,4,5\n", {}, r"row 3 .*has 3 fields where the first row has 2"),
    "short header": ("x\n1,2\n3,4\n", {}, r"row 2 .*the header may lack a name"),
    "open quote": ('x,y\n1,"2\n3,4\n', {}, r"a quotation mark that is not closed"),
    "after a quoted break": ('n,x\n"a\nb",1\nc,?\n', {}, r"row 4 .*column 'x': '\?'"),
    "text column": (
        "x,kind\n1,u\n2,v\n",
        {},
        r"the column 'kind' holds text where numbers are needed \('u' in row 2 .*exclude='kind'"
        r", make one column for each word with categories='one-hot', "
        r"or name the rows with id_column='kind'\.$",
    ),
    "repeated text first": ("kind,x\nu,1\nu,2\n", {}, r"the column 'kind' holds text"),
    "two text columns": (
        "kind,x,site\nu,1,a\nv,2,b\n",
        {},
        r"the columns 'kind', 'site' hold text .*exclude=\['kind', 'site'\]",
    ),
    "only text": ("a\nu\nv\n", {}, r"no column of numbers"),
    "no such column": ("height,y\n1,2\n", {"exclude": "heigth"}, r"did you mean 'height'\?"),
    "no such id": ("x,y\n1,2\n", {"id_column": "z"}, r"no column 'z'; it has 'x', 'y'"),
    "all excluded": ("x,y\n1,2\n", {"exclude": "x,y"}, r"every column is left out"),
    "name twice": ("x,x\n1,2\n", {"exclude": "x"}, r"'x' names more than one column"),
    "same id": ("id,x\na,1\na,2\n", {}, r"row 3 .*the id 'a' was already used in row 2;"),
    "no id": ("id,x\n,1\nb,2\n", {}, r"row 2 .*column 'id': the id is missing"),
    "two ids": (",id,x\n0,a,1\n1,b,2\n", {}, r"columns 'unnamed_1' and 'id' look like ids"),
    "another id": ("who,id,x\na,1,2\n", {"id_column": "who"}, r"besides 'who', .*'id' looks"),
    "semicolons": ("x;y\n1;2\n3\n", {}, r"the first one holds ';'.*say delimiter=';'"),
    "decimal comma": (
        "x;y\n1,5;2\n",
        {"delimiter": ";", "decimal": "."},
        r"row 2 .*written with a point, not a comma",
    ),
    "counting": ("0,1\n3,4\n", {}, r"numbers that count up \(0, 1\); say header=True"),
    "half a header": ("a,1\nb,2\n", {}, r"names and numbers \(a, 1\); .*header=False if it is"),
    "delimiter": ("x\n1\n", {"delimiter": ",,"}, r"delimiter must be one character; got ',,'"),
    "format": ("x\n1\n", {"format": "excel"}, r"format 'excel' is not known; use one of csv"),
    "pipe": ("", {"format": "h5ad"}, r"cannot be read from a pipe"),
    "libsvm value": ("1 1:2\n1 2:x\n", {"format": "libsvm"}, r"row 2 .*field 2: '2:x'"),
    "libsvm order": ("1 2:2 1:1\n", {"format": "libsvm"}, r"row 1 .*field 3: '1:1'"),
    "libsvm label": ("a 1:2\n", {"format": "libsvm"}, r"row 1 .*field 1: 'a'"),
    "libsvm empty": ("", {"format": "libsvm"}, r"is empty"),
    "libsvm NaN": ("1 1:2\n1 1:nan\n", {"format": "libsvm"}, r"row 2 .*column '1': .*missing"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case: str) -> None:
    text, options, words = REFUSED[case]
    with pytest.raises(TableError, match=words):
        table(text, **options)


def test_encodings_are_named_with_the_row() -> None:
    with pytest.raises(TableError, match=r"row 3 \(its line in the file\), is not UTF-8"):
        table("x,y\n1,2\né,3\n".encode("latin1"))
    assert table("x,y\n1,2\n".encode("utf-16")).X.tolist() == [[1, 2]]


def test_the_same_refusal_for_the_shell() -> None:
    with pytest.raises(TableError) as caught:
        table("my kind,x,site\nu,1,a\nv,2,b\n")
    assert "--exclude 'my kind' --exclude site, make" in caught.value.for_shell()
    assert "--id-column 'my kind'." in caught.value.for_shell()
    with pytest.raises(TableError) as caught:
        table("0,1\n3,4\n")
    assert (
        "say --header if it holds the column names, or --no-header if" in caught.value.for_shell()
    )
    assert "{" not in caught.value.for_shell()


def test_braces_in_names_do_no_harm() -> None:
    with pytest.raises(TableError, match=r"column 'temp \{C\}'.*exclude='temp \{C\}'"):
        table("temp {C},y\na,2\na,3\n")
    with pytest.raises(TableError, match=r"it has 'temp \{C\}'"):
        table("temp {C},y\n1,2\n", exclude="{z}")


def write_bytes(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


BAD_FILES = {
    "t.xlsx": (b"PK", "not an xlsx file, or a damaged one"),
    "t.foo": (b"x\n1\n", "or say with format='csv' which format it has"),
    "t.csv.gz": (b"x\n1\n", "not a whole gzip file"),
    "cut.csv.gz": (gzip.compress(b"x,y\n1,2\n" * 999)[:-9], "not a whole gzip file"),
    "t.parquet": (b"no", "not a Parquet file, or a damaged one"),
    "t.npy": (b"no", "not a NumPy file, or a damaged one"),
    "t.npz": (b"PK no", "not a NumPy file, or a damaged one"),
    "t.h5ad": (b"no", "not an h5ad file, or a damaged one"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files(name: str, tmp_path: Path) -> None:
    content, words = BAD_FILES[name]
    with pytest.raises(TableError, match=words) as caught:
        read_table(write_bytes(tmp_path / name, content))
    assert str(tmp_path / name) in str(caught.value)


def test_absent_files_and_folders(tmp_path: Path) -> None:
    for name in ("no.csv", "no.h5ad", "no"):
        with pytest.raises(TableError, match="there is no file .*check the name"):
            read_table(tmp_path / name)
    with pytest.raises(TableError, match="is a folder"):
        read_table(tmp_path)


BAD_ARRAYS = {
    "vector": ({"X": np.arange(3)}, r"shape \(3,\); a table has rows and columns"),
    "text": ({"X": np.array([["a"]])}, "where numbers are needed"),
    "empty": ({"X": np.zeros((0, 2))}, "is empty: its table is 0 x 2"),
    "NaN": ({"X": np.array([[1, 2], [3, np.nan]])}, r"row 2 \(the first row.*column '2'.*missing"),
    "objects": ({"X": np.array([[None]])}, "could run code hidden in the file"),
    "two": ({"a": X, "b": X}, "holds a, b: it is not clear which is the table"),
    "ids": ({"X": X, "ids": ["a", "a", "b"]}, "row 2 .*the id 'a' was already used in row 1"),
    "id length": ({"X": X, "ids": ["a"]}, r"'ids' has shape \(1,\), but the table has 3 rows"),
    "csr": ({**csr_parts(X), "indices": np.full(6, 9)}, "not a CSR matrix, or a damaged one"),
    "csr NaN": (csr_parts(np.array([[0, 1], [np.nan, 0]])), r"row 2 .*column '1'.*missing"),
}


@pytest.mark.parametrize("case", BAD_ARRAYS)
def test_bad_arrays(case: str, tmp_path: Path) -> None:
    content, words = BAD_ARRAYS[case]
    np.savez(tmp_path / "t.npz", **content)
    with pytest.raises(TableError, match=words):
        read_table(tmp_path / "t.npz")


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self):
            return (write_bytes, (tmp_path / "sprung", b""))

    trap = np.array([[Trap()]], dtype=object)
    np.save(tmp_path / "t.npy", trap)
    np.savez(tmp_path / "t.npz", X=X, ids=trap)
    for name in ("t.npy", "t.npz"):
        with pytest.raises(TableError, match="could run code"):
            read_table(tmp_path / name)
    assert not (tmp_path / "sprung").exists()


def test_dates_and_missing_numbers_in_parquet(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pd.DataFrame({"x": [1.0, 2.0], "when": pd.to_datetime(["2020", "2021"])}).to_parquet(path)
    with pytest.raises(TableError, match="column 'when' holds dates .*exclude='when'"):
        read_table(path)
    pd.DataFrame({"x": pd.array([1, None], dtype="Int64")}).to_parquet(path)
    with pytest.raises(TableError, match=r"row 2 .*column 'x': the value is missing"):
        read_table(path)


def test_an_ensemble_is_no_table(tmp_path: Path) -> None:
    ensemble = Ensemble.from_labels([[0, 0, 1]])
    ensemble.to_npz(tmp_path / "e.npz")
    ensemble.to_parquet(tmp_path / "e.parquet")
    for name in ("e.npz", "e.parquet"):
        assert is_ensemble_file(tmp_path / name)
        with pytest.raises(TableError, match="is an ensemble of clusterings"):
            read_table(tmp_path / name)
    np.savez(tmp_path / "t.npz", X=X)
    assert not is_ensemble_file(tmp_path / "t.npz")


# ---- labels --------------------------------------------------------------------------------


def test_labels_of_any_kind() -> None:
    read = labels("id,a,b,c\np,x,0,2.0\nq,x,-1,\nr,y,1,2.0\n")
    assert read.names == ("a", "b", "c")
    assert list(read.index) == ["p", "q", "r"]
    assert read.labels.tolist() == [[0, 0, 0], [0, -1, -2], [1, 1, 0]]
    assert read.partition(0).tolist() == ["x", "x", "y"]
    assert labels("a\n01\n1\n01\n").partition(0).tolist() == ["01", "1", "01"]
    assert labels("1,1\n0,0\n").names == ("1", "2")


def test_labels_leave_the_confidence_out() -> None:
    read = labels("id,label,confidence\n0,1,0.5\n1,0,0.75\n")
    assert read.names == ("label",)
    assert read.index is None  # ids that only count


def test_soft_labels_come_back(tmp_path: Path) -> None:
    soft = np.array([[0.5, 0.5], [1, 0], [np.nan, np.nan], [0, 0]])
    ensemble = Ensemble.from_labels([soft, [0, 1, 1, -1]])
    ensemble.to_csv(tmp_path / "e.csv")
    read = read_labels(tmp_path / "e.csv")
    assert np.array_equal(read.labels, ensemble.labels)
    assert (read.soft[0] != ensemble.soft[0]).nnz == 0


@pytest.mark.parametrize("name", ["e.npz", "e.parquet", "e.csv", "plain.parquet"])
def test_label_files(name: str, tmp_path: Path) -> None:
    ensemble = Ensemble.from_labels([[0, 0, 1, -1], ["a", "b", "b", "c"]], index=list("wxyz"))
    path = tmp_path / name
    if name == "plain.parquet":
        ensemble.to_frame().to_parquet(path)
    else:
        getattr(ensemble, f"to_{path.suffix[1:]}")(path)
    read = read_labels(path)
    assert np.array_equal(read.labels, ensemble.labels)
    assert read.categories == ensemble.categories
    assert list(read.index) == list("wxyz")
    assert read_labels(path, columns="p1").names == ("p1",)
    assert read_labels(path, exclude=["p1"]).names == ("p0",)
    with pytest.raises(TableError, match="no column 'q'"):
        read_labels(path, columns="q")


def test_label_arrays(tmp_path: Path) -> None:
    np.save(tmp_path / "l.npy", np.array([3, 3, 5]))
    assert read_labels(tmp_path / "l.npy").labels.ravel().tolist() == [0, 0, 1]
    np.savez(tmp_path / "l.npz", labels=np.array([[0, 1], [1, 1]]), other=np.eye(2))
    assert read_labels(tmp_path / "l.npz").shape == (2, 2)
    np.savez(tmp_path / "l.npz", a=np.eye(2))
    with pytest.raises(TableError, match="not clear which are the labels"):
        read_labels(tmp_path / "l.npz")
    np.save(tmp_path / "l.npy", np.array([0.5]))
    with pytest.raises(TableError, match="float64, and labels are whole numbers or text; save"):
        read_labels(tmp_path / "l.npy")


BAD_LABELS = {
    "names": ("who,a\ns1,0\ns2,1\ns3,1\n", "'who' is different in every row.*id_column='who'"),
    "fractions": ("a,score\n0,0.5\n1,1\n", r"row 2 .*column 'score': 0.5 is not a label"),
    "negative": ("a\n0\n-3\n", r"row 3 .*column 'a': the label -3 is negative"),
    "twice": ("a,a\n1,2\n", "two columns are called 'a'"),
    "only ids": ("id\nu\nv\n", "no column of labels is left"),
    "soft": ("a[0],a[1]\n0.5,0.6\n", r"^stdin: a: row 0 of the membership sums to 1.1"),
    "rows": ("a,b\n", "no rows of data"),
}


@pytest.mark.parametrize("case", BAD_LABELS)
def test_bad_labels(case: str) -> None:
    text, words = BAD_LABELS[case]
    with pytest.raises(TableError, match=words):
        labels(text)


def test_label_tables_keep_their_ids(tmp_path: Path) -> None:
    counted = read_label_table(io.BytesIO(b"id,a\n0,1\n1,1\n"))
    assert (counted.id_column, counted.ids_count_rows) == ("id", True)
    assert list(counted.ids) == ["0", "1"]
    assert counted.ensemble.index is None
    turned = read_label_table(io.BytesIO(b"n,a\n1,1\n0,1\n"), id_column="n")
    assert (turned.id_column, turned.ids_count_rows) == ("n", False)
    assert list(turned.ensemble.index) == ["1", "0"]
    assert read_label_table(io.BytesIO(b"a\n1\n1\n")).ids is None
    Ensemble.from_labels([[0, 1]], index=[5, 6]).to_npz(tmp_path / "e.npz")
    read = read_label_table(tmp_path / "e.npz", format="csv")
    assert (list(read.ids), read.id_column) == (["5", "6"], None)


def test_unknown_columns_are_named_in_the_error(tmp_path: Path) -> None:
    np.save(tmp_path / "l.npy", np.array([0, 1]))
    Ensemble.from_labels([[0, 1]]).to_npz(tmp_path / "e.npz")
    (tmp_path / "t.csv").write_text("x,y\n1,2\n")
    for read, name, options in (
        (read_table, "t.csv", {"exclude": "y,z"}),
        (read_table, "t.csv", {"id_column": "z"}),
        (read_labels, "l.npy", {"exclude": ["z"]}),
        (read_labels, "l.npy", {"id_column": "z"}),
        (read_labels, "e.npz", {"id_column": "z"}),
    ):
        with pytest.raises(UnknownColumn, match=f"{name} has no column 'z'") as caught:
            read(tmp_path / name, **options)
        assert caught.value.column == "z"


# ---- what columns hold -------------------------------------------------------------------------


def suspicions(**columns) -> dict[str, str]:
    frame = pd.DataFrame(columns)
    return {s.column: s.kind for s in suspicious_columns(table(frame.to_csv(index=False)))}


def test_suspicious_columns() -> None:
    n = np.arange(30)
    rng = np.random.default_rng(0)
    assert suspicions(a=n, b=n + 7, c=n[::-1]) == {"a": "counter", "b": "counter", "c": "counter"}
    assert suspicions(a=rng.permutation(30), b=n * 2.0, c=n / 7, d=n // 2) == {
        "a": "ids",
        "b": "ids",
    }
    two = n % 2
    named = ["class", "Label", "cluster_id", "target", "y", "species", "trueClass", "cell-type"]
    assert suspicions(**dict.fromkeys(named, two)) == dict.fromkeys(named, "classes")
    others = ["classical", "visits", "years", "labelled"]
    assert suspicions(**dict.fromkeys(others, two)) == {}
    # Fractions and many values are measurements whatever their name.
    assert suspicions(y=n / 3, target=np.minimum(n, 20)) == {}
    assert suspicions(a=n[:4], b=n[:4] % 2) == {}


def test_suspicious_columns_of_sparse_tables(tmp_path: Path) -> None:
    X = sparse.random(30, 4, density=0.2, random_state=0, format="lil")
    X[:, 1] = np.arange(30).reshape(-1, 1)
    np.savez(
        tmp_path / "t.npz",
        feature_names=["a", "row", "c", "label"],
        **csr_parts(np.where(np.arange(4) == 3, np.arange(30)[:, None] % 2, X.toarray())),
    )
    found = suspicious_columns(read_table(tmp_path / "t.npz"))
    assert [(s.column, s.kind) for s in found] == [("row", "counter"), ("label", "classes")]


def test_descriptions_name_what_read_table_would_refuse() -> None:
    text = b"who,x,flag,when,gap,mixed,none\n" + b"".join(
        b"p%d,%f,%s,2020-01-0%d,%s,%s,\n"
        % (i, i / 3, b"True", i + 1, b"NA" if i == 2 else b"5", b"?" if i == 4 else b"7")
        for i in range(6)
    )
    found = describe_table(io.BytesIO(text), exclude="when")
    kinds = {c.name: (c.kind, c.n_missing, c.is_feature) for c in found.columns}
    assert found.id_column == "who"
    both = describe_table(io.BytesIO(text))  # not while other columns are text too
    assert (both.id_column, both.columns[0].name) == (None, "who")
    assert kinds == {
        "x": ("numbers", 0, True),
        "flag": ("yes/no", 0, True),
        "gap": ("whole numbers", 1, False),
        "mixed": ("mixed", 0, False),
        "none": ("empty", 6, False),
    }
    with pytest.raises(TableError, match="no rows of data"):
        describe_table(io.BytesIO(b"x,y\n"))


# ---- out -----------------------------------------------------------------------------------


def test_write_labels(tmp_path: Path) -> None:
    write_labels(tmp_path / "l.csv", ["a", "b"], np.array([1, -1]), confidence=[0.123456789, 1.0])
    assert (tmp_path / "l.csv").read_text() == "id,label,confidence\na,1,0.123457\nb,-1,1\n"
    write_labels(tmp_path / "l.csv", None, [1, 0])
    assert (tmp_path / "l.csv").read_text() == "id,label\n0,1\n1,0\n"
    write_labels(tmp_path / "l.parquet", ["a", "b"], [1, 0], confidence=[0.123456789, 1])
    frame = pd.read_parquet(tmp_path / "l.parquet")
    assert frame["confidence"].tolist() == [0.123456789, 1]
    with pytest.raises(
        ValueError, match=r"confidence must have one entry per point; got shape \(1,"
    ):
        labels_frame(None, [0, 1], confidence=[1])


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "l.csv"
    write_labels(path, None, [0, 1])
    before = path.read_bytes()

    def fail(*_):
        raise OSError("no space left")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="no space left"):
        write_labels(path, None, [1, 1])
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["l.csv"]


def test_json_is_plain_and_sorted(tmp_path: Path) -> None:
    value = {"b": np.float32(0.5), "a": [np.int8(3), np.nan, np.arange(2), None, Path("x")]}
    write_json(tmp_path / "r.json", value)
    text = (tmp_path / "r.json").read_text()
    assert json.loads(text) == {"a": [3, None, [0, 1], None, "x"], "b": 0.5}
    assert text.index('"a"') < text.index('"b"')
    assert json_text({"é": True}) == '{\n  "é": true\n}'


# ---- both ways of reading text, gaps and words ------------------------------------------------

ROWS = "".join(f"p{i},{i / 7},{i * i},{'uv'[i % 2]}\n" for i in range(300))
PLAIN = {
    "ids by name": ("id,x,y,k\n" + ROWS, {"label_column": "k"}),
    "ids by their look": ("who,x,y,k\n" + ROWS, {"exclude": "k"}),
    "chosen": ("who,x,y,k\n" + ROWS, {"columns": ["y", "x"]}),
    "comments": ("# made\n# today\nid,x,y,k\n" + ROWS, {"label_column": "k"}),
    "quotes": ('id,x,y,k\n"a,b",1,2,"u\nv"\nc,3,4,w\n', {"label_column": "k"}),
    "no header": ("1.5,2\n3,4\n", {}),
    "semicolons": ("x;y\n1.5;2\n3;4\n", {}),
    "codes": ("zip,x\n01234,1\n04321,2\n", {}),
}


@pytest.mark.parametrize("case", PLAIN)
def test_plain_tables_are_read_alike_by_both_ways(case: str, monkeypatch) -> None:
    pytest.importorskip("pyarrow")
    text, options = PLAIN[case]
    calls = []
    read = tables.read_plain

    def counted(*args, **kwargs):
        calls.append(read(*args, **kwargs))
        return calls[-1]

    monkeypatch.setattr(tables, "read_plain", counted)
    quick = table(text, **options)
    assert calls[0] is not None, "it was not read at once"
    monkeypatch.setattr(tables, "read_plain", lambda *args, **kwargs: None)
    careful = table(text, **options)
    assert np.array_equal(quick.X, careful.X)
    for name in ("ids", "labels"):
        one, two = getattr(quick, name), getattr(careful, name)
        assert (one is None) == (two is None)
        assert one is None or one.tolist() == two.tolist()
    for name in ("feature_names", "notes", "id_column", "left_out", "codes"):
        assert getattr(quick, name) == getattr(careful, name), name


@pytest.mark.parametrize(
    "cell", ["", "NA", "nan", "inf", "1e400", "1,5", "12%", "0x1F", "1_000", "=1+1", "five", "--1"]
)
def test_a_cell_behind_the_first_lines_is_not_overlooked(cell: str) -> None:
    quoted = f'"{cell}"' if "," in cell else cell
    text = "x,y\n" + "1.5,2\n" * 400 + f"{quoted},3\n" + "1,2\n" * 5
    with pytest.raises(TableError, match=r"row 402 |column 'x'.*different units"):
        table(text)


def test_arrow_files(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"name": ["a", "b"], "x": [1.5, 2], "y": [3, 4]})
    frame.to_feather(tmp_path / "t.feather")
    read = read_table(tmp_path / "t.feather")
    assert read.X.tolist() == [[1.5, 3], [2, 4]]
    assert list(read.ids) == ["a", "b"]
    held = pyarrow.Table.from_pandas(frame)
    with pyarrow.ipc.new_stream(tmp_path / "t.arrow", held.schema) as out:
        out.write_table(held)
    assert read_table(tmp_path / "t.arrow").X.tolist() == read.X.tolist()
    (tmp_path / "bad.arrow").write_bytes(b"no")
    with pytest.raises(TableError, match="not an Arrow \\(Feather\\) file, or a damaged one"):
        read_table(tmp_path / "bad.arrow")


MIXED = "id,x,site\na,1,u\nb,,v\nc,3,u\nd,5,\n"


def test_gaps_and_words() -> None:
    kept = table(MIXED, missing="keep", categories="keep")
    assert kept.X["x"].tolist()[0] == 1
    assert np.isnan(kept.X["x"][1])
    assert kept.X["site"].tolist()[:3] == ["u", "v", "u"]
    assert pd.isna(kept.X["site"][3])  # None, from pandas 3.1 on NaN
    filled = table(MIXED, missing="impute", categories="one-hot")
    assert filled.feature_names == ("x", "site=u", "site=v")
    assert filled.X.tolist() == [[1, 1, 0], [3, 0, 1], [3, 1, 0], [5, 1, 0]]
    assert "column 'x': 1 of 4 values are missing and filled with the median 3." in filled.notes
    dropped = table(MIXED, missing="drop", categories="one-hot")
    assert list(dropped.ids) == ["a", "c"]
    assert dropped.n_dropped == 2
    alone = table(MIXED, missing="drop", categories="drop")
    assert alone.X.ravel().tolist() == [1, 3, 5]
    assert "left out, because they hold words: 'site'." in alone.notes
    for name in ("missing", "categories"):
        with pytest.raises(ValueError, match=f"{name} must be one of refuse, drop"):
            table(MIXED, **{name: "guess"})


def test_gaps_of_matrices(tmp_path: Path) -> None:
    values = X.copy()
    values[1, 0] = np.nan
    np.save(tmp_path / "t.npy", values)
    with pytest.raises(TableError, match="row 2 .*column '1': the value is missing.*'drop'"):
        read_table(tmp_path / "t.npy")
    assert read_table(tmp_path / "t.npy", missing="drop").X.tolist() == X[[0, 2]].tolist()
    assert read_table(tmp_path / "t.npy", missing="impute").X[1, 0] == np.median(X[[0, 2], 0])
    np.save(tmp_path / "t.npy", np.where(np.isnan(values), -9, values))
    assert read_table(tmp_path / "t.npy", na="-9", missing="drop").n_points == 2
    with pytest.raises(TableError, match=r"'\?' cannot stand for a missing one"):
        read_table(tmp_path / "t.npy", na="?")
    np.save(tmp_path / "t.npy", np.full((2, 2), np.nan))
    with pytest.raises(TableError, match="has no values at all"):
        read_table(tmp_path / "t.npy", missing="drop")


def test_transposed_tables() -> None:
    text = "gene,c1,c2,c3\ng1,1,2,3\ng2,4,5,6\n"
    read = table(text, transpose=True)
    assert read.X.tolist() == [[1, 4], [2, 5], [3, 6]]
    assert list(read.ids) == ["c1", "c2", "c3"]
    assert read.feature_names == ("g1", "g2")
    gap = table(text.replace("5", ""), transpose=True, missing="drop")
    assert list(gap.ids) == ["c1", "c3"]
    with pytest.raises(TableError, match="two columns are called 'c1'"):
        table("gene,c1,c1\ng1,1,2\n", transpose=True)


def test_labels_in_other_layouts() -> None:
    text = "id;größe\na;x\nb;?\nc;y\n".encode("latin-1")
    read = read_labels(io.BytesIO(text), encoding="latin-1", na="?")
    assert read.names == ("größe",)
    assert read.labels[:, 0].tolist() == [0, -2, 1]
    skipped = read_labels(io.BytesIO(b"title\nid,a\n1,x\n2,y\n3,x\n"), skip=1)
    assert skipped.n_points == 3


def test_far_cells_are_named() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(170, 8, 50)
    x[17] = 1750.0
    text = "id,x,z\n" + "".join(f"p{i},{v},{i % 7}\n" for i, v in enumerate(x))
    (found,) = suspicious_columns(table(text))
    assert (found.kind, found.value) == ("outlier", 1750.0)
    assert "holds 1750 (in 'p17')" in found.reason
    tails = np.random.default_rng(1).lognormal(0, 1, (200, 20))
    head = ",".join(f"c{j}" for j in range(20))
    rows = "\n".join(",".join(map(str, row)) for row in tails)
    assert suspicious_columns(table(f"{head}\n{rows}\n")) == []
    groups = np.r_[rng.normal(0, 1, 25), rng.normal(500, 1, 25)]
    assert suspicious_columns(table("x,y\n" + "".join(f"{v},{-v}\n" for v in groups))) == []


@pytest.mark.parametrize("ending", ["npy", "csv", "parquet"])
def test_a_table_is_not_copied_whole(tmp_path: Path, ending: str) -> None:
    pytest.importorskip("pyarrow")
    X = np.random.default_rng(0).normal(size=(100_000, 5))
    path = tmp_path / f"t.{ending}"
    if ending == "npy":
        np.save(path, X)
    elif ending == "csv":
        pd.DataFrame(X, columns=list("abcde")).to_csv(path, index=False)
    else:
        pd.DataFrame(X, columns=list("abcde")).to_parquet(path)
    read_table(path)  # imports are not counted
    tracemalloc.start()
    found = read_table(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.n_points == 100_000
    assert peak < 1.6 * X.nbytes
