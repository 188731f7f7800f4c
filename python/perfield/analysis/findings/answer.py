# SPDX-License-Identifier: BSD-3-Clause
"""The answer to one question of the report."""

from __future__ import annotations

from dataclasses import dataclass

from perfield.analysis.findings.finding import Finding
from perfield.analysis.findings.sight import Sight


@dataclass(frozen=True)
class Answer:
    """The answer to one question.

    missing : fields that the run lacks, so nobody looked; else empty. sight : what would have been found,
    where nothing was; else None. package : the Python package that is not installed, so nobody looked; else
    "". elsewhere : kinds of other questions' findings that answer this one, where it has none.
    """

    question: str
    findings: tuple[Finding, ...]
    missing: tuple[str, ...] = ()
    sight: Sight | None = None
    package: str = ""
    elsewhere: tuple[str, ...] = ()

    @property
    def is_asked(self) -> bool:
        """Whether somebody looked."""
        return not self.missing and not self.package

    @property
    def is_no(self) -> bool:
        """Whether the answer is no: nothing was found, and what occurs would have been."""
        return self.sight is not None and self.sight.is_enough
