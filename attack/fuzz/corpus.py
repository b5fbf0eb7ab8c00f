"""Hostile values (slow, large once unpacked, ambiguous), and ways to mutate them."""

from __future__ import annotations

import io
import json
import random
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import openpyxl

TEXTS: list[str] = [
    "",
    " ",
    "\x00",
    "\ud800",
    "\u202e",
    "\ufeff",
    "a\r\nb",
    "0",
    "-1",
    "1e400",
    "NaN",
    "true",
    "null",
    "[]",
    "{}",
    "\\",
    "%",
    "%s%n",
    "9" * 12_000 + "x",
    "9" * 5_000,
    "1." * 20_000,
    "-" * 40_000,
    " " * 40_000 + "x",
    "\t" * 40_000,
    "\n" * 40_000,
    "```" + " " * 40_000 + "`",
    "`" * 40_000,
    "*" * 40_000,
    "_" * 40_000,
    "#" * 40_000,
    "<!---->" * 6_000 + "x",
    "<!--" * 10_000,
    "<![CDATA[" * 5_000,
    "<" * 100_000,
    "<a " * 30_000,
    "<a>" * 60_000,
    "<dl><dt>" * 30_000,
    "<table><tr><td>" * 10_000,
    "<a>" + "x<b/>" * 50_000 + "</a>",
    "&" * 60_000,
    "&#x41;" * 20_000,
    "&lt" * 30_000,
    "[" * 60_000,
    "{" * 60_000,
    '{"a":' * 20_000,
    "[[" * 10_000 + "]]" * 10_000,
    '"' * 60_000,
    "\\" * 60_001,
    '["a",' * 20_000,
    "(a+)+$",
    "(a|a)*b",
    "(a{100}){100}",
    "(?:a?){50}a{50}",
    "(" * 10_000,
    "[" * 10_000 + "]",
    "a" * 50_000 + "!",
    r"(\w+\s?)*$",
    "{{ x }}",
    "{{ ''.__class__.__mro__ }}",
    "{% for a in range(99999999) %}{% endfor %}",
    "{{ 'a' * 99999999 }}",
    "{{" * 20_000,
    "{% raw %}" * 5_000,
    "{{ range(10000000)|list }}",
    "{{ x|replace('a','aaaaaaaaaa') }}",
    "," * 100_000,
    "a," * 50_000 + "\n" + "1\n" * 20_000,
    '"a' * 40_000,
    "a;b\n" * 30_000,
    "=1+1",
    "'; DROP TABLE x; --",
    "SELECT " + "(" * 5_000 + "1",
    "SELECT 1; " * 5_000,
    "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM t) SELECT * FROM t",
    "http://127.0.0.1/",
    "http://" + "a." * 5_000,
    "http://[" + ":" * 5_000,
    "file:///etc/passwd",
    "/etc/passwd",
    "workspace://x",
    "data:text/plain;base64," + "A" * 50_000,
    "data:," + "%41" * 20_000,
    "data:" + ";a=b" * 10_000 + ",x",
    "//" * 20_000,
    "a@" * 20_000,
    "a@b." * 10_000,
    "2025-02-30",
    "%Y" * 10_000,
    "%-d%Q",
    "T" * 20_000,
    "0 0 * * *",
    "*/1 " * 2_000,
    "@" * 20_000,
    "values_#_" * 2_000,
    "a_$_0_#_b_@_c",
    "_$_99999999999",
    "\u0130" * 20_000,
    "\u0345" * 20_000,
    "ﷺ" * 20_000,
    "e\u0301" * 20_000,
    "\U0001d7d9" * 10_000,
    "①②⑦",
    "١٢٣" * 5_000,
    "\U0001f468\u200d" * 5_000,
    "a" * 1_000_000,
    "é" * 500_000,
    "word " * 100_000,
]
NUMBERS: list[Any] = [
    0,
    -1,
    1,
    10**6,
    10**9,
    2**31,
    2**63,
    -(2**63),
    2**64,
    10**18,
    10**100,
    10**3000,
    0.1,
    -0.0,
    1e308,
    -1e308,
    5e-324,
    1e16,
]
OTHERS: list[Any] = [
    None,
    True,
    False,
    [],
    {},
    [[]],
    [{}],
    {"": ""},
    {"a": None},
    [None] * 2_000,
    {"\x00": "\ud800"},
]


def nested(depth: int, kind: str) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value] if kind == "list" else {"a": value}
    return value


