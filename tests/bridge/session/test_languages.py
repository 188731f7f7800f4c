# SPDX-License-Identifier: BSD-3-Clause
"""Programs with a locale: decimal commas, Turkish capitals, region names of any bytes."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from compiled.built import built, compiler_state

LOCALES = (("de_DE", "UTF-8"), ("tr_TR", "ISO-8859-9"))
BODY = """
  if (!setlocale(LC_ALL, "")) return 9;
  int64_t e[6] = {0, 2, 0, 2, 0, 2}; double o[3] = {0.5, -1e-300, 1e22}, d[3] = {0.1, 0.25, 3};
  perfield_initialize();
  perfield_mesh_image(0, e, o, d);
  for (int s = 0; s < 4; ++s) {
    perfield_begin("strömung"); perfield_end("strömung");
    perfield_begin("\\xff\\xfe"); perfield_end("\\xff\\xfe");
    perfield_step(s, s);
  }
  printf("%.1f\\n", 0.5);
"""


@pytest.fixture(scope="session")
def locales():
    """A folder with German and Turkish locales."""
    if shutil.which("localedef") is None:
        pytest.skip("localedef is not installed")

    def compile_in(folder: Path) -> None:
        for name, charmap in LOCALES:
            command = ["localedef", "-i", name, "-f", charmap, folder / f"{name}.{charmap}"]
            if subprocess.run(command, capture_output=True, check=False).returncode:
                pytest.skip("the sources of locales are not installed (Debian package locales)")

    return built("locales", (LOCALES, compiler_state("localedef")), compile_in)


@pytest.mark.parametrize("language", ["de_DE.UTF-8", "tr_TR.ISO-8859-9", "C.UTF-8"])
def test_locale_changes_no_settings_meshes_or_names(measured, locales, language):
    env = {"LC_ALL": language, "PERFIELD_SKIP_STEPS": "1", "PERFIELD_INTER_NODE_OFFSET": "2.5"}
    if language != "C.UTF-8":
        env["LOCPATH"] = str(locales)
    run, result = measured(BODY, before="#include <locale.h>", env=env)
    assert result.stdout == ("0.5\n" if language == "C.UTF-8" else "0,5\n")
    assert [frame.label for frame in run.frames()] == [1, 2, 3]
    (block,) = run.mesh(0, 1)
    assert list(block.origin) == [0.5, -1e-300, 1e22] and list(block.spacing) == [0.1, 0.25, 3]
    assert len(run.known_regions) == 2
    assert all((frame.values["str_mung_count"] == 1).all() for frame in run.frames())
