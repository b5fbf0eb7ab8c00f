"""The builder as a person uses it: drawn by mouse and by keyboard, tested, killed while typing, shared by two tabs."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, ViewportSize, expect

from tests.harness import Stack, eventually
from tests.system.browser.pages import english_words, problems, too_wide
from tests.system.browser.samples import (
    GREETER,
    INPUT_BLOCK,
    OUTPUT_BLOCK,
    TEMPLATE_BLOCK,
    answer_of,
    greeter,
)
from tests.system.browser.steps import script, walk_to

pytestmark = pytest.mark.browser
JSON = Any
TABLET: ViewportSize = {"width": 820, "height": 1180}
PHONE: ViewportSize = {"width": 390, "height": 844}


# --- steps ----------------------------------------------------------------------------------------


def begin(page: Page, stack: Stack, name: str) -> str:
    """Make an empty agent in the library; return its id."""
    page.goto(f"{stack.url()}/library")
    page.get_by_role("button", name="New agent").click()
    title = page.get_by_label("Name of the agent")
    title.fill(name)
    title.press("Enter")
    found = re.search(r"/library/agents/([\w-]+)/edit", page.url)
    assert found
    return found[1]


def open_builder(page: Page, stack: Stack, agent: str) -> None:
    page.goto(f"{stack.url()}/library/agents/{agent}/edit")
    expect(canvas(page)).to_be_visible()


def canvas(page: Page) -> Locator:
    return page.get_by_role("region", name=re.compile("^Canvas"))


def node(page: Page, title: str) -> Locator:
    return page.locator(".react-flow__node").filter(has_text=title)


def saved(page: Page) -> None:
    expect(page.locator("[data-status=saved]")).to_be_attached()


def draft_of(stack: Stack, agent: str) -> dict[str, JSON]:
    return answer_of(stack.client().http.get(f"/api/agents/{agent}/draft"))


def drop(page: Page, block: str, x: float, y: float) -> None:
    """Drag a block from the palette to a place on the canvas."""
    page.get_by_role("combobox", name="Search blocks and agents").fill(block)
    option = page.get_by_role("option", name=block, exact=True)
    option.drag_to(page.locator(".react-flow__pane"), target_position={"x": x, "y": y})


def join(page: Page, source: tuple[str, str], sink: tuple[str, str]) -> None:
    """Draw a line from a pin to a pin with the mouse."""
    start = node(page, source[0]).locator(f".react-flow__handle.source[data-handleid='{source[1]}']")
    end = node(page, sink[0]).locator(f".react-flow__handle.target[data-handleid='{sink[1]}']")
    start.hover()
    page.mouse.down()
    place = end.bounding_box()
    assert place
    page.mouse.move(place["x"] + 5, place["y"] + 5, steps=6)
    expect(end).to_have_attribute("data-fit", re.compile("direct|convert"))
    page.mouse.up()


def publish(page: Page) -> None:
    saved(page)
    page.get_by_role("button", name="Publish").click()
    page.get_by_role("dialog").get_by_role("button", name="Publish").click()
    expect(page.get_by_text(re.compile("Published as version"))).to_be_visible()


def shape_of(graph: dict[str, JSON]) -> JSON:
    """A graph without its ids and places: blocks with their values, and what is linked to what."""
    names = {
        one["id"]: (one["block_id"], json.dumps(one["input_default"], sort_keys=True))
        for one in graph["nodes"]
    }
    links = [
        (
            names[one["source_id"]],
            one["source_name"],
            names[one["sink_id"]],
            one["sink_name"],
            one["is_static"],
        )
        for one in graph["links"]
    ]
    return sorted(names.values()), sorted(links)


def by_api(stack: Stack, document: dict[str, JSON]) -> JSON:
    """The shape of the same agent made over HTTP, with the links marked as the server's repair marks them."""
    http = stack.client().http
    made = answer_of(http.post("/api/agents", json=document))
    return shape_of(answer_of(http.post(f"/api/agents/{made['id']}/fix", json={}))["graph"])


def field(page: Page, label: str) -> Locator:
    return page.get_by_role("tabpanel").get_by_label(re.compile(rf"^{re.escape(label)}( \(optional\))?$"))


