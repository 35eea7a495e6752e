import assert from 'node:assert/strict';
import { test } from 'node:test';
import { filesWithWarnings } from '../setup/addon.mjs';

const output = `make: Entering directory '/checkout/packages/native/build'
  CXX(target) Release/obj.target/sheaf_candidate/src/crypto/handshake_state.o
In file included from /usr/include/c++/12/vector:60,
                 from ../src/crypto/handshake_state.h:5:
In member function 'bool State::write()',
    inlined from 'void f()' at ../src/crypto/handshake_state.cc:149:30:
../src/crypto/handshake_state.cc:149:30: warning: reading 1 or more bytes from a region of size 0 [-Wstringop-overread]
  149 |   out.insert(warning: 0);
../src/util/bytes.h:7:1: warning: unused [-Wunused]
../src/crypto/handshake_state.cc:12: warning: again
`;

test('the files that the compiler warns of are found in its output', () => {
  assert.deepEqual(filesWithWarnings(output), ['src/crypto/handshake_state.cc', 'src/util/bytes.h']);
  assert.deepEqual(filesWithWarnings(output.replaceAll(': warning: ', ': note: ')), []);
});
