"""`onnxlint-cmsis compare --base COMMIT`: every model and image of a work tree that differs from that of a commit."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from onnxlint_cmsis.cli.compare_versions import Comparison, rendered
from onnxlint_cmsis.cli.discovery import discover
from onnxlint_cmsis.cli.terminal import say
from onnxlint_cmsis.cli.versions import Version, beside, files_beside, of_commit
from onnxlint_cmsis.formats.c_arrays import arrays_of, has_sign, shows_sign
from onnxlint_cmsis.formats.format import ELF_SUFFIXES, SUFFIXES, array_in, file_of, is_c, is_image, is_model
from onnxlint_cmsis.ground.errors import NoBaseError, UsageError
from onnxlint_cmsis.ground.files import MODEL, read_regular
from onnxlint_cmsis.ground.git_ignored import ignored_by_git
from onnxlint_cmsis.ground.git_repository import GitError, Repository, repository_of
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.model.model_error import ModelError
from onnxlint_cmsis.output.comparison import METRICS
from onnxlint_cmsis.output.foreign_text import json_text, markdown, markdown_code, printable

if TYPE_CHECKING:
    import argparse

    from onnxlint_cmsis.config.files import Configuration
    from onnxlint_cmsis.output.growth_limits import GrowthLimit

PATTERNS = tuple(f":(icase)*{suffix}" for suffix in SUFFIXES)
"""Models, as git is asked for them."""
LINK = "120000"
"""Mode of a symbolic link in a commit."""
VERSION = 1
"""Of the JSON; grows when a field is renamed, removed or changes its meaning."""


class Change(NamedTuple):
    """A model that differs from the one in the commit, by its paths from the top of the work tree."""

    before: str
    """Path in the commit; empty for a new model."""
    after: str
    """Path in the work tree; empty for a model that is gone."""


class NotCompared(NamedTuple):
    """Models that are told of and not compared, by their paths from here."""

    new: list[str]
    deleted: list[str]
    errors: list[str]
    """Sentences on models of which a version cannot be read."""


def compare_with_base(args: argparse.Namespace, settings: Configuration) -> int:
    """Print what changed in each model and image; the worst of the exit codes. Raises UsageError."""
    from onnxlint_cmsis.output.growth_limits import growth_limits

    limits = growth_limits(args.fail_on_increase, (*METRICS, "ram"))  # the RAM of an image
    repository = None if args.base.startswith("-") else repository_of(Path())
    if repository is None:
        raise UsageError(f"--base {args.base}: there is no git work tree here that could have such a commit")
    try:
        models = BaseModels(repository, repository.commit(args.base), args.paths or ["."])
        changes = list(models.changes())
    except GitError as error:
        raise UsageError(f"--base {args.base}: {error}") from None
    for text in _idle(limits, models):
        say(text)
    code, compared = 0, []
    came = [models.shown(change.after) for change in changes if not change.before]
    went = [models.shown(change.before) for change in changes if not change.after]
    rest = NotCompared(came, went, [])
    for change in changes:
        if not change.before or not change.after:
            continue
        try:
            with models.versions(change, args.base) as (before, after):
                shown = _compared(before, after, settings, limits, args)
        except UsageError as error:
            fails = not isinstance(error, NoBaseError)  # an ELF of a desktop is no image, before and now
            code = 2 if fails else code
            say(f"{'error' if fails else 'not compared'}: {error}")
            rest.errors.append(str(error))
            continue
        code = max(code, 1 if shown.over else 0)
        compared.append(shown.fields)
        if args.form != "json":
            sys.stdout.write(shown.text)
    if args.form == "json":
        fields = {"version": VERSION, "base": models.commit, "compared": compared, **rest._asdict()}
        sys.stdout.write(json_text(fields))
    elif not changes:
        sys.stdout.write(f"no model and no image changed since {printable(args.base)}\n")
    else:
        sys.stdout.write("".join(_lines(args.base, rest, is_markdown=args.form == "markdown")))
    return code


def _idle(limits: tuple[GrowthLimit, ...], models: BaseModels) -> Iterator[str]:
    """What is said of limits on figures that no file below the paths has."""
    from onnxlint_cmsis.cli.compare_images import METRICS as OF_IMAGE

    for metric in dict.fromkeys(limit.metric for limit in limits):
        if metric not in METRICS and not models.have_image:
            yield f"--fail-on-increase {metric} holds nothing: only images have it, and there is none (models: arena)"
        if metric not in OF_IMAGE and not models.have_model:
            yield f"--fail-on-increase {metric} holds nothing: only models have it, and there is none"


class _Compared(NamedTuple):
    """What changed in one file."""

    over: bool
    """Whether a figure grew by more than is allowed."""
    fields: dict[str, object]
    """For JSON."""
    text: str
    """For people."""


def _compared(
    before: Version,
    after: Version,
    settings: Configuration,
    limits: tuple[GrowthLimit, ...],
    args: argparse.Namespace,
) -> _Compared:
    """Compare two versions of a model or an image, each with the limits of its own figures. Raises UsageError."""
    if is_image(after.path) and not array_in(after.path):
        from onnxlint_cmsis.cli.compare_images import METRICS as OF_IMAGE
        from onnxlint_cmsis.cli.compare_images import ImageComparison

        built = ImageComparison.of(before, after, tuple(limit for limit in limits if limit.metric in OF_IMAGE))
        for metric in built.untold:
            say(f"--fail-on-increase {metric} holds nothing: {before.name} does not tell it")
        return _Compared(bool(built.over), built.fields(), built.shown(args.form))
    from onnxlint_cmsis.output.comparison_json import comparison_json

    told = Comparison.of(before, after, settings, limits, run=args.run)
    return _Compared(bool(told.over), comparison_json(*told), rendered(args, told))


def _lines(base: str, rest: NotCompared, *, is_markdown: bool) -> Iterator[str]:
    """What is said of models that are not compared."""
    code, text = (markdown_code, markdown) if is_markdown else (printable, printable)
    end = "\n\n" if is_markdown else "\n"
    for name in rest.new:
        yield f"{code(name)} is new: {code(base)} has no such file, nor one that was renamed{end}"
    for name in rest.deleted:
        yield f"{code(name)} is deleted{end}"
    for error in rest.errors if is_markdown else ():
        yield f"not compared: {text(error)}{end}"


class BaseModels:
    """The models of a work tree and of a commit."""

    def __init__(self, repository: Repository, commit: str, paths: list[str]) -> None:
        """`paths` are files and folders of the work tree, or of the commit. Raises GitError, UsageError."""
        self.repository = repository
        self.commit = commit
        """Its full name."""
        self._top = Path(os.path.realpath(repository.work_tree))
        self._files = repository.files_of(commit)
        scopes = {path: self._from_top(path) for path in paths}
        names = {*self._files, *repository.tracked()}
        names |= {self._from_top(path) for path in _untracked([path for path in paths if Path(path).is_dir()])}
        for path, scope in scopes.items():
            if not os.path.lexists(path) and not any(_is_below(name, scope) for name in names):
                raise UsageError(f"{path}: there is no such file or folder, here or in the commit {commit}")
        self._names = sorted(
            name
            for name in names | set(scopes.values())
            if any(name == scope or (_is_below(name, scope) and self._is_model(name)) for scope in scopes.values())
        )
        kinds = {is_image(name) for name in self._names if self._is_here(name) or self._was_file(name)}
        self.have_image, self.have_model = True in kinds, False in kinds
        """Whether there are such files, here or in the commit."""

    def changes(self) -> Iterator[Change]:
        """Models that changed, were renamed, have other external data, came or went. Raises GitError."""
        for change in self._changed_files():
            if is_c(change.after or change.before):
                yield from self._changed_arrays(change)
            else:
                yield change

    def _changed_arrays(self, change: Change) -> Iterator[Change]:
        """The models of a C file that changed, paired by their names, or as the only ones on both sides."""
        try:
            text = self.repository.content(f"{self.commit}:{change.before}", self._top) if change.before else b""
            old = {array.within(change.before): array for array in arrays_of(change.before, text)}
            listed = arrays_of(str(self._top / change.after)) if change.after else []
            new = {array.within(change.after): array for array in listed}
        except ModelError:  # the comparison tells
            yield change
            return
        for name, array in new.items():
            same = [key for key, other in old.items() if other.name == array.name or len(old) == len(new) == 1]
            before = old.pop(same[0]) if same else None
            if before is None or before.data != array.data:
                yield Change(same[0] if same else "", name)
        yield from (Change(name, "") for name in old)

    def _is_model(self, name: str) -> bool:
        """Tell whether a file is named like a model or an ELF, or is C that looks as if it held one, here or before."""
        if not is_c(name):
            return is_model(name) or name.lower().endswith(ELF_SUFFIXES)
        if self._is_here(name):
            return has_sign(str(self._top / name))
        try:
            return self._was_file(name) and shows_sign(self.repository.content(f"{self.commit}:{name}", self._top))
        except GitError:
            return False

    def _changed_files(self) -> Iterator[Change]:
        new = [name for name in self._names if self._is_here(name) and not self._was_file(name)]
        gone = [name for name in self._names if self._was_file(name) and not self._is_here(name)]
        earlier = self._renamed(new, gone)
        for name in self._names:
            if name in earlier:
                before = earlier[name]
            elif self._was_file(name) and self._is_here(name):
                before = name
            else:
                continue
            if not self._is_same(before, name):
                yield Change(before, name)
        yield from (Change("", name) for name in new if name not in earlier)
        yield from (Change(name, "") for name in gone if name not in earlier.values())

    @contextlib.contextmanager
    def versions(self, change: Change, base: str) -> Iterator[tuple[Version, Version]]:
        """Both versions of a model that changed. Raises UsageError."""
        with contextlib.ExitStack() as stack:
            name = f"{base}:{change.before}"
            try:
                before = of_commit(self.repository, self.commit, change.before, stack)
            except GitError as error:
                raise UsageError(f"{name}: {error}") from None
            after = self.shown(change.after)
            yield before._replace(name=name, path=self.shown(change.before)), Version(after, after, after, None)

    def shown(self, name: str) -> str:
        """A path from the top as a path from here."""
        return os.path.relpath(self._top / name)

    def _from_top(self, path: str) -> str:
        """A path of the work tree as git writes it; empty for the top itself. Raises UsageError."""
        named = Path(path)
        real = Path(os.path.realpath(named if named.is_dir() else named.parent))
        whole = real if named.is_dir() else real / named.name
        if whole != self._top and self._top not in whole.parents:
            raise UsageError(f"{path}: it is outside of the work tree {self._top}")
        return "" if whole == self._top else whole.relative_to(self._top).as_posix()

    def _is_here(self, name: str) -> bool:
        path = self._top / name
        return path.exists() and not path.is_dir()

    def _was_file(self, name: str) -> bool:
        """Tell whether the commit has a file of that name, or a symbolic link; no repository inside this one."""
        return name in self._files and self._files[name][0] in (LINK, "100644", "100755")

    def _renamed(self, new: list[str], gone: list[str]) -> dict[str, str]:
        """The name in the commit of each model that has another name now: as git tells, or with the same last part."""
        earlier: dict[str, str] = {}
        if new and gone:
            named = [f":(literal){name}" for name in (*new, *gone) if not is_model(name)]
            told = self.repository.renamed_since(self.commit, (*PATTERNS, *named))
            earlier = {name: told[name] for name in new if told.get(name) in gone}
        left = [name for name in gone if name not in earlier.values()]
        for name in new:
            moved = [old for old in left if _last(old) == _last(name)]
            rivals = [other for other in new if other not in earlier and _last(other) == _last(name)]
            if name not in earlier and len(moved) == len(rivals) == 1:
                earlier[name] = moved[0]
        return earlier

    def _is_same(self, before: str, after: str) -> bool:
        """Tell whether a model of the work tree and the files that it is read with are those of the commit."""
        try:
            data = read_regular(self._top / after, MODEL)
        except OSError:
            return False  # the comparison tells
        if not self._holds(before, data):
            return False
        return all(self._holds_beside(before, after, name) for name in files_beside(after, data))

    def _holds_beside(self, before: str, after: str, name: str) -> bool:
        try:
            data = read_regular(self._top / beside(after, name), MODEL)
        except (OSError, ValueError):
            return beside(before, name) not in self._files  # missing in both: nothing changed
        return self._holds(beside(before, name), data)

    def _holds(self, path: str, data: bytes) -> bool:
        """Tell whether a file of the commit has these bytes."""
        mode, name = self._files.get(path, ("", ""))
        if mode == LINK or not name:
            try:
                return self.repository.content(f"{self.commit}:{path}", self._top) == data
            except GitError:
                return False
        return self.repository.holds(name, data)


def _untracked(folders: list[str]) -> Iterator[str]:
    """Models in folders that git does not ignore."""
    yield from map(file_of, discover(folders, lambda _: False, ignored=ignored_by_git).files)


def _is_below(name: str, folder: str) -> bool:
    return not folder or name == folder or name.startswith(f"{folder}/")


def _last(name: str) -> str:
    return PurePosixPath(name).name
