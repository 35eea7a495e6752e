import assert from 'node:assert/strict';
import { test } from 'node:test';
import { libraryLicence, thirdPartyLicences } from '../pack/licences.mjs';
import { parseLibraries } from '../pack/libraries.mjs';

test('libraries are read from what ldd prints, and a missing one is an error', () => {
  const found = '\tlinux-vdso.so.1 (0x0001)\n\tliba.so.1 => /lib/liba.so.1 (0x00ff)\n\t/lib64/ld.so (0x1)\n';
  assert.deepEqual(parseLibraries(found), [{ name: 'liba.so.1', path: '/lib/liba.so.1' }]);
  assert.throws(() => parseLibraries(`${found}\tlibb.so.2 => not found\n`), /missing: libb\.so\.2\./);
});

const machineReadable = (paragraphs) => ['Format: 1.0\nSource: here', ...paragraphs].join('\n\n');

test('the licence of a library is that of its sources in C, of all files, or of a sentence', () => {
  const all = 'Files: *\nCopyright: A\nLicense: MIT\n Text of it';
  const tools = 'Files: tools/*\nCopyright: A\nLicense: GPL-3+';
  const inC = 'Files: *.c *.h\nCopyright: A\nLicense: LGPL-3+ or GPL-2+';
  assert.equal(libraryLicence(machineReadable([all, tools]), 'a'), 'MIT');
  assert.equal(libraryLicence(machineReadable([tools, all, inC]), 'a'), 'LGPL-3+ or GPL-2+');
  assert.equal(
    libraryLicence('The main library is licensed under Some\nLicence version 2.1+, other parts are not.', 'a'),
    'Some Licence version 2.1+',
  );
  assert.throws(() => libraryLicence(machineReadable([tools]), 'a'), /The licence of a was not found/);
});

test('the list has every library once, with package, version, licence, copyright and the texts that this names', () => {
  const of = (name, owner, source) => ({ name, package: owner, version: '1-2', source, sourceVersion: '1-1' });
  const libraries = [of('libb.so.1', 'libb1', 'b'), of('liba.so.1', 'liba1', 'a'), of('libab.so.1', 'libab1', 'a')];
  const files = {
    '/usr/share/doc/liba1/copyright': 'Files: *\nLicense: LGPL-3+\n See /usr/share/common-licenses/LGPL-3.',
    '/usr/share/doc/libb1/copyright': 'Files: *\nLicense: MIT\n Permission of B',
    '/usr/share/common-licenses/LGPL-3': 'Text of the LGPL',
  };
  const text = thirdPartyLicences(libraries, (path) => files[path]);
  assert.match(
    text,
    /^a 1-1\n {2}licence: LGPL-3\+\n {2}liba\.so\.1 \(package liba1 1-2\)\n {2}libab\.so\.1 \(package libab1 1-2\)$/m,
  );
  assert.match(text, /^b 1-1\n {2}licence: MIT\n {2}libb\.so\.1 \(package libb1 1-2\)$/m);
  for (const part of ['Permission of B', 'Text of the LGPL', 'may be\nreplaced'])
    assert.equal(text.split(part).length, 2, part);
});