# --- drawn by hand --------------------------------------------------------------------------------

INPUT, NUMBER, OUTPUT = "Agent Short Text Input", "Agent Number Input", "Agent Output"
Values = dict[str, str]
Drawing = tuple[list[tuple[str, str, Values]], list[tuple[str, str, str, str]]]
# Nodes as title, block and values in the order of the form; links from a pin of a title to a pin of a title.
DRAWINGS: dict[str, Drawing] = {
    "greeter": (
        [
            ("name", INPUT, {"name": "name"}),
            ("Fill Text Template", "Fill Text Template", {"format": "Hello {{name}}!"}),
            ("greeting", OUTPUT, {"name": "greeting"}),
        ],
        [
            ("name", "result", "Fill Text Template", "values"),
            ("Fill Text Template", "output", "greeting", "value"),
        ],
    ),
    "adder": (
        [
            ("Number", NUMBER, {"name": "Number"}),
            ("Calculator", "Calculator", {"b": "34"}),
            ("Sum", OUTPUT, {"name": "Sum"}),
        ],
        [("Number", "result", "Calculator", "a"), ("Calculator", "result", "Sum", "value")],
    ),
    "letter": (
        [
            ("who", INPUT, {"name": "who"}),
            ("what", INPUT, {"name": "what"}),
            ("Fill Text Template", "Fill Text Template", {"format": "Dear {{who}}, {{what}}"}),
            ("letter", OUTPUT, {"name": "letter"}),
        ],
        [
            ("who", "result", "Fill Text Template", "values"),
            ("what", "result", "Fill Text Template", "values"),
            ("Fill Text Template", "output", "letter", "value"),
        ],
    ),
}
DOCUMENTS: dict[str, dict[str, JSON]] = {
    "greeter": GREETER,
    "adder": {
        "name": "Adder",
        "nodes": [
            {
                "id": "in",
                "block_id": "96dae2bb-97a2-41c2-bd2f-13a3b5a8ea98",
                "input_default": {"name": "Number"},
            },
            {
                "id": "add",
                "block_id": "b1ab9b19-67a6-406d-abf5-2dba76d00c79",
                "input_default": {"operation": "Add", "b": 34},
            },
            {"id": "out", "block_id": OUTPUT_BLOCK, "input_default": {"name": "Sum"}},
        ],
        "links": [
            {"source_id": "in", "source_name": "result", "sink_id": "add", "sink_name": "a"},
            {"source_id": "add", "source_name": "result", "sink_id": "out", "sink_name": "value"},
        ],
    },
    "letter": {
        "name": "Letter",
        "nodes": [
            {"id": "who", "block_id": INPUT_BLOCK, "input_default": {"name": "who"}},
            {"id": "what", "block_id": INPUT_BLOCK, "input_default": {"name": "what"}},
            {"id": "fill", "block_id": TEMPLATE_BLOCK, "input_default": {"format": "Dear {{who}}, {{what}}"}},
            {"id": "out", "block_id": OUTPUT_BLOCK, "input_default": {"name": "letter"}},
        ],
        "links": [
            {"source_id": "who", "source_name": "result", "sink_id": "fill", "sink_name": "values_#_who"},
            {"source_id": "what", "source_name": "result", "sink_id": "fill", "sink_name": "values_#_what"},
            {"source_id": "fill", "source_name": "output", "sink_id": "out", "sink_name": "value"},
        ],
    },
}


@pytest.mark.parametrize("name", list(DRAWINGS))
def test_agent_drawn_by_mouse_equals_the_one_made_over_http(page: Page, stack: Stack, name: str) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    agent = begin(page, stack, f"{name} by mouse")
    nodes, links = DRAWINGS[name]
    for number, (_, block, values) in enumerate(nodes):
        drop(page, block, 90 + 130 * number, 160 + 160 * number)
        if block == "Calculator":
            field(page, "operation").select_option("Add")
        for pin, value in values.items():
            field(page, pin).fill(value)
    saved(page)
    page.get_by_role("button", name="Arrange the nodes").click()
    saved(page)
    page.locator(".react-flow__controls-fitview").click()
    for source, output, sink, pin in links:
        join(page, (source, output), (sink, pin))
    expect(page.locator(".react-flow__edge")).to_have_count(len(links))
    equals_the_one_over_http(page, stack, agent, name)


