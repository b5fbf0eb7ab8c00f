"""SQL Query: run a statement on your database."""

from typing import Any, Literal

from blocks.base import Category, CredentialsNeed, Effects, Emissions, Leaves, block
from blocks.context import BlockContext
from blocks.errors import BlockFailed
from blocks.examples import Example, World
from blocks.ports import Credential, DatabaseAnswer, DatabaseQuery, PortError
from blocks.schema import (
    BlockInputs,
    BlockOutputs,
    Boolean,
    Credentials,
    Integer,
    Objects,
    SecretText,
    Text,
    Texts,
    credentials_pin,
    pin,
)
from blocks.support.credentials import need_credential, server_at
from blocks.support.file_inputs import load_file
from blocks.support.statements import check_statement

PROVIDER = "database"
PORTS = {"postgres": 5432, "mysql": 3306, "mssql": 1433}


class Inputs(BlockInputs):
    database_type: Literal["postgres", "mysql", "mssql", "sqlite"] = pin(
        "postgres", description="Type of database; sqlite reads a file in your workspace."
    )
    host: SecretText = pin(description="Host of the database; any text for sqlite.", secret=True)
    port: Integer | None = pin(
        None, description="Port of the database; default depends on its type.", advanced=True, ge=1, le=65535
    )
    database: Text = pin(description="Name of the database; for sqlite, the file in your workspace.")
    query: Text = pin(description="One SQL statement.")
    read_only: Boolean = pin(True, description="Allow only statements that read.", advanced=True)
    timeout: Integer = pin(30, description="Time limit in seconds.", advanced=True, ge=1, le=120)
    max_rows: Integer = pin(1000, description="Maximum number of rows.", advanced=True, ge=1, le=10000)
    credentials: Credentials = credentials_pin()


class Outputs(BlockOutputs):
    results: Objects
    columns: Texts
    row_count: Integer
    truncated: Boolean
    affected_rows: Integer


LOGIN = Credential(id="c1", provider="database", username="reader", password="not-a-real-one")  # noqa: S106
QUERY = {"host": "db.example.com", "database": "shop", "query": "SELECT id FROM items"}
ROWS = DatabaseAnswer(columns=("id",), rows=({"id": 1}, {"id": 2}), truncated=False)
EXAMPLES = [
    Example(
        inputs=QUERY,
        outputs=[
            ("results", [{"id": 1}, {"id": 2}]),
            ("columns", ["id"]),
            ("row_count", 2),
            ("truncated", False),
        ],
        world=World(credentials=[LOGIN], rows=ROWS),
    ),
    Example(
        inputs=QUERY | {"query": "DELETE FROM items", "read_only": False},
        outputs=[
            ("results", []),
            ("columns", []),
            ("row_count", 0),
            ("truncated", False),
            ("affected_rows", 2),
        ],
        world=World(
            credentials=[LOGIN], rows=DatabaseAnswer(columns=(), rows=(), truncated=False, affected_rows=2)
        ),
    ),
    Example(inputs=QUERY, error="needs a credential for database"),
    Example(inputs=QUERY | {"query": "SELECT 1; DROP TABLE items"}, error="exactly one statement"),
    Example(inputs=QUERY | {"query": "DROP TABLE items"}, error="`read_only` is on"),
    Example(inputs=QUERY | {"query": "  "}, error="`query` is empty"),
    Example(inputs=QUERY | {"max_rows": 0}, error="greater than or equal to 1"),
    Example(inputs=QUERY, error="could not be reached", world=World(credentials=[LOGIN])),
    Example(inputs=QUERY | {"database_type": "sqlite", "database": "gone.db"}, error="There is no file"),
    Example(
        inputs=QUERY | {"database_type": "sqlite", "database": "my.db", "read_only": False},
        error="sqlite files are read-only",
        world=World(files={"my.db": b"SQLite format 3\0"}),
    ),
]


def only_reads(inputs: Inputs) -> bool:
    """Return whether the statement may be repeated."""
    return inputs.read_only


def leaves_by_statement(inputs: Inputs) -> Leaves:
    """Return what a statement sends out: only one that may change data counts; logins are bound to their server."""
    return Leaves.NOTHING if inputs.read_only or inputs.database_type == "sqlite" else Leaves.MESSAGE


@block(
    id="4dc35c0f-4fd8-465e-9616-5a216f1ba2bc",
    name="SQL Query",
    category=Category.DATA,
    outputs=Outputs,
    examples=EXAMPLES,
    effects=Effects.EFFECTFUL,
    reads_outside=True,
    leaves=leaves_by_statement,
    repeatable=only_reads,
    credentials=CredentialsNeed(provider=PROVIDER, kind="user_password"),
)
def sql_query(inputs: Inputs, context: BlockContext) -> Emissions:
    """Run one SQL statement, read-only by default, and return the rows."""
    check_statement(inputs.query, read_only=inputs.read_only)
    try:
        answer = context.ports.database.run(make_query(inputs, context), context.cancel)
    except PortError as error:
        raise BlockFailed(str(error).replace(inputs.host, "[host]") if inputs.host else str(error)) from error
    yield "results", list(answer.rows)
    yield "columns", list(answer.columns)
    yield "row_count", len(answer.rows)
    yield "truncated", answer.truncated
    if answer.affected_rows is not None:
        yield "affected_rows", answer.affected_rows


def make_query(inputs: Inputs, context: BlockContext) -> DatabaseQuery:
    if inputs.database_type == "sqlite":
        if not inputs.read_only:
            raise BlockFailed("sqlite files are read-only. Switch `read_only` on.")
        return DatabaseQuery(content=load_file(inputs.database, context).content, **statement(inputs))
    server = server_at(inputs.host, inputs.port or PORTS[inputs.database_type])
    login = need_credential(PROVIDER, inputs.credentials, context, destination=server)
    return DatabaseQuery(
        host=server.host,
        port=server.port,
        username=login.username,
        password=login.password,
        ca_certificate=login.ca_certificate,
        **statement(inputs),
    )


def statement(inputs: Inputs) -> dict[str, Any]:
    """Return the fields of the query that all databases share."""
    return {
        "kind": inputs.database_type,
        "database": inputs.database,
        "query": inputs.query,
        "read_only": inputs.read_only,
        "timeout_seconds": float(inputs.timeout),
        "max_rows": inputs.max_rows,
    }
