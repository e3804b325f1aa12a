"""What users of GPU exporters complained of, by number: the reason for the tests that are marked with it.

Each was told in public, most of them of dcgm-exporter, nvidia_gpu_exporter, nvitop or of the tools beneath them. A test
says ``@pytest.mark.complaint(5)`` when it would fail on an exporter that deserves complaint 5; a test holds that
none is without.
"""

from typing import NamedTuple


class Complaint(NamedTuple):
    """One of them: where it was told first, and what it was."""

    thread: str
    symptom: str


COMPLAINTS: dict[int, Complaint] = {
    1: Complaint("NVIDIA/dcgm-exporter#164", "one GPU that hangs freezes or empties the metrics of all"),
    2: Complaint("NVIDIA/dcgm-exporter#348", "a GPU falls off the bus, its series just end, and nothing can alert"),
    3: Complaint("XuehaiPan/nvitop#139", "the whole tool dies of one lost GPU, also at its start"),
    4: Complaint("NVIDIA/nvidia-container-toolkit#48", "a container loses its devices and never gets well"),
    5: Complaint("utkuozdemir/nvidia_gpu_exporter#65", "a driver upgraded under the process fails every call for ever"),
    6: Complaint(
        "NVIDIA/dcgm-exporter#500", "the last XID stays until a restart, and a second of the same is not seen"
    ),
    7: Complaint("NVIDIA/DCGM#235", "the most severe XIDs never show, since NVML does not tell of them"),
    8: Complaint("utkuozdemir/nvidia_gpu_exporter#316", "a new driver knows something new, and every metric is gone"),
    9: Complaint("NVIDIA/k8s-test-infra#678", "renumbered fields read as nothing, or as something else"),
    10: Complaint("NVIDIA/DCGM#266", "throttled seconds are a thousand times too many or too few"),
    11: Complaint("NVIDIA/DCGM#285", "a microsecond of throttling warns as if it were an hour"),
    12: Complaint(
        "utkuozdemir/nvidia_gpu_exporter#123", "throttle became event, and metrics were renamed with the driver"
    ),
    13: Complaint("canonical/hardware-observer-operator#307", "reasons are one bit mask, which no alert can read"),
    14: Complaint("NVIDIA/dcgm-exporter#700", "counters that never counted vanish, and their alerts die in silence"),
    15: Complaint("NVIDIA/dcgm-exporter#216", "utilisation is 0 on a GPU in MIG mode"),
    16: Complaint(
        "NVIDIA/dcgm-exporter#353", "the board's power is shown once for each MIG instance, and sums are too high"
    ),
    17: Complaint("NVIDIA/dcgm-exporter#443", "it crashes or stalls when MIG instances are made anew"),
    18: Complaint("NVIDIA/dcgm-exporter#706", "open handles keep the GPU from being reset"),
    19: Complaint("NVIDIA/dcgm-exporter#340", "each new pod makes new series of the same hardware"),
    20: Complaint("NVIDIA/dcgm-exporter#307", "pods that share a GPU are all shown what is the board's"),
    21: Complaint("NVIDIA/gpu-monitoring-tools#63", "process ids of another namespace name nobody, and memory is lost"),
    22: Complaint("XuehaiPan/nvitop#106", "the series of dead processes stay"),
    23: Complaint("XuehaiPan/nvitop#88", "a driver has another layout of processes, and pid and memory are swapped"),
    24: Complaint("wookayin/gpustat#141", "used and free are not the total, and an idle GPU shows 300 MB"),
    25: Complaint(
        "kubernetes-sigs/dra-driver-nvidia-gpu#1073", "a GPU without memory of its own crashes it or shows 0 bytes"
    ),
    26: Complaint(
        "utkuozdemir/nvidia_gpu_exporter#89", "each scrape works the driver, and several scrapers hang the GPUs"
    ),
    27: Complaint("NVIDIA/dcgm-exporter#702", "memory and descriptors leak until the host runs out"),
    28: Complaint("NVIDIA/DCGM#199", "4294967295 degrees"),
    29: Complaint("NVIDIA/DCGM#152", "multiprocessors are active for 130 % of the time, or for NaN"),
    30: Complaint(
        "utkuozdemir/nvidia_gpu_exporter#384", "a call that a vGPU refuses is made at each scrape and fills dmesg"
    ),
    31: Complaint("dask/distributed#5342", "what WSL does not support crashes it at its start"),
    32: Complaint("NVIDIA/TensorRT-LLM#17060", "it asks for NVLinks that the board has not, and fails"),
    33: Complaint("utkuozdemir/nvidia_gpu_exporter#404", "an index is another GPU after a reboot, and series swap"),
    34: Complaint("NVIDIA/dcgm-exporter#78", "the label Hostname is the pod's name or localhost"),
    35: Complaint("henrygd/beszel#1522", "being looked at keeps a laptop's GPU awake"),
    36: Complaint("mlco2/codecarbon#1316", "an energy counter that is missing counts as 0 joules"),
    37: Complaint("XuehaiPan/nvitop#176", "bytes sent are shown as bytes received, and memory traffic as memory use"),
}
