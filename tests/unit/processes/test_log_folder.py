from __future__ import annotations

from pathlib import Path

import pytest

from ludus.errors import FleetError
from ludus.processes import log_folder


def test_a_folder_of_logs_is_gone_afterwards() -> None:
    with log_folder.temporary_log_folder("ludus-test-") as folder:
        (folder / "host-0.log").write_text("fine")
    assert not folder.exists()


@pytest.mark.parametrize("error", [FleetError("no host is left"), KeyboardInterrupt()])
def test_it_is_gone_after_an_error_that_does_not_name_it(error: BaseException) -> None:
    with pytest.raises(type(error)), log_folder.temporary_log_folder("ludus-test-") as folder:
        raise error
    assert not folder.exists()


def test_logs_that_an_error_names_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = tmp_path

    def fail() -> None:
        nonlocal folder
        with log_folder.temporary_log_folder("ludus-test-") as folder:
            (folder / "host-0.log").write_text("out of mana")
            raise FleetError(f"no host is left (log: {folder / 'host-0.log'})")

    with pytest.raises(FleetError):
        fail()
    assert (folder / "host-0.log").read_text() == "out of mana"
