"""Content that is slow to parse, large once unpacked, or that refers to what it should not."""

from __future__ import annotations

import io
import time
import zipfile
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import openpyxl

from attack.case import Section, attack, expect
from attack.site import HEALTH_SECONDS, VICTIM, Site

PARSING = Section.PARSING
COMMENTS = b"<!---->" * 1_000 + b"x"
ANSWER_SECONDS = 30.0
TURN_SECONDS = 20.0
SLOW_TEXTS = {
    "digits": "9" * 12_000 + "x",
    "blanks in a fence": "```" + " " * 40_000 + "`",
    "nested tags": "<a>" * 150_000,
    "brackets": "[" * 100_000,
    "open sets": "[" * 10_000,
    "quantifiers": "(a{100}){100}" * 20,
}
FEED = (
    "<rss version='2.0'><channel><item><title>canary-of-a-file</title>"
    "<pubDate>Sun, 15 Jun 2025 12:00:00 GMT</pubDate></item></channel></rss>"
)
TEXT_PINS: dict[str, dict[str, Any]] = {
    "Condition": {"value1": None, "operator": "==", "value2": "1"},
    "Code Extraction": {"text": None},
    "XML Parser": {"input_xml": None},
    "Match Text Pattern": {"text": "aaaa", "match": None, "data": "a"},
    "Extract Text Information": {"text": "aaaa", "pattern": None},
    "JSON Decoder": {"json_str": None},
    "Read Spreadsheet": {"contents": None},
    "Fill Text Template": {"values": {}, "format": None},
    "Text Replace": {"text": None, "old": "9", "new": "99"},
}


def wide_workbook() -> bytes:
    """Return a few kilobytes of XLSX whose rows all use the last possible column."""
    rows = "".join(f'<row r="{n}"><c r="XFD{n}" t="n"><v>1</v></c></row>' for n in range(1, 2_000))
    book = openpyxl.Workbook()
    book.worksheets[0]["A1"] = 1
    whole, out = io.BytesIO(), io.BytesIO()
    book.save(whole)
    with zipfile.ZipFile(whole) as source, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry in source.namelist():
            content = source.read(entry).decode()
            if entry == "xl/worksheets/sheet1.xml":
                head, tail = content.partition("<sheetData>")[0], content.partition("</sheetData>")[2]
                content = f"{head}<sheetData>{rows}</sheetData>{tail}"
            archive.writestr(entry, content)
    return out.getvalue()


@attack(
    106,
    PARSING,
    "A feed, a table, a picture and a page whose bytes name a file of the server",
    "read as content, never opened",
    tests=["boundary/test_path_or_data.py::test_content_that_names_something_is_not_followed"],
)
def named_files(site: Site) -> None:
    site.needs_own()
    secret = site.needs_own().home / "effects.txt"
    secret.write_text(FEED)
    for number, name in enumerate((str(secret), f"file://{secret}", "/etc/passwd")):
        url = site.outside.serve(f"/feed{number}", name, "application/rss+xml")
        for block, inputs in (
            (
                "Read RSS Feed",
                {"rss_url": url, "polling_rate": 1, "run_continuously": False, "time_period": 10**7},
            ),
            ("Read Spreadsheet", {"contents": name}),
            ("XML Parser", {"input_xml": name}),
            ("File Read", {"file_input": url}),
            ("File Read", {"file_input": name}),
        ):
            found = site.run_block(block, inputs).text
            expect("canary-of-a-file" not in found and "root:" not in found, f"{block} read {name}")


@attack(
    107,
    PARSING,
    "`<!---->` a thousand times: uploaded, written by a tool, fetched as a picture",
    "answered at once",
)
def comments(site: Site) -> None:
    url = site.outside.serve("/comments.png", COMMENTS, "image/png")
    with ThreadPoolExecutor(3) as crowd:
        tries: list[Future[Any]] = [
            crowd.submit(
                lambda: (
                    site.attacker.post(
                        "/api/files", files={"file": ("a.txt", COMMENTS)}, timeout=ANSWER_SECONDS
                    ).status_code
                )
            ),
            crowd.submit(
                lambda: site.call_tools(
                    ("write_workspace_file", {"filename": "comments.txt", "content": COMMENTS.decode()}),
                    ("web_fetch", {"url": url}),
                )
            ),
        ]
        slowest = site.slowest_health(tries[1])
        expect(tries[0].result() == 201, f"the upload was answered {tries[0].result()}")
    expect(slowest < HEALTH_SECONDS, f"/healthz took {slowest:.1f} s")


