"""Damaged and made-up files: sentences, and memory is taken only for what is there."""

from __future__ import annotations

import contextlib
import gzip
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from clusterscape import ConsensusClustering, Ensemble, io
from clusterscape._core import npy
from clusterscape._core.store import StoreError, read_member, write_member
from clusterscape.ensemble import NotAnEnsembleFile
from clusterscape.explore import PartitionSampler
from clusterscape.generate import EnsembleGenerator
from clusterscape.io import TableError
from clusterscape.io._archive import read_archive, write_archive

HUGE = (1_000_000_000, 9_000)


def npy_bytes(shape: tuple[int, ...], body: bytes, descr: str = "<f8") -> bytes:
    """Return a NPY file whose header may claim anything."""
    text = repr({"descr": descr, "fortran_order": False, "shape": shape}) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + body


# ---- sizes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("read", [io.read_table, io.read_labels])
@pytest.mark.parametrize("descr", ["<f8", "<i4", "<U0"])
def test_an_array_that_claims_more_than_the_file_holds_is_refused(tmp_path, read, descr):
    path = tmp_path / "x.npy"
    path.write_bytes(npy_bytes(HUGE, b"0" * 100, descr))
    with pytest.raises(TableError, match=r"header claims .* bytes, .* and it holds 100"):
        read(path)
    with zipfile.ZipFile(tmp_path / "x.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("labels.npy", path.read_bytes())
        archive.writestr("X.npy", path.read_bytes())
    with pytest.raises(TableError, match=r"header claims .* bytes, .* and it holds 100"):
        read(tmp_path / "x.npz")


def test_what_an_archive_unpacks_to_is_bounded(tmp_path, monkeypatch):
    path = tmp_path / "x.npz"
    np.savez_compressed(path, X=np.zeros((100_000, 2)))
    assert io.read_table(path).X.shape == (100_000, 2)
    monkeypatch.setenv(npy.VARIABLE, "0.001")
    with pytest.raises(TableError, match=r"0\.0 GB and 0\.0 GB are allowed.*CLUSTERSCAPE_MAX_GB"):
        io.read_table(path)
    with pytest.raises(NotAnEnsembleFile, match="CLUSTERSCAPE_MAX_GB"):
        Ensemble.from_npz(path)
    frame = pd.DataFrame({"a": np.zeros(100_000), "b": np.zeros(100_000)})
    frame.to_parquet(tmp_path / "x.parquet")
    with pytest.raises(TableError, match="CLUSTERSCAPE_MAX_GB"):
        io.read_table(tmp_path / "x.parquet")
    with pytest.raises(NotAnEnsembleFile, match="CLUSTERSCAPE_MAX_GB"):
        Ensemble.from_parquet(tmp_path / "x.parquet")
    monkeypatch.setenv(npy.VARIABLE, "much")
    with pytest.raises(ValueError, match="CLUSTERSCAPE_MAX_GB must be a number > 0; got 'much'"):
        io.read_table(path)


def test_text_that_unpacks_to_a_hundred_times_its_size_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(npy, "_SMALLEST", 1000)
    path = tmp_path / "x.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 200_000))
    with pytest.raises(TableError, match=r"unpacks to more than .*CLUSTERSCAPE_MAX_GB"):
        io.read_table(path)
    monkeypatch.setenv(npy.VARIABLE, "1")
    assert io.read_table(path).X.shape == (200_000, 2)
    rng = np.random.default_rng(0)
    pd.DataFrame(rng.normal(size=(50, 3)), columns=list("abc")).to_csv(path, index=False)
    monkeypatch.delenv(npy.VARIABLE)
    assert io.read_table(path).X.shape == (50, 3)


def test_columns_without_end_are_refused_before_they_are_named(tmp_path, monkeypatch):
    path = tmp_path / "x.libsvm"
    path.write_text("1 1:2 2000000000:1\n0 1:1\n")
    with pytest.raises(TableError, match=r"2,000,000,000 columns.*CLUSTERSCAPE_MAX_COLUMNS"):
        io.read_table(path)
    text = tmp_path / "x.csv"
    text.write_text("a,b,c,d\n1,2,3,4\n2,3,4,5\n")
    assert io.read_table(text).n_features == 4
    monkeypatch.setenv("CLUSTERSCAPE_MAX_COLUMNS", "3")
    with pytest.raises(TableError, match=r"4 columns and 3 are allowed.*CLUSTERSCAPE_MAX_COLUMNS"):
        io.read_table(text)


# ---- damage -------------------------------------------------------------------------------------


def damaged(whole: bytes, rng: np.random.Generator) -> bytes:
    """Return a file with some bytes changed, or cut short."""
    content = bytearray(whole)
    for place in rng.integers(0, len(whole), rng.integers(1, 6)):
        content[place] ^= int(rng.integers(1, 256))
    return bytes(content[: rng.integers(1, len(whole))] if rng.random() < 0.3 else content)


def refused(read: Any, path: Path) -> str | None:
    """Return the words with which a file is refused; any error but a ValueError passes through."""
    try:
        read(path)
    except ValueError as error:
        return str(error)
    return None


def write_table(path: Path) -> None:
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 4)), columns=list("wxyz"))
    frame.insert(0, "id", [f"r{i}" for i in range(30)])
    match path.suffix:
        case ".parquet":
            frame.to_parquet(path)
        case ".csv":
            frame.to_csv(path, index=False)
        case ".npz":
            np.savez(path, X=frame[list("wxyz")].to_numpy(), ids=frame["id"].to_numpy("U"))
        case ".npy":
            np.save(path, frame[list("wxyz")].to_numpy())
        case _:
            path.write_text("\n".join(f"{i % 2} 1:{i} 3:{i / 7}" for i in range(30)))


