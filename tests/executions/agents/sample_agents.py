"""Agents with the blocks, links and kinds of pins of the 23 sample agents that AutoGPT ships.

Block ids and pin names are facts; names of nodes, prompts and values are our own. How much of each sample is known:

- read node by node: the calculator, two of the Discord bots, win-back, the sequence builder, the AI function, the copy
  improver, the email finder and the poster maker (nine);
- read in part: the first page of the newsletter;
- only the end of the file (its credentials and last links): eleven others. They use one block of each service, in the
  order their description gives;
- reconstructed from name, description and siblings: two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.executions.agents.samples import agent, exported, link, node

JSON = Any
Document = dict[str, JSON]

BLOCKS = {
    "Gmail Send": "6c27abc2-e51d-499e-a85f-5a0041ba94f0",
    "Gmail Read": "25310c70-b89b-43ba-b25c-4dfa7e2a481c",
    "Gmail Reply": "12bf5a24-9b90-4f40-9090-4e86e6995e60",
    "Google Calendar Read Events": "80bc3ed1-e9a4-449e-8163-a8fc86f74f6a",
    "Google Maps Search": "f47ac10b-58cc-4372-a567-0e02b2c3d479",
    "Ideogram Model": "6ab085e2-20b3-4055-bc3e-08036e01eca6",
    "Replicate Flux Advanced Model": "90f8c45e-e983-4644-aa0b-b4ebe2f531bc",
    "AI Image Generator": "ed1ae7a0-b770-4089-b520-1f0005fad19a",
    "AI Shortform Video Creator": "361697fb-0c4f-4feb-aed3-8320c88c771b",
    "Data For Seo Keyword Suggestions": "73c3e7c4-2b3f-4e9f-9e3e-8f7a5c3e2d45",
    "WordPress Create Post": "ee4fe08c-18f9-442f-a985-235379b932e1",
    "Airtable List Records": "588a9fde-5733-4da7-b03c-35f5671e960f",
    "Firecrawl Scrape": "ac444320-cf5e-4697-b586-2604c17a3e75",
    "Read Discord Messages": "df06086a-d5ac-4abb-9996-2ad0acb2eff7",
    "Send Discord Message": "d0822ab5-9f8a-44a3-8971-531dd0178b6b",
}
CLAUDE, GPT, SONAR = "claude-sonnet-4-5-20250929", "gpt-4o", "perplexity/sonar-pro"
VIDEO = "https://www.youtube.com/watch?v=dQw4w9WgXcQ"


def missing(node_id: str, name: str, **values: JSON) -> JSON:
    """A node of a block that is not installed."""
    return {"id": node_id, "block_id": BLOCKS[name], "input_default": values, "metadata": {}}


def text(node_id: str, name: str, value: JSON = None) -> JSON:
    """An input, with the keys that exports leave on it."""
    values = {"name": name, "secret": False, "advanced": False, "placeholder_values": []}
    return node(node_id, "Agent Short Text Input", **values | ({} if value is None else {"value": value}))


def any_value(node_id: str, name: str, value: JSON = None) -> JSON:
    return node(node_id, "Agent Input", **{"name": name} | ({} if value is None else {"value": value}))


def out(node_id: str, name: str) -> JSON:
    return node(node_id, "Agent Output", name=name, secret=False, advanced=False, escape_html=False)


def ask(node_id: str, prompt: str, model: str = GPT, **values: JSON) -> JSON:
    return node(node_id, "AI Text Generator", model=model, prompt=prompt, prompt_values={}, retry=3, **values)


def sample(name: str, nodes: list[JSON], links: list[JSON], **fields: JSON) -> Document:
    return exported(agent(nodes, links, id=name.lower().replace(" ", "-"), name=name) | fields)


def one_letter(name: str, inputs: list[str], output: str) -> Document:
    """Inputs that fill one prompt, whose answer is the output."""
    keys = [f"value{number}" for number in range(len(inputs))]
    prompt = " ".join(f"{{{{{key}}}}}" for key in keys)
    nodes = [
        *map(text, keys, inputs),
        ask("write", prompt, CLAUDE, sys_prompt="Plainly."),
        out("out", output),
    ]
    links = [link(f"{key}.result", f"write.prompt_values_#_{key}", is_static=True) for key in keys]
    return sample(name, nodes, [*links, link("write.response", "out.value")])


def win_back() -> Document:
    return one_letter(
        "Win-back Email Writer",
        ["Contact or Segment", "What Happened", "The Offer", "Sender Name"],
        "Win-back Email",
    )


def sequence_builder() -> Document:
    return one_letter(
        "Lifecycle Email Sequence Builder",
        ["Product", "Audience", "Sequence Type", "Voice and Constraints"],
        "Email Sequence",
    )


def ai_function() -> Document:
    nodes = [
        text("head", "Function Definition", "def people(n: int) -> list[dict]:"),
        text("arguments", "Arguments", "20"),
        node("about", "Agent Long Text Input", name="Description", title=None, value="Makes people."),
        ask(
            "run",
            "{{ARGS}}",
            "o3-mini",
            sys_prompt="{{DESCRIPTION}} {{FUNCTION}}",
            ollama_host="localhost:11434",
        ),
        node("out", "Agent Output", name="return", title=None, value=None, format="", secret=False),
    ]
    pins = {"head": "FUNCTION", "arguments": "ARGS", "about": "DESCRIPTION"}
    links = [link(f"{key}.result", f"run.prompt_values_#_{pin}", is_static=True) for key, pin in pins.items()]
    return sample("AI Function", nodes, [*links, link("run.response", "out.value")])


def copy_improver() -> Document:
    nodes = [
        any_value("url", "Homepage URL", "https://example.com/"),
        node("page", "Extract Website Content", raw_content=False),
        ask("analyse", "Analyse: {{CONTENT}}"),
        ask("improve", "{{CONTENT}} {{ANALYSIS}}"),
        out("improved", "Improved Webpage Copy"),
        out("analysis", "Original Page Analysis"),
    ]
    links = [
        link("url.result", "page.url", is_static=True),
        link("page.content", "analyse.prompt_values_#_CONTENT"),
        link("page.content", "improve.prompt_values_#_CONTENT"),
        link("analyse.response", "improve.prompt_values_#_ANALYSIS"),
        link("analyse.response", "analysis.value"),
        link("improve.response", "improved.value"),
    ]
    return sample("AI Webpage Copy Improver", nodes, links)


def email_finder() -> Document:
    """Its failure text fills `Result` where the template says `RESULT`: an unfilled name is empty."""
    nodes = [
        any_value("address", "Address", "USA"),
        any_value("name", "Business Name", "A Shop"),
        node("query", "Fill Text Template", format="Email Address of {{NAME}}, {{ADDRESS}}", values={}),
        node("search", "Search The Web"),
        ask("read", "{{WEBSITE_CONTENT}} {{BUSINESS_NAME}}", CLAUDE),
        node("email", "Extract Text Information", pattern=r"<email>(.*?)<\/email>", group=1),
        node("failed", "Fill Text Template", format="Failed to find email.\n{{RESULT}}", values={}),
        out("out", "Email"),
    ]
    links = [
        link("name.result", "query.values_#_NAME", is_static=True),
        link("address.result", "query.values_#_ADDRESS", is_static=True),
        link("query.output", "search.query"),
        link("search.results", "read.prompt_values_#_WEBSITE_CONTENT"),
        link("name.result", "read.prompt_values_#_BUSINESS_NAME", is_static=True),
        link("read.response", "email.text"),
        link("email.positive", "out.value"),
        link("email.negative", "failed.values_#_Result"),
        link("failed.output", "out.value"),
    ]
    return sample("Email Address Finder", nodes, links)


def calculator() -> Document:
    nodes = [
        any_value("in", "Input"),
        node("add", "Calculator", b=34, operation="Add", round_result=False),
        out("out", "Output"),
    ]
    return sample(
        "Calculator agent",
        nodes,
        [link("in.result", "add.a", is_static=True), link("add.result", "out.value")],
    )


def poster_maker() -> Document:
    makers = [f"poster{number}" for number in range(4)]
    nodes = [
        any_value("theme", "Theme", "Cooking"),
        ask("idea", "A poster about {{THEME}}"),
        *(missing(key, "Ideogram Model", upscale="No Upscale") for key in makers),
        out("out", "Generated Image"),
    ]
    links = [link("theme.result", "idea.prompt_values_#_THEME", is_static=True)]
    for key in makers:
        links += [link("idea.response", f"{key}.prompt"), link(f"{key}.result", "out.value")]
    return sample("Unspirational Poster Maker", nodes, links)


def flux() -> Document:
    nodes = [
        text("prompt", "Prompt"),
        missing("make", "Replicate Flux Advanced Model", output_format="webp"),
        out("out", "Image"),
    ]
    links = [link("prompt.result", "make.prompt", is_static=True), link("make.result", "out.value")]
    return sample("Flux AI Image Generator", nodes, links)


def scraper(name: str, *, writes: bool) -> Document:
    """A search page, its videos, the transcript of each, gathered; and a post about them."""
    nodes = [
        text("topic", "Topic"),
        node("query", "Fill Text Template", format="https://example.com/results?q={{TOPIC}}", values={}),
        node("page", "Extract Website Content", raw_content=True),
        node("videos", "AI List Generator", model=CLAUDE, focus="addresses of videos", max_retries=3),
        node("each", "Step Through Items"),
        node("words", "Transcribe YouTube Video"),
        node("all", "Add To List", list=[], entries=[]),
        out("out", "Transcripts"),
        *([ask("write", "A post: {{VIDEOS}}", CLAUDE), out("post", "Post")] if writes else []),
    ]
    links = [
        link("topic.result", "query.values_#_TOPIC", is_static=True),
        link("query.output", "page.url"),
        link("page.content", "videos.source_data"),
        link("videos.generated_list", "each.items"),
        link("each.item", "words.youtube_url"),
        link("words.transcript", "all.entry"),
        link("all.updated_list", "out.value"),
    ]
    if writes:
        links += [
            link("words.transcript", "write.prompt_values_#_VIDEOS"),
            link("write.response", "post.value"),
        ]
    return sample(name, nodes, links)


def transcriptions() -> Document:
    return scraper("YouTube Transcription Scraper", writes=False)


def post_generator() -> Document:
    return scraper("LinkedIn Post Generator", writes=True)


def video_to_text(name: str, models: list[str]) -> Document:
    """A video's transcript through one prompt after another."""
    steps = [f"step{number}" for number in range(len(models))]
    nodes = [
        text("url", "Source YouTube Video", VIDEO),
        node("words", "Transcribe YouTube Video"),
        *(ask(key, "{{BEFORE}}", model) for key, model in zip(steps, models, strict=True)),
        out("out", "Text"),
    ]
    before = ["words.transcript", *(f"{key}.response" for key in steps)]
    links = [link("url.result", "words.youtube_url", is_static=True)]
    links += [
        link(source, f"{key}.prompt_values_#_BEFORE") for source, key in zip(before, steps, strict=False)
    ]
    return sample(name, nodes, [*links, link(before[-1], "out.value")])


