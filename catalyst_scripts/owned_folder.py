# SPDX-License-Identifier: BSD-3-Clause
"""What perfield may replace and remove: only files that it wrote itself and can prove to be so.

A folder in which perfield replaces or removes files is marked by a file `.perfield-files`, which lists each
file that perfield wrote there with its size and hash. A folder that is not empty and not marked belongs to
the user: nothing is written there. Whatever else lies in a marked folder is the user's as well. A single file
that the user named is written by `new_file`. Nothing is written or removed through a symbolic link.
docs/files.md lists who writes what. It imports nothing but Python's library: pvbatch runs it without
perfield.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import stat
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

LIST = ".perfield-files"
HEAD = {"perfield": "files that perfield wrote in this folder, and may replace or remove"}
_STAGE = ".perfield-new-"  # a folder for a file that is not complete
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PIECE = 1 << 20
_MOST_LIST = 1 << 28  # bytes of a list; one of a million files has half of that
_LEAST_SPARSE = 1 << 30  # bytes of a file that may be
_MOST_SPARSE = 50  # times as large as what it takes on the disk; perfield writes no holes


class NotOursError(OSError):
    """A place that perfield must not write to, or a file that it must not replace; the text says why."""


class OwnedFolder:
    """A folder that perfield made, and the files in it that perfield wrote.

    path : of the folder; it is made, and marked, by `make` or by the first file. bytes : by name, of the
    files that were written through this object. Names are relative, such as "geometry/step_000000.vtm".
    """

    def __init__(self, path: Path | str, below: Path | str | None = None, is_shared: bool = False):
        """below : the folder that the user named, where `path` is a place in it that perfield chose: no part
        of the path behind it may be a link. is_shared : other parts of perfield write there, too, without a
        list, as in a room of a run directory. Raises NotOursError; nothing is written yet."""
        self.path = Path(path)
        self.bytes: dict[str, int] = {}
        self._end: weakref.finalize | None = None
        inside = self.path.relative_to(below).parts if below is not None else (self.path.name,)
        for depth in range(len(inside)):
            part = self.path if not depth else self.path.parents[depth - 1]
            if part.is_symlink():
                raise NotOursError(f"{part} is a symbolic link, so nothing is written there; {_ELSEWHERE}")
        if os.path.lexists(self.path) and not self.path.is_dir():
            raise NotOursError(f"{self.path} is no folder; {_ELSEWHERE}")
        self._listed = _read_list(self.path)
        if self._listed is None and os.path.lexists(self.path / LIST):
            raise NotOursError(
                f"{self.path / LIST} is not the list that perfield keeps of its files, so nothing is written "
                f"there; move it away, or {_ELSEWHERE}"
            )
        if self._listed is None and not is_shared and not _is_free(self.path):
            raise NotOursError(
                f"{self.path} is not empty, and perfield's list {LIST} of files that it wrote is not in it, "
                f"so nothing is written there; {_ELSEWHERE}"
            )

    def make(self) -> OwnedFolder:
        """Makes and marks the folder, unless that is done; returns it."""
        self.path.mkdir(parents=True, exist_ok=True)
        if self._listed is None:
            self._listed = {}
            with contextlib.suppress(FileExistsError):  # another process of perfield was faster
                self._append(HEAD, os.O_CREAT | os.O_EXCL)
        return self

    def is_ours(self, name: str) -> bool:
        """Whether perfield wrote the file of that name, and nobody changed it since."""
        known = (self._listed or {}).get(name, set())
        try:
            with self._inside(name) as (folder, last):
                about = os.stat(last, dir_fd=folder, follow_symlinks=False)
                has_holes = about.st_size > max(_LEAST_SPARSE, _MOST_SPARSE * 512 * about.st_blocks)
                is_known = about.st_size in dict(known) and not has_holes
                return is_known and _size_and_hash(last, folder) in known
        except OSError:
            return False

    def check_folder(self, name: str) -> None:
        """Raises NotOursError if files cannot be in a folder of that name, such as a link. Writes nothing."""
        place = self.path / name
        if os.path.lexists(place) and (place.is_symlink() or not place.is_dir()):
            what = "a symbolic link" if place.is_symlink() else "no folder"
            raise NotOursError(
                f"{place} is {what}, so nothing is written there; move it away, or {_ELSEWHERE}"
            )

    def check(self, name: str) -> None:
        """Raises NotOursError if there is a file of that name that perfield did not write, or a link on the
        way to it. Writes nothing."""
        if not _parts(name):
            raise NotOursError(f"{name!r} is no name of a file in {self.path}.")
        for parent in PurePosixPath(name).parents[:-1]:
            self.check_folder(str(parent))
        if os.path.lexists(self.path / name) and not self.is_ours(name):
            raise NotOursError(
                f"{self.path / name} was not written by perfield, or was changed since, and was left as it "
                f"is; move it away, or {_ELSEWHERE}"
            )

    @contextlib.contextmanager
    def writing(self, name: str) -> Iterator[Path]:
        """Yields where to write a file; then the complete file gets its name.

        Raises NotOursError if there is a file of that name that perfield did not write.
        """
        self.check(name)
        place = self._own_stage() / PurePosixPath(name).name
        try:
            yield place
            self._take(place, name)
        except BaseException:
            with contextlib.suppress(OSError):
                place.unlink()
            raise

    def write(self, name: str, text: str) -> Path:
        """Writes a text as UTF-8; returns its path."""
        with self.writing(name) as place:
            place.write_text(text, encoding="utf-8")
        return self.path / name

    def take(self, source: Path, name: str) -> Path:
        """Moves a file that perfield made elsewhere; returns its path."""
        with self.writing(name) as place:
            shutil.move(source, place)
        return self.path / name

    @contextlib.contextmanager
    def stage(self) -> Iterator[Path]:
        """Yields an empty folder for files that are taken when they are complete; removed afterwards."""
        with _stage(self.make().path) as place:
            yield place

    def note(self, name: str) -> None:
        """Lists a file that another library has just written here for perfield."""
        self.make()
        with self._inside(name) as (folder, last):
            self._list(name, *_size_and_hash(last, folder))

    def remove_stale(self, below: str = "") -> None:
        """Removes files that perfield wrote here earlier and not through this object, and folders that this
        leaves empty. below : only those in this folder."""
        listed = self._listed or {}
        for name in sorted(listed, reverse=True):
            if name in self.bytes or not name.startswith(f"{below}/" if below else ""):
                continue
            if self.is_ours(name):
                with self._inside(name) as (folder, last):
                    os.unlink(last, dir_fd=folder)
                for parent in PurePosixPath(name).parents[:-1]:
                    with contextlib.suppress(OSError), self._inside(str(parent)) as (folder, last):
                        os.rmdir(last, dir_fd=folder)
            del listed[name]  # what was changed is the user's from now on
        self._shorten()
        self.finish()

    def finish(self) -> None:
        """Removes what served to write; at the latest, that happens when the object ends."""
        if self._end is not None:
            self._end()
            self._end = None

    def _own_stage(self) -> Path:
        """The folder for incomplete files, one for all: file systems are slow to remove folders."""
        if self._end is None:
            self._stage = Path(tempfile.mkdtemp(prefix=_STAGE, dir=self.make().path))
            self._end = weakref.finalize(self, shutil.rmtree, self._stage, True)
        return self._stage

    def _take(self, source: Path, name: str) -> None:
        size, digest = _size_and_hash(str(source))
        with self._inside(name, makes=True) as (folder, last):
            self._list(name, size, digest)
            os.replace(source, last, dst_dir_fd=folder)

    def _list(self, name: str, size: int, digest: str) -> None:
        assert self._listed is not None
        if (size, digest) not in self._listed.setdefault(name, set()):
            self._append({"name": name, "bytes": size, "hash": digest})
            self._listed[name].add((size, digest))
        self.bytes[name] = size

    def _append(self, line: dict[str, object], flags: int = 0) -> None:
        options = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | flags
        file = os.open(self.path / LIST, options, 0o666)
        try:
            os.write(file, json.dumps(line).encode() + b"\n")
        finally:
            os.close(file)

    def _shorten(self) -> None:
        """Writes the list anew, without files that are no longer there."""
        if self._listed is None:
            return
        rows = [
            {"name": name, "bytes": size, "hash": digest}
            for name, known in self._listed.items()
            for size, digest in known
        ]
        with _stage(self.path) as place:
            (place / LIST).write_text(
                "".join(f"{json.dumps(row)}\n" for row in (HEAD, *rows)), encoding="utf-8"
            )
            (place / LIST).replace(self.path / LIST)

    @contextlib.contextmanager
    def _inside(self, name: str, makes: bool = False) -> Iterator[tuple[int, str]]:
        """Yields the descriptor of the folder that holds a file, and the file's last name; follows no link.

        makes : whether to make folders on the way. Raises OSError if one is not there, or is a link.
        """
        *parts, last = _parts(name)
        folder = os.open(self.path, _FOLDER)
        try:
            for part in parts:
                try:
                    inner = os.open(part, _FOLDER, dir_fd=folder)
                except FileNotFoundError:
                    if not makes:
                        raise
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(part, dir_fd=folder)
                    inner = os.open(part, _FOLDER, dir_fd=folder)
                os.close(folder)
                folder = inner
            yield folder, last
        finally:
            os.close(folder)


def check_own(run: Path | str) -> None:
    """Raises NotOursError if a run directory, in which perfield would choose a place, is another user's."""
    owner = Path(run).stat().st_uid
    if owner != os.geteuid():
        raise NotOursError(f"{run} belongs to user {owner}, so nothing is written there; {_ELSEWHERE}")