@pytest.mark.parametrize("kind", ["parquet", "csv", "npz", "npy", "libsvm"])
def test_damaged_tables_are_refused_with_a_sentence(tmp_path, kind, seed):
    path = tmp_path / f"x.{kind}"
    write_table(path)
    whole, rng = path.read_bytes(), np.random.default_rng(seed)
    for _ in range(60):
        path.write_bytes(damaged(whole, rng))
        for read in (io.read_table, io.read_labels):
            said = refused(read, path)
            assert said is None or "x." in said  # it names the file


def test_damaged_csv_of_labels_is_refused_with_a_sentence(tmp_path):
    path = tmp_path / "labels.csv"
    for content, words in [
        (b"a,b\n1,2\n1,2,3\n", "is not a CSV table.*line 3.*as many fields as the header"),
        (b"a,b\n1,\xff\n", "is not UTF-8 text"),
        (b'a,b\n1,"2\n', "is not a CSV table"),
        (b"", "is empty"),
    ]:
        path.write_bytes(content)
        with pytest.raises(ValueError, match=words):
            Ensemble.from_csv(path)


def test_a_damaged_h5ad_file_never_ends_the_process(tmp_path):
    anndata = pytest.importorskip("anndata")
    path = tmp_path / "x.h5ad"
    X = np.random.default_rng(0).normal(size=(20, 3))
    obs = pd.DataFrame({"class": list("ab") * 10}, index=[f"c{i}" for i in range(20)])
    anndata.AnnData(X, obs=obs).write_h5ad(path)
    assert io.read_table(path).X.shape == (20, 3)
    whole, rng = path.read_bytes(), np.random.default_rng(3)
    for _ in range(4):
        path.write_bytes(whole[: rng.integers(100, len(whole) - 1)])
        with pytest.raises(TableError, match="is not an h5ad file, or a damaged one"):
            io.read_table(path)


