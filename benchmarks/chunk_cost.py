"""What each chunk of an answer costs the worker and the web process, without what the turn itself costs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from benchmarks.conversations import script
from benchmarks.side_by_side import Report, Series, Size, at_most, cpu_seconds
from tests.harness import PEOPLE, Client, Stack

TITLE = "CPU per chunk: that of long answers minus that of short ones, ten conversations at once"
CONVERSATIONS = 10
CHUNK_SECONDS = 0.005
FEW = 10
PROCESSES = {"worker0": 120.0, "web0": 90.0}  # and the most microseconds that a chunk may take of each


def run(stack: Stack, size: Size, report: Report) -> None:
    stack.start_model()
    stack.start_web(0)
    stack.start_worker(0)
    stack.wait_ready(1)
    client = stack.client(PEOPLE[0])
    many = size.pick(50, 600, 2_000)
    answer_all(client, FEW)  # imports, connections
    found: dict[str, list[float]] = {name: [] for name in PROCESSES}
    for _ in range(size.repetitions):
        short, long = spent(stack, client, FEW), spent(stack, client, many)
        for name in PROCESSES:
            found[name].append((long[name] - short[name]) / ((many - FEW) * CONVERSATIONS) * 1e6)
    for name, most in PROCESSES.items():
        report.add(f"a chunk, {name.rstrip('0')} process", "us", Series.of(found[name]), goal=at_most(most))
    report.remark(
        f"answers of {many:,} and of {FEW} chunks, {CHUNK_SECONDS * 1000:.0f} ms apart, each read by one client by SSE"
    )


def spent(stack: Stack, client: Client, chunks: int) -> dict[str, float]:
    """Return the seconds of CPU that each process takes for ten answers of this length."""
    before = {name: cpu_seconds(stack.processes[name].pid) for name in PROCESSES}
    answer_all(client, chunks)
    return {name: cpu_seconds(stack.processes[name].pid) - before[name] for name in PROCESSES}


def answer_all(client: Client, chunks: int) -> None:
    with ThreadPoolExecutor(CONVERSATIONS) as threads:
        for shown in threads.map(lambda _: answer(client, chunks), range(CONVERSATIONS)):
            assert shown >= chunks, f"{shown} characters came of {chunks} chunks"


def answer(client: Client, chunks: int) -> int:
    """Send a message and read its answer; return how many characters of events came."""
    session = client.new_session(title="bench")
    message = script({"chunks": chunks, "delay": CHUNK_SECONDS})
    shown, ended = 0, False
    with client.http.stream("POST", f"/api/sessions/{session}/stream", json={"message": message}) as response:
        for line in response.iter_lines():
            shown += len(line)
            ended = ended or '"type":"finish"' in line
    assert ended, "the answer has no end"
    return shown
