from pathlib import Path

import pytest

from exporters.gpu.cgroup import NOBODY, Owner, Processes, parse

ID = "5f3c1d2e" * 8
SHOWN = ID[:12]


@pytest.mark.parametrize(
    ("text", "owner"),
    [
        (f"0::/system.slice/docker-{ID}.scope", Owner(SHOWN, "")),
        (f"0::/docker/{ID}", Owner(SHOWN, "")),
        (f"0::/../{ID}", Owner(SHOWN, "")),
        (f"12:devices:/docker/{ID}\n0::/", Owner(SHOWN, "")),
        (
            f"0::/kubepods.slice/kubepods-burstable.slice/kubepods-pod1.slice/cri-containerd-{ID}.scope",
            Owner(SHOWN, ""),
        ),
        (f"0::/kubepods/besteffort/pod7/{ID}", Owner(SHOWN, "")),
        (f"0::/machine.slice/libpod-{ID}.scope/container", Owner(SHOWN, "")),
        (f"0::/system.slice/containerd.service/kubepods-pod:cri-containerd:{ID}", Owner(SHOWN, "")),
        ("0::/system.slice/vllm.service", Owner("", "vllm.service")),
        ("0::/user.slice/user-1000.slice/user@1000.service/app.slice/llama.service", Owner("", "llama.service")),
        ("0::/user.slice/user-1000.slice/session-3.scope", Owner("", "session-3.scope")),
        ("0::/", NOBODY),
        ("", NOBODY),
        ("nonsense", NOBODY),
        (f"0::/x/{ID[:40]}", NOBODY),
    ],
)
def test_a_cgroup_names_the_container_or_the_unit(text: str, owner: Owner) -> None:
    assert parse(text) == owner


def test_a_process_that_cannot_be_read_has_no_owner(tmp_path: Path) -> None:
    assert Processes(tmp_path).owner(1) == NOBODY


@pytest.mark.parametrize(("second", "host"), [("kthreadd\n", True), ("bash\n", False), (None, False)])
def test_the_hosts_processes_are_known_by_the_kernel_thread(second: str | None, host: bool, tmp_path: Path) -> None:
    if second:
        (tmp_path / "2").mkdir()
        (tmp_path / "2" / "comm").write_text(second)
    assert Processes(tmp_path).sees_host() == host
