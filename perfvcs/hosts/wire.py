"""What travels between a client, workers and their measurers, and in which form."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

import msgspec
from msgspec import structs

from perfvcs.environment import RECORDED
from perfvcs.environment.host import Facts
from perfvcs.environment.variables import secrets, without_secrets
from perfvcs.errors import UsageError
from perfvcs.git.bundles import roots
from perfvcs.jobs import matrix
from perfvcs.jobs.cell import Cell
from perfvcs.jobs.config import Config
from perfvcs.measure.buildinputs import overlay_source
from perfvcs.measure.journal import Block, Described, Identity, Lost
from perfvcs.measure.product import Product
from perfvcs.measure.site import Version
from perfvcs.measure.sites import Sites
from perfvcs.profile.buildidentity import FLAGS
from perfvcs.system.disk import entries, remove

LARGEST_MESSAGE = 1 << 31  # of one message
PREFIX = 8  # bytes of a length
encode = msgspec.msgpack.encode
LARGEST_OVERLAY = 1 << 30  # of the overlay
KEPT_ENTRIES = frozenset({".git", ".perf"})  # of a clone


class Task(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="task"):
    """A block to be measured: of each cell, by its number, the versions that take a turn.

    ``delivery``: what the host lacked.
    """

    parcel: str
    block: int
    cells: dict[int, list[int]]
    delivery: bytes | None = None


class Delivery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A parcel and a git bundle, both encoded; ``form`` is the hash of the repository."""

    parcel: bytes
    bundle: bytes
    form: str


class Lacks(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="lacks"):
    """The host does not have the parcel; its clone has these commits."""

    host: str
    tips: list[str]


class Executing(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="executing"):
    """An execution begins."""

    host: str
    number: int
    position: int


class Failed(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="failed"):
    """The host could not measure, whatever was to be measured."""

    host: str
    reason: str


class Measured(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="measured"):
    """A block as a host measured it: its parts that have every version, and what failed on a
    version.
    """

    host: str
    blocks: list[Block]
    lost: list[Lost]
    described: list[Described]
    warnings: list[str]


HostAnswer = Lacks | Failed | Measured
Reply = HostAnswer | Executing
task = msgspec.msgpack.Decoder(Task).decode
delivery = msgspec.msgpack.Decoder(Delivery).decode
answer = msgspec.msgpack.Decoder(HostAnswer).decode
reply = msgspec.msgpack.Decoder(Reply).decode
facts = msgspec.msgpack.Decoder(Facts).decode


def send(pipe: IO[bytes], content: bytes) -> None:
    """Write one message."""
    pipe.write(len(content).to_bytes(PREFIX, "big") + content)
    pipe.flush()


def receive(pipe: IO[bytes]) -> bytes | None:
    """Read one message; None at the end, also where that comes in the middle of one."""
    head = pipe.read(PREFIX)
    size = int.from_bytes(head, "big")
    if len(head) < PREFIX or size > LARGEST_MESSAGE:
        return None
    content = pipe.read(size)
    return content if len(content) == size else None


def names(cells: Mapping[int, list[int]]) -> set[tuple[int, int]]:
    """The pairs of cell and version of a task."""
    return {(number, position) for number, positions in cells.items() for position in positions}


# of which a library need not be there
VARIABLES = tuple(name for name in RECORDED + FLAGS if name != "LD_PRELOAD")