@pytest.mark.parametrize("name", list(DRAWINGS))
def test_agent_drawn_by_keyboard_alone_equals_the_one_made_over_http(
    page: Page, stack: Stack, name: str
) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(f"{stack.url()}/library")
    expect(page.get_by_role("button", name="New agent")).to_be_visible()
    walk_to(page, "button", "New agent")
    page.keyboard.press("Enter")
    expect(canvas(page)).to_be_visible()
    agent = page.url.split("/")[-2]
    nodes, links = DRAWINGS[name]
    for title, block, values in nodes:
        page.keyboard.press("/")
        expect(page.get_by_role("combobox", name="Search blocks and agents")).to_be_focused()
        page.keyboard.press("Control+A")
        page.keyboard.type(block)
        expect(page.get_by_role("listbox").get_by_role("option", selected=True)).to_have_text(block)
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name=block, exact=True)).to_be_visible()
        expect(page.locator(".builder-fields :focus")).to_have_count(1)
        if block == "Calculator":
            tab_to_field(page, "operation")
            page.keyboard.type("Add")
        for pin, value in values.items():
            tab_to_field(page, pin)
            page.keyboard.type(value)
        for source, output, sink, pin in links:
            if sink == title:
                tab_to_field(page, f"Source of {pin}")
                page.keyboard.press("Enter")
                expect(page.get_by_role("menu")).to_be_visible()
                choose_entry(page, f"{source} · {output}")
                expect(page.get_by_role("menu")).to_have_count(0)
        tab_to_field(page, "Title on the canvas")
        page.keyboard.press("Escape")
        expect(page.locator(".react-flow__node:focus")).to_have_count(1)
    expect(page.locator(".react-flow__edge")).to_have_count(len(links))
    equals_the_one_over_http(page, stack, agent, name, by_keyboard=True)


def choose_entry(page: Page, label: str) -> None:
    """Go down an open menu to an entry, and take it."""
    for _ in range(30):
        here = page.locator("[role=menuitem]:focus")
        expect(here).to_have_count(1)
        if here.inner_text().strip() == label:
            page.keyboard.press("Enter")
            return
        page.keyboard.press("ArrowDown")
    raise AssertionError(f"no entry {label!r}")


def tab_to_field(page: Page, label: str) -> None:
    """Tab through the settings until the field with this label has the focus."""
    for back in (False, True):
        for _ in range(40):
            here = page.evaluate(LABEL)
            if here == label or here == f"{label} (optional)":
                return
            page.keyboard.press("Shift+Tab" if back else "Tab")
    raise AssertionError(f"no field {label!r} on the way")


LABEL = """() => {
  const at = document.activeElement;
  return at.getAttribute('aria-label') ?? at.labels?.[0]?.innerText ?? '';
}"""


def equals_the_one_over_http(
    page: Page, stack: Stack, agent: str, name: str, *, by_keyboard: bool = False
) -> None:
    saved(page)
    if by_keyboard:
        walk_to(page, "button", "Publish", back=True)
        page.keyboard.press("Enter")
        expect(page.get_by_role("dialog")).to_be_visible()
        walk_to(page, "button", "Publish")
        page.keyboard.press("Enter")
        expect(page.get_by_text(re.compile("Published as version"))).to_be_visible()
    else:
        publish(page)
    built = answer_of(stack.client().http.get(f"/api/agents/{agent}"))
    assert built["validation"]["valid"], built["validation"]
    assert shape_of(built["graph"]) == by_api(stack, DOCUMENTS[name])


# --- edited ---------------------------------------------------------------------------------------