@attack(
    108,
    PARSING,
    "Digits, blanks, brackets, wide and padded tables, nested XML to every block that reads text",
    "answered; others do not wait",
)
def slow_texts(site: Site) -> None:
    def run_all() -> list[str]:
        wrong = []
        for block, pins in TEXT_PINS.items():
            for what, text in SLOW_TEXTS.items():
                started = time.monotonic()
                found = site.run_block(
                    block, {pin: text if value is None else value for pin, value in pins.items()}
                )
                if found.status_code >= 500 or time.monotonic() - started > ANSWER_SECONDS:
                    wrong.append(
                        f"{block} with {what}: {found.status_code} after {time.monotonic() - started:.1f} s"
                    )
        for name, content in {
            "wide.xlsx": wide_workbook(),
            "padded.csv": (",".join("h" * 3_000) + "\n" + "1\n" * 30_000).encode(),
            "nested.xml": b"<a>" * 300_000 + b"</a>" * 300_000,
        }.items():
            file = site.attacker.post("/api/files", files={"file": (name, content)}).json()
            started = time.monotonic()
            block = "XML Parser" if name.endswith("xml") else "Read Spreadsheet"
            inputs = (
                {"input_xml": content.decode()} if name.endswith("xml") else {"file_input": file["reference"]}
            )
            found = site.run_block(block, inputs)
            if found.status_code >= 500 or time.monotonic() - started > ANSWER_SECONDS:
                wrong.append(
                    f"{block} with {name}: {found.status_code} after {time.monotonic() - started:.1f} s"
                )
        return wrong

    with ThreadPoolExecutor(1) as crowd:
        running = crowd.submit(run_all)
        slowest = site.slowest_health(running)
        expect(not running.result(), f"{running.result()}")
    expect(slowest < HEALTH_SECONDS, f"/healthz took {slowest:.1f} s")


@attack(
    "108b",
    PARSING,
    "The memory of the web process after wide tables",
    "it has not grown by hundreds of megabytes",
)
def memory_of_web(site: Site) -> None:
    stack = site.needs_own()
    pid = stack.processes["web0"].pid
    before = memory_of(pid)
    for _ in range(3):
        file = site.attacker.post("/api/files", files={"file": ("wide.xlsx", wide_workbook())}).json()
        site.run_block("Read Spreadsheet", {"file_input": file["reference"]})
    grown = memory_of(pid) - before
    expect(grown < 300, f"it grew by {grown} MB")


def memory_of(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmHWM:"))


@attack(
    109,
    PARSING,
    "4.8 MB of nested `<dl>` to web_fetch, twice at once",
    "another person's turn is answered meanwhile",
    slow=True,
)
def nested_page(site: Site) -> None:
    url = site.outside.serve("/nested", b"<dl><dt>" * 600_000)
    with ThreadPoolExecutor(1) as crowd:
        reading = crowd.submit(
            lambda: site.call_tools(("web_fetch", {"url": url}), ("web_fetch", {"url": url + "?2"}))
        )
        time.sleep(0.5)
        started = time.monotonic()
        client = site.client(VICTIM)
        turn = client.send(client.new_session(), {"steps": [{"text": "hello"}]})
        client.wait(turn["id"], seconds=60)
        took = time.monotonic() - started
        reading.result()
    expect(took < TURN_SECONDS, f"the turn took {took:.1f} s")


@attack(
    124,
    PARSING,
    "A schema with uniqueItems over thousands of items; patterns of open sets",
    "answered at once",
    tests=["blocks/test_hostile_inputs.py::test_a_text_made_to_be_slow_costs_this_process_little"],
)
def quadratic(site: Site) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "array", "uniqueItems": True}}}
    items = [{"number": number, "parts": [number]} for number in range(8_000)]
    call = {"tool_input_schema": schema, "tool_arguments": {"a": items}, "selected_tool": "x"}

    def run_all() -> float:
        started = time.monotonic()
        site.run_block("MCP Tool", {"server_url": site.outside.url("/mcp"), **call})
        for text in ("[" * 10_000, "{" * 10_000, "(" * 10_000, "[[:" * 4_000):
            site.run_block("Match Text Pattern", {"text": "a", "match": text, "data": "a"})
        return time.monotonic() - started

    with ThreadPoolExecutor(1) as crowd:
        running = crowd.submit(run_all)
        slowest = site.slowest_health(running)
        expect(running.result() < ANSWER_SECONDS, f"it took {running.result():.1f} s")
    expect(slowest < HEALTH_SECONDS, f"/healthz took {slowest:.1f} s")