class PickedCell(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A cell of the matrix, by what distinguishes it, and what the session changes of it."""

    label: str
    collector: str
    warmup: int
    retries: int
    left_out: tuple[str, ...] = ()
    unit: str = ""


class ParcelFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of the overlay: its path below the project's root, its mode, and its content, that of
    a link being where it points.
    """

    path: str
    mode: int
    content: bytes
    link: bool = False


class SentVersion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A version: its commit, and the name, digest and command of the product that takes its place,
    if one does.
    """

    commit: str
    product: str = ""
    digest: str = ""
    words: tuple[str, ...] = ()

    @property
    def version(self) -> Version:
        """The version as a session has it."""
        if not self.product:
            return Version(self.commit)
        return Version(
            self.commit, self.digest, product=Product(self.product, self.digest, self.words)
        )


class Parcel(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """All of a session that a host needs; ``stalled`` in seconds, ``project`` is what its clone is
    called on a host.
    """

    project: str
    identity: Identity
    config: Config
    cells: list[PickedCell]
    versions: list[SentVersion]
    files: list[ParcelFile]
    environment: dict[str, str]
    stalled: float

    def chosen(self) -> list[Cell]:
        """The cells, in the order of the session; raises UsageError where a job is not there."""
        cells_by_name = {(cell.label, cell.collector_name): cell for cell in matrix(self.config)}
        travelled = []
        for picked in self.cells:
            if (picked.label, picked.collector) not in cells_by_name:
                raise UsageError(
                    f"this host knows no job `{picked.label}` ({picked.collector}): install the"
                    " same collectors everywhere"
                )
            travelled.append(
                structs.replace(
                    cells_by_name[picked.label, picked.collector],
                    warmup=picked.warmup,
                    retries=picked.retries,
                    left_out=frozenset(picked.left_out),
                    unit=picked.unit,
                    auto=None,
                )
            )
        return travelled


def parcel(sites: Sites, identity: Identity, stalled: float) -> Parcel:
    """The parcel of a session; raises UsageError for what cannot travel."""
    for version in sites.versions:
        if version.product and version.product.folder:
            raise UsageError(
                f"the folder of {version.name} does not travel to hosts: name a command that they"
                " have, or leave out --scheduler"
            )
        if version.dirty and not version.product:
            raise UsageError(
                f"{version.name} has changes that are not committed, which do not travel to hosts:"
                " commit them, or add --committed"
            )
    if sites.project.shallow:
        raise UsageError(
            "a shallow clone cannot send its commits to hosts: fetch the rest (`git fetch"
            " --unshallow`)"
        )
    tokens = secrets(os.environ)
    environment = {
        name: os.environ[name]
        for name in (*VARIABLES, *sites.config.hosts.variables)
        if name in os.environ
    }
    commits = [version.commit for version in sites.versions]
    return Parcel(
        project=hashlib.sha256(" ".join(roots(sites.project, commits)).encode()).hexdigest()[:16],
        identity=identity,
        config=structs.replace(sites.config, env=_open(sites.config.env, tokens)),
        cells=[
            PickedCell(
                cell.label,
                cell.collector_name,
                cell.warmup,
                cell.retries,
                tuple(sorted(cell.left_out)),
                cell.unit,
            )
            for cell in sites.cells
        ],
        versions=list(map(_sent, sites.versions)),
        files=_files(sites.project.root, sites.config.overlay),
        environment=_open(without_secrets(environment), tokens),
        stalled=stalled,
    )


def _sent(version: Version) -> SentVersion:
    """A version as it travels."""
    product = version.product
    if product is None:
        return SentVersion(version.commit)
    return SentVersion(version.commit, product.name, product.digest, product.words)


def _open(variables: Mapping[str, str], tokens: Sequence[str]) -> dict[str, str]:
    """The variables without those that hold a token."""
    return {
        name: value
        for name, value in variables.items()
        if not any(token in value for token in tokens)
    }


def _files(root: Path, overlay: Sequence[str]) -> list[ParcelFile]:
    """The files of the overlay; an entry that is a link travels as what it leads to, links in a
    folder as links.
    """
    files: dict[str, ParcelFile] = {}
    size = 0
    for entry in overlay:
        top, place = overlay_source(root, entry)
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            if path.is_symlink() or path.is_file():
                name = str(place / path.relative_to(top))
                content = os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
                size += len(content)
                if size > LARGEST_OVERLAY:
                    raise UsageError(
                        f"overlay has more than {LARGEST_OVERLAY >> 30} GiB, too much to send to"
                        " hosts: let `build` fetch large files"
                    )
                files[name] = ParcelFile(
                    name, path.lstat().st_mode & 0o777, content, path.is_symlink()
                )
    return list(files.values())


def lay_out(files: Sequence[ParcelFile], root: Path) -> None:
    """Put the overlay into a clone in which nothing else is left; raises UsageError for a path that
    leads out of it.
    """
    for name in entries(root):
        if name not in KEPT_ENTRIES:
            remove(root / name)
    for file in files:
        place = root / os.path.normpath(file.path)
        if (
            Path(file.path).is_absolute()
            or ".." in Path(file.path).parts
            or Path(file.path).parts[0] in KEPT_ENTRIES
        ):
            raise UsageError(
                f"the overlay's {file.path} is not below the project's root: take it out of"
                " perf.toml"
            )
        place.parent.mkdir(parents=True, exist_ok=True)
        if file.link:
            place.symlink_to(os.fsdecode(file.content))
        else:
            place.write_bytes(file.content)
            place.chmod(file.mode)
