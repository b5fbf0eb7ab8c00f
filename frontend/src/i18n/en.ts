// English, the language every other catalogue is held against.
import { account } from './en/account';
import { cards } from './en/cards';
import { chat } from './en/chat';
import { library } from './en/library';
import { notifications } from './en/notifications';
import { shell } from './en/shell';
import { tools } from './en/tools';

export const en = { ...shell, ...chat, ...tools, ...cards, ...library, ...account, ...notifications };
