"""The page of devices shows what its table holds."""

from pathlib import Path

import pandas as pd

DOCS = Path(__file__).parents[2] / "docs"


def shown(milliseconds):
    digits = f"{milliseconds:#.2g}".rstrip(".")
    return f"{float(digits):g}" if milliseconds >= 10 else digits


def test_the_page_shows_the_times_of_its_table():
    page, table = (DOCS / "devices.md").read_text(encoding="utf-8"), pd.read_csv(DOCS / "devices.csv")
    times = table.query("dtype == 'float32' and fraction == 0.1")
    for (batch, rows, columns), of_size in times.groupby(["batch", "rows", "columns"]):
        ms = of_size.set_index(of_size["library"].str.split(" ").str[0])
        torch, jax = ms.loc["PyTorch"], ms.loc["JAX"]
        cells = [torch["ms"], jax["ms"], jax["ms_in_jit"], ms.loc["CuPy", "ms"], torch["ms_by_cpu"], torch["ms_copy"]]
        size = f"{f'{batch} of ' if batch > 1 else ''}{rows:,} × {columns:,}"
        assert f"| {size} | {' | '.join(map(shown, cells))} |" in page