def video_to_blog() -> Document:
    return video_to_text("AI YouTube-to-Blog Converter", [GPT, "o1"])


def video_to_post() -> Document:
    return video_to_text("YouTube to LinkedIn Post Converter", [GPT, CLAUDE])


def lead_finder() -> Document:
    """Places of a map, and fields of each."""
    fields = {"name": "Name", "website": "Website", "rating": "Rating", "formatted_phone": "Phone Number"}
    nodes = [
        text("what", "What business type you want to look for?", "Coffee Roasters"),
        text("where", "Where do you want to search?", "Edinburgh, UK"),
        node("most", "Agent Number Input", name="Number of Results", value=3),
        node("query", "Fill Text Template", format="{{WHAT}} in {{WHERE}}", values={}),
        missing("places", "Google Maps Search", radius=50000),
        *(node(f"find {key}", "Find In Dictionary", key=key) for key in fields),
        *(out(f"out {key}", name) for key, name in fields.items()),
    ]
    links = [
        link("what.result", "query.values_#_WHAT", is_static=True),
        link("where.result", "query.values_#_WHERE", is_static=True),
        link("query.output", "places.query"),
        link("most.result", "places.max_results", is_static=True),
    ]
    for key in fields:
        links += [link("places.place", f"find {key}.input"), link(f"find {key}.output", f"out {key}.value")]
    return sample("Lead Finder", nodes, links)


