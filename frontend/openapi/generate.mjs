// Writes src/api/schema.ts from the OpenAPI schema of the server in this checkout: `npm run api-types`.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import openapiTypescript, { astToString } from 'openapi-typescript';

const FRONTEND = join(import.meta.dirname, '..');
const ROOT = join(FRONTEND, '..');
const TARGET = join(FRONTEND, 'src', 'api', 'schema.ts');
const python = process.env.PYTHON ?? join(ROOT, '.venv', 'bin', 'python');

const shapes = execFileSync(python, ['manage.py', 'api_types'], { cwd: ROOT, maxBuffer: 2 ** 26 });
const digest = createHash('sha256').update(shapes).digest('hex');
const types = astToString(await openapiTypescript(shapes.toString()));
mkdirSync(join(TARGET, '..'), { recursive: true });
writeFileSync(
  TARGET,
  `// Generated from the OpenAPI schema by \`npm run api-types\`; do not edit.\n// schema: ${digest}\n${types}`,
);