@contextlib.contextmanager
def new_file(path: Path | str, *, replaces: bool = True) -> Iterator[Path]:
    """Writes one file, or one folder, that the user named: yields where to write it; it gets its name when it
    is complete. If writing fails, what was there is unchanged and nothing else is left.

    replaces : whether an earlier file of that name may be replaced, since the user named it. A link, a folder
    and a device are never replaced. Raises NotOursError, OSError.
    """
    path = Path(path)
    check_new_file(path, replaces=replaces)
    with _stage(path.parent) as place:
        yield place / path.name
        if replaces:
            (place / path.name).replace(path)
            return
        check_new_file(path, replaces=False)
        (place / path.name).rename(path)


def check_new_file(path: Path | str | None, *, replaces: bool = True) -> None:
    """Raises NotOursError if `new_file` would not write this file. None: there is nothing to write."""
    if path is None:
        return
    path = Path(path)
    if not path.absolute().parent.is_dir():
        raise NotOursError(f"{path.parent} is not a directory; make it first.")
    if not os.path.lexists(path):
        return
    if path.is_symlink():
        raise NotOursError(
            f"{path} is a symbolic link, through which nothing is written; name the file itself."
        )
    if not replaces:
        raise NotOursError(f"{path} exists already and was left as it is; remove it, or name another.")
    if not path.is_file():
        raise NotOursError(f"{path} is not a regular file, so it is not replaced; name another.")


