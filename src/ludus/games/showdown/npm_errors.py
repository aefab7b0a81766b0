"""The cause of a failed npm command, and what to do about it. Pure: reads npm's output only."""

from __future__ import annotations

import errno
import re

_NETWORK = (
    "the npm registry cannot be reached: check the network, the proxy (HTTPS_PROXY, or `npm config get proxy`) and "
    "`npm config get registry`. Without a network, point npm at a mirror or a filled cache (`npm config set cache`)"
)
_CERTIFICATE = (
    "the registry's certificate is not trusted, usually because a proxy signs with its own: set NODE_EXTRA_CA_CERTS to "
    "that certificate (a PEM file), or NODE_USE_SYSTEM_CA=1 if the system already trusts it"
)
_REFUSED = "the npm registry refused a package: check `npm config get registry`, and your login if it is a private one"
_FOLDER = "a folder cannot be written: set LUDUS_HOME to a folder of your own, and check `npm config get cache`"
_DISK = "the disk is full: free 400 MiB, or set LUDUS_HOME (and `npm config set cache`) to a folder on another disk"

REMEDIES = {
    **dict.fromkeys(
        (
            "ENOTFOUND",
            "EAI_AGAIN",
            "ECONNREFUSED",
            "ECONNRESET",
            "ETIMEDOUT",
            "ENETUNREACH",
            "EHOSTUNREACH",
            "ERR_SOCKET_TIMEOUT",
            "FETCH_ERROR",
        ),
        _NETWORK,
    ),
    **dict.fromkeys(
        (
            "SELF_SIGNED_CERT_IN_CHAIN",
            "DEPTH_ZERO_SELF_SIGNED_CERT",
            "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
            "UNABLE_TO_GET_ISSUER_CERT",
            "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
            "CERT_HAS_EXPIRED",
            "ERR_TLS_CERT_ALTNAME_INVALID",
        ),
        _CERTIFICATE,
    ),
    **dict.fromkeys(("E401", "E403", "E404"), _REFUSED),
    **dict.fromkeys(("EACCES", "EPERM", "EROFS"), _FOLDER),
    **dict.fromkeys(("ENOSPC", "EDQUOT"), _DISK),
    "ENOTCACHED": "npm is set to work offline and its cache lacks a package: unset `offline`, or fill the cache first",
    "EINTEGRITY": "a downloaded package differs from the lock file: run `npm cache clean --force` and try again. If it "
    "fails again, the registry or a proxy alters packages",
}

_CODE = re.compile(r"^npm (?:error|ERR!) code (\S+)", re.MULTILINE)
_LINE = re.compile(r"^npm (?:error|ERR!)[ \t]?(.*)$", re.MULTILINE)
_DETAIL = re.compile(r"(?:code|errno|syscall|path|dest|file|cwd) \S|A complete log|\s|[}\]]|$")
_CLASS_OR_STATUS = re.compile(r"^(?:\w*Error: |network |nospc |\d{3} (?=\d{3} |[A-Z]))+")


def explain(output: str) -> str:
    """Return the error code, npm's own reason and a remedy, as one line.

    Without a code that is known here, the line holds npm's reason alone.
    """
    match = _CODE.search(output)
    code = match[1] if match else next((name for name in REMEDIES if re.search(rf"\b{name}\b", output)), "")
    reason = _reason(output)
    remedy = REMEDIES.get(code, "")
    cause = f"{code}: {reason}" if code and reason else code or reason or "npm printed nothing"
    return f"{cause}. What to do: {remedy}" if remedy else cause


def explain_os_error(error: OSError) -> str:
    """Return a remedy for an error of the file system, or an empty text."""
    return REMEDIES.get(errno.errorcode.get(error.errno or 0, ""), "")


def _reason(output: str) -> str:
    """Return the first line of npm's output that is neither a field of the error nor part of a stack trace."""
    lines = _LINE.findall(output) or output.splitlines()
    reasons = [line for line in lines if not _DETAIL.match(line)]
    return _CLASS_OR_STATUS.sub("", reasons[0]).strip().rstrip(".") if reasons else ""