def test_edits_are_undone_copied_aligned_and_pasted_into_another_agent(page: Page, stack: Stack) -> None:
    agent = greeter(stack)
    open_builder(page, stack, agent)
    before = draft_of(stack, agent)["graph"]
    page.locator(".react-flow__controls-fitview").click()
    node(page, "Fill Text Template").click()
    for number in range(5):
        page.keyboard.press("Control+d")
        expect(page.locator(".react-flow__node")).to_have_count(4 + number)
    page.keyboard.press("Control+a")
    page.get_by_role("button", name="Align left").click()
    saved(page)
    places = {one["metadata"]["position"]["x"] for one in draft_of(stack, agent)["graph"]["nodes"]}
    assert len(places) == 1
    page.get_by_role("heading", name="8 nodes selected").click()
    for _ in range(6):
        page.keyboard.press("Control+z")
    expect(page.locator(".react-flow__node")).to_have_count(3)
    saved(page)
    assert draft_of(stack, agent)["graph"] == before, "undone to the first letter"
    page.keyboard.press("Control+Shift+z")
    expect(page.locator(".react-flow__node")).to_have_count(4)
    page.keyboard.press("Control+z")
    page.keyboard.press("Control+a")
    clip = page.evaluate(COPY)
    assert [one["block_id"] for one in json.loads(clip)["nodes"]] == [
        one["block_id"] for one in before["nodes"]
    ]
    other = begin(page, stack, "Pasted")
    page.evaluate(PASTE, clip)
    expect(page.locator(".react-flow__node")).to_have_count(3)
    expect(page.locator(".react-flow__edge")).to_have_count(2)
    saved(page)
    assert shape_of(draft_of(stack, other)["graph"]) == shape_of(before)


COPY = """() => {
  const data = new DataTransfer();
  document.dispatchEvent(new ClipboardEvent('copy', { clipboardData: data, bubbles: true, cancelable: true }));
  return data.getData('text/plain');
}"""
PASTE = """(text) => {
  const data = new DataTransfer();
  data.setData('text/plain', text);
  document.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
}"""


def test_problems_stand_at_their_node_and_are_repaired_in_one_step(page: Page, stack: Stack) -> None:
    document = json.loads(json.dumps(GREETER))
    document["links"].append(
        {"source_id": "gone", "source_name": "result", "sink_id": "out", "sink_name": "title"}
    )
    document["nodes"][1]["input_default"] = {}
    agent = answer_of(stack.client().http.post("/api/agents", json=document))["id"]
    open_builder(page, stack, agent)
    expect(page.get_by_role("group", name=re.compile("^Fill Text Template, .*problem"))).to_be_visible()
    page.get_by_role("button", name="Repair what is safe").click()
    expect(page.get_by_text(re.compile("repaired"))).to_be_visible()
    node(page, "Fill Text Template").click()
    field(page, "format").fill("Hi {{name}}")
    expect(page.get_by_role("group", name=re.compile("^Fill Text Template, .*problem"))).to_have_count(0)
    saved(page)
    assert draft_of(stack, agent)["validation"]["valid"]


# --- tested ---------------------------------------------------------------------------------------


def dividing(stack: Stack) -> str:
    document = json.loads(json.dumps(DOCUMENTS["adder"]))
    document["nodes"][1]["input_default"] = {"operation": "Divide", "b": 0}
    return str(answer_of(stack.client().http.post("/api/agents", json=document))["id"])


def test_draft_is_run_corrected_and_retried_from_the_failed_node(page: Page, stack: Stack) -> None:
    agent = dividing(stack)
    open_builder(page, stack, agent)
    page.keyboard.press("Control+Enter")
    panel = page.get_by_role("tabpanel")
    panel.get_by_label("Number").fill("68")
    panel.get_by_role("button", name="Run the draft").click()
    expect(panel.get_by_text("Failed", exact=True)).to_be_visible()
    expect(page.locator(".react-flow__node .node-state[data-tone=wrong]")).to_have_count(1)
    expect(page.locator(".react-flow__node .node-state[data-tone=good]")).to_have_count(1)
    node(page, "Calculator").click()
    page.get_by_role("tab", name="Settings").click()
    field(page, "b").fill("2")
    saved(page)
    page.get_by_role("tab", name="Test", exact=True).click()
    panel.get_by_role("button", name="Retry from the failed node").click()
    expect(panel.get_by_text("Completed", exact=True)).to_be_visible()
    expect(panel.get_by_role("definition").filter(has_text="34")).to_be_visible()
    runs = answer_of(stack.client().http.get(f"/api/executions?agent={agent}"))["results"]
    newest = answer_of(stack.client().http.get(f"/api/executions/{runs[0]['id']}?nodes=1"))
    assert newest["retry_of_id"] == runs[1]["id"]
    assert {one["attempt"] for one in newest["nodes"]} == {0, 1}, "what had finished was taken over"
    page.get_by_role("tab", name="Test runs").click()
    panel.get_by_role("button", name="Compare").last.click()
    table = panel.get_by_role("table")
    expect(table.locator("tr[data-differs]").filter(has_text="Calculator")).to_be_visible()


