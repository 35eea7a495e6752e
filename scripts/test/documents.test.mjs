import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findBrokenLinks, findLongParagraphs } from '../checks/documents.mjs';

const exists = (path) => ['README.md', 'docs/a.md', 'docs/guide/b.md', 'src/c.ts'].includes(path);
const broken = (path, text, others = []) => findBrokenLinks([{ path, text }, ...others], exists);
const guide = { path: 'docs/guide/b.md', text: '# Use\n\n## The `up` command\n\n## Use\n' };

test('links: files and headings that exist are accepted', () => {
  const text =
    '[b](guide/b.md) [up](guide/b.md#the-up-command) [again](guide/b.md#use-1)\n[c](../src/c.ts) [x](https://x.org/#y)\n';
  assert.deepEqual(broken('docs/a.md', text, [guide]), []);
  assert.deepEqual(broken('docs/a.md', '## Own part\n\n[own](#own-part)\n'), []);
});

test('links: a file or a heading that does not exist is told with its place', () => {
  assert.deepEqual(broken('docs/a.md', 'text\n[b](b.md)\n'), ['docs/a.md:2: b.md: there is no such file']);
  assert.deepEqual(broken('docs/a.md', '[b](guide/b.md#down)\n', [guide]), [
    'docs/a.md:1: guide/b.md#down: there is no such heading',
  ]);
  assert.deepEqual(broken('docs/a.md', '[own](#other)\n'), ['docs/a.md:1: #other: there is no such heading']);
});

test('links: code is no link', () => {
  assert.deepEqual(broken('docs/a.md', '`[b](b.md)`\n\n```\n[b](b.md)\n```\n'), []);
});

test('links: a document that a source names has to exist', () => {
  assert.deepEqual(broken('src/c.ts', '// docs/a.md says why\n'), []);
  assert.deepEqual(broken('src/c.ts', '// docs/b.md says why\n'), ['src/c.ts:1: there is no docs/b.md']);
});

test('paragraphs: 600 characters are allowed, whatever the lines', () => {
  const long = (text) => findLongParagraphs([{ path: 'a.md', text }]);
  const words = (count) => 'word '.repeat(count).trim();
  assert.deepEqual(long(`${words(60)}\n${words(60)}\n`), []);
  assert.match(long(`# Title\n\n${words(61)}\n${words(61)}\n`).join(), /^a\.md:3: 609 characters/);
  assert.match(long(`- ${words(130)}\n`).join(), /^a\.md:1: 651 characters/);
  assert.match(long(`| a | ${words(130)} |\n`).join(), /^a\.md:1: 649 characters/);
});

test('paragraphs: items of a list count one by one, code and targets of links do not count', () => {
  const words = 'word '.repeat(100).trim();
  const text = `- ${words}\n- ${words}\n\n\`\`\`\n${words} ${words}\n\`\`\`\n\n[${words}](${'x'.repeat(200)})\n`;
  assert.deepEqual(findLongParagraphs([{ path: 'a.md', text }]), []);
});

test('paragraphs: what a program writes from measured results may be longer, what stands behind it may not', () => {
  const words = 'word '.repeat(130).trim();
  const evidence = `<!-- evidence: own/a claims -->\n\n- ${words}\n\n<!-- end of evidence -->\n`;
  assert.deepEqual(findLongParagraphs([{ path: 'a.md', text: evidence }]), []);
  assert.match(findLongParagraphs([{ path: 'a.md', text: `${evidence}\n${words}\n` }]).join(), /^a\.md:7: 649 /);
});
