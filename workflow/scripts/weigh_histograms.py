"""Histograms of all images, weighted and normalised."""

from job import job
from scipy import sparse

from jointsparse.features import vocabulary_tree
from jointsparse.tables import read_arrays, read_matrix, read_table, write_matrix


def main(images, histograms, tree, options, output):
    weighted = vocabulary_tree.weigh(
        sparse.vstack([read_matrix(path) for path in histograms], format="csr"),
        vocabulary_tree.from_arrays(read_arrays(tree, *vocabulary_tree.VocabularyTree._fields)),
        **options,
        fit_rows=(read_table(images, "split")["split"] == "train").to_numpy(),
    )
    write_matrix(output, weighted)


if __name__ == "__main__":
    with job(snakemake):
        i = snakemake.input
        main(i.images, i.histograms, i.tree, snakemake.params.options, snakemake.output[0])