def test_single_node_is_run_and_its_output_pinned(page: Page, stack: Stack) -> None:
    agent = answer_of(stack.client().http.post("/api/agents", json=DOCUMENTS["adder"]))["id"]
    open_builder(page, stack, agent)
    node(page, "Calculator").click()
    panel = page.get_by_role("tabpanel")
    panel.get_by_role("button", name="Run this node").click()
    expect(panel.get_by_role("alert")).to_be_visible()  # it has no value for `a` yet
    page.get_by_role("tab", name="Test", exact=True).click()
    panel.get_by_label("Number").fill("1")
    panel.get_by_role("button", name="Run the draft").click()
    expect(panel.get_by_text("Completed", exact=True)).to_be_visible()
    page.get_by_role("tab", name="Settings").click()
    panel.get_by_role("button", name="Run this node").click()
    expect(panel.get_by_role("definition").filter(has_text="35")).to_be_visible()
    panel.get_by_role("button", name="Pin this output").click()
    expect(panel.get_by_role("button", name="Unpin")).to_be_visible()
    page.get_by_role("tab", name="Test", exact=True).click()
    expect(panel.get_by_text("One node uses its pinned output")).to_be_visible()
    panel.get_by_label("Number").fill("1000")
    panel.get_by_role("button", name="Run the draft").click()
    expect(panel.get_by_role("definition").filter(has_text="35")).to_be_visible()


# --- killed, and shared ---------------------------------------------------------------------------


def test_web_process_killed_while_typing_loses_nothing(page: Page, stack: Stack) -> None:
    agent = greeter(stack)
    open_builder(page, stack, agent)
    node(page, "Fill Text Template").click()
    words = "Hello {{name}}, this was typed while the server died."
    format_field = field(page, "format")
    format_field.fill("")
    format_field.press_sequentially(words[:20], delay=40)
    stack.kill("web0")
    format_field.press_sequentially(words[20:], delay=40)
    expect(page.locator("[data-status=offline]")).to_be_attached()
    page.evaluate("window.dispatchEvent(new Event('pagehide'))")
    assert words in page.evaluate("Object.values(localStorage).join()"), "kept in the browser meanwhile"
    stack.start_web(0)
    saved(page)
    kept = {one["id"]: one["input_default"] for one in draft_of(stack, agent)["graph"]["nodes"]}
    assert kept["fill"]["format"] == words
    page.reload()
    node(page, "Fill Text Template").click()
    expect(field(page, "format")).to_have_value(words)


def test_unsent_edit_survives_the_page_and_is_sent_by_the_next(
    new_page: Callable[..., Page], stack: Stack
) -> None:
    agent = greeter(stack)
    page = new_page()
    open_builder(page, stack, agent)
    page.route(
        "**/draft", lambda route: route.abort() if route.request.method == "PUT" else route.continue_()
    )
    node(page, "Fill Text Template").click()
    field(page, "format").fill("Never sent by this page")
    expect(page.locator("[data-status=offline]")).to_be_attached()
    page.unroute("**/draft")
    page.reload()
    saved(page)
    eventually(
        lambda: "Never sent by this page" in json.dumps(draft_of(stack, agent)["graph"]), what="the kept edit"
    )


