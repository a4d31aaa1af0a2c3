"""The page of devices shows what its table holds."""

from pathlib import Path

import pandas as pd

DOCS = Path(__file__).parents[2] / "docs"
LIMITS = {"error": {"float32": 1e-5, "float64": 1e-12}, "excess": {"float32": 1e-6, "float64": 1e-12}}


def table():
    return pd.read_csv(DOCS / "devices.csv")


def shown(milliseconds):
    digits = f"{milliseconds:#.2g}".rstrip(".")
    return f"{float(digits):g}" if milliseconds >= 10 else digits


def test_the_page_shows_the_times_of_its_table():
    page, times = (
        (DOCS / "devices.md").read_text(encoding="utf-8"),
        table().query("dtype == 'float32' and fraction == 0.1"),
    )
    for (batch, rows, columns), of_size in times.groupby(["batch", "rows", "columns"]):
        by_library = of_size.assign(library=of_size["library"].str.partition(" ")[0]).set_index("library")
        cells = [by_library["ms"][name] for name in ("PyTorch", "JAX")] + [by_library["ms_in_jit"]["JAX"]]
        cells += [by_library["ms"]["CuPy"], *by_library.loc["PyTorch", ["ms_by_cpu", "ms_copy"]]]
        size = f"{f'{batch} of ' if batch > 1 else ''}{rows:,} × {columns:,}"
        assert f"| {size} | {' | '.join(map(shown, cells))} |" in page


def test_every_result_of_the_table_is_as_the_page_promises():
    for name, limits in LIMITS.items():
        values = table().dropna(subset=[name])
        assert (values[name] <= values["dtype"].map(limits)).all()
    assert table()["gradient_error"].max() <= 1e-6
