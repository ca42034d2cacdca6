"""One name for all loggers."""

from __future__ import annotations

import re

from tests.repository.tree import ROOT, own_files

MADE = re.compile(r"^.*\bgetLogger\(.*$", re.MULTILINE)
PLAIN = "log = logging.getLogger(__name__)"
OF_ALL = 'logging.getLogger("hudi_index").setLevel('


def test_loggers_are_called_log_and_named_by_their_module() -> None:
    others = [
        f"{path.relative_to(ROOT)}: {line}"
        for path in own_files(".py")
        if path.relative_to(ROOT).parts[0] in ("hudi_index", "airflow_hudi_index", "spark_jobs")
        for line in MADE.findall(path.read_text(encoding="utf-8"))
        if line != PLAIN and OF_ALL not in line
    ]

    assert others == []
