"""How fast the clocks run, and what holds them down."""

from exporters.gpu.metrics.declare import counter, gauge

CLOCK = gauge("gpu_clock_hertz", "Clock frequency now.", "domain", source="GetClockInfo")
CLOCK_MAX = gauge(
    "gpu_clock_max_hertz", "Highest clock frequency that this GPU can run at.", "domain", source="GetMaxClockInfo"
)
CLOCK_CUSTOMER_BOOST_MAX = gauge(
    "gpu_clock_customer_boost_max_hertz",
    "Highest graphics clock that the customer's boost setting allows.",
    source="GetMaxCustomerBoostClock(graphics)",
    absent="GPUs before Pascal, and where there is no such setting",
)
_REASONS = "sw_power_cap, hw_slowdown, sw_thermal_slowdown, hw_thermal_slowdown, hw_power_brake_slowdown and others"
CLOCKS_EVENT_ACTIVE = gauge(
    "gpu_clocks_event_active",
    f"Whether this reason holds the clocks down now (1) or not (0): {_REASONS}.",
    "reason",
    source="GetCurrentClocksEventReasons",
)
CLOCKS_EVENT_SUPPORTED = gauge(
    "gpu_clocks_event_supported",
    "Whether this GPU can report this reason (1) or not (0).",
    "reason",
    source="GetSupportedClocksEventReasons",
)
CLOCKS_EVENT_SECONDS = counter(
    "gpu_clocks_event_seconds_total",
    "Time in which this reason held the clocks down, counted by the driver; absent where it has no such counter.",
    "reason",
    source="fields 74, 76; 251 to 253 or 269 to 271",
    absent="slowdown reasons: drivers before 575, and 580.66 to 580.81",
)
CLOCKS_EVENT_SAMPLED_SECONDS = counter(
    "gpu_clocks_event_sampled_seconds_total",
    "Time in which this reason held the clocks down, integrated by the exporter from samples of its own.",
    "reason",
    source="GetCurrentClocksEventReasons, sampled",
)
CLOCKS_EVENT_EPISODES = counter(
    "gpu_clocks_event_episodes_total",
    "How often this reason began to hold the clocks down, as sampled.",
    "reason",
    source="GetCurrentClocksEventReasons, sampled",
)
POLICY_VIOLATION_SECONDS = counter(
    "gpu_policy_violation_seconds_total",
    "Time in which a policy kept the clocks below what was asked for, by the driver's count.",
    "policy",
    source="fields 77 to 81",
    absent="policies that the driver does not count",
)
# The reasons that do harm; a power cap alone does not (design: "Throttled").
HARMFUL_REASONS = ("hw_slowdown", "hw_thermal_slowdown", "sw_thermal_slowdown", "hw_power_brake_slowdown")
