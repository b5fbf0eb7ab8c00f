"""Human In The Loop: ask a person for approval."""

from blocks.base import BlockType, Category, Effects, Emissions, Leaves, block, repeatable_by_key
from blocks.context import BlockContext
from blocks.examples import Example, World
from blocks.ports import ReviewDecision, ReviewQuestion
from blocks.schema import JSON, BlockInputs, BlockOutputs, Boolean, Text, pin

AUTO_APPROVED = "Approved without review: safe mode is off."


class Inputs(BlockInputs):
    data: JSON = pin(description="The data to review.")
    name: Text = pin(description="Name of the data, shown to the reviewer.")
    editable: Boolean = pin(True, description="Allow the reviewer to change the data.", advanced=True)


class Outputs(BlockOutputs):
    approved_data: JSON
    rejected_data: JSON
    review_message: Text


DRAFT = {"data": {"text": "Dear all"}, "name": "The letter"}
EXAMPLES = [
    Example(
        inputs=DRAFT,
        outputs=[("approved_data", {"text": "Dear Ada"}), ("review_message", "Be precise.")],
        note="the reviewer changed the data",
        world=World(decision=ReviewDecision(approved=True, data={"text": "Dear Ada"}, message="Be precise.")),
    ),
    Example(
        inputs=DRAFT,
        outputs=[("rejected_data", {"text": "Dear all"})],
        world=World(decision=ReviewDecision(approved=False, data={"text": "Dear all"})),
    ),
    Example(
        inputs=DRAFT | {"editable": False},
        outputs=[("approved_data", {"text": "Dear all"})],
        note="data that is not editable is passed on unchanged",
        world=World(decision=ReviewDecision(approved=True, data={"text": "Dear Ada"})),
    ),
    Example(
        inputs=DRAFT,
        outputs=[("approved_data", {"text": "Dear all"}), ("review_message", AUTO_APPROVED)],
        world=World(safe_mode=False),
    ),
    Example(inputs=DRAFT, error="Waiting for review", note="the run waits without a worker"),
    Example(inputs={"data": 1}, error="needs the input 'name'"),
]


@block(
    id="8b2a7b3c-6e9d-4a5f-8c1b-2e3f4a5b6c7d",
    name="Human In The Loop",
    category=Category.BASIC,
    outputs=Outputs,
    examples=EXAMPLES,
    type=BlockType.HITL,
    effects=Effects.EFFECTFUL,
    reads_outside=False,
    leaves=Leaves.NOTHING,
    repeatable=repeatable_by_key,
    runs_alone=False,
)
def human_in_the_loop(inputs: Inputs, context: BlockContext) -> Emissions:
    """Ask a person to review data, and continue when they approve or reject it."""
    if not context.safe_mode:
        decision = ReviewDecision(approved=True, data=inputs.data, message=AUTO_APPROVED)
    else:
        question = ReviewQuestion(name=inputs.name, data=inputs.data, editable=inputs.editable)
        decision = context.ports.reviews.decide(question, context.idempotency_key)
    data = decision.data if inputs.editable else inputs.data
    yield "approved_data" if decision.approved else "rejected_data", data
    if decision.message:
        yield "review_message", decision.message