def test_what_ends_the_reader_of_hdf5_is_reported(tmp_path, monkeypatch):
    pytest.importorskip("anndata")
    from clusterscape.io import _matrices

    path = tmp_path / "x.h5ad"
    path.write_bytes(b"anything")
    monkeypatch.setattr(_matrices, "_READ_ALL", "import os, signal; os.kill(os.getpid(), 11)")
    with pytest.raises(TableError, match="damaged one .reading it ends the process"):
        io.read_table(path)
    monkeypatch.setattr(_matrices, "_PATIENCE", 0.5)
    monkeypatch.setattr(_matrices, "_READ_ALL", "while True: pass")
    with pytest.raises(TableError, match="a step of reading it does not end in 0.5 s"):
        io.read_table(path)
    monkeypatch.setattr(_matrices, "_READ_ALL", "print('large', 10**15)")
    with pytest.raises(TableError, match=r"1,000,000\.0 GB.*CLUSTERSCAPE_MAX_GB"):
        io.read_table(path)


# ---- stores -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("codes", np.array([0, 1, 9, 0, 1, 0]), "labels go from 0 to 9, and it has 2 clusters"),
        ("codes", np.array([0, 1, -3, 0, 1, 0]), "labels go from -3"),
        ("codes", np.array([0.0, 1, 1, 0, 1, 0]), "labels are of shape .6,. and type float64"),
        ("codes", None, "'data'"),
        ("meta", None, "does not hold a partition"),
    ],
)
def test_a_store_with_right_checksums_is_not_believed_either(tmp_path, name, value, words):
    X = np.arange(12.0).reshape(6, 2)
    generator = EnsembleGenerator(3, n_clusters=2, random_state=0, store=tmp_path / "s")
    generator.generate(X)
    arrays, meta = read_member(tmp_path / "s" / "member-00001.npz")
    if name == "meta":
        meta.pop("rows")
        meta["n_clusters"] = "2"
    elif value is None:
        del arrays[name]
    else:
        arrays[name] = value
    write_member(tmp_path / "s", 1, arrays=arrays, meta=meta)
    with pytest.raises(StoreError, match=f"member-00001.npz.*{words}"):
        generator.generate(X)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("labels", lambda a: a + 100),
        ("labels", lambda a: a[..., :-1]),
        ("labels", lambda a: a.astype(float)),
        ("slots", lambda a: a + 1),
        ("states", lambda a: a[:1]),
    ],
)
def test_a_store_of_samples_is_not_believed_either(tmp_path, name, change):
    X = np.random.default_rng(0).normal(size=(12, 2))
    sampler = PartitionSampler(3, n_samples=8, burn_in=4, random_state=0, store=tmp_path / "s")
    sampler.generate(X)
    arrays, meta = read_member(tmp_path / "s" / "member-00000.npz")
    write_member(tmp_path / "s", 0, arrays=arrays | {name: change(arrays[name])}, meta=meta)
    with pytest.raises(StoreError, match="member-00000.npz does not hold a partition"):
        sampler.generate(X)


def test_a_changed_byte_of_an_ensemble_in_parquet_is_noticed(tmp_path):
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    votes = Ensemble.from_labels(rng.integers(0, 5, size=(300, 4)))
    path = tmp_path / "e.parquet"
    votes.to_parquet(path)
    whole, other = path.read_bytes(), 0
    for place in rng.integers(4, len(whole) - 8, size=150):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 64]) + whole[place + 1 :])
        with contextlib.suppress(NotAnEnsembleFile):
            other += Ensemble.from_parquet(path) != votes
    assert other == 0


def test_a_damaged_array_in_blocks_is_a_sentence(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.zeros((3, 2)))
    path.write_bytes(path.read_bytes().replace(b"(3, 2)", b"(3, 2("))
    with pytest.raises(ValueError, match=r"x\.npy is not a NumPy file, or a damaged one"):
        io.open_rows(path)


