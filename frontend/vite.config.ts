import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

/** Beside each text file of the build the same compressed, which Django's static files are served with. */
function compressed(): Plugin {
  return {
    name: 'compressed',
    apply: 'build',
    closeBundle() {
      const folder = join(import.meta.dirname, 'dist');
      for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
        if (/\.(js|css|svg)$/.test(file))
          writeFileSync(join(folder, `${file}.gz`), gzipSync(readFileSync(join(folder, file))));
      }
    },
  };
}

// Django serves the build under its static files; the page itself is served at /.
// `npm run dev` serves the page by itself, with hot reload, and hands the rest to a running `./copilot up`.
const RATCHET = process.env.RATCHET_URL ?? 'http://127.0.0.1:8000';

export default defineConfig(({ command }) => ({
  base: command === 'build' ? '/static/ui/' : '/',
  server: { proxy: { '^/(api|ws|login|logout|signup|static|admin)/': { target: RATCHET, ws: true } } },
  plugins: [react(), tailwindcss(), compressed()],
  // The markdown renderer would parse HTML with this; ours shows HTML as words, and 40 kB of parser stay at home.
  resolve: { alias: { 'rehype-raw': join(import.meta.dirname, 'src/markdown/rawAsText.ts') } },
  build: {
    chunkSizeWarningLimit: 1500,
    assetsInlineLimit: 0,
    // Diagrams are drawn in a frame of their own; see src/markdown/diagramFrame.ts.
    rolldownOptions: { input: ['index.html', 'diagram.html'].map((page) => join(import.meta.dirname, page)) },
  },
}));
