"""INSERT, UPDATE and SELECT of hot statements without building a query each time.

Building a query in the ORM takes many times as long as running it. These functions know only rows, columns and plain
values; everything else stays with the ORM. See docs/decisions/hot-statements.md.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

from django.db import connection
from django.db.models import CharField, Field, Model, QuerySet, TextField, Value
from django.db.models.functions import Now
from django.db.models.query import ModelIterable, get_related_populators

M = TypeVar("M", bound=Model)
TEXT_FIELDS = (CharField, TextField)
NOW = {"sqlite": "STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f', 'NOW')", "postgresql": "STATEMENT_TIMESTAMP()"}


def insert(rows: Sequence[Model], *, on_conflict: str = "") -> int:
    """Insert rows of one model in one statement; return how many were written.

    `on_conflict` is the clause after ON CONFLICT. Times that the database gives are set on the rows, a key that it
    gives is not.
    """
    model = type(rows[0])
    fields: list[Any] = [
        f for f in model._meta.concrete_fields if not f.primary_key or rows[0].pk is not None
    ]
    params: list[Any] = []
    places = ", ".join(f"({', '.join(_place(field, row, params) for field in fields)})" for row in rows)
    told = [] if on_conflict else [f for f in fields if isinstance(getattr(rows[0], f.attname), Now)]
    sql = f"INSERT INTO {model._meta.db_table} ({', '.join(f.column for f in fields)}) VALUES {places}"  # noqa: S608
    sql += f" ON CONFLICT {on_conflict}" if on_conflict else ""
    sql += f" RETURNING {', '.join(field.column for field in told)}" if told else ""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        if not told:
            return int(cursor.rowcount)
        for row, values in zip(rows, cursor.fetchall(), strict=True):
            for field, value in zip(told, values, strict=True):
                setattr(row, field.attname, _moment(value))
    return len(rows)


def _place(field: Field[Any, Any], row: Model, params: list[Any]) -> str:
    """Return the placeholder of a column's value and append the value; the time of the database has neither."""
    value = field.pre_save(row, add=True)
    if isinstance(value, Now):
        setattr(row, field.attname, value)
        return NOW[connection.vendor]
    is_stored_as_it_is = value is None or (type(value) is str and isinstance(field, TEXT_FIELDS))
    params.append(value if is_stored_as_it_is else field.get_db_prep_save(value, connection))
    return "%s"


def _moment(value: Any) -> datetime:
    """Return a time from a column; SQLite gives text or a naive time, both in UTC."""
    moment: datetime = datetime.fromisoformat(value) if isinstance(value, str) else value
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def update(model: type[Model], where: Mapping[str, Any], values: Mapping[str, Any]) -> int:
    """Set columns of the rows whose columns have these values; return how many. Values are never expressions."""
    sql = f"UPDATE {model._meta.db_table} SET {_pairs(model, values, ', ')} WHERE {_pairs(model, where, ' AND ')}"  # noqa: S608
    params = [_stored(model, name, value) for name, value in (*values.items(), *where.items())]
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return int(cursor.rowcount)


def is_plain(values: Mapping[str, Any]) -> bool:
    """Return whether `update` can write these values."""
    return not any(hasattr(value, "resolve_expression") for value in values.values())


def _pairs(model: type[Model], values: Mapping[str, Any], joint: str) -> str:
    return joint.join(f"{model._meta.get_field(name).column} = %s" for name in values)  # type: ignore[union-attr]


def _stored(model: type[Model], name: str, value: Any) -> Any:
    field: Any = model._meta.get_field(name)
    return field.get_db_prep_save(value, connection)


class PreparedSelect(Generic[M]):
    """A queryset with parameters, compiled once per kind of database.

    `build` makes the queryset for given values; `samples` are values that occur nowhere else in it.
    """

    def __init__(self, build: Callable[..., QuerySet[M, Any]], *samples: Any) -> None:
        self._build = build
        self._samples = samples
        self._compiled: dict[str, _CompiledSelect] = {}

    def __call__(self, *values: Any) -> list[Any]:
        """Return what the queryset of these values has: instances, or tuples if it is a `values_list`."""
        compiled = self._compiled.get(connection.vendor)
        if compiled is None:
            compiled = _CompiledSelect(self._build(*self._samples), self._samples)
            self._compiled[connection.vendor] = compiled
        return compiled.run(values)


class _CompiledSelect:
    def __init__(self, queryset: QuerySet[Any, Any], samples: Sequence[Any]) -> None:
        self._compiler = compiler = queryset.query.get_compiler(connection=connection)
        self._sql, self._params = compiler.as_sql()
        wanted = [_param(sample) for sample in samples]
        self._places = [(n, wanted.index(param)) for n, param in enumerate(self._params) if param in wanted]
        assert {which for _, which in self._places} == set(range(len(wanted))), "a parameter has no place"
        self._converters = compiler.get_converters([column[0] for column in compiler.select])
        makes_models = queryset._iterable_class is ModelIterable
        self._model = compiler.klass_info["model"] if makes_models else None
        if self._model is not None:
            info, select = compiler.klass_info, compiler.select
            columns = info["select_fields"]
            self._names = [select[place][0].target.attname for place in columns]
            self._begin, self._end = columns[0], columns[-1] + 1
            populators: Any = get_related_populators
            self._related = populators(info, select, "default")

    def run(self, values: Sequence[Any]) -> list[Any]:
        params = list(self._params)
        for place, which in self._places:
            params[place] = _param(values[which])
        compiler = copy.copy(self._compiler)
        compiler.connection = connection
        with connection.cursor() as cursor:
            cursor.execute(self._sql, params)
            rows: Any = cursor.fetchall()
        if self._converters:
            rows = compiler.apply_converters(rows, self._converters)
        return [self._instance(row) if self._model else tuple(row) for row in rows]

    def _instance(self, row: Any) -> Model:
        assert self._model is not None
        made: Model = self._model.from_db("default", self._names, row[self._begin : self._end])
        for populator in self._related:
            populator.populate(row, made)
        for name, place in self._compiler.annotation_col_map.items():
            setattr(made, name, row[place])
        return made


def _param(value: Any) -> Any:
    """Return a value as the database's driver takes it."""
    return Value(value).output_field.get_db_prep_value(value, connection)