def test_second_tab_sees_the_first_and_neither_loses_a_change(
    new_page: Callable[..., Page], stack: Stack
) -> None:
    agent = greeter(stack)
    one, two = new_page(), new_page()
    open_builder(one, stack, agent)
    open_builder(two, stack, agent)
    expect(one.get_by_text(re.compile("Also open in"))).to_be_visible()
    expect(two.get_by_text(re.compile("Also open in"))).to_be_visible()
    node(one, "Fill Text Template").click()
    node(two, "greeting").click()
    field(one, "format").fill("From the first {{name}}")
    two.get_by_role("tabpanel").get_by_text("Advanced settings").click()
    field(two, "title").fill("From the second")
    saved(one)
    saved(two)
    eventually(lambda: both_in(draft_of(stack, agent)["graph"]), what="both changes")
    expect(node(two, "Fill Text Template")).to_contain_text("From the first")
    one.context.close()
    expect(two.get_by_text(re.compile("Also open in"))).to_have_count(0)


def both_in(graph: dict[str, JSON]) -> bool:
    text = json.dumps(graph)
    return "From the first" in text and "From the second" in text


def test_copilot_proposes_a_change_that_is_accepted_beside_what_was_typed(page: Page, stack: Stack) -> None:
    agent = greeter(stack)
    open_builder(page, stack, agent)
    page.get_by_role("tab", name="Copilot").click()
    changed = draft_of(stack, agent)["graph"]
    changed["nodes"].append(
        {"id": "shout", "block_id": TEMPLATE_BLOCK, "input_default": {"format": "{{text}}!!!"}}
    )
    changed["links"][1] |= {"sink_id": "shout", "sink_name": "values_#_text"}
    changed["links"].append(
        {"id": "new", "source_id": "shout", "source_name": "output", "sink_id": "out", "sink_name": "value"}
    )
    calls: list[dict[str, object]] = [
        {"tool_calls": [{"name": "get_agent_building_guide", "arguments": {}}]},
        {"tool_calls": [{"name": "edit_agent", "arguments": {"agent_id": agent, "agent_json": changed}}]},
        {"text": "Proposed."},
    ]
    page.get_by_label("What should change?").fill(script("propose", *calls))
    page.get_by_role("button", name="Ask the copilot").click()
    expect(page.get_by_text("The copilot proposes a change")).to_be_visible()
    expect(page.locator(".builder-card[data-change=added]")).to_have_count(1)
    assert "shout" not in json.dumps(draft_of(stack, agent)["graph"]), "only proposed"
    stack_draft = draft_of(stack, agent)
    typed = json.loads(json.dumps(stack_draft["graph"]))
    typed["nodes"][0]["input_default"]["title"] = "Typed by hand meanwhile"
    order = {"graph": typed, "revision": stack_draft["revision"], "save_id": "hand"}
    answer_of(stack.client().http.put(f"/api/agents/{agent}/draft", json=order))
    page.get_by_role("button", name="Accept the change").click()
    expect(page.get_by_text("The copilot proposes a change")).to_have_count(0)
    saved(page)
    kept = json.dumps(draft_of(stack, agent)["graph"])
    assert "shout" in kept
    assert "Typed by hand meanwhile" in kept


# --- smooth, and for everybody --------------------------------------------------------------------

# Counts, as React's own tools do, which nodes were rendered again in each commit.
COUNT_RENDERS = """() => {
  window.rendered = [];
  const isNode = (fiber) => fiber.memoizedProps?.id !== undefined && fiber.memoizedProps?.data?.inputs !== undefined;
  const walk = (fiber, seen) => {
    for (let child = fiber.child; child; child = child.sibling) {
      const before = child.alternate;
      if (before === null || before === undefined) continue;
      if ((child.flags & 1) !== 0 && isNode(child)) seen.add(child.memoizedProps.id);
      if (child.child !== before.child) walk(child, seen);
    }
  };
  window.__REACT_DEVTOOLS_GLOBAL_HOOK__ = {
    isDisabled: false, supportsFiber: true, renderers: new Map(),
    inject: () => 1, onCommitFiberUnmount: () => {}, onPostCommitFiberRoot: () => {}, checkDCE: () => {},
    onCommitFiberRoot: (id, root) => {
      const seen = new Set();
      walk(root.current, seen);
      window.rendered.push(seen.size);
    },
  };
}"""
FRAMES = """() => {
  window.frames_ = [];
  let last = performance.now();
  const next = (now) => { window.frames_.push(now - last); last = now; requestAnimationFrame(next); };
  requestAnimationFrame(next);
}"""