def large_values() -> list[Any]:
    """Return values that are large without being text."""
    return [
        nested(90, "list"),
        nested(90, "dict"),
        nested(900, "list"),
        nested(900, "dict"),
        list(range(20_000)),
        [[0] * 100] * 200,
        [{"a": number} for number in range(5_000)],
        {str(number): number for number in range(20_000)},
        ["9" * 5_000] * 20,
        [True, 1, 1.0, "1"] * 2_000,
    ]


VALUES: list[Any] = [*TEXTS, *NUMBERS, *OTHERS, *large_values()]


def png(width: int, height: int) -> bytes:
    """Return an image that claims this size."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(bytes(3_000))) + chunk(b"IEND", b"")


def workbook(change: Callable[[str, str], str] = lambda name, content: content) -> bytes:
    """Return an XLSX file, each of its parts changed by `change`."""
    book, whole, out = openpyxl.Workbook(), io.BytesIO(), io.BytesIO()
    for row in range(1, 20):
        book.worksheets[0].append([row, "text", 1.5, None, True])
    book.save(whole)
    with zipfile.ZipFile(whole) as source, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in source.namelist():
            archive.writestr(name, change(name, source.read(name).decode()))
    return out.getvalue()


def in_sheet(rows: str) -> Callable[[str, str], str]:
    def change(name: str, content: str) -> str:
        if name != "xl/worksheets/sheet1.xml":
            return content
        head, tail = content.partition("<sheetData>")[0], content.partition("</sheetData>")[2]
        return f"{head}<sheetData>{rows}</sheetData>{tail}"

    return change


def workbooks() -> list[bytes]:
    wide = "".join(f'<row r="{n}"><c r="XFD{n}" t="n"><v>1</v></c></row>' for n in range(1, 1_500))
    far = '<row r="1048576"><c r="XFD1048576" t="n"><v>1</v></c></row>'
    odd = '<row r="0"><c r="A0" t="d"><v>x</v></c><c r="?" t="s"><v>99999</v></c><c t="e"><v>#REF!</v></c></row>'
    date = '<row r="1"><c r="A1" s="1" t="n"><v>1e300</v></c><c r="B1" t="d"><v>99999-99-99</v></c></row>'
    entity = '<!DOCTYPE a [<!ENTITY b "x">]>'
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", bytes(80_000_000))
    return [
        workbook(),
        workbook(in_sheet(wide)),
        workbook(in_sheet(far)),
        workbook(in_sheet(odd)),
        workbook(in_sheet(date)),
        workbook(lambda name, content: entity + content),
        workbook(lambda name, content: content * 2),
        bomb.getvalue(),
        b"PK\x03\x04",
        b"PK\x05\x06" + bytes(18),
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(2_000),
    ]


def feeds() -> list[bytes]:
    item = "<item><title>x</title><link>y</link><pubDate>Sun, 15 Jun 2025 12:00:00 GMT</pubDate></item>"
    rss = f"<rss version='2.0'><channel>{item}</channel></rss>"
    entry = "<entry><title type='xhtml'><div>x</div></title><updated>x</updated></entry>"
    atom = f"<feed xmlns='http://www.w3.org/2005/Atom'>{entry}</feed>"
    return [
        part.encode("utf-8", "surrogatepass")
        for part in (
            rss,
            atom,
            rss.replace("x", "&lt;b&gt;" * 5_000),
            f"<rss><channel>{item * 3_000}</channel></rss>",
            rss.replace("Sun, 15 Jun 2025 12:00:00 GMT", "9" * 20_000),
            rss.replace("2025", "0000"),
            rss.replace("12:00:00", "99:99:99"),
            "<!DOCTYPE a [<!ENTITY b 'c'>]>" + rss,
            "<?xml version='1.0' encoding='utf-7'?>" + rss,
            "<?xml encoding='" + "x" * 5_000 + "'?>" + rss,
            "<rdf:RDF>" * 5_000,
            "<rss><channel><item><media:content url='x'/><itunes:duration>9:9</itunes:duration></item></channel></rss>",
        )
    ]


def contents() -> list[bytes]:
    """Return bytes of every kind a parser may be given."""
    texts = [text.encode("utf-8", "surrogatepass") for text in TEXTS]
    pictures = [
        png(10, 10),
        png(50_000, 50_000),
        png(0, 0),
        png(2**31 - 1, 1),
        b"GIF89a" + bytes(500),
        b"\xff\xd8\xff\xe0" + bytes(500),
    ]
    pictures += [
        b"RIFF\x00\x00\x00\x00WEBPVP8 ",
        b"BM" + b"\xff" * 100,
        b"II*\x00" + b"\xff" * 200,
        b"\x00\x00\x01\x00" + b"\xff" * 100,
    ]
    pages = [
        b"<html><head><title>" + b"t" * 300_000,
        b"<html><body>" + b"<p>" * 100_000,
        b"<a href='" + b"x" * 100_000,
    ]
    raw = [
        b"\xff\xfe" * 5_000,
        b"\x00" * 50_000,
        bytes(range(256)) * 100,
        b"\x1b$B" * 5_000,
        b"\xef\xbb\xbf" * 3_000,
    ]
    return [*texts, *pictures, *pages, *raw, *workbooks(), *feeds()]


CONTENTS: list[bytes] = []


def content(chance: random.Random) -> bytes:
    """Return one of the contents, changed in most cases."""
    if not CONTENTS:
        CONTENTS.extend(contents())
    chosen = chance.choice(CONTENTS)
    return chosen if chance.random() < 0.3 else change_bytes(chosen, chance)


def change_bytes(data: bytes, chance: random.Random) -> bytes:
    """Flip, cut, duplicate, insert or splice bytes a few times."""
    changed = bytearray(data[:2_000_000])
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(changed) + 1)
        match chance.randrange(6):
            case 0 if changed:
                changed[at % len(changed)] ^= 1 << chance.randrange(8)
            case 1:
                del changed[at : at + chance.randint(1, 200)]
            case 2:
                part = changed[at : at + chance.randint(1, 50)]
                changed[at:at] = part * chance.choice((2, 50, 500))
            case 3:
                changed[at:at] = bytes(chance.randrange(256) for _ in range(chance.randint(1, 20)))
            case 4:
                other = chance.choice(CONTENTS) if CONTENTS else b"x"
                changed[at:at] = other[: chance.choice((20, 500, 20_000))]
            case _:
                del changed[at:]
    return bytes(changed[:4_000_000])


def text(chance: random.Random) -> str:
    """Return one of the texts, changed in some cases."""
    chosen = chance.choice(TEXTS)
    if chance.random() < 0.6:
        return chosen
    other, at = chance.choice(TEXTS), chance.randrange(len(chosen) + 1)
    return (chosen[:at] + other + chosen[at:])[:1_000_000]


def value(schema: Mapping[str, Any], chance: random.Random, depth: int = 0) -> Any:
    """Return a hostile value that mostly fits the schema."""
    if chance.random() < 0.1 or depth > 4:
        return chance.choice(VALUES)
    if "enum" in schema and chance.random() < 0.8:
        return chance.choice(list(schema["enum"]))
    for name in ("anyOf", "oneOf", "allOf"):
        if schema.get(name):
            return value(chance.choice(list(schema[name])), chance, depth)
    match schema.get("type"):
        case "string":
            return text(chance)
        case "integer" | "number":
            return number(schema, chance)
        case "boolean":
            return chance.random() < 0.5
        case "null":
            return None
        case "array":
            items = schema.get("items") or {}
            return [value(items, chance, depth + 1) for _ in range(chance.choice((0, 1, 3, 30)))]
        case "object":
            return members(schema, chance, depth)
        case _:
            return chance.choice(VALUES)


def number(schema: Mapping[str, Any], chance: random.Random) -> Any:
    bounds = [
        schema[name]
        for name in ("minimum", "maximum", "default")
        if isinstance(schema.get(name), (int, float))
    ]
    return chance.choice([*NUMBERS, *bounds * 4])


def members(schema: Mapping[str, Any], chance: random.Random, depth: int) -> dict[str, Any]:
    properties = schema.get("properties") or {}
    if properties:
        required = set(schema.get("required", ()))
        return {
            name: value(inner, chance, depth + 1)
            for name, inner in properties.items()
            if name in required or chance.random() < 0.5
        }
    inner = schema.get("additionalProperties")
    inner = inner if isinstance(inner, Mapping) else {}
    return {text(chance)[:200]: value(inner, chance, depth + 1) for _ in range(chance.choice((0, 1, 3, 30)))}


def as_json(given: Any) -> str:
    """Return the value as JSON text, with str() for what JSON cannot represent."""
    try:
        return json.dumps(given)
    except (TypeError, ValueError, RecursionError):
        return json.dumps(repr(given)[:1_000])
