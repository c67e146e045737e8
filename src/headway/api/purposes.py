"""Between a task of ours and what a model of another library was trained further for."""

from ..data.codecs import TextCodec
from ..data.labels import LabelCodec
from ..data.spans import SpanCodec
from ..data.tags import TagCodec
from ..data.values import ValueCodec
from ..runs.hugging_face import Purpose
from ..tasks import Answer, Classify, Regress, Tag, Task
from ..tasks.texts import Texts


def purpose_of(task: Task) -> Purpose | None:
    """What a task tells of texts that it reads; None if it is none of those."""
    if isinstance(task, Classify):
        return Purpose("classify", task.labels.labels)
    if isinstance(task, Regress):
        return Purpose("regress", ("value",), task.value.mean, task.value.deviation)
    if isinstance(task, Tag):
        return Purpose("tag", task.tags.tags)
    return Purpose("answer") if isinstance(task, Answer) else None


def task_of(purpose: Purpose, kind: type[Task], codec: TextCodec, pairs: bool) -> Task:
    """The task of a model that comes from elsewhere.

    What its folder does not tell: values are taken as they are, and a question may be left without
    an answer, which a model that never learned so hardly ever does.

    Args:
        kind: that of the run file.
        codec: of texts that are only read.
        pairs: whether a label or a value is that of two texts.
    """
    if purpose.task == "tag":
        return Tag(codec, TagCodec.named(purpose.labels))
    if purpose.task == "answer":
        assert issubclass(kind, Answer)
        return kind(codec, SpanCodec(may_lack=True))
    texts = Texts(codec, pairs)
    if purpose.task == "regress":
        return Regress(texts, ValueCodec(0.0, 1.0))
    return Classify(texts, LabelCodec(purpose.labels))
