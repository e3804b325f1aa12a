"""How busy a GPU is."""

from exporters.gpu.metrics.declare import BEFORE_HOPPER, IN_MIG_MODE, gauge

UTILIZATION = gauge(
    "gpu_utilization_ratio",
    "Share of the driver's last sample period in which a kernel ran, 0 to 1.",
    source="GetUtilizationRates",
    absent="GPUs in MIG mode, WSL2",
)
MEMORY_COPY_UTILIZATION = gauge(
    "gpu_memory_copy_utilization_ratio",
    "Share of the driver's last sample period in which memory was read or written, 0 to 1; not how full it is.",
    source="GetUtilizationRates",
    absent="GPUs in MIG mode, WSL2",
)
_NO_SAMPLES = f"{IN_MIG_MODE}, vGPU, WSL2"
UTILIZATION_MAX = gauge(
    "gpu_utilization_max_ratio",
    "Highest utilisation that the driver sampled in the trailing window (--gpu.window), 0 to 1; shows bursts between "
    "two scrapes.",
    source="GetSamples(gpu)",
    absent=_NO_SAMPLES,
)
UTILIZATION_AVG = gauge(
    "gpu_utilization_avg_ratio",
    "Mean utilisation that the driver sampled in the trailing window (--gpu.window), 0 to 1.",
    source="GetSamples(gpu)",
    absent=_NO_SAMPLES,
)
ENCODER = gauge(
    "gpu_encoder_utilization_ratio",
    "Share of time the video encoder was busy.",
    source="GetEncoderUtilization",
    absent=IN_MIG_MODE,
)
DECODER = gauge(
    "gpu_decoder_utilization_ratio",
    "Share of time the video decoder was busy.",
    source="GetDecoderUtilization",
    absent=IN_MIG_MODE,
)
JPEG = gauge(
    "gpu_jpeg_utilization_ratio",
    "Share of time the JPEG engine was busy.",
    source="GetJpgUtilization",
    absent=IN_MIG_MODE,
)
OFA = gauge(
    "gpu_ofa_utilization_ratio",
    "Share of time the optical flow engine was busy.",
    source="GetOfaUtilization",
    absent=IN_MIG_MODE,
)
SM_ACTIVE = gauge(
    "gpu_sm_active_ratio",
    "Share of the multiprocessors that were busy between two collections, 0 to 1: how well the GPU was used.",
    source="GPM 2",
    absent=BEFORE_HOPPER,
)
SM_OCCUPANCY = gauge(
    "gpu_sm_occupancy_ratio",
    "Warps that were resident between two collections, as a share of the most possible, 0 to 1.",
    source="GPM 3",
    absent=BEFORE_HOPPER,
)
TENSOR_ACTIVE = gauge(
    "gpu_tensor_active_ratio",
    "Share of time the tensor cores were busy between two collections, 0 to 1.",
    source="GPM 5",
    absent=BEFORE_HOPPER,
)
DRAM_ACTIVE = gauge(
    "gpu_dram_active_ratio",
    "Memory bandwidth used between two collections, as a share of the most possible, 0 to 1; decoding is bound by it.",
    source="GPM 10",
    absent=BEFORE_HOPPER,
)
GRAPHICS_ACTIVE = gauge(
    "gpu_graphics_active_ratio",
    "Share of time that anything ran between two collections, 0 to 1.",
    source="GPM 1",
    absent=BEFORE_HOPPER,
)
PIPE_ACTIVE = gauge(
    "gpu_pipe_active_ratio",
    "Share of time that one kind of arithmetic ran between two collections, 0 to 1: int, fp64, fp32, fp16 in ordinary "
    "cores; hmma, imma, dfma in tensor cores with halves, integers, doubles.",
    "pipe",
    source="GPM 4, 6, 7, 9, 11 to 13",
    absent=BEFORE_HOPPER,
)
