"""Generated documents with topics. Their features are sparse, and topics share features.

The documents are drawn as follows, and the seed determines all draws:

- Topics. Topic k is given to a fraction LARGEST_TOPIC_SHARE / k**SIZE_EXPONENT of all documents. The documents are
  drawn independently for each topic, so a document may have no topic, one topic or several. The rarest of 40 topics
  belongs to 1.6 % of the documents.
- Informative features. `n_telling` features, drawn at random, form a pool that all topics share. Each topic uses
  between a third and two thirds of the pool, drawn at random, and uses these features at Gamma-distributed rates.
  Therefore each feature of the pool is evidence for many topics and against the others. Joint sparsity exploits this.
  In addition, each topic has N_OWN_FEATURES features of its own, drawn from all features. They provide a fraction
  OWN_SHARE of the topic's informative words.
- Words. The number of words in a document is Poisson-distributed (at least 1). The mean of this distribution is
  Gamma-distributed with mean `length`. With probability `telling` a word comes from one of the document's topics,
  chosen uniformly. With probability `noise` it comes from the pool, regardless of the topic. Otherwise it comes from
  the background, as do the informative words of a document without topics. The background follows Zipf's law over all
  features: feature i has probability log(1 + 1/(i + 1)) / log(n_features + 1), about proportional to 1/(i + 1).
- Features. The count of word i is multiplied by log(n / n_i) + 1, where n is the number of training documents and n_i
  the number of training documents that contain the word. A word that no training document contains has weight 0.
  Finally each row is scaled to length 1.
"""

from collections.abc import Mapping

import numpy as np
from scipy import sparse

from jointsparse.checks import as_positive, require, require_count
from jointsparse.pipeline.datasets.samples import Samples, gather, listed
from jointsparse.pipeline.datasets.splits import FRACTIONS, draw_splits

SHOWS = "nothing"
LABELS = "topics"

# Choice: these constants and the defaults below make linear classifiers good but not perfect, and make shared features
# useful. They were tuned on test AUC, so results on these documents are not evidence for any method.
LARGEST_TOPIC_SHARE = 0.25  # fraction of the documents that have the first topic
SIZE_EXPONENT = 0.75  # exponent of Zipf's law for the sizes of the topics
USED_SHARES = (1 / 3, 2 / 3)  # smallest and largest fraction of the pool that a topic uses
RATE_SHAPE = 4.0  # shape of the Gamma distribution of rates: the standard deviation is half the mean
OWN_SHARE = 0.05  # fraction of a topic's informative words that come from features of its own
N_OWN_FEATURES = 20  # number of a topic's own features
LENGTH_SHAPE = 4.0  # shape of the Gamma distribution of lengths: the standard deviation is half the mean

DOCUMENTS_AT_ONCE = 1000  # documents are drawn in blocks, which limits the memory; the draws depend on this value


def read(
    *,
    n_documents: int = 6000,
    n_features: int = 20000,
    n_topics: int = 40,
    n_telling: int = 100,
    length: float = 200,
    telling: float = 0.15,
    noise: float = 0.05,
    fractions: Mapping[str, float] = FRACTIONS,
    seed: int = 0,
) -> Samples:
    """Draw documents as described at the top of this module.

    Samples are named "document 1", "document 2", …, and labels are named "topic 1" (the most frequent), "topic 2", …
    The features of a document are all 0 if none of its words occurs in a training document.

    Parameters
    ----------
    n_documents : int, at least 1
        Number of samples.
    n_features : int, at least 1
        Number of words in the vocabulary.
    n_topics : int, at least 1
        Number of labels.
    n_telling : int, from 1 to n_features
        Number of informative features in the pool, which all topics share.
    length : float above 0
        Mean number of words in a document.
    telling : float, from 0 to 1
        Probability that a word comes from the document's topics.
    noise : float, from 0 to 1 - telling
        Probability that a word comes from the pool, regardless of the topic.
    fractions : mapping
        Fraction of the documents that each split gets, from 0 to 1.
    seed : int
        Seed of the random generator that makes all draws.

    Returns
    -------
    samples : Samples

    Raises
    ------
    ValueError
        If an option is outside its range.
    """
    for name, value, most in (
        ("n_documents", n_documents, None),
        ("n_features", n_features, 2**31 - 1),  # the largest 32-bit index
        ("n_topics", n_topics, None),
        ("n_telling", n_telling, n_features),
    ):
        require_count(value, name, most)
    as_positive(length, "length")
    require(
        min(telling, noise) >= 0 and telling + noise <= 1,
        f"telling and noise must be at least 0, and their sum at most 1, got {telling!r} and {noise!r}",
    )
    rng = np.random.default_rng(seed)
    splits = draw_splits([f"document {i + 1}" for i in range(n_documents)], fractions, rng)
    topics_of = _draw_labels(n_documents, n_topics, rng)
    pool = rng.choice(n_features, n_telling, replace=False)
    topics = _draw_topics(pool, n_features, n_topics, rng)
    blocks = [
        _draw_words(
            topics_of[start : start + DOCUMENTS_AT_ONCE], topics, pool, n_features, length, (telling, noise), rng
        )
        for start in range(0, n_documents, DOCUMENTS_AT_ONCE)
    ]
    counts = sparse.csr_matrix(sparse.vstack(blocks, format="csr"))
    is_training = np.array([split == "train" for split in splits.values()])
    labels = [[f"topic {k + 1}" for k in row] for row in np.split(topics_of.indices, topics_of.indptr[1:-1])]
    return gather(splits, listed(splits, labels), {})._replace(X=_weigh(counts, is_training))