def decision_makers() -> Document:
    nodes = [
        text("what", "Business"),
        missing("places", "Google Maps Search", max_results=3),
        ask("owner", "Who owns {{PLACE}}?", SONAR),
        out("out", "Leads"),
    ]
    links = [
        link("what.result", "places.query", is_static=True),
        link("places.place", "owner.prompt_values_#_PLACE"),
        link("owner.response", "out.value"),
    ]
    return sample("Decision Maker Lead Finder", nodes, links)


def video_generator() -> Document:
    nodes = [
        text("topic", "Topic"),
        node("search", "Search The Web"),
        ask("script", "A script about {{NEWS}}", CLAUDE),
        missing("render", "AI Shortform Video Creator", resolution="720p", frame_rate=30),
        out("out", "Video URL"),
    ]
    links = [
        link("topic.result", "search.query", is_static=True),
        link("search.results", "script.prompt_values_#_NEWS"),
        link("script.response", "render.script"),
        link("render.video_url", "out.value"),
    ]
    return sample("AI Video Generator", nodes, links)


def domain_finder() -> Document:
    nodes = [
        node("pitch", "Agent Long Text Input", name="Product Pitch"),
        ask("ideas", "Names for {{PITCH}}", "gpt-5-2025-08-07"),
        node("check", "Execute Code", language="python", code="print('free: ratchet.example')"),
        out("out", "Domain Suggestions"),
        out("error", "Error"),
    ]
    links = [
        link("pitch.result", "ideas.prompt_values_#_PITCH", is_static=True),
        link("ideas.response", "check.setup_commands_$_0"),
        link("check.stdout_logs", "out.value"),
        link("check.error", "error.value"),
    ]
    return sample("Domain Name Finder", nodes, links)


