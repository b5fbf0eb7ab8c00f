// The page's policy forbids making code from strings. The schema library would try it once and be reported; this tells
// it not to.
import { config } from 'zod/v4/core';

config({ jitless: true });
