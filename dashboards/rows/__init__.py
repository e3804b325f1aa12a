"""The rows of the dashboards; each module holds one."""