_ELSEWHERE = "name another place with -o."


@contextlib.contextmanager
def _stage(folder: Path) -> Iterator[Path]:
    """A new folder that nobody else writes to, on the file system of a folder; removed afterwards."""
    place = tempfile.mkdtemp(prefix=_STAGE, dir=folder)
    try:
        yield Path(place)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _is_free(path: Path) -> bool:
    """Whether a folder is not there, is empty, or holds nothing but folders that perfield marked."""
    if not os.path.lexists(path):
        return True
    if not path.is_dir():
        return False
    with os.scandir(path) as entries:
        return all(
            entry.is_dir(follow_symlinks=False) and _read_list(Path(entry.path)) is not None
            for entry in entries
        )


def _read_list(folder: Path) -> dict[str, set[tuple[int, str]]] | None:
    """(bytes, hash) by name of the files that perfield wrote in a folder; None if it is not marked."""
    try:
        file = os.open(folder / LIST, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(file, "rb") as opened:
        about = os.fstat(file)
        is_usual = stat.S_ISREG(about.st_mode) and about.st_size <= _MOST_LIST
        if not is_usual or _row(opened.readline(_PIECE)) != HEAD:
            return None
        found: dict[str, set[tuple[int, str]]] = {}
        for line in iter(lambda: opened.readline(_PIECE), b""):
            row = _row(line)
            name, size, digest = row.get("name"), row.get("bytes"), row.get("hash")
            if isinstance(name, str) and type(size) is int and isinstance(digest, str) and _parts(name):
                found.setdefault(name, set()).add((size, digest))
        return found


def _row(line: bytes) -> dict[str, object]:
    try:
        row = json.loads(line)
    except ValueError:  # such as a line that was cut off
        return {}
    return row if isinstance(row, dict) else {}


def _parts(name: str) -> tuple[str, ...]:
    """The parts of a name in a folder; none if it leaves the folder, or is the list itself."""
    path = PurePosixPath(name)
    is_inside = not path.is_absolute() and ".." not in path.parts and "\0" not in name and name != LIST
    return path.parts if is_inside else ()


def _size_and_hash(name: str, folder: int | None = None) -> tuple[int, str]:
    """Size and hash of a regular file. Raises OSError, also for a link."""
    file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    with os.fdopen(file, "rb", buffering=0) as opened:
        about = os.fstat(file)
        if not stat.S_ISREG(about.st_mode):
            raise NotOursError(f"{name} is not a regular file.")
        digest = hashlib.blake2b(digest_size=16)
        for piece in iter(lambda: opened.read(_PIECE), b""):
            digest.update(piece)
        return about.st_size, digest.hexdigest()