def large_document() -> dict[str, JSON]:
    """200 nodes with 400 links between them."""
    nodes = [
        {
            "id": f"n{number}",
            "block_id": TEMPLATE_BLOCK,
            "input_default": {"format": f"{number}"},
            "metadata": {"position": {"x": 320 * (number % 20), "y": 180 * (number // 20)}},
        }
        for number in range(200)
    ]
    links = [
        {
            "id": f"l{number}-{step}",
            "source_id": f"n{number}",
            "source_name": "output",
            "sink_id": f"n{(number + step) % 200}",
            "sink_name": f"values_#_k{step}",
        }
        for number in range(200)
        for step in (1, 7)
    ]
    return {"name": "Large", "nodes": nodes, "links": links}


def test_dragging_one_of_two_hundred_nodes_renders_no_other(
    new_page: Callable[..., Page], stack: Stack
) -> None:
    agent = answer_of(stack.client().http.post("/api/agents", json=large_document()))["id"]
    page = new_page()
    page.add_init_script(f"({COUNT_RENDERS})()")
    open_builder(page, stack, agent)
    expect(page.locator(".react-flow__node")).to_have_count(200)
    expect(page.locator(".react-flow__edge")).to_have_count(400)
    page.locator(".react-flow__node").nth(105).hover()
    page.mouse.down()
    page.mouse.move(700, 400, steps=3)
    page.evaluate("window.rendered.length = 0")
    page.evaluate(FRAMES)
    for step in range(40):
        page.mouse.move(700 + 4 * step, 400 + 2 * step)
    frames = sorted(page.evaluate("window.frames_"))
    rendered = page.evaluate("window.rendered")
    page.mouse.up()
    drawn = [count for count in rendered if count]
    print(
        f"drag among 200 nodes and 400 links: {len(rendered)} commits, nodes rendered per commit at most "
        f"{max(rendered, default=0)}; {len(frames)} frames, median {frames[len(frames) // 2]:.0f} ms, "
        f"longest {frames[-1]:.0f} ms"
    )
    assert len(drawn) >= 5, "the dragged node is drawn as it moves"
    assert max(rendered) <= 1
    saved(page)


def test_builder_is_accessible_fits_and_speaks_german(new_page: Callable[..., Page], stack: Stack) -> None:
    agent = greeter(stack)
    found: list[str] = []
    for theme in ("light", "dark"):
        for size in ({"width": 1440, "height": 900}, TABLET, PHONE):
            page = new_page(viewport=size, color_scheme=theme)
            open_builder(page, stack, agent)
            expect(page.locator(".react-flow__node")).to_have_count(3)
            if size != PHONE:
                node(page, "Fill Text Template").click()
            place = f"{theme} {size['width']}"
            picture(page, f"builder-{theme}-{size['width']}")
            found += [f"{place}: {one}" for one in [*problems(page), *too_wide(page)]]
            for tab in ("Test", "Test runs", "Copilot"):
                page.get_by_role("tab", name=tab, exact=True).click()
                found += [f"{place} {tab}: {one}" for one in [*problems(page), *too_wide(page)]]
            page.context.close()
    assert not found, "\n".join(found)
    page = new_page(locale="de-DE")
    open_german(page, stack, agent)
    names = {one["name"] for one in stack.client().http.get("/api/agents").json()["results"]}
    assert set(english_words(page)) - names == set(), "names of agents are as people gave them"


def open_german(page: Page, stack: Stack, agent: str) -> None:
    page.goto(f"{stack.url()}/library/agents/{agent}/edit")
    expect(page.get_by_role("button", name="Veröffentlichen")).to_be_visible()


def picture(page: Page, name: str) -> None:
    """Save what is seen, where PICTURES names a folder."""
    if folder := os.environ.get("PICTURES"):
        page.screenshot(path=str(Path(folder) / f"{name}.png"))


def test_chat_page_loads_nothing_of_the_builder(page: Page) -> None:
    page.wait_for_load_state("networkidle")
    names = page.evaluate("performance.getEntriesByType('resource').map((entry) => entry.name)")
    assert not [name for name in names if "builder" in name.lower()]
