"""Flags in this process; signals and exit codes in processes of their own."""

import signal
import subprocess
import sys

import pytest

from inferwatch import __version__, service

DEADLINE = 30


def test_flags_have_the_defaults_of_a_service():
    options = service.flags("gpu-exporter", "GPUs", 9810).parse_args([])
    assert (options.listen, options.log_level, options.log_format) == ("127.0.0.1:9810", "info", "logfmt")


def test_flags_are_in_the_style_of_prometheus():
    given = ["--web.listen-address=:9810", "--log.level=debug", "--log.format=json"]
    options = service.flags("gpu-exporter", "GPUs", 9810).parse_args(given)
    assert (options.listen, options.log_level, options.log_format) == (":9810", "debug", "json")


def test_version(capsys):
    with pytest.raises(SystemExit) as caught:
        service.flags("gpu-exporter", "GPUs", 9810).parse_args(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"gpu-exporter {__version__}\n"


@pytest.mark.parametrize("flag", ["--log.level=loud", "--web.listen=:1", "--unknown"])
def test_a_wrong_flag_is_a_usage_error(flag, capsys):
    with pytest.raises(SystemExit) as caught:
        service.flags("gpu-exporter", "GPUs", 9810).parse_args([flag])
    assert caught.value.code == 2
    assert "usage: gpu-exporter" in capsys.readouterr().err


def started(body: str) -> subprocess.Popen:
    """Start a process that runs `body` as a service and has said that it is ready."""
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"import signal, threading\nfrom inferwatch import logs, service\nlogs.configure()\n{body}",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n", process.stderr.read()
    return process


WAITING = """
signals = service.Signals(lambda: print("reload", flush=True))
print("ready", flush=True)
signals.wait()
print("stopped", flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_signal_ends_the_wait(number):
    process = started(WAITING)
    process.send_signal(number)
    out, err = process.communicate(timeout=DEADLINE)
    assert (out, process.returncode) == ("stopped\n", 0)
    assert f"since {number.name} was received" in err


def test_hangups_reload_and_the_service_goes_on():
    process = started(WAITING)
    for _ in range(3):
        process.send_signal(signal.SIGHUP)
        assert process.stdout.readline() == "reload\n"
    process.terminate()
    out, _ = process.communicate(timeout=DEADLINE)
    assert (out, process.returncode) == ("stopped\n", 0)


def test_a_reload_that_fails_is_logged_and_the_service_goes_on():
    process = started(WAITING.replace('print("reload", flush=True)', "1 / 0"))
    process.send_signal(signal.SIGHUP)
    assert "what SIGHUP asked for failed; this process goes on" in process.stderr.readline()
    process.terminate()
    out, _ = process.communicate(timeout=DEADLINE)
    assert (out, process.returncode) == ("stopped\n", 0)


def test_a_second_stop_signal_ends_a_service_that_hangs():
    process = started(WAITING.replace('print("stopped", flush=True)', 'print("hangs", flush=True); signal.pause()'))
    process.terminate()
    assert process.stdout.readline() == "hangs\n"
    process.terminate()
    process.communicate(timeout=DEADLINE)
    assert process.returncode == -signal.SIGTERM


def test_a_signal_that_another_thread_gets_is_not_missed():
    # The kernel may hand a signal to any thread; a main thread that waits for a lock would then not notice it.
    body = """
signals = service.Signals()
stat = f"/proc/self/task/{threading.get_native_id()}/stat"

def sleeps():
    return open(stat).read().rpartition(")")[2].split()[0] == "S"

def signalled():
    # Asleep a hundred times in a row while nothing else runs: the main thread waits, and not for the interpreter.
    while not all(sleeps() for _ in range(100)):
        pass
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)

print("ready", flush=True)
threading.Thread(target=signalled).start()
signals.wait()
"""
    process = started(body)
    process.communicate(timeout=DEADLINE)
    assert process.returncode == 0


def test_run_exits_with_the_code_of_main():
    with pytest.raises(SystemExit) as caught:
        service.run(lambda: 3)
    assert caught.value.code == 3


def test_run_prints_our_errors_without_a_traceback(capsys):
    def main() -> int:
        raise service.InferwatchError("the port is taken; choose another")

    with pytest.raises(SystemExit) as caught:
        service.run(main)
    assert caught.value.code == 1
    assert capsys.readouterr().err == "the port is taken; choose another\n"
