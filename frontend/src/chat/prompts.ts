// What a new conversation may begin with. The words are data, not labels: the offline model knows them in English, so
// they are the same in every language, and each works without a model key (tests/frontend/test_frontend.py).
import type { IconName } from '../components/icons';
import type { Key } from '../i18n';

export type Prompt = { icon: IconName; title: Key; text: string };

export const PROMPTS: Prompt[] = [
  { icon: 'bulb', title: 'prompt.abilities', text: 'What can you do?' },
  { icon: 'agent', title: 'prompt.agent', text: 'Build an agent that greets people by name' },
  { icon: 'folder', title: 'prompt.note', text: 'Keep a note in ideas.txt: a bench by the river' },
  { icon: 'list', title: 'prompt.table', text: 'Show me a markdown table' },
];
