"""Read Spreadsheet: read rows of a CSV, XLSX or XLS file."""

from collections.abc import Iterator

from blocks import limits
from blocks.base import Category, Effects, Emissions, block
from blocks.context import BlockContext
from blocks.errors import BlockFailed
from blocks.examples import Example, World
from blocks.schema import (
    BlockInputs,
    BlockOutputs,
    Boolean,
    FileRef,
    Integer,
    Text,
    TextMap,
    TextMaps,
    Texts,
    pin,
)
from blocks.support.file_inputs import leaves_by_file, load_file
from blocks.support.tables import CsvDialect, is_workbook, read_csv, read_workbook


class Inputs(BlockInputs):
    contents: Text | None = pin(None, description="CSV text.")
    file_input: FileRef | None = pin(
        None, description="A CSV, XLSX or XLS file; takes precedence over the text."
    )
    delimiter: Text = pin(",", description="Cell separator.", advanced=True)
    quotechar: Text = pin('"', description="Quote character.", advanced=True)
    escapechar: Text = pin("\\", description="Escape character.", advanced=True)
    has_header: Boolean = pin(True, description="The first row contains the column names.", advanced=True)
    skip_rows: Integer = pin(0, description="Rows to skip after the header.", advanced=True)
    strip: Boolean = pin(True, description="Trim white space in cells.", advanced=True)
    skip_columns: Texts = pin([], description="Columns to skip, by name or number.", advanced=True)
    produce_singular_result: Boolean = pin(
        False, description="Emit one row at a time instead of all.", advanced=True
    )


class Outputs(BlockOutputs):
    row: TextMap
    rows: TextMaps


PEOPLE = "name, age\nAda,36\nBob,41"
EXAMPLES = [
    Example(
        inputs={"contents": PEOPLE},
        outputs=[("rows", [{"name": "Ada", "age": "36"}, {"name": "Bob", "age": "41"}])],
    ),
    Example(
        inputs={"contents": PEOPLE, "produce_singular_result": True, "skip_rows": 1, "skip_columns": ["age"]},
        outputs=[("row", {"name": "Bob"})],
    ),
    Example(
        inputs={"contents": "1;2\n3;4", "delimiter": ";", "has_header": False, "skip_columns": ["0"]},
        outputs=[("rows", [{"1": "2"}, {"1": "4"}])],
        note="without a header, columns are numbered",
    ),
    Example(
        inputs={"file_input": "people.csv", "contents": "ignored"},
        outputs=[("rows", [{"name": "Ada"}])],
        note="the file takes precedence",
        world=World(files={"people.csv": b"name\nAda\n"}),
    ),
    Example(inputs={}, error="Set `contents` or `file_input`"),
    Example(inputs={"contents": "a\n1,2"}, error="Row 1 has 2 cells, more than the header's 1"),
    Example(inputs={"contents": "a", "delimiter": ", "}, error="`delimiter` must be one character"),
    Example(
        inputs={"file_input": "broken.xlsx"},
        error="not a readable spreadsheet",
        world=World(files={"broken.xlsx": b"PK\x03\x04broken"}),
    ),
]


@block(
    id="acf7625e-d2cb-4941-bfeb-2819fc6fc015",
    name="Read Spreadsheet",
    category=Category.TEXT,
    outputs=Outputs,
    examples=EXAMPLES,
    effects=Effects.NETWORK,
    reads_outside=True,
    leaves=leaves_by_file,
    repeats=("row",),
)
def read_spreadsheet(inputs: Inputs, context: BlockContext) -> Emissions:
    """Read the first sheet of a CSV, XLSX or XLS file into objects keyed by column."""
    if inputs.skip_rows < 0:
        raise BlockFailed("`skip_rows` must not be negative.")
    records = read_records(iter(read_table(inputs, context)), inputs)
    if inputs.produce_singular_result:
        for record in records:
            yield "row", record
    else:
        yield "rows", list(records)


def read_table(inputs: Inputs, context: BlockContext) -> list[list[str]]:
    dialect = CsvDialect(delimiter=inputs.delimiter, quotechar=inputs.quotechar, escapechar=inputs.escapechar)
    if inputs.file_input:
        source = load_file(inputs.file_input, context)
        return (
            read_workbook(source.content) if is_workbook(source.content) else read_csv(source.text, dialect)
        )
    if inputs.contents is None:
        raise BlockFailed("There is nothing to read. Set `contents` or `file_input`.")
    return read_csv(inputs.contents, dialect)


def read_records(table: Iterator[list[str]], inputs: Inputs) -> Iterator[dict[str, str]]:
    header = (
        [name.strip() if inputs.strip else name for name in next(table, [])] if inputs.has_header else None
    )
    skipped = frozenset(inputs.skip_columns)
    cells = 0
    for number, row in enumerate(table, start=1):
        if number <= inputs.skip_rows or not row:
            continue
        if header is not None and any(row[len(header) :]):
            raise BlockFailed(f"Row {number} has {len(row)} cells, more than the header's {len(header)}.")
        cells += max(len(row), len(header or ()))
        if cells > limits.MAX_SPREADSHEET_CELLS:
            raise BlockFailed(f"The table has more than {limits.MAX_SPREADSHEET_CELLS} cells.")
        yield {
            name: cell for name, cell in name_cells(row, header, strip=inputs.strip) if name not in skipped
        }


def name_cells(row: list[str], header: list[str] | None, *, strip: bool) -> Iterator[tuple[str, str]]:
    """Yield each cell with the name or number of its column; short rows are padded."""
    names = [str(number) for number in range(len(row))] if header is None else header
    for name, cell in zip(names, row + [""] * (len(names) - len(row)), strict=False):
        yield name, cell.strip() if strip else cell