def test_a_damaged_parquet_file_in_blocks_is_a_sentence(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "x.parquet"
    pd.DataFrame({"a": np.arange(500.0)}).to_parquet(path)
    rows = io.open_rows(path)
    path.write_bytes(path.read_bytes()[:-200])
    for read in (lambda: rows.block(0), lambda: io.open_rows(path)):
        with pytest.raises(ValueError, match=r"x\.parquet is not a Parquet file, or a damaged"):
            read()


# ---- models --------------------------------------------------------------------------------------


def _bent(array: np.ndarray, how: str) -> np.ndarray | None:
    """Return an array that does not fit the others any more; None where it cannot be bent so."""
    if array.ndim == 0 or array.size == 0:
        return None
    if how == "short":
        return array[:-1]
    if how == "narrow":
        return array[..., :-1] if array.ndim == 2 else None
    return array + 1000 if array.dtype.kind == "i" and array.itemsize > 1 else None


@pytest.mark.parametrize("how", ["short", "narrow", "large"])
def test_arrays_of_a_model_that_do_not_fit_each_other_are_refused(tmp_path, how):
    """The checksum is right: a program wrote it, but not this one."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3)) + 6 * rng.integers(0, 3, size=(400, 1))
    model = ConsensusClustering(3, n_partitions=20, n_references=0, random_state=0).fit(X)
    io.save_model(model, tmp_path / "m.npz")
    header, arrays = read_archive(tmp_path / "m.npz")
    expected, refused = model.predict(X), 0
    for name, array in arrays.items():
        bent = _bent(array, how)
        if bent is None:
            continue
        write_archive(tmp_path / "bent.npz", header, arrays | {name: bent})
        try:
            found = io.load_model(tmp_path / "bent.npz").predict(X)
        except ValueError:
            refused += 1
        else:  # what predict does not read may be anything
            np.testing.assert_array_equal(found, expected, err_msg=name)
    assert refused > 2


# ---- what the harness found ---------------------------------------------------------------------


@pytest.mark.parametrize("cell", ["1E6518085904", "1e2147483648"])
def test_a_number_of_any_exponent_does_not_end_the_process(tmp_path, cell):
    # pandas.to_numeric crashes on both, and takes 1e4294967296 for 1.
    path = tmp_path / "x.csv"
    path.write_text(f"label,other\n{cell},1\n1e4294967296,2\n1,2\n1,2\n")
    program = f"from clusterscape import io; print(io.read_labels({str(path)!r}).n_clusters)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "[3 2]"), done.stderr
    links = tmp_path / "links.csv"
    links.write_text(f"a,b,weight\n0,{cell},1\n")
    program = f"from clusterscape.semisupervised import Constraints as C; C.from_csv({str(links)!r}"
    done = subprocess.run(
        [sys.executable, "-c", f"{program}, n_points=3, link='must')"],
        capture_output=True,
        text=True,
    )
    assert f"row 2 has '{cell}', which is not a row number from 0 to 2" in done.stderr


def test_an_ensemble_with_a_damaged_header_is_not_read_as_plain_labels(tmp_path):
    path = tmp_path / "e.npz"
    Ensemble.from_labels({"a": [0, 1, 1], "b": np.full((3, 2), 0.5)}).to_npz(path)
    whole = path.read_bytes()
    for place in (whole.index(b"meta.npy") + 40, whole.rindex(b"meta.npy")):
        changed = bytearray(whole)
        changed[place] ^= 1
        path.write_bytes(bytes(changed))
        for read in (io.read_labels, Ensemble.from_npz):
            with pytest.raises(ValueError, match=r"e\.npz(:| is not)"):
                read(path)


def test_a_changed_name_in_an_archive_does_not_hide_an_array(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, X=np.zeros((3, 2)), ids=np.array(["a", "b", "c"]))
    assert io.read_table(path).ids is not None
    whole = path.read_bytes()
    for name in (b"ids.n!y", b"idx.npy"):
        place = whole.rindex(b"ids.npy")  # in the list of contents
        path.write_bytes(whole[:place] + name + whole[place + 7 :])
        with pytest.raises(TableError, match="is not a NumPy file, or a damaged one"):
            io.read_table(path)


def test_a_changed_length_in_an_archive_does_not_hide_an_array(tmp_path):
    path = tmp_path / "t.npz"
    np.savez(path, X=np.ones((4, 2)), ids=np.arange(4))
    content = bytearray(path.read_bytes())
    # The length of the comment on the first array: what follows in the directory is one, then.
    directory = content.index(b"PK\x01\x02")
    rest = len(content) - 22 - (directory + 46 + len("X.npy"))
    content[directory + 32 : directory + 34] = rest.to_bytes(2, "little")
    path.write_bytes(bytes(content))
    with np.load(path) as loaded:
        assert loaded.files == ["X"]
    with pytest.raises(ValueError, match="lists 1 of 2 entries"):
        io.read_table(path)


def test_a_damaged_feather_file_never_ends_the_process(tmp_path):
    path = tmp_path / "x.feather"
    frame = pd.DataFrame({"id": [f"r{i}" for i in range(50)], "x": np.arange(50.0)})
    frame.to_feather(path, compression="uncompressed")
    assert io.read_table(path).X.shape == (50, 1)
    whole = path.read_bytes()
    place = whole.index(b"r0r1r2")
    offsets = whole.rindex(b"\x02\x00\x00\x00\x04\x00\x00\x00", 0, place)
    changed = bytearray(whole)
    changed[offsets : offsets + 4] = b"\xff\xff\xff\x7f"  # where the second text begins
    path.write_bytes(bytes(changed))
    program = f"from clusterscape import io; io.read_table({str(path)!r})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 1, done.returncode
    assert "x.feather is not an Arrow (Feather) file, or a damaged one" in done.stderr


def test_what_spreadsheets_and_feather_files_unpack_to_is_bounded(tmp_path, monkeypatch):
    frame = pd.DataFrame({"a": np.zeros(20_000), "b": np.zeros(20_000)})
    frame.to_feather(tmp_path / "x.feather")
    frame[:500].to_excel(tmp_path / "x.xlsx", index=False)
    for name in ("x.feather", "x.xlsx"):
        assert io.read_table(tmp_path / name).X.shape[1] == 2
    monkeypatch.setenv(npy.VARIABLE, "0.00001")
    for name in ("x.feather", "x.xlsx"):
        with pytest.raises(TableError, match="CLUSTERSCAPE_MAX_GB"):
            io.read_table(tmp_path / name)


def test_a_cell_far_from_the_table_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(npy, "_SMALLEST", 1_000_000)
    sound, path = tmp_path / "sound.xlsx", tmp_path / "x.xlsx"
    pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 5.0]}).to_excel(sound, index=False)
    for far in ("A99999999999", "XFD2000"):
        number = far.lstrip("AXFD")
        cell = f'<row r="{number}"><c r="{far}"><v>7</v></c></row></sheetData>'.encode()
        with zipfile.ZipFile(sound) as old, zipfile.ZipFile(path, "w") as new:
            for name in old.namelist():
                content = old.read(name).replace(b"</sheetData>", cell)
                content = re.sub(rb'ref="A1:[A-Z]+[0-9]+"', f'ref="A1:{far}"'.encode(), content)
                new.writestr(name, content)
        with pytest.raises(TableError, match="a cell far below .* CLUSTERSCAPE_MAX_GB"):
            io.read_table(path)
    assert io.read_table(sound).X.shape == (2, 2)


def test_a_changed_byte_of_a_spreadsheet_is_a_sentence(tmp_path):
    path = tmp_path / "x.xlsx"
    pd.DataFrame({"a": np.arange(30.0), "b": np.arange(30.0) ** 2}).to_excel(path, index=False)
    whole = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        begin = archive.getinfo("xl/worksheets/sheet1.xml").header_offset + 60
    for place in range(begin, begin + 200, 7):
        changed = bytearray(whole)
        changed[place] ^= 0xFF
        path.write_bytes(bytes(changed))
        with pytest.raises(TableError, match="is not an xlsx file, or a damaged one"):
            io.read_table(path)
