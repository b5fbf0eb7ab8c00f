// What the builder tells the model of the page beside the conversation: data of the message, not words for people.

type PageContext = { url: string; content: string };

/** The page as it is sent with the first message of the conversation beside the canvas. */
export function pageContext(url: string, agent: { id: string; name: string }): PageContext {
  const content = {
    page: 'builder',
    about: 'The agent is open on a canvas beside this conversation. A change of it is shown there as a proposal.',
    agent,
  };
  return { url, content: JSON.stringify(content) };
}