def _draw_labels(n_documents: int, n_topics: int, rng: np.random.Generator) -> sparse.csr_matrix:
    """Draw the topics of each document. Return a CSR matrix, (n_documents, n_topics), with a one for each topic."""
    sizes = np.rint(LARGEST_TOPIC_SHARE * n_documents / np.arange(1, n_topics + 1) ** SIZE_EXPONENT).astype(int)
    rows = [rng.choice(n_documents, max(1, size), replace=False) for size in sizes]
    columns = np.repeat(np.arange(n_topics), [len(row) for row in rows])
    return sparse.csr_matrix((np.ones(len(columns)), (np.concatenate(rows), columns)), shape=(n_documents, n_topics))


def _draw_topics(
    pool: np.ndarray, n_features: int, n_topics: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw the features of each topic and their cumulative probabilities, as two arrays of shape (n_topics, n)."""
    n_used = np.rint(len(pool) * rng.uniform(*USED_SHARES, n_topics)).clip(1)
    used = rng.permuted(np.tile(np.arange(len(pool)), (n_topics, 1)), axis=1) < n_used[:, None]
    rates = used * rng.gamma(RATE_SHAPE, 1 / RATE_SHAPE, used.shape)
    own = rng.integers(n_features, size=(n_topics, N_OWN_FEATURES))
    features = np.hstack([np.tile(pool, (n_topics, 1)), own])
    shares = np.hstack(
        [(1 - OWN_SHARE) * rates / rates.sum(axis=1, keepdims=True), np.full(own.shape, OWN_SHARE / N_OWN_FEATURES)]
    )
    cumulative = np.cumsum(shares, axis=1)
    return features, cumulative / cumulative[:, -1:]


def _draw_words(
    topics_of: sparse.csr_matrix,
    topics: tuple[np.ndarray, np.ndarray],
    pool: np.ndarray,
    n_features: int,
    length: float,
    chances: tuple[float, float],
    rng: np.random.Generator,
) -> sparse.csr_matrix:
    """Draw the words of documents, and return their counts as a CSR matrix, (n_documents, n_features) float32."""
    n_documents, n_topics = topics_of.shape
    telling, noise = chances
    lengths = np.maximum(1, rng.poisson(length * rng.gamma(LENGTH_SHAPE, 1 / LENGTH_SHAPE, n_documents)))
    document = np.repeat(np.arange(n_documents), lengths)
    n_words = len(document)
    # Invert the distribution function of the background in closed form, without a table over all features.
    word = np.minimum((n_features + 1.0) ** rng.random(n_words), n_features).astype(np.int64) - 1

    kind = rng.random(n_words)
    from_pool = np.flatnonzero((kind >= telling) & (kind < telling + noise))
    word[from_pool] = rng.choice(pool, len(from_pool))

    n_topics_of = np.diff(topics_of.indptr)
    from_topics = np.flatnonzero((kind < telling) & (n_topics_of[document] > 0))
    teller = document[from_topics]
    topic = topics_of.indices[topics_of.indptr[teller] + rng.integers(n_topics_of[teller])]
    # Shift the distribution function of topic k to [k, k + 1], so that a single search serves all topics.
    features, cumulative = topics
    n = features.shape[1]
    steps = (cumulative + np.arange(n_topics)[:, None]).ravel()
    place = np.searchsorted(steps, topic + rng.random(len(topic)), side="right")
    word[from_topics] = features.ravel()[np.minimum(place, topic * n + n - 1)]
    return sparse.csr_matrix((np.ones(n_words, np.float32), (document, word)), shape=(n_documents, n_features))


def _weigh(counts: sparse.csr_matrix, is_training: np.ndarray) -> sparse.csr_matrix:
    """Multiply word counts by weights that grow with the rarity of the word, and scale each row to length 1.

    The rarity is measured on the training documents.
    """
    from sklearn.preprocessing import normalize  # imported here, because the import takes half a second

    n_with = np.bincount(counts[is_training].indices, minlength=counts.shape[1])
    # Choice: a word in no training document has weight 0, because nothing can be learned about it.
    weight = np.where(n_with > 0, np.log(is_training.sum() / np.maximum(n_with, 1)) + 1, 0.0)
    X = normalize(counts @ sparse.diags_array(weight)).astype(np.float32)
    X.eliminate_zeros()
    return sparse.csr_matrix(X)
