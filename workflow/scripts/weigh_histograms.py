"""Weight and normalise the histograms of all images."""

from job import job

from jointsparse.features import vocabulary_tree
from jointsparse.provenance.tables import read_arrays, read_matrix, read_table, reading, write_matrix


def main(images, histograms, tree, options, output):
    with reading(tree):
        tree = vocabulary_tree.from_arrays(read_arrays(tree, *vocabulary_tree.Tree._fields))
    weighted = vocabulary_tree.weigh(
        vocabulary_tree.stack([read_matrix(path) for path in histograms], tree),
        tree,
        **options,
        fit_rows=(read_table(images, "split")["split"] == "train").to_numpy(),
    )
    write_matrix(output, weighted)


if __name__ == "__main__":
    with job(snakemake):
        main(
            images=snakemake.input.images,
            histograms=snakemake.input.histograms,
            tree=snakemake.input.tree,
            options=snakemake.params.options,
            output=snakemake.output.histograms,
        )
