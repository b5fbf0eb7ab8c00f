// Deutsch.
import { account } from './de/account';
import { cards } from './de/cards';
import { chat } from './de/chat';
import { library } from './de/library';
import { notifications } from './de/notifications';
import { shell } from './de/shell';
import { tools } from './de/tools';
import type { Catalogue } from './index';

export const de: Catalogue = { ...shell, ...chat, ...tools, ...cards, ...library, ...account, ...notifications };
