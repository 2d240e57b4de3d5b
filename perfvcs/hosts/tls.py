"""Who may use a scheduler: certificates as Dask takes them, those of one command, and addresses
that need none.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from perfvcs.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from distributed import Security

    from perfvcs.jobs.config import HostsTable

CLOCKS = "set the clocks of all machines right, or wait"
EXPIRED, NOT_YET = 10, 9  # X509_V_ERR_CERT_HAS_EXPIRED and _NOT_YET_VALID of OpenSSL
# validity of a pair, around the moment when it is made
BEFORE, AFTER = timedelta(days=7), timedelta(days=365)


class Unusable(UsageError):
    """A scheduler, or a worker, with which nothing is measured."""


class Tls(msgspec.Struct, frozen=True):
    """Paths of certificates and of a key, as options name them; ``insecure``: addresses without any
    will do.
    """

    ca: str = ""
    cert: str = ""
    key: str = ""
    insecure: bool = False

    def __bool__(self) -> bool:
        return self != Tls()

    def filled(self, table: HostsTable) -> Tls:
        """The certificates, with the paths of perf.toml where no option names one."""
        ca, cert, key = (
            self.ca or table.tls_ca,
            self.cert or table.tls_cert,
            self.key or table.tls_key,
        )
        return replace(self, ca=ca, cert=cert, key=key)

    def security(self) -> Security:
        """Dask's own options of a client; raises Unusable for files that are not there, or not
        valid now.
        """
        from distributed import Security

        if not (self.ca or self.cert or self.key):
            raise Unusable(
                "tls:// needs certificates: name them with --tls-ca, --tls-cert and --tls-key, or"
                " in [hosts] of perf.toml"
            )
        for name, path in (("ca", self.ca), ("cert", self.cert), ("key", self.key)):
            if not path:
                raise Unusable(
                    f"--tls-{name} is missing: --tls-ca, --tls-cert and --tls-key belong together"
                )
            try:
                content = Path(path).read_bytes()
            except OSError:
                raise Unusable(f"--tls-{name}: {path} cannot be read: correct the path") from None
            if name == "cert":
                _require_valid(path, content)
        return Security(
            tls_ca_file=self.ca,
            tls_client_cert=self.cert,
            tls_client_key=self.key,
            require_encryption=True,
        )

    def require_protected(self, what: str, address: str) -> None:
        """Raises Unusable for an address that others can use without a certificate, from
        elsewhere.
        """
        if not self.insecure and address.startswith("tcp://") and not is_loopback(address):
            raise Unusable(
                f"{what} has no encryption, so whoever reaches it can run programs as you, on the"
                " workers and here: start it with certificates and write tls://, or accept that"
                " with --insecure"
            )


class Scheduler(msgspec.Struct, frozen=True):
    """The Dask scheduler whose hosts measure, and the certificates for it; without an ``address``
    this machine measures.
    """

    address: str = ""
    tls: Tls = msgspec.field(default_factory=Tls)

    def __bool__(self) -> bool:
        return self != Scheduler()


class Pair(msgspec.Struct, frozen=True):
    """A certificate that is its own authority, and its key, in memory: who has them is trusted in
    every role.
    """

    cert: str
    key: str

    @classmethod
    def new(cls) -> Pair:
        """A pair for one command.

        ``Security.temporary`` of Dask makes some that a clock that is behind refuses.
        """
        from cryptography import x509
        from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.serialization import (
            Encoding,
            NoEncryption,
            PrivateFormat,
        )

        key = generate_private_key(SECP256R1())
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "perfvcs")])
        now = datetime.now(UTC)
        cert = (
            x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
            .not_valid_before(now - BEFORE)
            .not_valid_after(now + AFTER)
            .sign(key, SHA256())
        )
        secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        return cls(cert.public_bytes(Encoding.PEM).decode(), secret.decode())

    def security(self) -> Security:
        """Dask's own options of a client, a scheduler and a worker."""
        from distributed import Security

        certs = {f"tls_{role}_cert": self.cert for role in ("client", "scheduler", "worker")}
        keys = {f"tls_{role}_key": self.key for role in ("client", "scheduler", "worker")}
        return Security(require_encryption=True, tls_ca_file=self.cert, **certs, **keys)


def is_loopback(address: str) -> bool:
    """Whether only this machine reaches an address, such as ``tcp://127.0.0.1:8786``."""
    from ipaddress import ip_address

    host = address.partition("://")[2].rpartition(":")[0].strip("[]")
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def refused(scheduler: str, causes: Iterable[BaseException]) -> str:
    """Why TLS did not come about with a scheduler, and the cure; empty where it was not TLS that
    failed.
    """
    import ssl

    failed = [
        cause for cause in causes if isinstance(cause, ssl.SSLError) or "ssl" in str(cause).lower()
    ]
    codes = {
        cause.verify_code for cause in failed if isinstance(cause, ssl.SSLCertVerificationError)
    }
    theirs = f"the certificate of the scheduler at {scheduler}, or its authority's,"
    if EXPIRED in codes:
        return f"{theirs} has expired: make new ones, and start it again"
    if NOT_YET in codes:
        return (
            f"{theirs} is not valid yet, and the clock here says {_moment(datetime.now(UTC))}:"
            f" {CLOCKS}"
        )
    if not failed:
        return ""
    return (
        f"the scheduler at {scheduler} does not accept these certificates, or they do not fit"
        " together: check --tls-ca, --tls-cert and --tls-key, and the clocks of both machines"
    )


def _require_valid(path: str, content: bytes) -> None:
    """Raises Unusable for a certificate that is none, or not valid at this moment."""
    from cryptography import x509

    try:
        cert = x509.load_pem_x509_certificate(content)
    except ValueError:
        raise Unusable(f"--tls-cert: {path} has no certificate in it: correct the path") from None
    begin, end, now = cert.not_valid_before_utc, cert.not_valid_after_utc, datetime.now(UTC)
    if now > end:
        raise Unusable(
            f"--tls-cert: {path} expired on {_moment(end)}: make new certificates for all hosts"
        )
    if now < begin:
        raise Unusable(
            f"--tls-cert: {path} is not valid before {_moment(begin)}, and the clock here says"
            f" {_moment(now)}: {CLOCKS}"
        )


def _moment(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"