def blog_writer() -> Document:
    nodes = [
        text("pitch", "Pitch"),
        missing("keywords", "Data For Seo Keyword Suggestions", location_code=2840),
        ask("write", "About {{KEYWORD}}", "perplexity/sonar-deep-research"),
        missing("picture", "AI Image Generator", style="any"),
        node("count", "Execute Code", language="python", code="print(1)"),
        missing("publish", "WordPress Create Post", site="blog.example.com", publish_as_draft=True),
        out("out", "Post"),
    ]
    links = [
        link("pitch.result", "keywords.keyword", is_static=True),
        link("keywords.suggestion", "write.prompt_values_#_KEYWORD"),
        link("write.response", "picture.prompt"),
        link("write.response", "publish.content"),
        link("picture.image_url", "publish.featured_image"),
        link("publish.post_url", "out.value"),
    ]
    return sample("Automated SEO Blog Writer", nodes, links)


def support_agent() -> Document:
    nodes = [
        missing("mail", "Gmail Read", query="is:unread", max_results=5),
        missing("known", "Airtable List Records", base_id="b", table_id_or_name="t"),
        missing("page", "Firecrawl Scrape", url="https://example.com/help"),
        node("sure", "AI Condition", condition="the answer is certain", model=CLAUDE),
        missing("reply", "Gmail Reply"),
        out("out", "Answered"),
    ]
    links = [
        link("mail.email_#_body", "sure.input_value"),
        link("known.records", "sure.yes_value"),
        link("page.markdown", "sure.no_value"),
        link("sure.yes_output", "reply.body"),
        link("mail.email_#_threadId", "reply.threadId"),
        link("reply.messageId", "out.value"),
    ]
    return sample("Automated Support Agent", nodes, links)


def meeting_prep() -> Document:
    nodes = [
        missing("events", "Google Calendar Read Events", calendar_id="primary"),
        missing("mails", "Gmail Read", max_results=10),
        ask("brief", "{{EVENT}} {{MAILS}}", "perplexity/sonar-deep-research"),
        missing("send", "Gmail Send", to=["me@example.com"], subject="Tomorrow"),
        out("out", "Sent"),
    ]
    links = [
        link("events.event", "brief.prompt_values_#_EVENT"),
        link("mails.emails", "brief.prompt_values_#_MAILS"),
        link("brief.response", "send.body"),
        link("send.result", "out.value"),
    ]
    return sample("Smart Meeting Prep", nodes, links)


