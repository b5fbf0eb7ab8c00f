"""Fill Text Template: fill in a text template."""

from blocks.base import Category, Emissions, block
from blocks.context import BlockContext
from blocks.examples import Example
from blocks.schema import BlockInputs, BlockOutputs, Boolean, Object, Text, pin
from blocks.templates import render_template


class Inputs(BlockInputs):
    values: Object = pin(description="Variables of the template; link each to values_#_<name>.")
    format: Text = pin(description="The Jinja template.")
    escape_html: Boolean = pin(False, description="Escape HTML in the values.", advanced=True)


class Outputs(BlockOutputs):
    output: Text


EXAMPLES = [
    Example(
        inputs={"values": {"name": "Ada"}, "format": "Hello, {{ name }}!"},
        outputs=[("output", "Hello, Ada!")],
    ),
    Example(
        inputs={
            "values_#_items": ["a", "b"],
            "format": "{% for x in items %}{{ loop.index }}. {{ x }}\n{% endfor %}",
        },
        outputs=[("output", "1. a\n2. b\n")],
    ),
    Example(
        inputs={"values": {"x": 1}, "format": "{{ missing.name }}{{ missing }}."},
        outputs=[("output", ".")],
        note="unknown names render empty",
    ),
    Example(
        inputs={"values": {"x": "<b>"}, "format": "{{ x }}", "escape_html": True},
        outputs=[("output", "&lt;b&gt;")],
    ),
    Example(
        inputs={"values": {"n": 3}, "format": "{% set double = n * 2 %}{{ double }}"},
        outputs=[("output", "6")],
    ),
    Example(inputs={"values": {}, "format": "{{ x"}, error="unexpected end of template"),
    Example(inputs={"values": {}, "format": "{{ x | tojson }}"}, error="No filter named 'tojson'"),
    Example(
        inputs={
            "values": {},
            "format": "{% for i in range(10000) %}{% for j in range(10000) %}{% endfor %}{% endfor %}",
        },
        error="take too long",
        note="endless loops are stopped",
    ),
    Example(inputs={"values": {}, "format": "{{ 'a' * 10000000000 }}"}, error="too much memory"),
    Example(
        inputs={"values": {}, "format": "{{ ''.__class__.__mro__[1].__subclasses__() }}"}, error="unsafe"
    ),
]


@block(
    id="db7d8f02-2f44-4c55-ab7a-eae0941f0c30",
    name="Fill Text Template",
    category=Category.TEXT,
    outputs=Outputs,
    examples=EXAMPLES,
)
def fill_text_template(inputs: Inputs, context: BlockContext) -> Emissions:
    """Fill a Jinja template with values."""
    yield "output", render_template(inputs.format, inputs.values, escape_html=inputs.escape_html)