def newsletter() -> Document:
    """A date, research, stories as XML, a loop that gathers them in a list that begins with TEMP, and a mail."""
    nodes = [
        node("style", "Agent Long Text Input", name="Writing Style", value="Witty", placeholder_values=[]),
        text("to", "Email", "reader@example.com"),
        node(
            "date", "Get Current Date", trigger="go", offset=0,
            format_type={"discriminator": "iso8601", "use_user_timezone": True},
        ),
        node("search", "Search The Web", query="news"),
        ask("stories", "As XML: {{research}} {{today}}", CLAUDE),
        node("xml", "XML Parser"),
        node("find", "Find In Dictionary", key="stories"),
        node("count", "Count Items"),
        node("each", "Step Through Items", items=[], items_object={}),
        node("start", "Create List", values=["TEMP"]),
        node("gather", "Add To List", list=[], entries=[]),
        node("so far", "Count Items"),
        node("keep", "Store Value"),
        node("full", "Condition", operator=">"),
        node("clean", "Remove From List", list=[], value="TEMP", return_item=False),
        ask("write", "{{style}} {{stories}}", "gpt-5-2025-08-07"),
        missing("send", "Gmail Send", subject="News", to=[]),
        out("out", "Sent"),
        out("error", "Error"),
    ]  # fmt: skip
    links = [
        link("date.date", "stories.prompt_values_#_today"),
        link("search.results", "stories.prompt_values_#_research"),
        link("stories.response", "xml.input_xml"),
        link("xml.parsed_xml", "find.input"),
        link("find.output", "each.items"),
        link("find.output", "count.collection"),
        link("find.missing", "error.value"),
        link("count.count", "keep.input"),
        link("start.list", "gather.list"),
        link("each.item", "gather.entry"),
        link("gather.updated_list", "gather.list"),
        link("gather.updated_list", "so far.collection"),
        link("gather.updated_list", "full.yes_value"),
        link("so far.count", "full.value1"),
        link("keep.output", "full.value2", is_static=True),
        link("full.yes_output", "clean.list"),
        link("clean.updated_list", "write.prompt_values_#_stories"),
        link("style.result", "write.prompt_values_#_style", is_static=True),
        link("write.response", "send.body"),
        link("to.result", "send.to_$_0", is_static=True),
        link("send.result", "out.value"),
        link("send.error", "error.value"),
    ]
    return sample("Personal Newsletter", nodes, links)


def discord(name: str, *, searches: bool = False, remembers: bool = False) -> Document:
    """An old template: no sub-graphs, no schemas, old pin names, a token in a value that flows."""
    nodes = [
        node("token", "Store Value", input="DISCORD BOT API KEY HERE"),
        node("again", "Store Value", data="DISCORD BOT API KEY HERE"),
        missing("read", "Read Discord Messages"),
        node("said", "Extract Text Information", pattern="(?<=!chat ).*"),
        node("who", "Combine Texts", input2=" said: "),
        node("whole", "Combine Texts"),
        *([node("search", "Search The Web")] if searches else []),
        *([node("history", "Add To List")] if remembers else []),
        ask("answer", "{{x}}", sys_prompt="Be nice."),
        missing("send", "Send Discord Message"),
    ]
    links = [
        link("token.output", "read.discord_bot_token"),
        link("again.output", "read.discord_bot_token"),
        link("read.message_content", "said.text"),
        link("read.username", "who.input1"),
        link("who.output", "whole.input1"),
        link("search.results" if searches else "said.positive", "whole.input2"),
        link("whole.output", "answer.prompt"),
        link("answer.response", "send.message_content"),
        link("read.channel_name", "send.channel_name"),
        link("send.status", "again.input"),
        link("said.negative", "again.input"),
        *([link("said.positive", "search.query")] if searches else []),
        *([link("said.positive", "history.entry")] if remembers else []),
    ]
    return agent(nodes, links, id=name.lower(), name=name, is_template=True)


def discord_chat() -> Document:
    return discord("Discord Bot Chat To LLM")


def discord_search() -> Document:
    return discord("Discord Search Bot", searches=True)


def discord_history() -> Document:
    return discord("Discord Chatbot with History", remembers=True)


COMPLETES: list[Callable[[], Document]] = [
    *(win_back, sequence_builder, ai_function, copy_improver, email_finder, calculator),
    *(transcriptions, post_generator, video_to_blog, video_to_post, domain_finder),
]
AFTER_REPAIR: list[Callable[[], Document]] = [newsletter]
NEEDS: dict[Callable[[], Document], list[str]] = {  # each block once, as people read it
    poster_maker: ["Ideogram Model, used by 4 nodes,"],
    flux: ["Replicate Flux Advanced Model"],
    lead_finder: ["Google Maps Search"],
    decision_makers: ["Google Maps Search"],
    video_generator: ["AI Shortform Video Creator (Revid)"],
    blog_writer: [
        "Data For Seo Keyword Suggestions (DataForSEO)",
        "AI Image Generator (Replicate)",
        "WordPress Create Post",
    ],
    support_agent: ["Gmail Read (Google)", "Airtable List Records", "Gmail Reply (Google)"],
    meeting_prep: ["Google Calendar Read Events", "Gmail Read (Google)"],
    discord_chat: ["Read Discord Messages", "Send Discord Message"],
    discord_search: ["Read Discord Messages", "Send Discord Message"],
    discord_history: ["Read Discord Messages", "Send Discord Message"],
}
